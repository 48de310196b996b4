"""Checks whether a user may start new work. A refusal states the limit, the usage and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import QuerySet

from kubesched_ui import current_viewer
from kubesched_ui.housekeeping import usage
from kubesched_ui.housekeeping.disk_space import size_text
from kubesched_ui.housekeeping.quota_settings import QuotaLimits, limits_of
from kubesched_ui.models import Run, Scenario
from scheduler_core.errors import InputError

NAMED = 3  # number of objects to delete that a message names

_as_one: ContextVar[bool] = ContextVar("as_one", default=False)


class OverQuota(InputError):
    """A quota is exceeded. One or two sentences state the limit, the usage and what to delete."""

    def __init__(self, problem: str) -> None:
        super().__init__("", "", problem)


def check_scenario() -> None:
    """Call before storing a scenario. Raises OverQuota."""
    owner, limits = lock_owner()
    check_number("scenarios", usage.scenarios_of(owner), limits.scenarios)
    check_size(owner, limits)


def check_run(scenario: Scenario, pods: Sequence[str] | None, copies: int) -> None:
    """Call before creating a run of these pods (None: all pods of the scenario). Raises OverQuota."""
    owner, limits = lock_owner()
    number = (scenario.counts.get("Pod", 0) if pods is None else len(pods)) + copies
    if limits.pods and number > limits.pods:
        raise OverQuota(f"The run would have {number:,} pods. The limit is {limits.pods:,}. Choose fewer pods.")
    check_number("runs", usage.runs_of(owner), limits.runs)
    check_running(owner, limits)
    check_size(owner, limits)


def check_number(what: str, have: QuerySet[Any], limit: int) -> None:
    if limit and (number := have.count()) >= limit:
        oldest = names_of(have.order_by("created_at", "pk"))
        raise OverQuota(
            f"You have {number:,} of {limit:,} {what}. Delete some that you do not need; the oldest are {oldest}."
        )


def check_running(owner: int | None, limits: QuotaLimits) -> None:
    if limits.running and not _as_one.get() and (number := usage.active_count(owner)) >= limits.running:
        have = usage.runs_of(owner).filter(state__in=Run.ACTIVE).order_by("created_at", "pk")
        raise OverQuota(
            f"You have {number:,} of {limits.running:,} active runs ({names_of(have)}). Wait until one finishes, "
            f"or cancel one."
        )


def check_size(owner: int | None, limits: QuotaLimits) -> None:
    if limits.size and (size := usage.size_of(owner)) >= limits.size:
        kinds: tuple[Any, ...] = (usage.runs_of(owner), usage.scenarios_of(owner))
        large = [thing for rows in kinds for thing in rows.exclude(stored_bytes=None).order_by("-stored_bytes")[:NAMED]]
        large.sort(key=lambda thing: -thing.stored_bytes)
        largest = ", ".join(f"{name_of(thing)} ({size_text(thing.stored_bytes)})" for thing in large[:NAMED])
        raise OverQuota(
            f"You store {size_text(size)} of {size_text(limits.size)}. Delete what you do not need; "
            f"the largest are {largest}."
        )


@contextmanager
def as_one() -> Iterator[None]:
    """Count the runs created inside the `with` block as one, and check that it may start. Raises OverQuota."""
    check_running(*lock_owner())
    token = _as_one.set(True)
    try:
        yield
    finally:
        _as_one.reset(token)


def lock_owner() -> tuple[int | None, QuotaLimits]:
    """Return the ID of the current user and their limits. Locks the user's row, so that concurrent checks of one user
    run one after the other."""
    owner = current_viewer.owner_id()
    if owner is not None and connection.in_atomic_block:
        get_user_model().objects.select_for_update().filter(pk=owner).first()
    return owner, limits_of(owner)


def names_of(rows: QuerySet[Any]) -> str:
    """Return the first few objects that are not pinned: `run 7, run 9`."""
    return ", ".join(name_of(thing) for thing in rows.filter(pinned=False)[:NAMED]) or "all pinned"


def name_of(thing: Run | Scenario) -> str:
    return f"{type(thing).__name__.lower()} {thing.pk}"


def usage_texts() -> list[str]:
    """Return the usage of the current viewer as short texts; empty without limits."""
    owner = current_viewer.owner_id()
    limits = limits_of(owner)
    found = []
    if limits.size:
        found.append(f"{size_text(usage.size_of(owner))} of {size_text(limits.size)}")
    if limits.scenarios:
        found.append(f"{usage.scenarios_of(owner).count():,} of {limits.scenarios:,} scenarios")
    if limits.runs:
        found.append(f"{usage.runs_of(owner).count():,} of {limits.runs:,} runs")
    return found
