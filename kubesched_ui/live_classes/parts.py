"""Renders the parts of a lesson step for a live class, once per process, and each student's own result.

`parts` depends only on the lesson, the step and whether it is revealed. Before that, nothing that depends on the
answer is computed (lessons/step_state.py). An answer is judged when it arrives; the result is shown when the step
is revealed.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from django.conf import settings
from django.template.loader import render_to_string

from kubesched_ui.lessons import catalog, feedback, markdown, questions, step_state
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.lessons.errors import LessonError, Unknown
from kubesched_ui.lessons.formatting import shown
from kubesched_ui.lessons.questions import Question, Verdict
from kubesched_ui.live_classes.lesson_copies import CopiedLesson, Wanted, compute_later, computed, copied
from kubesched_ui.live_classes.models import GONE, LiveClass, Rejected

CACHE_SIZE = 3000  # cached items per lesson: rendered steps and judged answers

_cache: WeakKeyDictionary[Lesson, OrderedDict[Any, Any]] = WeakKeyDictionary()
_lock = threading.Lock()


def once(make: Callable[..., Any]) -> Callable[..., Any]:
    """Cache the results of a function of a lesson and of JSON values, for the current version of the lesson's file."""

    @wraps(make)
    def cached(lesson: Lesson, *args: Any) -> Any:
        key = (make.__name__, json.dumps(args))
        if isinstance(lesson, CopiedLesson) and settings.OFFLOAD:
            if (found := _kept(lesson, key)) is None:
                compute_later(lesson, lambda: prepare(lesson, [(cached, args)]))
                found = prepare(lesson, [(cached, args)])[0]
            return found
        with catalog.lock:
            if (found := _kept(lesson, key)) is None:
                _keep(lesson, key, found := make(lesson, *args))
            return found

    return cached


def _kept(lesson: Lesson, key: tuple[str, str]) -> Any:
    with _lock:
        kept = _cache.setdefault(lesson, OrderedDict())
        if key in kept:
            kept.move_to_end(key)
        return kept.get(key)


def _keep(lesson: Lesson, key: tuple[str, str], value: Any) -> None:
    with _lock:
        kept = _cache.setdefault(lesson, OrderedDict())
        kept[key] = value
        while len(kept) > CACHE_SIZE:
            kept.popitem(last=False)


def prepare(lesson: CopiedLesson, wanted: Sequence[Wanted]) -> list[Any]:
    """Let one task of a worker compute and cache results of a copied lesson. Raises Rejected."""
    found = computed(lesson, wanted)
    for (function, args), value in zip(wanted, found, strict=True):
        _keep(lesson, (function.__name__, json.dumps(args)), value)
    return found


def prepare_steps(lesson: CopiedLesson) -> None:
    """Compute all steps of a copied lesson. Raises Rejected."""
    steps = range(1, len(lesson.steps) + 1)
    prepare(lesson, [(parts, (step, revealed)) for step in steps for revealed in (False, True)])


class GivenAnswer(NamedTuple):
    """A stored answer, and whether it is right."""

    given: Any
    right: bool


def lesson_of(live_class: LiveClass) -> Lesson:
    """Return the lesson of a class; a lesson of the course has its runs loaded. Raises Rejected."""
    try:
        if live_class.has_copy:
            return copied(live_class)
        found = catalog.lesson(live_class.lesson)
        if found is not None:
            _ = found.runs
            return found
    except (LessonError, Unknown):
        pass
    raise Rejected(GONE, 404)


@once
def parts(lesson: Lesson, step: int, revealed: bool) -> dict[str, str]:
    """Return the HTML parts of a step: `text`, `question` ("" without a question), `after`, `picture`; and `title`."""
    view = step_state.shows(lesson, step, revealed and lesson.steps[step - 1].ask is not None)
    context = {"view": view, "lesson": lesson, "step": step}
    made: dict[str, str] = {
        part: render_to_string(f"parts/live_class_{part}.html", context) for part in ("text", "after", "picture")
    }
    made["question"] = render_to_string("parts/lesson_fields.html", context) if "question" in view else ""
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
        context["answer_text"] = answer_text(lesson, step, answer.given)
        if revealed and not answer.right:
            question = lesson.question(step)
            assert question is not None
            context["explanation"] = feedback.explain(question, Verdict(False, answer.given))
    return render_to_string("parts/live_class_own.html", context)


def prepare_answer(lesson: Lesson, step: int, answer: GivenAnswer) -> None:
    """Compute what the class will show of an answer, if a worker does it. Raises Rejected."""
    if isinstance(lesson, CopiedLesson) and settings.OFFLOAD:
        shown = [(own_result, (step, revealed, answer)) for revealed in (False, True)]
        prepare(lesson, [(answer_text, (step, answer.given)), *shown])
