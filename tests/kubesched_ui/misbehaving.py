"""Failing tasks that workers run in place of the real ones."""

import os
import time
from pathlib import Path
from typing import Any

import msgspec

from kubesched_ui.scenarios import upload_worker
from kubesched_ui.scenarios.upload_worker import UploadJob


def crash(*_: Any) -> None:
    os.abort()


def hang(*_: Any) -> None:
    while True:
        pass


def hog(*_: Any) -> None:
    """Take more memory than a worker may have, and less than the machine has."""
    len(bytes(3 * 1024**3))


def crash_in_the_middle(*args: Any) -> Any:
    """Die after a chunk of a large upload is stored."""
    from kubesched_ui.ingest import chunked_store

    written = chunked_store.write

    def write(*given: Any) -> None:
        written(*given)
        os.abort()

    chunked_store.write = write
    return _read(*args)


def hold(job: UploadJob, *args: Any) -> Any:
    """Read an upload named `held...` only after the file that its name ends with exists."""
    word, _, path = job.name.partition(" ")
    while word == "held" and not Path(path).exists():
        time.sleep(0.02)
    return _read(job._replace(name="held"), *args)


def slow(job: UploadJob, *args: Any) -> Any:
    """Never finish a small upload."""
    store = upload_worker.read_and_store

    def forever(*given: Any) -> Any:
        while job.small:
            pass
        return store(*given)

    upload_worker.read_and_store = forever
    return _read(job, *args)


def slow_analysis(text: str) -> bytes:
    """Analyze a text after sleeping for the seconds that it names."""
    from kubesched_ui.editor import analysis

    if text.startswith("# sleep "):
        time.sleep(float(text.partition("\n")[0].removeprefix("# sleep ")))
    return msgspec.json.encode(analysis.analyze(text))


_read = upload_worker.read_upload
