"""Teacher pages of a live class. The URL contains the teacher's key, which gives control over the class."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import segno
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_GET, require_POST

from kubesched_ui.live_classes import answer_counts, async_parts, membership, serializers, shared_page, teacher_actions
from kubesched_ui.live_classes.join_address import join_address
from kubesched_ui.live_classes.models import LiveClass, Rejected
from kubesched_ui.live_classes.parts import lesson_of
from kubesched_ui.models import Run
from kubesched_ui.queries import recording_cache
from kubesched_ui.views.lessons import lesson_of as lesson_at
from kubesched_ui.views.runs import find
from kubesched_ui.views.written_lessons import find as find_lesson
from kubesched_ui.web.client_address import address_of
from scheduler_core.errors import InputError

GONE = "There is no such class, or it was deleted. Classes are deleted some days after they end."


def rejectable(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate a view that raises Rejected: answer with the reason, as JSON for scripts, else as an error page."""

    @wraps(view)
    def answering(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except Rejected as refused:
            if request.headers.get("X-Requested-With") == "fetch":
                return JsonResponse({"error": str(refused)}, status=refused.status)
            context = {"status": refused.status, "title": "This action is not possible now", "detail": str(refused)}
            return render(request, "error.html", context, status=refused.status)

    return answering


def live_class_of(key: str) -> LiveClass:
    """Return the live class of a teacher's key. Raises Http404."""
    found = teacher_actions.by_key(key)
    if found is None:
        raise Http404(GONE)
    return found


def former_address(request: HttpRequest, rest: str) -> HttpResponse:
    """Redirect from an address of version 1.0, with the method and the body. Version 1.2 will not."""
    return redirect(request.get_full_path().replace("/rooms/", "/classes/", 1), preserve_request=True)


@require_POST
@rejectable
def open_on_lesson(request: HttpRequest, name: str, step: int) -> HttpResponse:
    """Open a live class at a lesson's step."""
    lesson = lesson_at(name, step)
    _, key = teacher_actions.on_lesson(lesson.name, step)
    return redirect("live-class", key)


@require_POST
@rejectable
def open_on_written_lesson(request: HttpRequest, lesson_id: int, step: int) -> HttpResponse:
    """Open a live class on a copy of a lesson that a user wrote."""
    try:
        _, key = teacher_actions.on_written_lesson(find_lesson(lesson_id), step)
    except InputError as problem:
        raise Rejected(str(problem)) from None
    return redirect("live-class", key)


@require_POST
@rejectable
def open_on_run(request: HttpRequest, run_id: int) -> HttpResponse:
    """Open a live class on a run, at the page in `address`, else at the run's page."""
    run = find(run_id)
    _, key = teacher_actions.on_run(run, shared_page.start_of(run, request.POST.get("address", "")))
    return redirect("live-class", key)


@require_GET
@rejectable
def teacher_page(request: HttpRequest, key: str) -> HttpResponse:
    """Show the teacher's view: code, current step or page, answers and controls."""
    found = live_class_of(key)
    context = {"key": key, "run": played(found)} | joining(request, found) | serializers.teacher_context(found)
    return render(request, "live_class_teacher.html" if found.lesson else "live_class_run.html", context)


def played(live_class: LiveClass) -> Run | None:
    """Return the run that the teacher plays for the class; None for a lesson, or if there is nothing to play."""
    run = Run.objects.filter(pk=live_class.run_id).first() if live_class.run_id and live_class.live else None
    return run if run and recording_cache.has_recording(run) else None


@require_GET
@rejectable
def wall(request: HttpRequest, code: str) -> HttpResponse:
    """Show the page for the projector: how to join, and what the class sees. It controls nothing."""
    found = membership.open_class(code, address_of(request))
    if found is None:
        raise Http404("No class with this code is open.")
    context = joining(request, found) | serializers.wall_context(found)
    return render(request, "live_class_wall.html", context)


def joining(request: HttpRequest, live_class: LiveClass) -> dict[str, Any]:
    """Return how students join, for a page that shows it."""
    join = join_address(request, live_class)
    return {"join": join, "qr": "" if join.start else qr(join.url)}


def qr(address: str) -> str:
    """Return a QR code of a URL as SVG. It is dark on light in every theme, because phones need that."""
    code = segno.make(address, error="m", micro=False)
    return mark_safe(code.svg_inline(scale=5, border=3, dark="#000", light="#fff", omitsize=True))


@require_POST
@rejectable
def move(request: HttpRequest, key: str) -> HttpResponse:
    """Control the class: go to a `step`, `reveal` its answer, show its `bars` on the wall page, show the page of the
    run at `address`, `close` the class, or `remove` the student with that number."""
    found, form = live_class_of(key), request.POST
    if "remove" in form:
        membership.remove(found, form["remove"])
    elif "close" in form:
        teacher_actions.close(found)
    elif "reveal" in form:
        teacher_actions.reveal(found, step_in(found, form["reveal"]))
    elif "bars" in form:
        teacher_actions.show_bars(found, step_in(found, form["bars"]))
    elif found.run and "address" in form:
        teacher_actions.show_page(found, shared_page.address_in(found.run, form["address"]))
    elif "step" in form:
        teacher_actions.go_to_step(found, step_in(found, form["step"]))
    return answer(request, {"ok": True}, "live-class", key)


def step_in(live_class: LiveClass, text: str) -> int:
    """Return the number of an existing step. Raises Refused."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
    if not live_class.lesson or not 1 <= number <= len(lesson_of(live_class).steps):
        raise Rejected("There is no such step.", 404)
    return number


@require_GET
@rejectable
def results(request: HttpRequest, key: str) -> HttpResponse:
    """Show the results by question, hardest first."""
    found = live_class_of(key)
    lesson = lesson_of(found)
    context = {"classroom": found, "key": key, "lesson": lesson, "questions": answer_counts.results(found, lesson)}
    return render(request, "live_class_results.html", context | {"students": found.students.there().count()})


@require_GET
@rejectable
def answers(request: HttpRequest, key: str) -> HttpResponse:
    """Return all answers as CSV."""
    found = live_class_of(key)
    data = answer_counts.csv_table(found, lesson_of(found))
    name = f"class-{found.code}-answers.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(data.encode("utf-8-sig"), content_type="text/csv; charset=utf-8", headers=headers)


@require_GET
def made(request: HttpRequest, token: str) -> HttpResponse:
    """Render one part of a shared page.

    Only for requests that the web process sends to an offload worker with a signed token.
    """
    try:
        if settings.OFFLOAD:
            raise Rejected("Nothing exists at this address.", 404)
        return HttpResponse(async_parts.by_token(token))
    except Rejected as refused:
        raise Http404(str(refused)) from None


def answer(request: HttpRequest, data: dict[str, Any], to: str, *args: Any) -> HttpResponse:
    """Return JSON for scripts, else redirect to the page."""
    if request.headers.get("X-Requested-With") == "fetch":
        return JsonResponse(data)
    return redirect(to, *args)
