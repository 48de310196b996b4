"""The course and its lessons, one step per page. No account is needed: the browser stores the progress."""

from collections.abc import Callable
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kubesched_ui.lessons import catalog, publish_run, step_state
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.lessons.errors import LessonError, Unknown
from kubesched_ui.lessons.machine import LABELS, PARTS
from kubesched_ui.lessons.questions import MAX_ANSWERS
from kubesched_ui.models import WrittenLesson
from kubesched_ui.site_search.services import MAX_TEXT
from kubesched_ui.views.embedding import embeddable
from scheduler_core.errors import InputError

ROWS = 50  # written lessons on a page


@require_GET
def all_lessons(request: HttpRequest) -> HttpResponse:
    """Show the lessons of the course, and those of users that the viewer may see. `q`: only those that match."""
    found, problems = catalog.lessons()
    questions = sum(lesson.questions for lesson in found)
    context = {"lessons": found, "problems": problems, "questions": questions, "machine": PARTS}
    context["chapters"] = chapters = catalog.chapters(found)
    context["hours"] = round(sum(chapter.minutes for chapter in chapters) / 60)
    q = request.GET.get("q", "")[:MAX_TEXT]
    page = Paginator(WrittenLesson.objects.matching(q), ROWS).get_page(request.GET.get("page"))
    context |= {"q": q, "page": page, "any_written": page.object_list or WrittenLesson.objects.exists()}
    return render(request, "lessons.html", context)


@embeddable
@require_http_methods(["GET", "HEAD", "POST"])
def lesson(request: HttpRequest, name: str, step: int = 1) -> HttpResponse:
    """Show a step.

    POST with `answer` judges the answer, POST with `reveal` reveals it. `present=1`: large type for presenting
    (docs/present.md). `embed=1`: for a frame.
    """
    here = lesson_of(name, step)
    if here.name != name and request.method != "POST":
        query = request.META["QUERY_STRING"]
        there = reverse("lesson-step", args=[here.name, step])
        return redirect(f"{there}?{query}" if query else there, permanent=True)
    answered = request.method == "POST"
    sent = request.POST if answered else QueryDict()

    def address(number: int) -> str:
        return reverse("lesson-step", args=[here.name, number])

    context = step_context(sent, here, step, address, answered, request.GET)
    return render(request, "lesson.html", context | {"method": "post"} | catalog.neighbours(here.name))


def step_context(
    sent: QueryDict,
    here: Lesson,
    step: int,
    address: Callable[[int], str],
    judges: bool,
    query: QueryDict | None = None,
) -> dict[str, Any]:
    """Return the context of lesson.html. `sent`: the answer, or `reveal`. `judges`: whether an answer was sent, which
    may be empty. `query`: where the display settings are, if not in `sent`. Raises Unknown, InputError."""
    has_question = here.steps[step - 1].ask is not None
    judged: dict[str, Any] = {}
    revealed = has_question and "reveal" in sent
    if judges and has_question and not revealed:
        given = sent.getlist("answer")[:MAX_ANSWERS]
        verdict, explanation = step_state.answered(here, step, given)
        judged = {"verdict": verdict, "explanation": explanation, "given": given}
        revealed = verdict.right
    accepted = judged["verdict"].given if judged else None
    context = {"lesson": here, "step": step, "view": step_state.shows(here, step, revealed, accepted), **judged}
    settings = manner(here, step, sent if query is None else query, has_question and not revealed)
    return context | settings | around(here, step, address, settings["kept"])


def manner(here: Lesson, step: int, query: QueryDict, hides: bool) -> dict[str, Any]:
    """Return display settings of the page.

    `large`: for presenting, `in_frame`: in a frame of another site; links and forms keep these settings. `hides`:
    whether an answer is hidden. `lesson_own`: whether the lesson has its own plugin or extender, so that its run cannot
    be opened.
    """
    own, lights = here.facts(step).run.settings.own, here.head.lights
    kept = [name for name in ("present", "embed") if query.get(name) == "1"]
    found: dict[str, Any] = {"large": "present" in kept, "in_frame": "embed" in kept, "hides": hides, "lesson_own": own}
    found |= {"kept_settings": kept, "kept": f"?{'&'.join(f'{name}=1' for name in kept)}" if kept else ""}
    return found | {"machine": PARTS, "lights": lights, "labels": [LABELS[name] for name in lights]}


def around(here: Lesson, step: int, address: Callable[[int], str], kept: str) -> dict[str, Any]:
    """Return the steps of the lesson, and the addresses of this step and of the steps before and after it."""
    return {
        "steps": [{"number": i, "title": one.title, "address": address(i)} for i, one in enumerate(here.steps, 1)],
        "address": address(step),
        "before": address(step - 1) + kept if step > 1 else "",
        "after": address(step + 1) + kept if step < len(here.steps) else "",
    }


def printed_context(here: Lesson, answers: bool, step: int | None = None) -> dict[str, Any]:
    """Return the context of parts/lesson_printed.html: all steps, or one. Raises Unknown, InputError."""
    numbers = [number for number in range(1, len(here.steps) + 1) if step in (None, number)]
    views = [step_state.shows(here, number, answers) | {"number": number} for number in numbers]
    lights = here.head.lights
    found = {"lesson": here, "views": views, "answers": answers, "machine": PARTS, "lights": lights}
    return found | {"labels": [LABELS[name] for name in lights]}


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
