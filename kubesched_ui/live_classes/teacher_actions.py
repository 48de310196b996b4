"""Actions of the teacher. Each names the target state and not a difference, so a repeated request changes nothing."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.utils import timezone

from kubesched_ui.live_classes import publisher
from kubesched_ui.live_classes.errors import Rejected
from kubesched_ui.live_classes.models import LiveClass

OVER = "This class is closed."


def go_to_step(live_class: LiveClass, step: int) -> None:
    """Go to a step of the lesson. Raises Refused."""
    _change(live_class, lambda now: setattr(now, "step", step))


def reveal(live_class: LiveClass, step: int) -> None:
    """Reveal the answer of a step that the class has reached. Raises Refused."""

    def show(now: LiveClass) -> None:
        if step > now.step:
            raise Rejected("The class has not reached this step yet.")
        now.revealed = sorted({*now.revealed, step})

    _change(live_class, show)


def show_page(live_class: LiveClass, address: str) -> None:
    """Show a page of the run. Raises Refused."""
    _change(live_class, lambda now: setattr(now, "address", address))


def close(live_class: LiveClass) -> None:
    """Close the class: students can no longer join, answer or see the run. Raises Refused."""

    def end(now: LiveClass) -> None:
        now.closed_at = timezone.now()
        if now.share is not None:
            now.share.delete()
            now.share = None

    _change(live_class, end)


@transaction.atomic
def _change(live_class: LiveClass, change: Callable[[LiveClass], None]) -> None:
    now = LiveClass.objects.select_for_update().get(pk=live_class.pk)
    if not now.live:
        raise Rejected(OVER)
    before = (now.step, list(now.revealed), now.address, now.closed_at)
    change(now)
    if (now.step, now.revealed, now.address, now.closed_at) != before:
        now.version += 1
        now.save(update_fields=["step", "revealed", "address", "closed_at", "share", "version"])
        publisher.publish_after_commit(now.pk)
