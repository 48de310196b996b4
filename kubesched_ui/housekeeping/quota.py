"""Checks whether a user may start new work. A refusal states the limit, the usage and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection

from kubesched_ui import current_viewer
from kubesched_ui.housekeeping import usage
from kubesched_ui.housekeeping.disk_space import shown
from kubesched_ui.housekeeping.quota_settings import Limits, limits_of
from kubesched_ui.models import Run, Scenario
from scheduler_core.errors import InputError

NAMED = 3  # number of objects to delete that a message names

_one: ContextVar[bool] = ContextVar("one", default=False)


class OverQuota(InputError):
    """A quota is exceeded. One or two sentences state the limit, the usage and what to delete."""

    def __init__(self, problem: str) -> None:
        super().__init__("", "", problem)


def check_scenario() -> None:
    """Call before storing a scenario. Raises OverQuota."""
    owner, limits = beginning()
    if limits.scenarios:
        have = usage.scenarios_of(owner)
        if have.count() >= limits.scenarios:
            raise OverQuota(
                f"You have {have.count():,} of {limits.scenarios:,} scenarios. Delete some that you do not "
                f"need; the oldest are {named(have.order_by('created_at', 'pk'))}."
            )
    check_size(owner, limits)


def check_run(scenario: Scenario, pods: Sequence[str] | None, copies: int) -> None:
    """Call before creating a run of these pods (None: all pods of the scenario). Raises OverQuota."""
    owner, limits = beginning()
    number = (scenario.counts.get("Pod", 0) if pods is None else len(pods)) + copies
    if limits.pods and number > limits.pods:
        raise OverQuota(f"The run would have {number:,} pods, of {limits.pods:,} that it may. Choose fewer of them.")
    if limits.runs:
        have = usage.runs_of(owner)
        if have.count() >= limits.runs:
            raise OverQuota(
                f"You have {have.count():,} of {limits.runs:,} runs. Delete some that you do not need; the "
                f"oldest are {named(have.order_by('created_at', 'pk'))}."
            )
    check_running(owner, limits)
    check_size(owner, limits)


def check_running(owner: int | None, limits: Limits) -> None:
    if limits.running and not _one.get() and (number := usage.under_way(owner)) >= limits.running:
        have = usage.runs_of(owner).filter(state__in=Run.ACTIVE).order_by("created_at", "pk")
        raise OverQuota(
            f"You have {number:,} of {limits.running:,} active runs ({named(have)}). Wait until one finishes, "
            f"or cancel one."
        )


def check_size(owner: int | None, limits: Limits) -> None:
    if limits.size and (size := usage.size_of(owner)) >= limits.size:
        kinds: tuple[Any, ...] = (usage.runs_of(owner), usage.scenarios_of(owner))
        large = [thing for rows in kinds for thing in rows.exclude(stored_bytes=None).order_by("-stored_bytes")[:NAMED]]
        large.sort(key=lambda thing: -thing.stored_bytes)
        largest = ", ".join(f"{called(thing)} ({shown(thing.stored_bytes)})" for thing in large[:NAMED])
        raise OverQuota(
            f"You store {shown(size)} of {shown(limits.size)}. Delete what you do not need; the largest are {largest}."
        )


@contextmanager
def as_one() -> Iterator[None]:
    """Count the runs created inside the `with` block as one, and check that it may start. Raises OverQuota."""
    check_running(*beginning())
    token = _one.set(True)
    try:
        yield
    finally:
        _one.reset(token)


def beginning() -> tuple[int | None, Limits]:
    """Return the ID of the current user and their limits. Locks the user's row, so that concurrent checks of one user
    run one after the other."""
    owner = current_viewer.owner_id()
    if owner is not None and connection.in_atomic_block:
        get_user_model().objects.select_for_update().filter(pk=owner).first()
    return owner, limits_of(owner)


def named(things: Any) -> str:
    """Return the first few objects that are not pinned: `run 7, run 9`."""
    return ", ".join(called(thing) for thing in things.filter(pinned=False)[:NAMED]) or "all pinned"


def called(thing: Run | Scenario) -> str:
    return f"{type(thing).__name__.lower()} {thing.pk}"


def told() -> list[str]:
    """Return the usage of the current viewer as short texts; empty without limits."""
    owner = current_viewer.owner_id()
    limits = limits_of(owner)
    return list(_told(owner, limits))


def _told(owner: int | None, limits: Limits) -> Iterable[str]:
    if limits.size:
        yield f"{shown(usage.size_of(owner))} of {shown(limits.size)}"
    if limits.scenarios:
        yield f"{usage.scenarios_of(owner).count():,} of {limits.scenarios:,} scenarios"
    if limits.runs:
        yield f"{usage.runs_of(owner).count():,} of {limits.runs:,} runs"
