"""A lock between machines, for work that those starting together must not do at the same time."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def one_at_a_time(what: str) -> Iterator[None]:
    """Hold the lock `what` inside the `with` block; other processes on any machine wait. The lock ends with its
    process. This applies to PostgreSQL only; with SQLite, `manage.py run` locks the data folder."""
    if connection.vendor != "postgresql":
        yield
        return
    lock = connection.copy()  # a separate connection, because the block may close the other one
    try:
        with lock.cursor() as cursor:
            cursor.execute("SET lock_timeout = 0")  # the work of the other process may take minutes
            cursor.execute("SELECT pg_advisory_lock(%s)", [zlib.crc32(f"kubesched {what}".encode())])
        yield
    finally:
        lock.close()
