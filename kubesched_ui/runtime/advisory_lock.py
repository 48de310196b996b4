"""What several machines that start together must not do at once: one does it, then the next finds it done."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def one_at_a_time(what: str) -> Iterator[None]:
    """Waits until no other process is within the same `with`, on whichever machine. It ends with its process, too.

    On PostgreSQL alone: on SQLite `manage.py run` holds the folder.
    """
    if connection.vendor != "postgresql":
        yield
        return
    lock = connection.copy()  # a connection of its own: what is done may close the other
    try:
        with lock.cursor() as cursor:
            cursor.execute("SET lock_timeout = 0")  # it may take the other minutes
            cursor.execute("SELECT pg_advisory_lock(%s)", [zlib.crc32(f"kubesched {what}".encode())])
        yield
    finally:
        lock.close()
