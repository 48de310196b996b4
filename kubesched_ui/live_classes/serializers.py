"""Data for the pages and sockets of a live class.

Students never receive steps that the class has not reached; the teacher also receives the answers.
"""

from typing import Any

from django.template.loader import render_to_string

from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.live_classes import answer_counts, shared_page
from kubesched_ui.live_classes.membership import check
from kubesched_ui.live_classes.models import OVER, Answer, LiveClass, Rejected, Student
from kubesched_ui.live_classes.parts import GivenAnswer, lesson_of, own_result, parts

CHANGED = "The lesson has changed since the class started; start a new class."


def state(live_class: LiveClass, at: int = 0) -> dict[str, Any]:
    """Return a lesson step (the class's current step if `at` is 0) or the shared page of a run, as everyone sees it.
    Raises Rejected."""
    if live_class.run_id:
        return shared_page.state(live_class)
    lesson, step = _lesson(live_class), at or live_class.step
    revealed = step in live_class.revealed
    found = {"version": live_class.version, "step": step, "class": live_class.step, "of": len(lesson.steps)}
    found |= {"asks": lesson.steps[step - 1].ask is not None, "bars_shown": step in live_class.bars_shown}
    return found | {"revealed": revealed, "parts": parts(lesson, step, revealed)}


def own_answer(live_class: LiveClass, step: int, given: GivenAnswer | None) -> dict[str, Any]:
    """Return the state of a student's own answer; `mine` is HTML. Raises Rejected."""
    if live_class.run_id:
        return {"step": step, "mine": "", "answered": False}
    html = own_result(_lesson(live_class), step, step in live_class.revealed, given)
    return {"step": step, "mine": html, "answered": given is not None}


def stored_own_answer(student: Student, step: int) -> dict[str, Any]:
    """Return the same for the stored answer of a student. Raises Rejected."""
    found = Answer.objects.filter(student=student, step=step).first()
    return own_answer(student.live_class, step, GivenAnswer(found.given, found.right) if found else None)


def _lesson(live_class: LiveClass) -> Lesson:
    lesson = lesson_of(live_class)
    if live_class.step > len(lesson.steps):
        raise Rejected(CHANGED, 410)
    return lesson


# ---- students


def student_state(student: Student, step: str) -> dict[str, Any]:
    """Return a step as the student page needs it; `step` comes from its address. Raises Rejected."""
    live_class = student.live_class
    check(student)
    if not live_class.live:
        raise Rejected(OVER, 410)
    at = chosen(live_class, step)
    return state(live_class, at) | (stored_own_answer(student, at) if live_class.lesson else {})


def chosen(live_class: LiveClass, step: str) -> int:
    """Return the requested step, or the current step of the class if none is requested or the class has not reached
    it."""
    number = int(step) if step.isascii() and step.isdigit() and len(step) < 4 else 0
    return number if 1 <= number <= live_class.step else live_class.step


def student_context(student: Student, step: str) -> dict[str, Any]:
    """Return the context of the student page; its script uses `state`. Raises Rejected."""
    live_class = student.live_class
    found: dict[str, Any] = {"classroom": live_class, "student": student, "state": student_state(student, step)}
    if live_class.run_id:
        return found | {"page": shared_page.whole(found["state"])}
    steps = range(1, live_class.step + 1)
    return found | {"lesson": _lesson(live_class), "steps": steps, "wanders": found["state"]["step"] != live_class.step}


# ---- teachers


def teacher_context(live_class: LiveClass) -> dict[str, Any]:
    """Return the context of the teacher page: `state` as its script uses it, and the answer counts. Raises Rejected."""
    found: dict[str, Any] = {"classroom": live_class, "state": state(live_class)}
    found |= {"lesson": _lesson(live_class)} if live_class.lesson else {"page": shared_page.whole(found["state"])}
    return found | counts(live_class, answers_of(live_class))


def answers_of(live_class: LiveClass) -> dict[int, GivenAnswer]:
    """Return the answers to the current step by student."""
    rows = Answer.objects.filter(student__live_class=live_class, step=live_class.step)
    found = rows.values_list("student", "given", "right")
    return {student: GivenAnswer(given, right) for student, given, right in found}


def removed(live_class: LiveClass) -> frozenset[int]:
    """Return the keys of the removed students."""
    return frozenset(live_class.students.exclude(removed_at=None).values_list("pk", flat=True))


def counts(live_class: LiveClass, given: dict[int, GivenAnswer]) -> dict[str, Any]:
    """Return the numbers of students and answers, the students without and with an answer as (number, name), and the
    bars. Raises Rejected."""
    names = list(live_class.students.there().order_by("pk").values_list("pk", "name"))
    if live_class.run_id:
        return {"asks": False, "students": len(names), "answered": 0, "names": names, "others": [], "bars": []}
    lesson, step = _lesson(live_class), live_class.step
    asks = lesson.steps[step - 1].ask is not None
    return {
        "asks": asks,
        "students": len(names),
        "answered": len(given),
        "names": [one for one in names if not (asks and one[0] in given)],
        "others": [one for one in names if asks and one[0] in given],
        "bars": answer_counts.bars(lesson, step, list(given.values()), step in live_class.revealed) if asks else [],
    }


def counts_html(live_class: LiveClass, given: dict[int, GivenAnswer]) -> dict[str, Any]:
    """Return the same counts for the page's script, with the parts as HTML. Raises Rejected."""
    found = counts(live_class, given)
    html = {part: render_to_string(f"parts/live_class_{part}.html", found) for part in ("bars", "names")}
    return {"step": live_class.step, **{name: found[name] for name in ("students", "answered", "asks")}, **html}


# ---- the wall page, which everyone in the room sees


def wall_context(live_class: LiveClass) -> dict[str, Any]:
    """Return the context of the wall page. Raises Rejected."""
    found = teacher_context(live_class)
    return found if live_class.step in live_class.bars_shown else found | {"bars": []}


def wall_counts(live_class: LiveClass, found: dict[str, Any]) -> dict[str, Any]:
    """Return what the wall page shows of `counts_html`: no names, and the bars once the teacher shows them."""
    bars = found["bars"] if live_class.step in live_class.bars_shown else ""
    return {"bars": bars} | {name: found[name] for name in ("step", "students", "answered", "asks")}
