"""Returns disk space of deleted runs in the SQLite file to the file system. PostgreSQL reuses such space for new
rows."""

import logging
import shutil
import time
from pathlib import Path

from django.db import OperationalError, connection

from kubesched_ui.models import Run
from kubesched_ui.observability.collectors import size_and_free

logger = logging.getLogger(__name__)

WORTH = 64 * 1024 * 1024  # bytes; new runs soon fill less than this again
MOST = 2 * 1024**3  # bytes that can be copied in a few seconds
READERS_S = 0.5  # time for readers of the old file to finish


def is_worthwhile() -> bool:
    """Return whether much of the file is free and the rest can be copied quickly."""
    if connection.vendor != "sqlite":
        return False
    size, free = size_and_free()
    used = size - free
    unused = shutil.disk_usage(Path(connection.settings_dict["NAME"]).parent).free
    return free >= max(WORTH, used // 4) and used <= MOST and unused >= 2 * used


def vacuum(alone: bool = False) -> int:
    """Rewrite the file without its free pages if that is worthwhile. Return the number of freed bytes.

    Readers continue, writers wait for a few seconds. So this is not done during a run, whose worker writes. `alone`: no
    other process uses the database. Continuous shrinking (auto_vacuum) would make every write a quarter slower.
    """
    if not is_worthwhile() or (not alone and Run.objects.filter(state=Run.State.RUNNING).exists()):
        return 0
    before = size_and_free()[0]
    with connection.cursor() as cursor:
        try:
            cursor.execute("VACUUM")
            for _ in range(10):  # the file shrinks when no reader uses its old state
                busy, *_ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                if not busy:
                    break
                time.sleep(READERS_S)
        except OperationalError as error:  # optional work: a failure does no harm
            logger.warning("Could not vacuum the database: %s", error)
            return 0
    return before - size_and_free()[0]
