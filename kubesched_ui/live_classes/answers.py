"""Judges and stores answers. A student can safely resend an answer if the response was lost: the result is the same."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import F

from kubesched_ui.live_classes import publisher
from kubesched_ui.live_classes.errors import Refused
from kubesched_ui.live_classes.models import Answer, Room, Student
from kubesched_ui.live_classes.parts import Given, judged, lesson_of
from kubesched_ui.live_classes.removal import check, check_now
from kubesched_ui.live_classes.teacher_actions import OVER

TWICE = "You have answered this question already; the first answer counts."
LATE = "The answer was shown before yours came."
NOT_YET = "The class has not come to this question yet."
NOTHING = "This step asks nothing."


def take(student: Student, step: int, answers: Sequence[str]) -> Given:
    """Judge and store an answer. The answer counts once this returns. Raises Refused."""
    room = student.room
    check(student)
    if not room.lesson:
        raise Refused(NOTHING, 404)
    lesson = lesson_of(room.lesson)
    if not 1 <= step <= len(lesson.steps) or lesson.steps[step - 1].ask is None:
        raise Refused(NOTHING, 404)
    if step > room.step:  # check before judging, so that the response to an invalid answer reveals nothing
        raise Refused(NOT_YET)
    return _store(student, step, judged(lesson, step, answers))


@transaction.atomic
def _store(student: Student, step: int, answer: Given) -> Given:
    # lock the row so that the step cannot be revealed concurrently
    room = Room.objects.select_for_update().get(pk=student.room_id)
    check_now(student)
    known = Answer.objects.filter(student=student, step=step).first()
    if known is not None:
        if known.given != answer.given:
            raise Refused(TWICE)
        return answer
    if not room.live:
        raise Refused(OVER, 410)
    if step > room.step:
        raise Refused(NOT_YET)
    if step in room.revealed:
        raise Refused(LATE)
    Answer.objects.create(student=student, step=step, given=answer.given, right=answer.right)
    Room.objects.filter(pk=room.pk).update(heard=F("heard") + 1)
    publisher.publish_after_commit(room.pk)
    return answer
