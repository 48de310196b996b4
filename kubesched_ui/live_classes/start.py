"""Opens live classes."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from kubesched_ui import current_viewer
from kubesched_ui.accounts import token_hash
from kubesched_ui.accounts.models import Share
from kubesched_ui.live_classes import codes
from kubesched_ui.live_classes.errors import Rejected
from kubesched_ui.live_classes.models import LiveClass
from kubesched_ui.models import Run

PER_USER = 20  # maximum number of open live classes per user


def on_lesson(name: str, step: int) -> tuple[LiveClass, str]:
    """Open a live class at a lesson's step. Return it with the teacher's key, which is not stored. Raises Refused."""
    return _open(LiveClass(lesson=name, step=step))


def on_run(run: Run, address: str) -> tuple[LiveClass, str]:
    """Open a live class on a run, at one of its pages. Return it with the teacher's key. Raises Refused."""
    return _open(LiveClass(run=run, address=address))


@transaction.atomic
def _open(live_class: LiveClass) -> tuple[LiveClass, str]:
    _check_number()
    key = token_hash.new()
    live_class.code, live_class.digest = codes.new_code(), token_hash.digest(key)
    live_class.expires_at = timezone.now() + timedelta(hours=settings.ROOM_HOURS)
    live_class.share = _share(live_class)
    live_class.save(force_insert=True)
    return live_class, key


def _check_number() -> None:
    there = LiveClass.objects.live()
    if there.count() >= settings.ROOMS_MAX:
        raise Rejected(
            f"The limit of {settings.ROOMS_MAX} open classes on this server is reached. Try again when one is closed.",
            503,
        )
    owner = current_viewer.owner_id()
    if owner is not None and there.filter(owner=owner).count() >= PER_USER:
        raise Rejected(f"{PER_USER} of your classes are open. Close one of them first.")


def _share(live_class: LiveClass) -> Share | None:
    """Create a share link so that students can see the run until the class ends.

    The link's secret is not stored: students get access only by joining.
    """
    owner = current_viewer.owner_id()
    if live_class.run is None or owner is None:
        return None
    by = User.objects.get(pk=owner)
    digest = token_hash.digest(token_hash.new())
    return Share.objects.create(
        run=live_class.run, owner=by, digest=digest, note="Live class", expires_at=live_class.expires_at
    )


def by_key(key: str) -> LiveClass | None:
    """Return the live class of a teacher's key, also if it is over."""
    return LiveClass.objects.select_related("run").filter(digest=token_hash.digest(key)).first()
