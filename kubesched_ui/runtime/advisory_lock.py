"""Locks between machines: for work that must not be done at the same time, and for checks before a write."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


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
            cursor.execute("SELECT pg_advisory_lock(%s)", [_number(what)])
        yield
    finally:
        lock.close()


def lock_until_commit(what: str) -> None:
    """Wait until no other transaction holds the lock `what`, and hold it until this transaction ends. What a check then
    counts cannot change before the write that it permits. SQLite has one writing transaction at a time anyway.

    Raises TransactionManagementError outside a transaction.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError(f"A lock of {what} needs a transaction")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_number(what)])


def _number(what: str) -> int:
    return zlib.crc32(f"kubesched {what}".encode())
