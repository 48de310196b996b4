"""Student pages of a live class: join with a code, see the current step or page, answer. No account is needed."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kubesched_ui.accounts import share_links
from kubesched_ui.live_classes import answers, membership, serializers
from kubesched_ui.live_classes.models import LiveClass, Rejected, Student
from kubesched_ui.views.errors import too_many
from kubesched_ui.views.live_classes import answer as answered
from kubesched_ui.views.live_classes import rejectable
from kubesched_ui.web.client_address import address_of

WRONG = "No class with this code is open. Check the code, or ask your teacher."
COME_IN = "Join the class first."


@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest) -> HttpResponse:
    """Show the form for a code."""
    if request.method != "POST":
        return render(request, "live_class_join.html")
    code = membership.typed(request.POST.get("code", ""))
    return redirect("join-class", code) if code else wrong(request, request.POST.get("code", ""))


def wrong(request: HttpRequest, code: str) -> HttpResponse:
    """Reject an unknown code and count the attempt."""
    membership.TRIES.count(address_of(request))
    return render(request, "live_class_join.html", {"problem": WRONG, "code": code[:40]}, status=404)


@require_http_methods(["GET", "HEAD", "POST"])
@rejectable
def student_page(request: HttpRequest, code: str) -> HttpResponse:
    """Show the live class to its students, and the nickname form to others."""
    code = membership.typed(code)
    student = membership.student_of(code, request.COOKIES)
    if student is not None:
        return inside(request, student)
    if membership.TRIES.reached(address_of(request)):
        return too_many(request)
    found = LiveClass.objects.live().filter(code=code).first() if code else None
    if found is None:
        return wrong(request, code)
    return (
        enter(request, found)
        if request.method == "POST"
        else render(request, "live_class_name.html", {"classroom": found})
    )


def enter(request: HttpRequest, found: LiveClass) -> HttpResponse:
    """Join with a nickname. A cookie identifies the student from then on."""
    name = request.POST.get("name", "")
    try:
        _, secret = membership.join(found, name)
    except Rejected as refused:
        context = {"classroom": found, "problem": str(refused), "name": membership.nickname(name)}
        return render(request, "live_class_name.html", context, status=refused.status)
    if found.share_id and found.opens_run:
        share_links.remember(request.session, found.share_id)
    response = redirect("join-class", found.code)
    secure = bool(settings.SESSION_COOKIE_SECURE)
    age = settings.LIVE_CLASS_HOURS * 3600
    response.set_cookie(
        membership.cookie_of(found.code), secret, max_age=age, httponly=True, samesite="Lax", secure=secure
    )
    return response


def inside(request: HttpRequest, student: Student) -> HttpResponse:
    """Show the current page of the class, or an earlier step."""
    context = serializers.student_context(student, request.GET.get("step", ""))
    template = "live_class_student.html" if student.live_class.lesson else "live_class_run_student.html"
    return render(request, template, context)


def of_request(request: HttpRequest, code: str) -> Student:
    """Return the student that sent the request.

    Raises Refused, with the same message if the live class does not exist.
    """
    student = membership.student_of(membership.typed(code), request.COOKIES)
    if student is None:
        raise Rejected(COME_IN, 403)
    return student


@require_GET
def part(request: HttpRequest, code: str) -> HttpResponse:
    """Return a step as JSON for the page's script: the current one, or an earlier one."""
    try:
        state: dict[str, Any] = serializers.student_state(of_request(request, code), request.GET.get("step", ""))
    except Rejected as refused:
        return JsonResponse({"error": str(refused)}, status=refused.status)
    return JsonResponse(state)


@require_POST
@rejectable
def answer(request: HttpRequest, code: str) -> HttpResponse:
    """Store an answer. The answer counts if the response is 200."""
    student = of_request(request, code)
    step = request.POST.get("step", "")
    number = int(step) if step.isascii() and step.isdigit() and len(step) < 4 else 0
    answers.accept(student, number, request.POST.getlist("answer"))
    state = {"ok": True} | serializers.stored_own_answer(student, number)
    return answered(request, state, "join-class", student.live_class.code)
