"""What is deleted by itself, and when: things that are not pinned, some days after they were last used.

Samples stay. Nothing goes sooner than a week after the days were set, so that its page has told the date.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Max, Q
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from kubesched_ui.housekeeping.quota_settings import limits_of, merged
from kubesched_ui.models import Quota, Retention, Run, Scenario, Upgrade

logger = logging.getLogger(__name__)

WARNING_DAYS = 7
AT_ONCE = 100  # of a kind; the next look takes the next ones


def ends(thing: Run | Scenario) -> datetime | None:
    """When it is deleted unless it is pinned; None for what stays: pinned, a sample, under way, with such a run."""
    days = limits_of(thing.owner_id).days
    if not days or thing.pinned:
        return None
    if isinstance(thing, Run):
        if thing.active:
            return None
        used = thing.finished_at or thing.created_at
    else:
        if thing.origin == Scenario.Origin.SAMPLE or holding().filter(scenario=thing).exists():
            return None
        newest = Run._base_manager.filter(scenario=thing).aggregate(at=Max(last_used()))["at"]
        used = max(filter(None, (thing.created_at, newest)))
    return max(used + timedelta(days=days), not_before(thing.owner_id, days))


def not_before(owner: int | None, days: int) -> datetime:
    """A week after these days were first seen set for somebody."""
    found = Retention.objects.filter(owner=owner or 0, days=days).first()
    return (found.since if found else timezone.now()) + timedelta(days=WARNING_DAYS)


def holding() -> Any:
    """Runs that their scenarios stay for."""
    return Run._base_manager.filter(Q(pinned=True) | Q(state__in=Run.ACTIVE))


def last_used() -> Coalesce:
    return Coalesce("finished_at", "created_at")


def owners() -> Iterator[tuple[Q, int, int]]:
    """Whose things, their number (0: everybody without days of their own), and how many days they stay (0: forever)."""
    own = {quota.user_id: merged(quota).days for quota in Quota.objects.exclude(days=None)}
    for owner, days in own.items():
        yield Q(owner=owner), owner, days
    yield Q(owner=None) | ~Q(owner__in=list(own)), 0, settings.KEEP_DAYS


def note() -> None:
    """Remembers since when which days are set."""
    set_now = {owner: days for _, owner, days in owners() if days}
    for row in Retention.objects.all():
        if set_now.get(row.owner) != row.days:
            row.delete()
    for owner, days in set_now.items():
        Retention.objects.get_or_create(owner=owner, defaults={"days": days})


def over() -> Iterator[Any]:
    """Rows whose days are over: runs, upgrade previews, scenarios; those that hold others last."""
    now = timezone.now()
    for whose, owner, days in owners():
        before = now - timedelta(days=days)
        if (
            not days
            or not Retention.objects.filter(
                owner=owner, days=days, since__lte=now - timedelta(days=WARNING_DAYS)
            ).exists()
        ):
            continue
        runs = Run._base_manager.filter(whose, pinned=False).exclude(state__in=Run.ACTIVE)
        yield runs.alias(used=last_used()).filter(used__lt=before)
        previews = Upgrade._base_manager.filter(whose).exclude(state__in=Upgrade.ACTIVE)
        yield previews.alias(used=last_used()).filter(used__lt=before)
        idle = Scenario._base_manager.filter(whose, pinned=False).exclude(origin=Scenario.Origin.SAMPLE)
        idle = idle.alias(run_used=Coalesce(Max(Coalesce("runs__finished_at", "runs__created_at")), F("created_at")))
        idle = idle.alias(used=Greatest("run_used", "created_at")).filter(used__lt=before)
        yield idle.exclude(pk__in=holding().values("scenario"))


def due() -> bool:
    """Whether something is to be deleted, or noted."""
    noted = set(Retention.objects.values_list("owner", "days"))
    return noted != {(owner, days) for _, owner, days in owners() if days} or any(rows.exists() for rows in over())


def sweep() -> int:
    """Deletes what is over, each thing by itself; how many."""
    note()
    gone = 0
    for rows in over():
        for thing in rows.order_by("pk")[:AT_ONCE]:
            name, number = type(thing).__name__.lower(), thing.pk
            thing.delete()
            gone += 1
            logger.info("%s %s deleted: retention period expired", name, number)
    return gone
