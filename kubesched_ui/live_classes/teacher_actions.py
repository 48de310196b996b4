"""The teacher moves the class. Where it is to be is said, not how far to go: what is sent twice does the same once."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.utils import timezone

from kubesched_ui.live_classes import publisher
from kubesched_ui.live_classes.errors import Refused
from kubesched_ui.live_classes.models import Room

OVER = "This room is closed."


def go(room: Room, step: int) -> None:
    """To a step of the lesson. Raises Refused."""
    _change(room, lambda now: setattr(now, "step", step))


def reveal(room: Room, step: int) -> None:
    """Shows the answer of a step that the class has come to. Raises Refused."""

    def show(now: Room) -> None:
        if step > now.step:
            raise Refused("The class has not come to this step yet.")
        now.revealed = sorted({*now.revealed, step})

    _change(room, show)


def look_at(room: Room, address: str) -> None:
    """To a page of the run. Raises Refused."""
    _change(room, lambda now: setattr(now, "address", address))


def close(room: Room) -> None:
    """Nobody joins or answers any more, and nobody sees the run by it. Raises Refused."""

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
        publisher.tell_after_commit(now.pk)
