"""The part of an upload that runs in a worker process."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kubesched_ui.ingest.run_file import RunFile

File = tuple[str, bytes | Path]  # name, content

SMALL_CPU_SECONDS = 1.0  # CPU seconds; an upload that takes more is not small

logger = logging.getLogger(__name__)


class UploadJob(NamedTuple):
    """An upload. `small`: whether it must be read quickly. `owner_id`: the user who owns it. `marker`: a file that
    receives the ID of the scenario as soon as a part is stored, so that it can be removed if the worker dies.
    `history`: as in `ingest_files`."""

    files: list[File]
    name: str
    origin: str
    token: str = ""
    owner_id: int | None = None
    marker: Path = Path(os.devnull)
    small: bool = False
    history: bool = False


class TooLargeForPool(Exception):
    """The upload takes more time than its size suggests. Nothing was stored."""


class _CpuLimit(BaseException):
    """Raised by a signal handler while a small upload is read."""


def prepare() -> None:
    """Set up Django."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
    import django

    django.setup()
    from kubesched_ui.housekeeping import quota  # noqa: F401  (the first upload would load these)
    from kubesched_ui.ingest import reader, store  # noqa: F401

    signal.signal(signal.SIGPROF, _stop)


def _stop(*_: Any) -> None:
    raise _CpuLimit


def read_upload(job: UploadJob) -> Any:
    """Read and store an upload for its owner as `read_and_store` does. Also raises TooLargeForPool."""
    from django.db import connection

    from kubesched_ui.models import current_viewer

    def mark(pk: int) -> None:
        job.marker.write_text(str(pk))

    if job.small:
        signal.setitimer(signal.ITIMER_PROF, SMALL_CPU_SECONDS)
    try:
        with current_viewer.as_viewer(current_viewer.OwnerViewer(job.owner_id)):
            return read_and_store(job.files, job.name, job.origin, job.token, mark, job.history)
    except _CpuLimit:
        raise TooLargeForPool from None
    except MemoryError:
        raise
    except Exception as error:
        raise sendable(error) from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        connection.close()


def read_and_store(
    files: list[File],
    name: str,
    origin: str,
    token: str = "",
    begun: Callable[[int], object] | None = None,
    history: bool = False,
) -> tuple[int, RunFile | None]:
    """Return the ID of the new scenario, and the run of a run file if there was one. `token`: with which the page polls
    the progress. `begun`: as in `store`. `history`: as in `ingest_files`. Raises IngestError, OverQuota."""
    from kubesched_ui.housekeeping import quota
    from kubesched_ui.ingest import Limits, ingest_files
    from kubesched_ui.ingest.store import store
    from kubesched_ui.models import ClusterTable
    from kubesched_ui.scenarios import stored_table
    from kubesched_ui.scenarios.progress import Progress

    with Progress(token, size_of(files)) as progress:
        result = ingest_files(files, Limits.from_settings(), progress, history)
        title = name or result.name or Path(files[0][0]).name
        made = store(result, name=title[:200], origin=origin, begun=begun, check=quota.check_storing)
        if len(result.records) > stored_table.LARGE:
            ClusterTable.objects.create(scenario=made, data=stored_table.packed_table(result.records))
        return made.pk, result.run


def size_of(files: list[File]) -> int:
    """Return the size of the uploaded files in bytes."""
    return sum(content.stat().st_size if isinstance(content, Path) else len(content) for _, content in files)


def sendable(error: Exception) -> Exception:
    """Return the error in a form that can be pickled for another process."""
    from django.db import DatabaseError

    from kubesched_ui.ingest import IngestError
    from scheduler_core.errors import InputError

    if isinstance(error, IngestError | InputError | OSError | DatabaseError):
        return error.with_traceback(None)
    logger.exception("An upload could not be read")
    return RuntimeError(f"{type(error).__name__} in the process that reads uploads; its log has the details")
