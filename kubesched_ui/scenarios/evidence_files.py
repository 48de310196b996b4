"""Uploaded files that are no cluster but show what a scheduler did: read for a page in a worker process, never stored.

What each can tell is in docs/evidence.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kubesched_ui.offload.pool import OffloadError, Ticket
from kubesched_ui.offload.pools import get_pool

if TYPE_CHECKING:
    from django.http import HttpRequest

    from scheduler_core.evidence.recognized import EvidenceSummary


def evidence_from_request(request: HttpRequest) -> EvidenceSummary | None:
    """Return what the only file, or the pasted text, of a form shows; None if it is no evidence or cannot be read."""
    from django.conf import settings

    from kubesched_ui.scenarios.uploads import SMALL, content_of

    files = request.FILES.getlist("file")
    text = request.POST.get("text", "").strip()
    if len(files) + bool(text) != 1:
        return None
    if files:
        for file in files:
            file.seek(0)
        name, content = content_of(files[0])
    else:
        name, content = "pasted text", text.encode()
    if not settings.INGEST_ISOLATED:
        return read_evidence(name, content)
    size = content.stat().st_size if isinstance(content, Path) else len(content)
    pool = get_pool("small-uploads" if size <= SMALL else "large-uploads")
    try:
        found: EvidenceSummary | None = pool.run(read_evidence, name, content, ticket=Ticket(size=size))
    except OffloadError:
        return None
    return found


def read_evidence(name: str, content: bytes | Path) -> EvidenceSummary | None:
    """Return what a file shows; None if it is no evidence or cannot be read. Runs in a worker process."""
    from scheduler_core.errors import InputError
    from scheduler_core.evidence.recognized import read
    from scheduler_core.snapshot.files import read_bytes, unpacked

    try:
        data = read_bytes(str(content)) if isinstance(content, Path) else unpacked(content, name)
    except InputError:
        return None
    return read(data, name)
