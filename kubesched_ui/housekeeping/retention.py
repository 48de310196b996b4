"""Retention: deletes objects that are not pinned some days after their last use.

Samples are never deleted. Nothing is deleted in the first week after the retention period was set, so that pages show
the date in advance.
"""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Max, Q
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from kubesched_ui.housekeeping.quota import limits_of, limits_with
from kubesched_ui.models import Quota, Retention, Run, Scenario, Upgrade, WrittenLesson
from kubesched_ui.work.models import Work

logger = logging.getLogger(__name__)

EXPIRING: list[type[Work]] = [Upgrade]  # besides runs and scenarios; applications of upper layers append
WARNING_DAYS = 7
AT_ONCE = 100  # per kind; the next sweep deletes further ones


def deletion_time(thing: Run | Scenario) -> datetime | None:
    """Return when an object will be deleted unless it is pinned. None if it is pinned, a sample, an active run, or a
    scenario with a pinned or active run."""
    days = limits_of(thing.owner_id).days
    if not days or thing.pinned:
        return None
    if isinstance(thing, Run):
        if thing.active:
            return None
        used = thing.finished_at or thing.created_at
    else:
        if thing.origin == Scenario.Origin.SAMPLE or runs_that_keep_scenarios().filter(scenario=thing).exists():
            return None
        newest = Run._base_manager.filter(scenario=thing).aggregate(at=Max(last_used()))["at"]
        lesson = WrittenLesson._base_manager.filter(scenario=thing).aggregate(at=Max("updated_at"))["at"]
        used = max(filter(None, (thing.created_at, newest, lesson)))
    return max(used + timedelta(days=days), not_before(thing.owner_id, days))


def not_before(owner: int | None, days: int) -> datetime:
    """Return the time a week after this retention period was first seen for an owner."""
    found = Retention.objects.filter(owner=owner or 0, days=days).first()
    return (found.since if found else timezone.now()) + timedelta(days=WARNING_DAYS)


def runs_that_keep_scenarios() -> Any:
    """Return runs that keep their scenarios from deletion."""
    return Run._base_manager.filter(Q(pinned=True) | Q(state__in=Run.ACTIVE))


def last_used() -> Coalesce:
    return Coalesce("finished_at", "created_at")


def owners() -> Iterator[tuple[Q, int, int]]:
    """Yield a condition for objects, the ID of their owner (0: all users without their own period), and the retention
    period in days (0: unlimited)."""
    own = {quota.user_id: limits_with(quota).days for quota in Quota.objects.exclude(days=None)}
    for owner, days in own.items():
        yield Q(owner=owner), owner, days
    yield Q(owner=None) | ~Q(owner__in=list(own)), 0, settings.KEEP_DAYS


def store_periods() -> None:
    """Store since when each retention period has been set."""
    set_now = {owner: days for _, owner, days in owners() if days}
    for row in Retention.objects.all():
        if set_now.get(row.owner) != row.days:
            row.delete()
    for owner, days in set_now.items():
        Retention.objects.get_or_create(owner=owner, defaults={"days": days})


def expired() -> Iterator[Any]:
    """Yield QuerySets of expired objects: runs, further work, then scenarios, because these contain the others."""
    now = timezone.now()
    for whose, owner, days in owners():
        before = now - timedelta(days=days)
        noted = Retention.objects.filter(owner=owner, days=days, since__lte=now - timedelta(days=WARNING_DAYS))
        if not days or not noted.exists():
            continue
        runs = Run._base_manager.filter(whose, pinned=False).exclude(state__in=Run.ACTIVE)
        yield runs.alias(used=last_used()).filter(used__lt=before)
        for model in EXPIRING:
            over = model._base_manager.filter(whose).exclude(state__in=Work.ACTIVE)
            yield over.alias(used=last_used()).filter(used__lt=before)
        idle = Scenario._base_manager.filter(whose, pinned=False).exclude(origin=Scenario.Origin.SAMPLE)
        idle = idle.alias(run_used=Coalesce(Max(Coalesce("runs__finished_at", "runs__created_at")), F("created_at")))
        idle = idle.alias(lesson_used=Coalesce(Max("lessons__updated_at"), F("created_at")))
        idle = idle.alias(used=Greatest("run_used", "lesson_used", "created_at")).filter(used__lt=before)
        yield idle.exclude(pk__in=runs_that_keep_scenarios().values("scenario"))


def due() -> bool:
    """Return whether there is something to delete or a period to store."""
    noted = set(Retention.objects.values_list("owner", "days"))
    return noted != {(owner, days) for _, owner, days in owners() if days} or any(rows.exists() for rows in expired())


def sweep() -> int:
    """Delete expired objects one by one. Return their number."""
    store_periods()
    gone = 0
    for rows in expired():
        for thing in rows.order_by("pk")[:AT_ONCE]:
            name, number = type(thing).__name__.lower(), thing.pk
            thing.delete()
            gone += 1
            logger.info("%s %s deleted: retention period expired", name, number)
    return gone
