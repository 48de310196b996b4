"""Lessons that users write: the lesson, its file, and embedding. lesson_editor.py has the editor."""

from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from kubesched_ui.accounts import access, share_links
from kubesched_ui.ingest import IngestError
from kubesched_ui.lessons import catalog, written_lessons
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.lessons.errors import LessonError, Unknown
from kubesched_ui.models import WrittenLesson, current_viewer
from kubesched_ui.offload.pool import OffloadError
from kubesched_ui.views.embedding import embeddable
from kubesched_ui.views.form_fields import named
from kubesched_ui.views.lessons import printed_context, step_context
from kubesched_ui.views.scenarios import find as find_scenario
from scheduler_core.errors import InputError

MAX_FILE = 250_000  # bytes of an imported file, a little more than a lesson may have


def find(lesson_id: int) -> WrittenLesson:
    """Return the lesson. Raises Http404."""
    return named(WrittenLesson.objects.select_related("scenario", "owner"), lesson_id)


@require_POST
def new(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """Begin a lesson about a scenario."""
    try:
        written = written_lessons.create(find_scenario(scenario_id))
    except (IngestError, InputError, OffloadError) as problem:
        messages.error(request, str(problem))
        return redirect("scenario", scenario_id)
    return redirect("written-edit", written.pk)


@require_POST
def import_file(request: HttpRequest) -> HttpResponse:
    """Store a lesson file."""
    file = request.FILES.get("file")
    try:
        if file is None or (file.size or 0) > MAX_FILE:
            raise InputError("", "", f"Choose a lesson file (.md) of at most {MAX_FILE:,} bytes")
        written = written_lessons.imported(file.read())
    except (IngestError, InputError, LessonError, OffloadError) as problem:
        messages.error(request, str(problem))
        return redirect("learn")
    return redirect("written-edit", written.pk)


@embeddable
@require_GET
def lesson(request: HttpRequest, lesson_id: int, step: int = 1) -> HttpResponse:
    """Show a step. `answer` judges the answer, `reveal` reveals it."""
    return shown(request, find(lesson_id), step, lambda number: reverse("written-step", args=[lesson_id, number]))


def shown(
    request: HttpRequest, written: WrittenLesson, step: int, address: Callable[[int], str], in_frame: bool = False
) -> HttpResponse:
    """Show a step of a lesson that has these addresses. All answers are GET requests, which workers judge."""
    here = playable(written)
    if not 1 <= step <= len(here.steps):
        raise Http404(f"The lesson has no step {step}.")
    try:
        context = step_context(request.GET, here, step, address, judges="check" in request.GET)
    except (Unknown, InputError) as problem:
        raise Http404(f"Step {step} has a problem: {problem}") from None
    context |= {"written": written, "method": "get", "in_frame": in_frame or context["in_frame"]}
    return render(request, "lesson.html", context)


def playable(written: WrittenLesson) -> Lesson:
    """Return the lesson with its runs. Raises Http404."""
    try:
        found = written_lessons.lesson_of(written)
        _ = found.runs
    except (LessonError, InputError) as problem:
        raise Http404(f"The lesson has a problem: {problem}") from None
    return found


@require_GET
def printed(request: HttpRequest, lesson_id: int) -> HttpResponse:
    """Show all steps on one page, to print them. `answers=1`: with the answers."""
    return print_page(request, playable(find(lesson_id)))


@require_GET
def printed_of_course(request: HttpRequest, name: str) -> HttpResponse:
    """Show all steps of a lesson of the course, to print them."""
    try:
        found = catalog.lesson(name)
    except LessonError as problem:
        raise Http404(str(problem)) from None
    if found is None:
        raise Http404("This lesson does not exist.")
    return print_page(request, found)


def print_page(request: HttpRequest, lesson: Lesson) -> HttpResponse:
    try:
        context = printed_context(lesson, request.GET.get("answers") == "1")
    except (Unknown, InputError, LessonError) as problem:
        raise Http404(f"The lesson has a problem: {problem}") from None
    return render(request, "lesson_print.html", context)


@require_GET
def export(request: HttpRequest, lesson_id: int) -> HttpResponse:
    """Return the lesson as a file of the course."""
    written = find(lesson_id)
    try:
        text = written_lessons.exported(written)
    except InputError as problem:
        raise Http404(str(problem)) from None
    headers = {"Content-Disposition": f'attachment; filename="lesson-{written.pk}.md"'}
    return HttpResponse(text, content_type="text/markdown; charset=utf-8", headers=headers)


@require_POST
def delete(request: HttpRequest, lesson_id: int) -> HttpResponse:
    """Delete the lesson; its scenario stays."""
    find(lesson_id).delete()
    messages.info(request, "Lesson deleted. Its scenario still exists.")
    return redirect("learn")


# ---- in frames of other sites


@require_POST
def embed(request: HttpRequest, lesson_id: int) -> HttpResponse:
    """Show the HTML that embeds the lesson. With accounts, it contains a new share link of the scenario."""
    written = find(lesson_id)
    if not settings.EMBED_ORIGINS:
        raise Http404("No site may embed lessons. An administrator sets KUBESCHED_EMBED_ORIGINS.")
    there = f"{reverse('written-lesson', args=[written.pk])}?embed=1"
    if settings.ACCOUNTS:
        assert request.user.is_authenticated
        try:
            _, secret = share_links.share_by_link(written.scenario, request.user, f"Embedded: {written.name}"[:200])
        except InputError as problem:
            messages.error(request, str(problem))
            return redirect("written-edit", written.pk)
        there = reverse("embedded", args=[secret, written.pk, 1])
    context = {"written": written, "frame": request.build_absolute_uri(there), "sites": settings.EMBED_ORIGINS}
    return render(request, "written_lesson_embed.html", context)


@embeddable
@require_GET
def embedded(request: HttpRequest, token: str, lesson_id: int, step: int) -> HttpResponse:
    """Show a step to the holder of a share link; the address contains its secret, because frames have no session."""
    share = share_links.share_of(token) if settings.ACCOUNTS else None
    if share is None:
        raise Http404("This link is not valid. It may have been revoked or have expired.")
    with current_viewer.as_viewer(access.Viewer(links=(share.pk,))):
        written = find(lesson_id)
        return shown(request, written, step, lambda number: reverse("embedded", args=[token, lesson_id, number]), True)
