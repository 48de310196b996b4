"""Stores scenarios in parts: the transactions are short, so that others can write in between.

An incomplete scenario is invisible (models.CompleteManager). Each part first checks that the scenario was not removed
as abandoned.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import islice
from typing import Any

from django.db import connection, transaction
from django.db.models import Max, Q
from django.db.models.functions import Now
from django.utils import timezone

from kubesched_ui.ingest.errors import IngestError, Where
from kubesched_ui.models import ClusterObject, Scenario

logger = logging.getLogger(__name__)

PART = 4000  # objects per transaction; a smaller one writes the same pages of the indexes again and again
ABANDONED_AFTER_S = 60  # without a heartbeat from the process that stores the scenario
REMOVED_AT_ONCE = 5  # parts of abandoned scenarios that one sweep removes
LONGEST_PAUSE_S = 0.5
TABLE = ClusterObject._meta.db_table
COLUMNS = ("position", "kind", "api_version", "namespace", "name", "data")
Row = Sequence[Any]  # the values of COLUMNS


@contextmanager
def storing(
    begun: Callable[[int], object] | None = None, check: Callable[[bool], None] | None = None, **values: Any
) -> Iterator[Scenario]:
    """Create a scenario that is complete after the block; an exception removes it.

    `values`: its columns. `begun`: called with its ID once there is something to remove. `check`: raises an exception
    if the scenario may not be stored; called in the transactions that create it (True) and complete it (False). Inside
    a transaction, the whole block belongs to that transaction.
    """
    with transaction.atomic(savepoint=False):
        if check is not None:
            check(True)
        scenario = Scenario.everything.create(**values, storing_at=Now())
    try:
        if begun is not None:
            begun(scenario.pk)
        yield scenario
        scenario.created_at, scenario.storing_at = timezone.now(), None
        with transaction.atomic(savepoint=False):
            heartbeat(scenario.pk)
            if check is not None:
                check(False)
            Scenario.everything.filter(pk=scenario.pk).update(storing_at=None, created_at=scenario.created_at)
    except BaseException:
        if not connection.in_atomic_block:
            remove(scenario.pk)
        raise


def add(scenario: Scenario, rows: Iterable[Row]) -> None:
    """Add objects to the scenario, one transaction per part."""
    rows = iter(rows)
    places = ", ".join(["%s"] * len(COLUMNS))
    sql = f"INSERT INTO {TABLE} (scenario_id, {', '.join(COLUMNS)}) VALUES ({scenario.pk:d}, {places})"
    free_until = 0.0
    # Each part is built before the transaction locks the database, while others can write.
    while part := list(islice(rows, PART)):
        free_until = write(scenario, sql, part, free_until)


def copy(scenario: Scenario, source: Scenario, but: ClusterObject) -> None:
    """Copy the objects of another scenario except `but`, one transaction per part."""
    names = ", ".join(COLUMNS)
    sql = f"INSERT INTO {TABLE} (scenario_id, {names}) SELECT %s, {names} FROM {TABLE}"
    sql += " WHERE scenario_id = %s AND position >= %s AND position < %s AND id <> %s"
    last = source.cluster_objects.aggregate(last=Max("position"))["last"]
    free_until = 0.0
    for first in range(0, (last or 0) + 1, PART):
        free_until = write(scenario, sql, [(scenario.pk, source.pk, first, first + PART, but.pk)], free_until)


def write(scenario: Scenario, sql: str, values: Sequence[Sequence[Any]], free_until: float) -> float:
    """Write in a separate transaction, not before the time `free_until`. Return the time until which others can write:
    as long as this took."""
    began = time.perf_counter()
    if began < free_until:
        time.sleep(free_until - began)
        began = free_until
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        heartbeat(scenario.pk)
        cursor.executemany(sql, values)
    # SQLite has one writer at a time, and waiting writers have no queue.
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        return 0.0
    ended = time.perf_counter()
    return ended + min(ended - began, LONGEST_PAUSE_S)


def heartbeat(pk: int) -> None:
    """Write a heartbeat. Raises IngestError if the scenario was removed as abandoned."""
    if not Scenario.everything.filter(pk=pk).exclude(storing_at=None).update(storing_at=Now()):
        raise IngestError(Where("upload"), "took too long to be stored and was removed; upload it again")


def remove(pk: int, most: int | None = None) -> int:
    """Remove an incomplete scenario, at most `most` parts of it. Return the number of removed parts."""
    parts = 0
    objects = ClusterObject.objects.filter(scenario_id=pk)
    while parts != most and (some := list(objects.values_list("pk", flat=True)[:PART])):
        ClusterObject.objects.filter(pk__in=some).delete()
        parts += 1
    if parts != most:
        Scenario.everything.filter(pk=pk).exclude(storing_at=None).delete()
    return parts


def sweep() -> None:
    """Remove abandoned scenarios, a limited number of parts each time."""
    now, long = Now(), timedelta(seconds=ABANDONED_AFTER_S)
    left = REMOVED_AT_ONCE
    silent = Q(storing_at__lt=now - long) | Q(storing_at__gt=now + long)  # the clock may have been set back
    for pk in Scenario.everything.filter(silent).values_list("pk", flat=True):
        logger.info("Removed the incomplete scenario %s: the process that stored it is gone", pk)
        left -= remove(pk, left)
        if left <= 0:
            return
