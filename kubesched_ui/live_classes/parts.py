"""Renders the parts of a lesson step for a live class, once per process, and each student's own result.

`parts` depends only on the lesson, the step and whether it is revealed. Before that, nothing that depends on the
answer is computed (lessons/step_state.py). An answer is judged when it arrives; the result is shown when the step
is revealed.
"""

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from django.template.loader import render_to_string

from kubesched_ui.lessons import catalog, feedback, markdown, questions, step_state
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.lessons.errors import LessonError, Unknown
from kubesched_ui.lessons.formatting import shown
from kubesched_ui.lessons.questions import Question, Verdict
from kubesched_ui.live_classes.models import Rejected

CACHE_SIZE = 3000  # cached items per lesson: rendered steps and judged answers
GONE = "This lesson no longer exists."

_cache: WeakKeyDictionary[Lesson, OrderedDict[Any, Any]] = WeakKeyDictionary()


def once(make: Callable[..., Any]) -> Callable[..., Any]:
    """Cache the results of a function of a lesson and of JSON values, for the current version of the lesson's file."""

    @wraps(make)
    def cached(lesson: Lesson, *args: Any) -> Any:
        key = (make.__name__, json.dumps(args))
        with catalog.lock:
            kept = _cache.setdefault(lesson, OrderedDict())
            if key not in kept:
                kept[key] = make(lesson, *args)
            kept.move_to_end(key)
            while len(kept) > CACHE_SIZE:
                kept.popitem(last=False)
            return kept[key]

    return cached


class GivenAnswer(NamedTuple):
    """A stored answer, and whether it is right."""

    given: Any
    right: bool


def lesson_of(name: str) -> Lesson:
    """Return the lesson with its runs loaded. Raises Rejected."""
    try:
        found = catalog.lesson(name)
        if found is not None:
            _ = found.runs
            return found
    except (LessonError, Unknown):
        pass
    raise Rejected(GONE, 404)


@once
def parts(lesson: Lesson, step: int, revealed: bool) -> dict[str, str]:
    """Return the HTML parts of a step: `text`, `asked` ("" without a question), `after`, `picture`; and `title`."""
    view = step_state.shows(lesson, step, revealed and lesson.steps[step - 1].ask is not None)
    context = {"view": view, "lesson": lesson, "step": step}
    made: dict[str, str] = {
        part: render_to_string(f"parts/live_class_{part}.html", context) for part in ("text", "after", "picture")
    }
    made["asked"] = render_to_string("parts/lesson_fields.html", context) if "question" in view else ""
    return {"title": view["title"], **made}


def judge(lesson: Lesson, step: int, answers: Sequence[str]) -> GivenAnswer:
    """Judge an answer. Raises Rejected if it is not a valid answer."""
    answers = tuple(text.strip()[: questions.MAX_CHARS] for text in answers[: questions.MAX_ANSWERS])
    verdict = _judge(lesson, step, answers)
    if verdict.problem:
        raise Rejected(verdict.problem, 400)
    return GivenAnswer(verdict.given, verdict.right)


@once
def _judge(lesson: Lesson, step: int, answers: tuple[str, ...]) -> Verdict:
    question = lesson.question(step)
    assert question is not None
    verdict = questions.judge(question, answers)
    if question.form != "set" or verdict.problem:
        return verdict
    known = questions.options(question)  # sort the nodes, so that their order does not make a different answer
    return Verdict(verdict.right, sorted(verdict.given, key=known.index))


@once
def answer_text(lesson: Lesson, step: int, given: Any) -> str:
    """Return an answer as display text."""
    question = lesson.question(step)
    assert question is not None
    if isinstance(given, list):
        return step_state.joined(question, [option_text(question, one) for one in given])
    if isinstance(given, str):
        return option_text(question, given)
    return shown(questions.measured(question, float(given)))


def option_text(question: Question, option: str) -> str:
    """Return the text of an option, with its figures computed if the lesson defines the option."""
    own = question.ask.kind in ("which", "choice")
    return markdown.plain(option, question.facts).replace("`", "") if own else option


@once
def own_result(lesson: Lesson, step: int, revealed: bool, answer: GivenAnswer | None) -> str:
    """Return HTML about a student's answer: that it was received, and the result once the step is revealed."""
    if lesson.steps[step - 1].ask is None or not (answer or revealed):
        return ""
    context: dict[str, Any] = {"revealed": revealed, "answer": answer}
    if answer:
        context["told"] = answer_text(lesson, step, answer.given)
        if revealed and not answer.right:
            question = lesson.question(step)
            assert question is not None
            context["said"] = feedback.explain(question, Verdict(False, answer.given))
    return render_to_string("parts/live_class_own.html", context)
