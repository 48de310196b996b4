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
from kubesched_ui.live_classes.errors import Refused
from kubesched_ui.live_classes.models import Room
from kubesched_ui.models import Run

PER_PERSON = 20  # maximum number of open live classes per user


def on_lesson(name: str, step: int) -> tuple[Room, str]:
    """Open a live class at a lesson's step. Return it with the teacher's key, which is not stored. Raises Refused."""
    return _open(Room(lesson=name, step=step))


def on_run(run: Run, address: str) -> tuple[Room, str]:
    """Open a live class on a run, at one of its pages. Return it with the teacher's key. Raises Refused."""
    return _open(Room(run=run, address=address))


@transaction.atomic
def _open(room: Room) -> tuple[Room, str]:
    _check_number()
    key = token_hash.new()
    room.code, room.digest = codes.new_code(), token_hash.digest(key)
    room.expires_at = timezone.now() + timedelta(hours=settings.ROOM_HOURS)
    room.share = _share(room)
    room.save(force_insert=True)
    return room, key


def _check_number() -> None:
    there = Room.objects.live()
    if there.count() >= settings.ROOMS_MAX:
        raise Refused(f"{settings.ROOMS_MAX} classes are open on this server; wait until one of them is closed.", 503)
    owner = current_viewer.owner_id()
    if owner is not None and there.filter(owner=owner).count() >= PER_PERSON:
        raise Refused(f"{PER_PERSON} of your classes are open; close one of them first.")


def _share(room: Room) -> Share | None:
    """Create a share link so that students can see the run until the class ends.

    The link's secret is not stored: students get access only by joining.
    """
    owner = current_viewer.owner_id()
    if room.run is None or owner is None:
        return None
    by = User.objects.get(pk=owner)
    digest = token_hash.digest(token_hash.new())
    return Share.objects.create(run=room.run, owner=by, digest=digest, note="A room", expires_at=room.expires_at)


def by_key(key: str) -> Room | None:
    """Return the live class of a teacher's key, also if it is over."""
    return Room.objects.select_related("run").filter(digest=token_hash.digest(key)).first()
