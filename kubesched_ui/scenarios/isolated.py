"""What runs in the process that reads uploads. Imports nothing of Django before `prepare`."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from kubesched_ui.ingest.run_file import RunFile


def prepare() -> None:
    """Once at its start: its bounds, and an end with its parent."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
    django.setup()
    from django.conf import settings

    resource.setrlimit(resource.RLIMIT_AS, (settings.INGEST_MAX_MEMORY, settings.INGEST_MAX_MEMORY))


def end_with_parent() -> None:
    """Ends this process when the web process is gone, however that ended."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


def read(
    files: list[tuple[str, bytes | Path]], name: str, origin: str, token: str = "", owner_id: int | None = None
) -> tuple[int, RunFile | None]:
    """`making.read_and_store` for the user `owner_id`; ends the process when it takes too much time or memory. Raises
    IngestError."""
    from django.conf import settings
    from django.db import connection

    from kubesched_ui import viewing
    from kubesched_ui.scenarios.making import read_and_store

    signal.alarm(settings.INGEST_MAX_SECONDS)
    try:
        with viewing.looking(viewing.By(owner_id)):
            return read_and_store(files, name, origin, token)
    except MemoryError:
        os._exit(1)
    finally:
        signal.alarm(0)
        connection.close()
