"""Room on the disk: new work is refused before it is full, and a run that meets a full one waits."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection

from kubesched_ui.observability.collectors import size_and_free
from kubesched_ui.outages import FULL, Trouble, Troubled

LEAST = 32 * 1024 * 1024  # bytes; with less the disk counts as full
WAITS = "waits-for-room"  # in the cache, while a worker waits: its disk may be none that a web process sees
WAITS_S = 90
RETRY_S = 60
LATELY_S = 5.0


def check_room() -> None:
    """For who is about to begin something new. Raises Troubled where there is too little room for it."""
    if problem := short():
        raise Troubled(Trouble(problem, RETRY_S))


def short() -> str:
    """Why nothing new is begun, in a sentence or two; "" if there is room."""
    if is_full():
        return FULL.said
    free, least = free_here(), settings.DISK_MIN_FREE_BYTES
    if free < least:
        return f"The disk is almost full: {shown(free)} free, {shown(least)} required for new work. {DELETE}"
    if most := settings.DATABASE_MAX_BYTES:
        size, room = size_and_free()
        if size - room > most:
            return f"The database is almost full: {shown(size - room)} of {shown(most)} used. {DELETE}"
    return ""


_lately: tuple[float, str] = (-LATELY_S, "")


def short_lately() -> str:
    """The same, for every page that is shown: asked every few seconds."""
    global _lately
    if time.monotonic() - _lately[0] >= LATELY_S:
        try:
            _lately = (time.monotonic(), short())
        except (OSError, DatabaseError):  # the page tells of that itself
            _lately = (time.monotonic(), "")
    return _lately[1]


DELETE = "Delete runs and scenarios that you do not need. Existing recordings are not affected."


def is_full() -> bool:
    """Whether nothing more can be stored; runs under way wait then."""
    return free_here() < LEAST or bool(cache.get(WAITS))


def waits() -> None:
    """Tells web processes that a worker waits for room."""
    cache.set(WAITS, 1, WAITS_S)


def no_longer() -> None:
    """It goes on."""
    cache.delete(WAITS)


def free_here() -> int:
    """Bytes that are free where this process writes: the database's file, uploads."""
    folders = {Path(settings.VAR_DIR), Path(tempfile.gettempdir())}
    if connection.vendor == "sqlite":
        folders.add(Path(connection.settings_dict["NAME"]).parent)
    return min(shutil.disk_usage(folder).free for folder in folders)


def shown(size: float) -> str:
    """`1.5 GB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.4g} TB"
