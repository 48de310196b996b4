"""Room on the disk that deleted runs leave in SQLite's file. PostgreSQL gives its own back."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from django.conf import settings
from django.db import OperationalError, connection

logger = logging.getLogger(__name__)

WORTH = 64 * 1024 * 1024  # bytes; so much new runs fill again soon
MOST = 2 * 1024**3  # bytes that are copied in a few seconds


def give_back() -> int:
    """Writes the file anew, without what is free in it, where that is much of it and done soon; bytes that were freed.

    For the start, before anybody else is at it. Until then new runs use the room; to let the file shrink as it goes
    (auto_vacuum) would make every write slower by a quarter.
    """
    if connection.vendor != "sqlite":
        return 0
    with connection.cursor() as cursor:
        size, pages, free = (
            cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
        )
        used, gone = size * (pages - free), size * free
        room = shutil.disk_usage(Path(settings.DATABASES["default"]["NAME"]).parent).free
        if gone < max(WORTH, used // 4) or used > MOST or room < 2 * used:
            return 0
        try:
            cursor.execute("VACUUM")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except OperationalError as error:  # the start does not depend on it
            logger.warning("The room that deleted runs left is not given back: %s", error)
            return 0
    return gone
