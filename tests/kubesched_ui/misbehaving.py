"""Readers of uploads that go wrong, run as the reading process in place of `isolated.serve`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kubesched_ui.scenarios import upload_worker

_serve = upload_worker.serve


def crash(*args: Any) -> None:
    instead(lambda *_: os.abort(), args)


def hang(*args: Any) -> None:
    def forever(*_: Any) -> None:
        while True:
            pass

    instead(forever, args)


def hog(*args: Any) -> None:
    """More than a reader may have, and less than this machine has: only the reader's own bound is in its way."""
    instead(lambda *_: len(bytes(3 * 1024**3)), args)


def crash_in_the_middle(*args: Any) -> None:
    """Once a part of a large upload is stored."""
    from kubesched_ui.ingest import chunked_store

    written = chunked_store.write

    def write(*given: Any) -> None:
        written(*given)
        os.abort()

    chunked_store.write = write
    _serve(*args)


def hold(*args: Any) -> None:
    """Reads an upload named `held...` only once the file that its name ends with is there."""

    def wait(job: upload_worker.Job, begun: Callable[[int], None]) -> Any:
        word, _, path = job.name.partition(" ")
        while word == "held" and not Path(path).exists():
            time.sleep(0.02)
        return read(job._replace(name="held"), begun)

    read = upload_worker.read
    instead(wait, args)


def slow(*args: Any) -> None:
    """Never comes to an end with what looks small."""

    def forever(job: upload_worker.Job, begun: Callable[[int], None]) -> Any:
        while job.small:
            pass
        return read(job, begun)

    read = upload_worker.read
    instead(forever, args)


def instead(read: Callable[..., Any], args: Any) -> None:
    """`isolated.serve` with its bounds, around something else."""
    upload_worker.read = read
    _serve(*args)
