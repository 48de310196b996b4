"""Removes a student: deletes the nickname and the answers, and rejects the cookie from then on."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from kubesched_ui.live_classes import publisher
from kubesched_ui.live_classes.errors import Rejected
from kubesched_ui.live_classes.models import Answer, LiveClass, Student

REMOVED = "The teacher removed you from this class."
NO_STUDENT = "There is no such student in this class."


@transaction.atomic
def remove(live_class: LiveClass, student: str) -> None:
    """Remove a student by number, also from a closed class. Does nothing if already removed. Raises Refused."""
    number = int(student) if student.isascii() and student.isdigit() and len(student) < 18 else 0
    LiveClass.objects.select_for_update().get(pk=live_class.pk)  # lock the row so that no answer is stored concurrently
    found = Student.objects.filter(pk=number, live_class=live_class)
    if not found.exists():
        raise Rejected(NO_STUDENT, 404)
    if not found.there().update(name="", removed_at=timezone.now()):
        return
    Answer.objects.filter(student=number).delete()
    LiveClass.objects.filter(pk=live_class.pk).update(answers_version=F("answers_version") + 1)
    publisher.publish_after_commit(live_class.pk)


def check(student: Student) -> None:
    """Raise Refused if the student was removed."""
    if student.removed_at is not None:
        raise Rejected(REMOVED, 403)


def check_now(student: Student) -> None:
    """Check the stored state instead. Call it in a transaction that locks the live class. Raises Refused."""
    if not Student.objects.there().filter(pk=student.pk).exists():
        raise Rejected(REMOVED, 403)
