"""Scenarios stored part by part: short transactions, so that others write in between.

What is not complete is not there (models.Complete). A part proves first that nobody took its scenario for abandoned.
"""

from __future__ import annotations

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

PART = 1000  # objects in one transaction
ABANDONED_AFTER_S = 60  # without a sign from who stores it
REMOVED_AT_ONCE = 20  # parts of abandoned scenarios in one sweep
LONGEST_PAUSE_S = 0.5
TABLE = ClusterObject._meta.db_table
COLUMNS = ("position", "kind", "api_version", "namespace", "name", "data")
Row = Sequence[Any]  # the values of COLUMNS


@contextmanager
def storing(begun: Callable[[int], None] | None = None, **values: Any) -> Iterator[Scenario]:
    """A new scenario, complete after the block; if that fails, it is gone again. `values`: its columns. `begun`: is
    told its number once there is something to remove. Within a transaction all of it is one."""
    scenario = Scenario.everything.create(**values, storing_at=Now())
    try:
        if begun is not None:
            begun(scenario.pk)
        yield scenario
        scenario.created_at, scenario.storing_at = timezone.now(), None
        with transaction.atomic(savepoint=False):
            prove(scenario.pk)
            Scenario.everything.filter(pk=scenario.pk).update(storing_at=None, created_at=scenario.created_at)
    except BaseException:
        if not connection.in_atomic_block:
            remove(scenario.pk)
        raise


def add(scenario: Scenario, rows: Iterable[Row]) -> None:
    """Its objects, a part after the other."""
    rows = iter(rows)
    sql = f"INSERT INTO {TABLE} (scenario_id, {', '.join(COLUMNS)}) VALUES (%s, {', '.join(['%s'] * len(COLUMNS))})"
    while part := [(scenario.pk, *row) for row in islice(rows, PART)]:  # made before the database is held
        write(scenario, sql, part)


def copy(scenario: Scenario, source: Scenario, but: ClusterObject) -> None:
    """The objects of another scenario but for one, a part after the other."""
    names = ", ".join(COLUMNS)
    sql = f"INSERT INTO {TABLE} (scenario_id, {names}) SELECT %s, {names} FROM {TABLE}"
    sql += " WHERE scenario_id = %s AND position >= %s AND position < %s AND id <> %s"
    last = source.cluster_objects.aggregate(last=Max("position"))["last"]
    for first in range(0, (last or 0) + 1, PART):
        write(scenario, sql, [(scenario.pk, source.pk, first, first + PART, but.pk)])


def write(scenario: Scenario, sql: str, values: Sequence[Sequence[Any]]) -> None:
    """Writes in a transaction of its own, then lets others write for as long as that took."""
    began = time.perf_counter()
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        prove(scenario.pk)
        cursor.executemany(sql, values)
    if connection.vendor == "sqlite" and not connection.in_atomic_block:  # there one writes at a time, whoever is first
        time.sleep(min(time.perf_counter() - began, LONGEST_PAUSE_S))


def prove(pk: int) -> None:
    """A sign of life. Raises IngestError if the scenario was taken for abandoned meanwhile."""
    if not Scenario.everything.filter(pk=pk).exclude(storing_at=None).update(storing_at=Now()):
        raise IngestError(Where("upload"), "took too long to be stored and was removed; send it again")


def remove(pk: int, most: int | None = None) -> int:
    """Removes a scenario that is not complete, at most so many parts of it; how many there were."""
    parts = 0
    objects = ClusterObject.objects.filter(scenario_id=pk)
    while parts != most and (some := list(objects.values_list("pk", flat=True)[:PART])):
        ClusterObject.objects.filter(pk__in=some).delete()
        parts += 1
    if parts != most:
        Scenario.everything.filter(pk=pk).exclude(storing_at=None).delete()
    return parts


def sweep() -> None:
    """Removes what is left of scenarios whose reader is gone, a little each time."""
    now, long = Now(), timedelta(seconds=ABANDONED_AFTER_S)
    left = REMOVED_AT_ONCE
    silent = Q(storing_at__lt=now - long) | Q(storing_at__gt=now + long)  # the clock may have been put back
    for pk in Scenario.everything.filter(silent).values_list("pk", flat=True):
        logger.info("What was stored of scenario %s is removed: its reader is gone", pk)
        left -= remove(pk, left)
        if left <= 0:
            return
