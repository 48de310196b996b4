"""Room on the disk that deleted runs leave in SQLite's file. PostgreSQL gives its own back, to its own new rows."""

from __future__ import annotations

import logging
import shutil
import time
from pathlib import Path

from django.db import OperationalError, connection

from kubesched_ui.models import Run
from kubesched_ui.observability.collectors import size_and_free

logger = logging.getLogger(__name__)

WORTH = 64 * 1024 * 1024  # bytes; so much new runs fill again soon
MOST = 2 * 1024**3  # bytes that are copied in a few seconds
READERS_S = 0.5  # until those that read the old file are done


def worth() -> bool:
    """Whether much of the file is free, and what is left of it copied soon."""
    if connection.vendor != "sqlite":
        return False
    size, free = size_and_free()
    used = size - free
    room = shutil.disk_usage(Path(connection.settings_dict["NAME"]).parent).free
    return free >= max(WORTH, used // 4) and used <= MOST and room >= 2 * used


def give_back(alone: bool = False) -> int:
    """Writes the file anew, without what is free in it, where that is worth it; bytes that were freed.

    Readers go on, writers wait for the few seconds. So not while a run is under way: its worker is the writer. `alone`:
    nobody else is there. To let
    the file shrink as it goes (auto_vacuum) would make every write slower by a quarter.
    """
    if not worth() or (not alone and Run.objects.filter(state=Run.State.RUNNING).exists()):
        return 0
    before = size_and_free()[0]
    with connection.cursor() as cursor:
        try:
            cursor.execute("VACUUM")
            for _ in range(10):  # the file itself shrinks when nobody reads as it was before
                busy, *_ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                if not busy:
                    break
                time.sleep(READERS_S)
        except OperationalError as error:  # nothing depends on it
            logger.warning("Could not vacuum the database: %s", error)
            return 0
    return before - size_and_free()[0]
