"""Removes a student: deletes the nickname and the answers, and rejects the cookie from then on."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from kubesched_ui.live_classes import publisher
from kubesched_ui.live_classes.errors import Refused
from kubesched_ui.live_classes.models import Answer, Room, Student

REMOVED = "Whoever teaches has removed you from this room."
NOBODY = "There is no such student in this room."


@transaction.atomic
def remove(room: Room, student: str) -> None:
    """Remove a student by number, also from a closed class. Does nothing if already removed. Raises Refused."""
    number = int(student) if student.isascii() and student.isdigit() and len(student) < 18 else 0
    Room.objects.select_for_update().get(pk=room.pk)  # lock the row so that no answer is stored concurrently
    found = Student.objects.filter(pk=number, room=room)
    if not found.exists():
        raise Refused(NOBODY, 404)
    if not found.there().update(name="", removed_at=timezone.now()):
        return
    Answer.objects.filter(student=number).delete()
    Room.objects.filter(pk=room.pk).update(heard=F("heard") + 1)
    publisher.publish_after_commit(room.pk)


def check(student: Student) -> None:
    """Raise Refused if the student was removed."""
    if student.removed_at is not None:
        raise Refused(REMOVED, 403)


def check_now(student: Student) -> None:
    """Check the stored state instead. Call it in a transaction that locks the live class. Raises Refused."""
    if not Student.objects.there().filter(pk=student.pk).exists():
        raise Refused(REMOVED, 403)
