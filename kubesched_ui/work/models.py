"""State of background work in the database: runs, upgrade previews, experiments and their cells."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Self, TypeVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

_W = TypeVar("_W", bound="Work")


class LostClaim(Exception):
    """Raised if another worker holds the work now, or if the work is over. Nothing more may be written."""


class Cancelled(Exception):
    """Raised in a worker if a user cancelled its work."""


def silent(after_s: float | None = None) -> Q:
    """Return a condition: no heartbeat for `after_s`, by default RUN_LOST_AFTER_S."""
    # All machines share the clock of the database; their own clocks differ and may be changed.
    now, long = Now(), timedelta(seconds=settings.RUN_LOST_AFTER_S if after_s is None else after_s)
    # A heartbeat in the future is from before the clock was set back. A live worker soon writes another one.
    return Q(heartbeat_at=None) | Q(heartbeat_at__lt=now - long) | Q(heartbeat_at__gt=now + long)


class WorkQuerySet(models.QuerySet[_W]):
    """State queries and transitions of background work. The database evaluates them, so that processes agree."""

    def active(self) -> Self:
        """Return the queued and running work."""
        return self.filter(state__in=Work.ACTIVE)

    def claimable(self) -> Self:
        """Return the work that a worker may claim: waiting work, and that of lost workers."""
        return self.filter(Q(state=Work.State.QUEUED) | Q(silent(), state=Work.State.RUNNING))

    def claim(self, number: int, token: str) -> _W | None:
        """Give the work with this number to the worker `token` and return it. Return None if another worker holds it or
        it has ended. This is one statement, so only one of several concurrent workers succeeds."""
        claimed = (
            self.claimable()
            .filter(pk=number)
            .update(
                state=Work.State.RUNNING,
                worker=token,
                starts=F("starts") + 1,
                heartbeat_at=Now(),
                started_at=Coalesce("started_at", timezone.now(), output_field=models.DateTimeField()),
            )
        )
        return self.get(pk=number) if claimed else None

    def cancel(self, work: _W) -> bool:
        """Cancel waiting work, or ask the worker of running work to stop. Return whether the work was waiting."""
        cancelled = {"state": Work.State.CANCELLED, "cancel_requested": True, "finished_at": timezone.now()}
        waiting = self.filter(pk=work.pk, state=Work.State.QUEUED).update(**cancelled)
        if not waiting:
            self.filter(pk=work.pk, state=Work.State.RUNNING).update(cancel_requested=True)
        work.refresh_from_db()
        return bool(waiting)

    def stalled(self) -> Self:
        """Return the work whose worker sends no heartbeats, and queued work without a recent message: the broker may
        have lost the message."""
        return self.filter(silent(), state__in=Work.ACTIVE)


class Work(models.Model):
    """Background work of a worker: its state and its lifecycle."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    ACTIVE = (State.QUEUED, State.RUNNING)

    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    cancel_requested = models.BooleanField(default=False)
    error = models.TextField(blank=True, help_text="Why it failed, as a sentence.")
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(
        null=True, blank=True, help_text="Last heartbeat; for queued work, when it was sent."
    )
    worker = models.CharField(max_length=200, blank=True, help_text="Lease token of the worker that may write.")
    starts = models.PositiveSmallIntegerField(default=0, help_text="Number of times a worker has started it.")

    class Meta:
        abstract = True

    @property
    def active(self) -> bool:
        """Return whether the work is queued or running."""
        return self.state in self.ACTIVE

    @property
    def stalled(self) -> bool:
        """Return whether the work has waited for a worker longer than expected. The next free worker takes it."""
        long, sign = timedelta(seconds=settings.RUN_LOST_AFTER_S), self.heartbeat_at or self.created_at
        return self.active and abs(timezone.now() - sign) > long

    def held(self) -> models.QuerySet[Self]:
        """Return this work as a QuerySet; empty if its worker no longer holds it."""
        return type(self)._base_manager.filter(pk=self.pk, worker=self.worker, state=self.State.RUNNING)

    def write(self, **values: Any) -> None:
        """Update the columns of claimed work. Raises LostClaim."""
        if not self.held().update(**values):
            raise LostClaim

    def end(self, state: str, error: str = "", **values: Any) -> None:
        """End claimed work, with further columns. Raises LostClaim."""
        self.write(state=state, error=error, finished_at=timezone.now(), **values)
