"""The course, and a lesson, a step at a time. Whoever looks needs no account: what is done is kept in the browser."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kubesched_ui.lessons import catalog, publish_run, step_state
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.lessons.errors import LessonError, Unknown
from kubesched_ui.lessons.questions import MAX_ANSWERS
from kubesched_ui.lessons.step_state import State
from scheduler_core.errors import InputError


@require_GET
def all_lessons(request: HttpRequest) -> HttpResponse:
    """The course."""
    found, problems = catalog.lessons()
    questions = sum(lesson.questions for lesson in found)
    return render(request, "lessons.html", {"lessons": found, "problems": problems, "questions": questions})


@require_http_methods(["GET", "HEAD", "POST"])
def lesson(request: HttpRequest, name: str, step: int = 1) -> HttpResponse:
    """A step; POST with `answer` judges it, with `reveal` tells it. `present=1`: for a room (docs/present.md)."""
    here = lesson_of(name, step)
    asked = here.steps[step - 1].ask is not None
    told: dict[str, Any] = {}
    revealed = request.method == "POST" and asked and "reveal" in request.POST
    if request.method == "POST" and asked and not revealed:
        given = request.POST.getlist("answer")[:MAX_ANSWERS]
        verdict, said = step_state.answered(here, step, given)
        told = {"verdict": verdict, "said": said, "given": given}
        revealed = verdict.right
    context = {"lesson": here, "step": step, "view": step_state.shows(here, State(step, revealed)), **told}
    context |= around(here, step) | manner(here, step, request.GET.get("present") == "1", asked and not revealed)
    return render(request, "lesson.html", context)


def manner(here: Lesson, step: int, large: bool, hides: bool) -> dict[str, Any]:
    """How the page behaves: `large`: for a room, and all links stay so; `hides`: whether there is an answer to come;
    `lesson_own`: whether a program of the lesson takes part, so that the run cannot be opened."""
    own = here.facts(step).run.settings.own
    return {"large": large, "kept": "?present=1" if large else "", "hides": hides, "lesson_own": own}


def around(here: Lesson, step: int) -> dict[str, Any]:
    """The steps of the lesson, and what comes before and after this one."""
    return {
        "steps": [{"number": i, "title": s.title, "asks": s.ask is not None} for i, s in enumerate(here.steps, 1)],
        "before": step - 1,
        "after": step + 1 if step < len(here.steps) else 0,
        **catalog.neighbours(here.name),
    }


@require_POST
def open_run(request: HttpRequest, name: str, step: int) -> HttpResponse:
    """The lesson's run as an ordinary one, at what the step looks at."""
    try:
        return redirect(publish_run.open_run(lesson_of(name, step), step))
    except InputError as problem:
        raise Http404(str(problem)) from None


def lesson_of(name: str, step: int) -> Lesson:
    """The lesson whose step is asked for. Raises Http404."""
    try:
        found = catalog.lesson(name)
        if found is not None and 1 <= step <= len(found.steps):
            _ = found.runs
            return found
    except (LessonError, Unknown) as problem:
        raise Http404(str(problem)) from None
    raise Http404("This lesson does not exist." if found is None else f"Lesson {name} has no step {step}.")
