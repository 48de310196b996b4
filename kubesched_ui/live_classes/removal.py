"""Whoever teaches removes a student: nickname and answers are deleted, and the cookie opens the room no more."""

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
    """The student of that number, also once the room is closed; who is removed already stays so. Raises Refused."""
    number = int(student) if student.isascii() and student.isdigit() and len(student) < 18 else 0
    Room.objects.select_for_update().get(pk=room.pk)  # so that nothing is answered meanwhile
    found = Student.objects.filter(pk=number, room=room)
    if not found.exists():
        raise Refused(NOBODY, 404)
    if not found.there().update(name="", removed_at=timezone.now()):
        return
    Answer.objects.filter(student=number).delete()
    Room.objects.filter(pk=room.pk).update(heard=F("heard") + 1)
    publisher.tell_after_commit(room.pk)


def check(student: Student) -> None:
    """Raises Refused for who was removed."""
    if student.removed_at is not None:
        raise Refused(REMOVED, 403)


def check_now(student: Student) -> None:
    """The same, by what is stored now. Within a transaction that holds the room. Raises Refused."""
    if not Student.objects.there().filter(pk=student.pk).exists():
        raise Refused(REMOVED, 403)
