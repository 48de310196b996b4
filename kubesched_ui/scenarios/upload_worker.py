"""What runs in a process that reads uploads. Imports nothing of Django before `prepare`."""

from __future__ import annotations

import logging
import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import django

OUT_OF_MEMORY = 3  # the exit code
SMALL_CPU_S = 1.0  # of the processor; what takes longer is not small

logger = logging.getLogger(__name__)


class Job(NamedTuple):
    """An upload: as `making.read_and_store` takes it. `small`: it is to be done soon. `owner_id`: whose it is."""

    files: list[tuple[str, bytes | Path]]
    name: str
    origin: str
    token: str = ""
    owner_id: int | None = None
    small: bool = False


class NotSmall(BaseException):
    """It takes more than it looked like. Nothing of it is stored."""


# What is answered: a word, its value, the most MB that the process ever had. STORES: a scenario, not complete yet.
MADE, REFUSED, NOT_SMALL, STORES = "made", "refused", "not small", "stores"


def serve(asked: Connection, nice: int) -> None:
    """Reads what is asked for, one upload after the other, until nobody is there to ask."""
    prepare(nice)
    while True:
        try:
            job = asked.recv()
        except EOFError:
            return
        what, value = answer(job, lambda pk: asked.send((STORES, pk, 0)))
        asked.send((what, value, grown()))


def grown() -> int:
    """The most MB that it has had in memory. Not ru_maxrss, which begins with what its parent had."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    return int(status.read_text().partition("VmHWM:")[2].split()[0]) >> 10


def prepare(nice: int = 0) -> None:
    """Once at its start: its bounds, its rank, and an end with its parent."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    os.nice(nice)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
    django.setup()
    from django.conf import settings

    from kubesched_ui.scenarios import import_scenario  # noqa: F401  (no upload's time)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the web process ends it
    signal.signal(signal.SIGPROF, give_up)
    resource.setrlimit(resource.RLIMIT_AS, (settings.INGEST_MAX_MEMORY, settings.INGEST_MAX_MEMORY))


def give_up(*_: Any) -> None:
    raise NotSmall


def end_with_parent() -> None:
    """Ends this process when the web process is gone, however that ended."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


def answer(job: Job, begun: Callable[[int], None]) -> tuple[str, Any]:
    """What came of it. Ends the process when that takes too much time or memory."""
    from django.conf import settings
    from django.db import connection

    signal.alarm(settings.INGEST_MAX_SECONDS)
    if job.small:
        signal.setitimer(signal.ITIMER_PROF, SMALL_CPU_S)
    try:
        return MADE, read(job, begun)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except NotSmall:
        return NOT_SMALL, None
    except Exception as error:
        return REFUSED, sendable(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        connection.close()


def read(job: Job, begun: Callable[[int], None]) -> Any:
    """`making.read_and_store` for its owner."""
    from kubesched_ui import current_viewer
    from kubesched_ui.scenarios.import_scenario import read_and_store

    with current_viewer.looking(current_viewer.By(job.owner_id)):
        return read_and_store(job.files, job.name, job.origin, job.token, begun)


def sendable(error: Exception) -> Exception:
    """The error, as another process can have it."""
    from django.db import DatabaseError

    from kubesched_ui.ingest import IngestError

    if isinstance(error, IngestError | OSError | DatabaseError):
        return error.with_traceback(None)
    logger.exception("An upload could not be read")
    return RuntimeError(f"{type(error).__name__} in the process that reads uploads; its log has the details")
