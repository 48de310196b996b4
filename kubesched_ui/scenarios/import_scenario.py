"""Imports files as a stored scenario."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kubesched_ui.ingest import Limits, ingest_files
from kubesched_ui.ingest.run_file import RunFile
from kubesched_ui.ingest.store import store
from kubesched_ui.scenarios.progress import Progress

File = tuple[str, bytes | Path]  # name, content


def size_of(files: list[File]) -> int:
    """Return the size of the uploaded files in bytes."""
    return sum(content.stat().st_size if isinstance(content, Path) else len(content) for _, content in files)


def read_and_store(
    files: list[File], name: str, origin: str, token: str = "", begun: Callable[[int], None] | None = None
) -> tuple[int, RunFile | None]:
    """Return the ID of the new scenario, and the run of a run file if there was one.

    `token`: with which the page polls the progress. `begun`: as in `store`. Raises IngestError.
    """
    with Progress(token, size_of(files)) as progress:
        result = ingest_files(files, Limits.from_settings(), progress)
        title = name or result.name or Path(files[0][0]).name
        return store(result, name=title[:200], origin=origin, begun=begun).pk, result.run
