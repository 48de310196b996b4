"""Uploads: files in, a scenario out. Reading happens in processes of their own, bounded in memory and time.

A large cluster needs a gigabyte while it is being read, and a hostile one may try to crash the reader: neither is the
web process's business.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.db import connection
from django.http import HttpRequest

from kubesched_ui import current_viewer
from kubesched_ui.housekeeping import disk_space, quota
from kubesched_ui.ingest import IngestError
from kubesched_ui.ingest.errors import Where
from kubesched_ui.ingest.run_file import RunFile
from kubesched_ui.models import Scenario
from kubesched_ui.scenarios import upload_metrics
from kubesched_ui.scenarios.import_scenario import File, read_and_store, size_of
from kubesched_ui.scenarios.progress import Progress
from kubesched_ui.scenarios.temp_files import folder
from kubesched_ui.scenarios.upload_pool import readers
from kubesched_ui.scenarios.upload_worker import Job

CHUNK = 1024 * 1024


class Made(NamedTuple):
    """What came of an upload. `run`: what its run file asks for, if it is one."""

    scenario: Scenario
    run: RunFile | None


def made_from_request(request: HttpRequest, name: str = "", origin: str = Scenario.Origin.UPLOAD) -> Made:
    """What a request's `file` fields, or its body, hold. Raises IngestError, OverQuota, and Troubled where there is no
    room or too many wait."""
    disk_space.check_room()
    quota.check_scenario()
    with tempfile.TemporaryDirectory(dir=folder()) as mine:
        if request.content_type == "multipart/form-data":
            files = [content_of(file) for file in request.FILES.getlist("file")]
            if text := request.POST.get("text", "").strip():
                files.append(("pasted text", text.encode()))
        else:
            files = [body_of(request, Path(mine))]
        if not files:
            raise refusal("no file was sent; use the form field `file`, or send the file as the request's body")
        return make(files, name, origin, request.POST.get("progress", ""))


def content_of(file: UploadedFile) -> File:
    """Where an uploaded file is: on disk when it was large, else in memory."""
    name = file.name or "upload"
    return (name, Path(file.temporary_file_path())) if isinstance(file, TemporaryUploadedFile) else (name, file.read())


def body_of(request: HttpRequest, folder: Path) -> File:
    """The body, copied to disk. Raises IngestError when it is empty or too large."""
    path, size = folder / "body", 0
    with path.open("wb") as copy:
        while chunk := request.read(CHUNK):
            size += len(chunk)
            if size > settings.INGEST_MAX_BYTES:
                raise refusal(f"is larger than {settings.INGEST_MAX_BYTES} bytes")
            copy.write(chunk)
    if not size:
        raise refusal("is empty; send a file as the body, or as the form field `file`")
    return unquote(request.headers.get("X-Filename", "upload"))[:200], path


def refusal(problem: str) -> IngestError:
    """An error about the upload as a whole."""
    return IngestError(Where("upload"), problem)


def make_scenario(files: list[File], name: str = "", origin: str = Scenario.Origin.UPLOAD) -> Scenario:
    """Reads the files as one cluster and stores it; a run that they ask for is not made. Raises IngestError."""
    return make(files, name, origin).scenario


def make(files: list[File], name: str = "", origin: str = Scenario.Origin.UPLOAD, token: str = "") -> Made:
    """Reads the files as one cluster and stores it. `token`: as in progress.py. Raises IngestError, and Troubled when
    too many wait."""
    with upload_metrics.one(size_of(files)):
        return _make(files, name, origin, token)


def _make(files: list[File], name: str, origin: str, token: str) -> Made:
    if not settings.INGEST_ISOLATED:
        pk, run = read_and_store(files, name, origin, token)
        return Made(Scenario.objects.get(pk=pk), run)
    if not connection.in_atomic_block:
        connection.close()  # it may be a while; others can have it
    job, size = Job(files, name, origin, token, current_viewer.owner_id()), size_of(files)
    with Progress(token, size) as progress:
        pk, run = readers().read(job, size, progress.waits)
    return Made(Scenario.objects.get(pk=pk), run)
