"""Files become a stored scenario."""

from __future__ import annotations

from pathlib import Path

from kubesched_ui.ingest import Limits, ingest_files
from kubesched_ui.ingest.store import store

File = tuple[str, bytes | Path]  # name, content


def read_and_store(files: list[File], name: str, origin: str) -> int:
    """The new scenario's id. Raises IngestError."""
    result = ingest_files(files, Limits.from_settings())
    title = name or result.name or Path(files[0][0]).name
    return store(result, name=title[:200], origin=origin).pk
