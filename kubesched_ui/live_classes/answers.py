"""Judges and stores answers. A student can safely resend an answer if the response was lost: the result is the same."""

from collections.abc import Sequence

from django.db import transaction

from kubesched_ui.live_classes import publisher
from kubesched_ui.live_classes.membership import check, check_now
from kubesched_ui.live_classes.models import OVER, Answer, LiveClass, Rejected, Student
from kubesched_ui.live_classes.parts import GivenAnswer, judge, lesson_of, prepare_answer

TWICE = "You have already answered this question. Your first answer counts."
LATE = "The answer was revealed before yours arrived."
NOT_YET = "The class has not reached this question yet."
NOTHING = "This step has no question."


def accept(student: Student, step: int, answers: Sequence[str]) -> GivenAnswer:
    """Judge and store an answer. The answer counts once this returns. Raises Rejected."""
    live_class = student.live_class
    check(student)
    if not live_class.lesson:
        raise Rejected(NOTHING, 404)
    lesson = lesson_of(live_class)
    if not 1 <= step <= len(lesson.steps) or lesson.steps[step - 1].ask is None:
        raise Rejected(NOTHING, 404)
    if step > live_class.step:  # check before judging, so that the response to an invalid answer reveals nothing
        raise Rejected(NOT_YET)
    answer = judge(lesson, step, answers)
    prepare_answer(lesson, step, answer)
    return _store(student, step, answer)


@transaction.atomic
def _store(student: Student, step: int, answer: GivenAnswer) -> GivenAnswer:
    # lock the row so that the step cannot be revealed concurrently
    live_class = LiveClass.objects.select_for_update().get(pk=student.live_class_id)
    check_now(student)
    known = Answer.objects.filter(student=student, step=step).first()
    if known is not None:
        if known.given != answer.given:
            raise Rejected(TWICE)
        return answer
    if not live_class.live:
        raise Rejected(OVER, 410)
    if step > live_class.step:
        raise Rejected(NOT_YET)
    if step in live_class.revealed:
        raise Rejected(LATE)
    Answer.objects.create(student=student, step=step, given=answer.given, right=answer.right)
    publisher.publish_answers(live_class.pk)
    return answer
