"""The course and its lessons, one step per page. No account is needed: the browser stores the progress."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kubesched_ui.lessons import catalog, publish_run, step_state
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.lessons.errors import LessonError, Unknown
from kubesched_ui.lessons.machine import LABELS, PARTS
from kubesched_ui.lessons.questions import MAX_ANSWERS
from scheduler_core.errors import InputError


@require_GET
def all_lessons(request: HttpRequest) -> HttpResponse:
    """Show the list of lessons."""
    found, problems = catalog.lessons()
    questions = sum(lesson.questions for lesson in found)
    context = {"lessons": found, "problems": problems, "questions": questions, "machine": PARTS}
    return render(request, "lessons.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def lesson(request: HttpRequest, name: str, step: int = 1) -> HttpResponse:
    """Show a step.

    POST with `answer` judges the answer, POST with `reveal` reveals it. `present=1`: large type for presenting
    (docs/present.md).
    """
    here = lesson_of(name, step)
    if here.name != name and request.method != "POST":
        query = request.META["QUERY_STRING"]
        there = reverse("lesson-step", args=[here.name, step])
        return redirect(f"{there}?{query}" if query else there, permanent=True)
    asked = here.steps[step - 1].ask is not None
    told: dict[str, Any] = {}
    revealed = request.method == "POST" and asked and "reveal" in request.POST
    if request.method == "POST" and asked and not revealed:
        given = request.POST.getlist("answer")[:MAX_ANSWERS]
        verdict, said = step_state.answered(here, step, given)
        told = {"verdict": verdict, "said": said, "given": given}
        revealed = verdict.right
    accepted = told["verdict"].given if told else None
    context = {"lesson": here, "step": step, "view": step_state.shows(here, step, revealed, accepted), **told}
    context |= around(here, step) | manner(here, step, request.GET.get("present") == "1", asked and not revealed)
    return render(request, "lesson.html", context)


def manner(here: Lesson, step: int, large: bool, hides: bool) -> dict[str, Any]:
    """Return display settings of the page.

    `large`: for presenting; links keep this setting. `hides`: whether an answer is hidden. `lesson_own`: whether
    the lesson has its own plugin or extender, so that its run cannot be opened.
    """
    own, lights = here.facts(step).run.settings.own, here.head.lights
    found = {"large": large, "kept": "?present=1" if large else "", "hides": hides, "lesson_own": own}
    return found | {"machine": PARTS, "lights": lights, "labels": [LABELS[name] for name in lights]}


def around(here: Lesson, step: int) -> dict[str, Any]:
    """Return the steps of the lesson, and the previous and next ones."""
    return {
        "steps": [{"number": i, "title": s.title, "asks": s.ask is not None} for i, s in enumerate(here.steps, 1)],
        "before": step - 1,
        "after": step + 1 if step < len(here.steps) else 0,
        **catalog.neighbours(here.name),
    }


@require_POST
def open_run(request: HttpRequest, name: str, step: int) -> HttpResponse:
    """Open the lesson's run as an ordinary run, at the focus of the step."""
    try:
        return redirect(publish_run.open_run(lesson_of(name, step), step))
    except InputError as problem:
        raise Http404(str(problem)) from None


def lesson_of(name: str, step: int) -> Lesson:
    """Return the lesson that has this step. Raises Http404."""
    try:
        found = catalog.lesson(name)
        if found is not None and 1 <= step <= len(found.steps):
            _ = found.runs
            return found
    except (LessonError, Unknown) as problem:
        raise Http404(str(problem)) from None
    raise Http404("This lesson does not exist." if found is None else f"Lesson {name} has no step {step}.")
