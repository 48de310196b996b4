"""Disk space: new work is refused before the disk is full, and a run waits while the disk is full."""

import shutil
import tempfile
import time
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection

from kubesched_ui.observability.collectors import size_and_free
from kubesched_ui.runtime.outages import FULL, Outage, ServiceUnavailable

LEAST = 32 * 1024 * 1024  # bytes; with less free space the disk counts as full
WAITS = "waits-for-disk-space"  # cache key, set while a worker waits: web processes may not see its disk
WAITS_S = 90
RETRY_S = 60
RECENT_S = 5.0


def check_space() -> None:
    """Call before starting new work. Raises ServiceUnavailable if disk space is low."""
    if problem := space_problem():
        raise ServiceUnavailable(Outage(problem, RETRY_S))


def space_problem() -> str:
    """Return why no new work is accepted, one or two sentences; "" if there is enough space."""
    if is_full():
        return FULL.message
    free, least = free_bytes(), settings.DISK_MIN_FREE_BYTES
    if free < least:
        return f"The disk is almost full: {size_text(free)} free, {size_text(least)} required for new work. {DELETE}"
    if most := settings.DATABASE_MAX_BYTES:
        size, unused = size_and_free()
        if size - unused > most:
            return f"The database is almost full: {size_text(size - unused)} of {size_text(most)} used. {DELETE}"
    return ""


_recent: tuple[float, str] = (-RECENT_S, "")


def recent_problem() -> str:
    """Return the same for every displayed page, cached for a few seconds."""
    global _recent
    if time.monotonic() - _recent[0] >= RECENT_S:
        try:
            _recent = (time.monotonic(), space_problem())
        except (OSError, DatabaseError):  # the page reports this error itself
            _recent = (time.monotonic(), "")
    return _recent[1]


DELETE = "Delete runs and scenarios that you do not need. Existing recordings are not affected."


def is_full() -> bool:
    """Return whether nothing more can be stored. Active runs then wait."""
    return free_bytes() < LEAST or bool(cache.get(WAITS))


def notify_waiting() -> None:
    """Notify web processes that a worker waits for disk space."""
    cache.set(WAITS, 1, WAITS_S)


def clear_waiting() -> None:
    """Withdraw that notice."""
    cache.delete(WAITS)


def free_bytes() -> int:
    """Return the free bytes where this process writes: the file of the database, uploads."""
    folders = {Path(settings.VAR_DIR), Path(tempfile.gettempdir())}
    if connection.vendor == "sqlite":
        folders.add(Path(connection.settings_dict["NAME"]).parent)
    return min(shutil.disk_usage(folder).free for folder in folders)


def size_text(size: float) -> str:
    """Return a number of bytes as text: `1.5 GB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.4g} TB"
