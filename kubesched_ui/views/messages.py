"""The page that explains pasted messages of FailedScheduling. Nothing is stored."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from scheduler_core.errors import InputError
from scheduler_core.messages.reader import explain_text

SHOWN = 200_000  # characters of the text that the form keeps


@require_http_methods(["GET", "HEAD", "POST"])
def message(request: HttpRequest) -> HttpResponse:
    """Show the form, and what the messages in its text say."""
    text = request.POST.get("text", "")
    context: dict[str, Any] = {"text": text[:SHOWN]}
    if request.method == "POST":
        try:
            context["report"] = explain_text(text)
        except InputError as problem:
            context["error"] = f"The text {problem.problem}."
    return render(request, "message.html", context, status=400 if "error" in context else 200)
