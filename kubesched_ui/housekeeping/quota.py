"""Checks whether a user may start new work. A refusal states the limit, the usage and what to do.

A check counts in the transaction that stores the new work, under a lock of the user. Otherwise requests that are sent
at once would all pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import Coalesce, Length

from kubesched_ui.housekeeping.disk_space import size_text
from kubesched_ui.models import (
    ClusterObject,
    ClusterTable,
    Quota,
    Run,
    Scenario,
    Upgrade,
    WrittenLesson,
    current_viewer,
)
from kubesched_ui.runtime.advisory_lock import lock_until_commit
from kubesched_ui.work.models import Work
from scheduler_core.errors import InputError

# Further work that counts as active, and functions owner -> further stored bytes. Applications of upper layers append.
COUNTED: list[Any] = [Upgrade]
SIZES: list[Callable[[int | None], int]] = []
NAMED = 3  # number of objects to delete that a message names

_as_one: ContextVar[bool] = ContextVar("as_one", default=False)


class OverQuota(InputError):
    """A quota is exceeded. One or two sentences state the limit, the usage and what to delete."""

    def __init__(self, problem: str) -> None:
        super().__init__("", "", problem)

    def __reduce__(self) -> tuple[type[OverQuota], tuple[str]]:
        return OverQuota, (self.problem,)  # a worker process may raise it


def check_scenario() -> None:
    """Call before reading a scenario, to refuse it early. `check_storing` decides. Raises OverQuota."""
    owner = current_viewer.owner_id()
    limits = limits_of(owner)
    check_number("scenarios", scenarios_of(owner), limits.scenarios)
    check_size(owner, limits)


def check_storing(begins: bool) -> None:
    """Call in the transactions that create a scenario (`begins`) and complete it. In between, others may have been
    completed. Raises OverQuota."""
    owner, limits = lock_owner()
    if begins:
        check_number("scenarios", scenarios_of(owner), limits.scenarios)
    check_size(owner, limits)


def check_lesson() -> None:
    """Call before storing a lesson; a user may have as many as scenarios. Raises OverQuota."""
    owner, limits = lock_owner()
    check_number("lessons", WrittenLesson._base_manager.filter(owner_id=owner), limits.scenarios)
    check_size(owner, limits)


def check_run(scenario: Scenario, pods: Sequence[str] | None, copies: int) -> None:
    """Call in the transaction that creates a run of these pods (None: all pods of the scenario). Raises OverQuota."""
    owner, limits = lock_owner()
    number = (scenario.counts.get("Pod", 0) if pods is None else len(pods)) + copies
    if limits.pods and number > limits.pods:
        raise OverQuota(f"The run would have {number:,} pods. The limit is {limits.pods:,}. Choose fewer pods.")
    check_number("runs", runs_of(owner), limits.runs)
    check_running(owner, limits)
    check_size(owner, limits)


def check_experiment() -> None:
    """Call in the transaction that creates an experiment. Raises OverQuota."""
    owner, limits = lock_owner()
    check_running(owner, limits)
    check_size(owner, limits)


def check_number(what: str, have: QuerySet[Any], limit: int) -> None:
    if limit and (number := have.count()) >= limit:
        oldest = names_of(have.order_by("created_at", "pk"))
        raise OverQuota(
            f"You have {number:,} of {limit:,} {what}. Delete some that you do not need; the oldest are {oldest}."
        )


def check_running(owner: int | None, limits: QuotaLimits) -> None:
    if limits.running and not _as_one.get() and (number := active_count(owner)) >= limits.running:
        have = [thing for rows in active_work(owner) for thing in rows.order_by("created_at", "pk")[:NAMED]]
        names = ", ".join(map(name_of, sorted(have, key=lambda thing: thing.created_at)[:NAMED]))
        raise OverQuota(
            f"You have {number:,} of {limits.running:,} active runs ({names}). Wait until one finishes, or cancel one."
        )


def check_size(owner: int | None, limits: QuotaLimits) -> None:
    if limits.size and (size := size_of(owner)) >= limits.size:
        kinds: tuple[Any, ...] = (runs_of(owner), scenarios_of(owner))
        large = [thing for rows in kinds for thing in rows.exclude(stored_bytes=None).order_by("-stored_bytes")[:NAMED]]
        large.sort(key=lambda thing: -thing.stored_bytes)
        largest = ", ".join(f"{name_of(thing)} ({size_text(thing.stored_bytes)})" for thing in large[:NAMED])
        raise OverQuota(
            f"You store {size_text(size)} of {size_text(limits.size)}. Delete what you do not need; "
            f"the largest are {largest}."
        )


@contextmanager
def as_one() -> Iterator[None]:
    """Count the runs created inside the `with` block as one, and check that it may start. Call in the transaction that
    creates them. Raises OverQuota."""
    check_running(*lock_owner())
    token = _as_one.set(True)
    try:
        yield
    finally:
        _as_one.reset(token)


def lock_owner() -> tuple[int | None, QuotaLimits]:
    """Return the ID of the current user and their limits. Concurrent checks of one user run one after the other."""
    owner = current_viewer.owner_id()
    lock_until_commit(f"quota of user {owner}")
    return owner, limits_of(owner)


def names_of(rows: QuerySet[Any]) -> str:
    """Return the first few objects that are not pinned: `run 7, run 9`."""
    rows = rows if rows.model is WrittenLesson else rows.filter(pinned=False)
    return ", ".join(name_of(thing) for thing in rows[:NAMED]) or "all pinned"


def name_of(thing: Any) -> str:
    return f"{thing._meta.verbose_name} {thing.pk}"


def usage_texts() -> list[str]:
    """Return the usage of the current viewer as short texts; empty without limits."""
    owner = current_viewer.owner_id()
    limits = limits_of(owner)
    found = []
    if limits.size:
        found.append(f"{size_text(size_of(owner))} of {size_text(limits.size)}")
    if limits.scenarios:
        found.append(f"{scenarios_of(owner).count():,} of {limits.scenarios:,} scenarios")
    if limits.runs:
        found.append(f"{runs_of(owner).count():,} of {limits.runs:,} runs")
    return found


# ---- usage


ROW = 200  # bytes per row in addition to the measured columns, including its share of the indexes


def scenarios_of(owner: int | None) -> models.QuerySet[Scenario]:
    """Return the scenarios that count for the quota: all but samples."""
    return Scenario._base_manager.filter(owner_id=owner).exclude(origin=Scenario.Origin.SAMPLE)


def runs_of(owner: int | None) -> models.QuerySet[Run]:
    return Run._base_manager.filter(owner_id=owner)


def active_count(owner: int | None) -> int:
    """Return the number of queued and running runs, upgrade previews and experiments. All runs of a preview count as
    one."""
    return sum(rows.count() for rows in active_work(owner))


def active_work(owner: int | None) -> list[QuerySet[Any]]:
    """Return the active runs that belong to no upgrade preview, and further active work."""
    runs = runs_of(owner).filter(state__in=Run.ACTIVE, upgrades=None)
    return [runs, *(model._base_manager.filter(owner=owner, state__in=Work.ACTIVE) for model in COUNTED)]


def size_of(owner: int | None) -> int:
    """Return the stored bytes, after measuring runs and scenarios without a size. A finished run does not change, nor
    does a scenario."""
    for run in runs_of(owner).filter(stored_bytes=None).exclude(state__in=Run.ACTIVE).only("pk"):
        runs_of(owner).filter(pk=run.pk).update(stored_bytes=measure(run))
    for scenario in scenarios_of(owner).filter(stored_bytes=None, storing_at=None).only("pk"):
        scenarios_of(owner).filter(pk=scenario.pk).update(stored_bytes=measure(scenario))
    rows: tuple[models.QuerySet[Any], ...] = (runs_of(owner), scenarios_of(owner))
    measured = sum(found.aggregate(size=Coalesce(Sum("stored_bytes"), 0))["size"] for found in rows)
    return int(measured) + sum(size(owner) for size in SIZES)


def parts(kind: type[Run] | type[Scenario]) -> dict[type[models.Model], str]:
    """Return the tables whose rows belong to a run or scenario -> the column that references it."""
    if kind is Scenario:
        return {ClusterObject: "scenario", ClusterTable: "scenario", WrittenLesson: "scenario"}
    return {
        relation.related_model: relation.field.name
        for relation in Run._meta.related_objects
        if relation.one_to_many and relation.related_model is not Run and columns(relation.related_model)
    }


def columns(model: type[models.Model]) -> list[str]:
    """Return the columns that may be long."""
    return [f.name for f in model._meta.concrete_fields if isinstance(f, models.BinaryField | models.TextField)]


def measure(thing: Run | Scenario) -> int:
    """Return the bytes of the rows of a run or scenario. Databases return the length of a value without reading it."""
    size = 0
    for model, name in parts(type(thing)).items():
        sums = {f"of_{column}": Coalesce(Sum(Length(column)), 0) for column in columns(model)}
        found = model._base_manager.filter(**{name: thing.pk}).aggregate(rows=Count("pk"), **sums)
        size += found.pop("rows") * ROW + sum(found.values())
    return size


# ---- limits


@dataclass(frozen=True)
class QuotaLimits:
    """0 means no limit. `size`: stored bytes. `pods`: per run. `running`: at the same time. `days`: retention
    period."""

    size: int
    scenarios: int
    runs: int
    pods: int
    running: int
    days: int


def default_limits() -> QuotaLimits:
    """Return the default limits."""
    return QuotaLimits(
        size=settings.QUOTA_BYTES,
        scenarios=settings.QUOTA_SCENARIOS,
        runs=settings.QUOTA_RUNS,
        pods=settings.QUOTA_PODS,
        running=settings.QUOTA_RUNNING,
        days=settings.KEEP_DAYS,
    )


def limits_of(owner: int | None) -> QuotaLimits:
    """Return the limits of a user."""
    own = Quota.objects.filter(user_id=owner).first() if owner is not None else None
    return default_limits() if own is None else limits_with(own)


def limits_with(own: Quota) -> QuotaLimits:
    """Return the limits of the settings, overridden by those that an administrator set."""
    given = {field.name: getattr(own, field.name) for field in fields(QuotaLimits)}
    named = {name: value for name, value in given.items() if value is not None}
    return QuotaLimits(**{**vars(default_limits()), **named})
