"""Metrics about the database and the disk, which are the same in every web process.

Each scrape queries them, at most every few seconds and with a timeout. If the database does not answer,
`kubesched_database_up` is 0 and the other database metrics are omitted.
"""

import logging
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, Min, Q, Sum
from django.utils import timezone
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kubesched_ui.models import Run, RunQuerySet, Scenario, Upgrade, UpgradeQuerySet
from kubesched_ui.observability.bounded_probe import BoundedProbe
from kubesched_ui.observability.metric_sources import Sample, of_the_database, of_this_process
from kubesched_ui.work.models import Work

logger = logging.getLogger(__name__)

WAIT_S = 4  # Prometheus times out after 10 seconds
KEPT_S = 5
FILES = 10_000  # maximum number of files of var/ to examine
LATELY = timedelta(minutes=5)
LATEST = 1000  # maximum number of runs or previews to examine for their waiting time


def samples() -> list[Sample]:
    """Return all samples. Raises the exceptions of the database."""
    try:
        others = (sample for source in of_the_database for sample in source())
        return [*work(), *throughput(), *scenario_counts(), *database_size(), *others]
    finally:
        connection.close()


def work() -> Iterator[Sample]:
    """Yield metrics of finished and queued background work by kind."""
    now = timezone.now()
    for kind, rows in kinds().items():
        labels = {"kind": kind}
        counts = dict(rows.order_by().values_list("state").annotate(Count("pk")))
        for state in Work.State.values:
            yield Sample("work", "Background work by kind and state.", counts.get(state, 0), {**labels, "state": state})
        queued = rows.filter(state=Work.State.QUEUED)
        oldest = queued.aggregate(oldest=Min("created_at"))["oldest"]
        waits = (now - oldest).total_seconds() if oldest else 0
        yield Sample("queue_length", "Work waiting for a worker.", counts.get("queued", 0), labels)
        yield Sample("queue_oldest_seconds", "Longest current wait, in seconds.", max(waits, 0), labels)
        waited = waited_lately(rows)
        yield Sample(
            "queue_waited_seconds_max", "Longest wait of work started in the last 5 minutes.", max(waited), labels
        )
        mean = sum(waited) / len(waited)
        yield Sample("queue_waited_seconds_mean", "Mean wait of work started in the last 5 minutes.", mean, labels)
        stalled = rows.stalled().count()
        yield Sample("work_stalled", "Work without a recent heartbeat of a worker.", stalled, labels)


def kinds() -> dict[str, RunQuerySet | UpgradeQuerySet]:
    """Return the kinds of work: short runs and long runs, which have separate queues, and upgrade previews."""
    short = {"lane": Run.Lane.SHORT}
    runs = Run.objects.all()
    return {"short": runs.filter(**short), "long": runs.exclude(**short), "upgrade": Upgrade.objects.all()}


def waited_lately(rows: RunQuerySet | UpgradeQuerySet) -> list[float]:
    """Return the seconds in the queue of recently started work; [0] if there is none."""
    newest: Any = rows.order_by("-pk").values("pk")[:LATEST]
    began = rows.filter(pk__in=newest, started_at__gte=timezone.now() - LATELY)
    times = began.values_list("created_at", "started_at")
    return [max((started - made).total_seconds(), 0.0) for made, started in times if started] or [0.0]


def throughput() -> Iterator[Sample]:
    """Yield the speed of active runs."""
    running = Q(state=Work.State.RUNNING)
    found = Run.objects.aggregate(pace=Sum("pods_per_s", filter=running), cycles=Sum("cycles_done"))
    yield Sample("cycles_per_second", "Scheduling cycles per second of all active runs.", found["pace"] or 0)
    yield Sample("cycles_stored", "Recorded scheduling cycles of all stored runs.", found["cycles"] or 0)


def scenario_counts() -> Iterator[Sample]:
    """Yield the number of scenarios by origin."""
    for origin, number in Scenario.objects.order_by().values_list("origin").annotate(Count("pk")):
        yield Sample("scenarios", "Scenarios by origin.", number, {"origin": origin})


def database_size() -> Iterator[Sample]:
    """Yield the bytes of the database, and the free bytes in it that new rows use first."""
    size, free = size_and_free()
    yield Sample("database_bytes", "Size of the database.", size)
    yield Sample("database_free_bytes", "Bytes in the database that are free for new rows (SQLite).", free)


def size_and_free() -> tuple[int, int]:
    """Return the bytes of the database and the free bytes in it. PostgreSQL does not report the latter (0)."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_database_size(current_database())")
            return cursor.fetchone()[0], 0
        page, pages, free = (
            cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
        )
        return page * pages, page * free


def folder_size(folder: Path) -> int:
    """Return the bytes of the files in a folder, at most of the first FILES."""
    size = 0
    for path in islice(folder.rglob("*"), FILES):
        with suppress(OSError):  # deleted meanwhile
            size += 0 if path.is_dir() else path.lstat().st_size
    return size


def disk() -> list[Sample]:
    """Return metrics of var/ and its disk."""
    usage = shutil.disk_usage(settings.VAR_DIR)
    return [
        Sample("var_bytes", "Size of var/.", folder_size(settings.VAR_DIR)),
        Sample("disk_free_bytes", "Free bytes on the disk of var/.", usage.free),
        Sample("disk_bytes", "Size of the disk of var/.", usage.total),
    ]


ask_stored = BoundedProbe(samples, WAIT_S, KEPT_S)
ask_disk = BoundedProbe(disk, WAIT_S, KEPT_S)


class ProcessCollector(Collector):
    """Metrics that other packages count in this process."""

    def describe(self) -> list[Metric]:
        return []  # otherwise the registration would collect them

    def collect(self) -> Iterator[Metric]:
        yield from families([sample for source in of_this_process for sample in source()])


class StoredCollector(ProcessCollector):
    """Queries database and disk at each scrape."""

    def collect(self) -> Iterator[Metric]:
        ask_disk.begin()
        found: list[Sample] = []
        up = 1.0
        try:
            found = ask_stored()
        except Exception as error:  # the scrape reports the failure as a metric instead of failing
            logger.warning("The database metrics are missing: %s", error or type(error).__name__)
            up = 0.0
        found = [Sample("database_up", "Whether the database answered this scrape.", up), *found]
        try:
            found += ask_disk()
        except (OSError, TimeoutError) as error:
            logger.warning("The disk metrics are missing: %s", error)
        yield from families(found)


def families(found: list[Sample]) -> list[Metric]:
    """Return the samples grouped by name as metrics of Prometheus."""
    named: dict[str, Any] = {}
    for sample in found:
        kind = CounterMetricFamily if sample.counter else GaugeMetricFamily
        if sample.name not in named:
            named[sample.name] = kind(f"kubesched_{sample.name}", sample.about, labels=list(sample.labels))
        named[sample.name].add_metric(list(sample.labels.values()), sample.value)
    return list(named.values())
