"""Data for the pages and sockets of a live class.

Students never receive steps that the class has not reached; the teacher also receives the answers.
"""

from __future__ import annotations

from typing import Any

from django.template.loader import render_to_string

from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.live_classes import answer_counts, shared_page
from kubesched_ui.live_classes.errors import Refused
from kubesched_ui.live_classes.models import Answer, Room, Student
from kubesched_ui.live_classes.parts import Given, lesson_of, mine, parts
from kubesched_ui.live_classes.removal import check
from kubesched_ui.live_classes.teacher_actions import OVER

CHANGED = "The lesson has changed since the class started; open another one."


def state(room: Room, at: int = 0) -> dict[str, Any]:
    """Return a lesson step (the class's current step if `at` is 0) or the shared page of a run, as everyone sees it.

    Raises Refused.
    """
    if room.run_id:
        return shared_page.state(room)
    lesson, step = _lesson(room), at or room.step
    revealed = step in room.revealed
    asks = lesson.steps[step - 1].ask is not None
    told = {"version": room.version, "step": step, "class": room.step, "of": len(lesson.steps), "asks": asks}
    return told | {"revealed": revealed, "parts": parts(lesson, step, revealed)}


def own(room: Room, step: int, given: Given | None) -> dict[str, Any]:
    """Return the state of a student's own answer; `mine` is HTML. Raises Refused."""
    if room.run_id:
        return {"step": step, "mine": "", "answered": False}
    told = mine(_lesson(room), step, step in room.revealed, given)
    return {"step": step, "mine": told, "answered": given is not None}


def own_of(student: Student, step: int) -> dict[str, Any]:
    """Return the same for the stored answer of a student. Raises Refused."""
    found = Answer.objects.filter(student=student, step=step).first()
    return own(student.room, step, Given(found.given, found.right) if found else None)


def _lesson(room: Room) -> Lesson:
    lesson = lesson_of(room.lesson)
    if room.step > len(lesson.steps):
        raise Refused(CHANGED, 410)
    return lesson


# ---- students


def told(student: Student, step: str) -> dict[str, Any]:
    """Return a step as the student page needs it; `step` comes from its address. Raises Refused."""
    room = student.room
    check(student)
    if not room.live:
        raise Refused(OVER, 410)
    at = chosen(room, step)
    return state(room, at) | (own_of(student, at) if room.lesson else {})


def chosen(room: Room, step: str) -> int:
    """Return the requested step, or the current step of the class if none is requested or the class has not reached
    it.
    """
    number = int(step) if step.isascii() and step.isdigit() and len(step) < 4 else 0
    return number if 1 <= number <= room.step else room.step


def by_student(student: Student, step: str) -> dict[str, Any]:
    """Return the context of the student page; its script uses `state`. Raises Refused."""
    room = student.room
    found: dict[str, Any] = {"classroom": room, "student": student, "state": told(student, step)}
    if room.run_id:
        return found | {"page": shared_page.whole(found["state"])}
    steps = range(1, room.step + 1)
    return found | {"lesson": _lesson(room), "steps": steps, "wanders": found["state"]["step"] != room.step}


# ---- teachers


def by_teacher(room: Room) -> dict[str, Any]:
    """Return the context of the teacher page: `state` as its script uses it, and the answer counts. Raises Refused."""
    told: dict[str, Any] = {"classroom": room, "state": state(room)}
    told |= {"lesson": _lesson(room)} if room.lesson else {"page": shared_page.whole(told["state"])}
    return told | counts(room, answers_of(room))


def answers_of(room: Room) -> dict[int, Given]:
    """Return the answers to the current step by student."""
    rows = Answer.objects.filter(student__room=room, step=room.step).values_list("student", "given", "right")
    return {student: Given(given, right) for student, given, right in rows}


def removed(room: Room) -> frozenset[int]:
    """Return the keys of the removed students."""
    return frozenset(room.students.exclude(removed_at=None).values_list("pk", flat=True))


def counts(room: Room, given: dict[int, Given]) -> dict[str, Any]:
    """Return the numbers of students and answers, the students without and with an answer as (number, name), and the
    bars. Raises Refused.
    """
    names = list(room.students.there().order_by("pk").values_list("pk", "name"))
    if room.run_id:
        return {"asks": False, "students": len(names), "answered": 0, "names": names, "others": [], "bars": []}
    lesson, step = _lesson(room), room.step
    asks = lesson.steps[step - 1].ask is not None
    return {
        "asks": asks,
        "students": len(names),
        "answered": len(given),
        "names": [one for one in names if not (asks and one[0] in given)],
        "others": [one for one in names if asks and one[0] in given],
        "bars": answer_counts.bars(lesson, step, list(given.values()), step in room.revealed) if asks else [],
    }


def counted(room: Room, given: dict[int, Given]) -> dict[str, Any]:
    """Return the same counts for the page's script, with the parts as HTML. Raises Refused."""
    found = counts(room, given)
    html = {part: render_to_string(f"parts/live_class_{part}.html", found) for part in ("bars", "names")}
    return {
        "step": room.step,
        "students": found["students"],
        "answered": found["answered"],
        "asks": found["asks"],
        **html,
    }
