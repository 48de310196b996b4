"""Creates scenarios from uploads. Worker processes read them with limits of memory and time.

Reading a large cluster takes a gigabyte of memory, and a hostile file may crash the reader. The web process must not be
affected by either.
"""

import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.db import connection
from django.http import HttpRequest

from kubesched_ui.housekeeping import disk_space, quota
from kubesched_ui.ingest import IngestError, chunked_store
from kubesched_ui.ingest.errors import Where
from kubesched_ui.ingest.run_file import RunFile
from kubesched_ui.models import Scenario, current_viewer
from kubesched_ui.offload.pool import Crashed, OffloadError, OutOfMemory, PoolBusy, Ticket, TimedOut
from kubesched_ui.offload.pools import find_pool, get_pool
from kubesched_ui.runtime.outages import Outage, ServiceUnavailable
from kubesched_ui.scenarios import upload_metrics, upload_worker
from kubesched_ui.scenarios.progress import Progress
from kubesched_ui.scenarios.upload_worker import File, TooLargeForPool, UploadJob, read_and_store, size_of

CHUNK = 1024 * 1024
SMALL = 1024 * 1024  # bytes
LEFT_S = 3600  # age of temporary files that are no longer in use

BUSY = Outage("Too many uploads are waiting. Nothing was stored. Try again in a few seconds.", 30)


class Upload(NamedTuple):
    """The result of an upload. `run`: the contents of a run file, if there was one."""

    scenario: Scenario
    run: RunFile | None


def upload_from_request(request: HttpRequest, name: str = "", origin: str = Scenario.Origin.UPLOAD) -> Upload:
    """Create a scenario from the `file` fields of a request or from its body. Raises IngestError, OverQuota, and
    ServiceUnavailable if disk space is low or too many uploads wait."""
    disk_space.check_space()
    quota.check_scenario()
    with tempfile.TemporaryDirectory(dir=folder()) as mine:
        if request.content_type == "multipart/form-data":
            files = [content_of(file) for file in request.FILES.getlist("file")]
            if text := request.POST.get("text", "").strip():
                files.append(("pasted text", text.encode()))
        else:
            files = [body_of(request, Path(mine))]
        if not files:
            raise upload_error("no file was sent; use the form field `file` or send the file as the request body")
        history = bool(request.POST.get("history"))
        return store_upload(files, name, origin, request.POST.get("progress", ""), history)


def content_of(file: UploadedFile) -> File:
    """Return the name and content of an uploaded file: a path if it was large, otherwise bytes."""
    name = file.name or "upload"
    return (name, Path(file.temporary_file_path())) if isinstance(file, TemporaryUploadedFile) else (name, file.read())


def body_of(request: HttpRequest, folder: Path) -> File:
    """Copy the body to disk and return its name and path. Raises IngestError if it is empty or too large."""
    path, size = folder / "body", 0
    with path.open("wb") as copy:
        while chunk := request.read(CHUNK):
            size += len(chunk)
            if size > settings.INGEST_MAX_BYTES:
                raise upload_error(f"is larger than {settings.INGEST_MAX_BYTES} bytes")
            copy.write(chunk)
    if not size:
        raise upload_error("is empty; send a file as the request body or in the form field `file`")
    return unquote(request.headers.get("X-Filename", "upload"))[:200], path


def upload_error(problem: str) -> IngestError:
    """Return an error about the upload as a whole."""
    return IngestError(Where("upload"), problem)


def store_upload(
    files: list[File],
    name: str = "",
    origin: str = Scenario.Origin.UPLOAD,
    token: str = "",
    history: bool = False,
) -> Upload:
    """Read the files as one cluster and store it. `token`: as in progress.py. `history`: as in `ingest_files`.

    Raises IngestError, and ServiceUnavailable if too many uploads wait.
    """
    with upload_metrics.count_upload(size_of(files)):
        return _make(files, name, origin, token, history)


def _make(files: list[File], name: str, origin: str, token: str, history: bool) -> Upload:
    if not settings.INGEST_ISOLATED:
        pk, run = read_and_store(files, name, origin, token, history=history)
        return Upload(Scenario.objects.get(pk=pk), run)
    if not connection.in_atomic_block:
        connection.close()  # the upload may take long; others can use the connection
    if find_pool("large-uploads") is None:
        remove_old_files()
    size = size_of(files)
    with Progress(token, size) as progress, tempfile.TemporaryDirectory(dir=folder()) as mine:
        job = UploadJob(files, name, origin, token, current_viewer.owner_id(), Path(mine) / "scenario", history=history)
        pk, run = read_in_worker(job, size, progress.waits)
    return Upload(Scenario.objects.get(pk=pk), run)


def read_in_worker(job: UploadJob, size: int, on_wait: Callable[[int], None]) -> Any:
    """Let a worker read and store an upload. Small uploads have their own pool and never wait for large ones.

    `on_wait`: called with the number of uploads before this one. Raises the exceptions of `read_upload`, IngestError if
    the worker fails, and ServiceUnavailable if too many uploads wait.
    """
    if size <= SMALL:
        try:
            return _run("small-uploads", job._replace(small=True), size, on_wait)
        except TooLargeForPool:
            size = SMALL * 10  # a decompression bomb or slow YAML must not overtake honestly large uploads
    return _run("large-uploads", job, size, on_wait)


def _run(name: str, job: UploadJob, size: int, on_wait: Callable[[int], None]) -> Any:
    try:
        ticket = Ticket(user=job.owner_id, size=size, on_wait=on_wait)
        return get_pool(name).run(upload_worker.read_upload, job, ticket=ticket)
    except PoolBusy:
        raise ServiceUnavailable(BUSY) from None
    except OffloadError as error:
        if job.marker.exists():
            chunked_store.remove(int(job.marker.read_text()))
        raise upload_error(failure_text(error)) from None


def failure_text(error: OffloadError) -> str:
    """Return why a worker could not read an upload."""
    if isinstance(error, TimedOut):
        return f"could not be read within {settings.INGEST_MAX_SECONDS} s"
    if isinstance(error, OutOfMemory):
        return f"could not be read within {settings.INGEST_MAX_MEMORY >> 20:,} MB of memory"
    code = error.code if isinstance(error, Crashed) else 0
    if code == -signal.SIGKILL:
        return "could not be read: the system killed the worker, possibly because memory ran out"
    return f"could not be read: the worker failed (exit code {code}); nothing was stored"


# ---- temporary files


def folder() -> Path:
    """Return the folder, created if necessary."""
    found: Path = settings.VAR_DIR / "uploads"
    found.mkdir(exist_ok=True)
    return found


def remove_old_files() -> None:
    """Remove the files of killed processes. Called at the start of a process, while other web processes may be
    working."""
    for path in folder().iterdir():
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > LEFT_S:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
