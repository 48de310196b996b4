"""The parts of a lesson's step as everybody in the room sees them, made once by a process, and what one student sees
of their own answer.

`parts` is a function of lesson, step and whether it is revealed, and of nothing else: before it is, nothing that
follows from what is asked is computed (lessons/step_state.py). What somebody answered is judged when it comes, and
told when the step is revealed.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from django.template.loader import render_to_string

from kubesched_ui.lessons import catalog, feedback, markdown, questions, step_state
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.lessons.errors import LessonError, Unknown
from kubesched_ui.lessons.formatting import shown
from kubesched_ui.lessons.questions import Question, Verdict
from kubesched_ui.lessons.step_state import State
from kubesched_ui.live_classes.errors import Refused

KEPT = 3000  # of a lesson: its steps, and what was answered
GONE = "This lesson is not there any more."

_kept: WeakKeyDictionary[Lesson, OrderedDict[Any, Any]] = WeakKeyDictionary()


class Given(NamedTuple):
    """An answer as it is stored, and whether it is right."""

    given: Any
    right: bool


def lesson_of(name: str) -> Lesson:
    """The lesson of a room, with its runs. Raises Refused."""
    try:
        found = catalog.lesson(name)
        if found is not None:
            _ = found.runs
            return found
    except (LessonError, Unknown):
        pass
    raise Refused(GONE, 404)


def parts(lesson: Lesson, step: int, revealed: bool) -> dict[str, str]:
    """HTML of each part of the page: `text`, `asked` ("" without a question), `after`, `picture`; and `title`."""
    asks = lesson.steps[step - 1].ask is not None
    return _once(lesson, ("parts", step, revealed and asks), partial(_parts, lesson, step, revealed and asks))


def _parts(lesson: Lesson, step: int, revealed: bool) -> dict[str, str]:
    view = step_state.shows(lesson, State(step, revealed))
    context = {"view": view, "lesson": lesson, "step": step}
    made: dict[str, str] = {
        part: render_to_string(f"parts/live_class_{part}.html", context) for part in ("text", "after", "picture")
    }
    made["asked"] = render_to_string("parts/lesson_fields.html", context) if "question" in view else ""
    return {"title": view["title"], **made}


def judged(lesson: Lesson, step: int, answers: Sequence[str]) -> Given:
    """What becomes of an answer. Raises Refused for what is none."""
    answers = tuple(text.strip()[: questions.MAX_CHARS] for text in answers[: questions.MAX_ANSWERS])
    verdict: Verdict = _once(lesson, ("judged", step, answers), partial(_judged, lesson, step, answers))
    if verdict.problem:
        raise Refused(verdict.problem, 400)
    return Given(verdict.given, verdict.right)


def _judged(lesson: Lesson, step: int, answers: tuple[str, ...]) -> Verdict:
    with catalog.lock:
        question = lesson.question(step)
        assert question is not None
        verdict = questions.judge(question, answers)
        if question.form != "set" or verdict.problem:
            return verdict
        known = questions.options(question)  # the same nodes are the same answer, in whichever order they came
        return Verdict(verdict.right, sorted(verdict.given, key=known.index))


def told(lesson: Lesson, step: int, given: Any) -> str:
    """An answer as people read it."""
    return _once(lesson, ("told", step, json.dumps(given)), partial(_told, lesson, step, given))


def _told(lesson: Lesson, step: int, given: Any) -> str:
    with catalog.lock:
        question = lesson.question(step)
        assert question is not None
        if isinstance(given, list):
            return (", then " if question.form == "order" else ", ").join(
                option_text(question, one) for one in given
            ) or ("none" if question.ask.kind != "victims" else "nobody")
        if isinstance(given, str):
            return option_text(question, given)
        return shown(questions.measured(question, float(given)))


def option_text(question: Question, option: str) -> str:
    """An option, its figures computed where it is the lesson's own."""
    own = question.ask.kind in ("which", "choice")
    return markdown.plain(option, question.facts).replace("`", "") if own else option


def mine(lesson: Lesson, step: int, revealed: bool, answer: Given | None) -> str:
    """HTML of what a student is told of an answer: that it is counted; once the step is revealed, what became of it."""
    key = ("mine", step, revealed, json.dumps(answer))
    return _once(lesson, key, partial(_mine, lesson, step, revealed, answer))


def _mine(lesson: Lesson, step: int, revealed: bool, answer: Given | None) -> str:
    if lesson.steps[step - 1].ask is None or not (answer or revealed):
        return ""
    context: dict[str, Any] = {"revealed": revealed, "answer": answer}
    if answer:
        context["told"] = told(lesson, step, answer.given)
        if revealed and not answer.right:
            with catalog.lock:
                question = lesson.question(step)
                assert question is not None
                context["said"] = feedback.explain(question, Verdict(False, answer.given))
    return render_to_string("parts/live_class_own.html", context)


def _once(lesson: Lesson, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """What was made before, or is made now; of a lesson's file as it is now."""
    with catalog.lock:
        kept = _kept.setdefault(lesson, OrderedDict())
        if key not in kept:
            kept[key] = make()
        kept.move_to_end(key)
        while len(kept) > KEPT:
            kept.popitem(last=False)
        return kept[key]
