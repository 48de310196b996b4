"""Actions of the teacher. Each names the target state and not a difference, so a repeated request changes nothing."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.utils import timezone

from kubesched_ui.live_classes import publisher
from kubesched_ui.live_classes.errors import Refused
from kubesched_ui.live_classes.models import Room

OVER = "This class is closed."


def go(room: Room, step: int) -> None:
    """Go to a step of the lesson. Raises Refused."""
    _change(room, lambda now: setattr(now, "step", step))


def reveal(room: Room, step: int) -> None:
    """Reveal the answer of a step that the class has reached. Raises Refused."""

    def show(now: Room) -> None:
        if step > now.step:
            raise Refused("The class has not come to this step yet.")
        now.revealed = sorted({*now.revealed, step})

    _change(room, show)


def look_at(room: Room, address: str) -> None:
    """Show a page of the run. Raises Refused."""
    _change(room, lambda now: setattr(now, "address", address))


def close(room: Room) -> None:
    """Close the class: students can no longer join, answer or see the run. Raises Refused."""

    def end(now: Room) -> None:
        now.closed_at = timezone.now()
        if now.share is not None:
            now.share.delete()
            now.share = None

    _change(room, end)


@transaction.atomic
def _change(room: Room, change: Callable[[Room], None]) -> None:
    now = Room.objects.select_for_update().get(pk=room.pk)
    if not now.live:
        raise Refused(OVER)
    before = (now.step, list(now.revealed), now.address, now.closed_at)
    change(now)
    if (now.step, now.revealed, now.address, now.closed_at) != before:
        now.version += 1
        now.save(update_fields=["step", "revealed", "address", "closed_at", "share", "version"])
        publisher.publish_after_commit(now.pk)
