"""Creates a backup: a consistent snapshot of all tables, while others continue to work, in constant memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from kubesched_ui.backup import tables
from kubesched_ui.backup.format import Batch, End, Header, Writer

CHUNK = 200  # rows per fetch
BATCH_BYTES = 1024 * 1024


def create_backup(file: IO[bytes]) -> dict[str, int]:
    """Write all tables to the file and return the number of rows of each. Raises the exceptions of the database and of
    the disk."""
    kept = tables.kept()
    with snapshot():
        names = {label: [field.attname for field in tables.columns(model)] for label, model in kept.items()}
        writer, done = Writer(file), dict.fromkeys(kept, 0)
        migrations = sorted(tables.applied())
        writer.add(Header(timezone.now().isoformat(timespec="seconds"), settings.VERSION, migrations, names))
        for label, model in kept.items():
            for rows in batched(tables.rows(model, CHUNK)):
                writer.add(Batch(label, rows))
                done[label] += len(rows)
        writer.add(End(done))
        writer.close()
    return done


def batched(rows: Iterator[tables.Row]) -> Iterator[list[Any]]:
    """Yield the rows in lists of about a megabyte."""
    batch: list[Any] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@contextmanager
def snapshot() -> Iterator[None]:
    """All reads inside the block see the database at one point in time. It blocks no other process."""
    if connection.vendor == "sqlite":
        # Not `atomic`, which would take the lock of the writer. In WAL mode, the transaction of a reader sees one
        # snapshot.
        connection.ensure_connection()
        connection.cursor().execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            connection.cursor().execute("ROLLBACK")
        return
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield
