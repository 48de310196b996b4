"""The scenario editor: its page, and the requests it sends while the user edits."""

from typing import Any

import msgspec
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kubesched_ui.editor import schema, service, try_runs
from kubesched_ui.editor.limits import MAX_BODY, MAX_BYTES
from kubesched_ui.editor.try_runs import text_of
from kubesched_ui.ingest import IngestError
from kubesched_ui.models import is_number
from kubesched_ui.offload.pool import PoolBusy
from kubesched_ui.runs import scoring
from kubesched_ui.views.scenarios import find
from scheduler_core.errors import InputError

MOST_TRIES = 50
MOST_WORD = 64  # maximum length of the key by which a page identifies itself


@require_http_methods(["GET", "HEAD", "POST"])
def compose(request: HttpRequest) -> HttpResponse:
    """Show the editor: empty, with the posted text, or with the text of a scenario."""
    sent = request.GET.get("scenario", "")
    text, title = request.POST.get("text", "")[:MAX_BYTES], ""
    if is_number(sent):
        scenario = find(int(sent))
        try:
            text, title = text_of(scenario), scenario.name
        except InputError as error:
            messages.error(request, str(error))
    key = f"scenario-{sent}" if title else "sent" if text else ""
    context = {"text": text, "title": title, "key": key, "release": schema.table()["release"]}
    return render(request, "editor.html", context)


@require_POST
def read(request: HttpRequest) -> HttpResponse:
    """Analyse the text in the request body; see editor/analysis.py.

    The header X-Page identifies the page, so that a newer text replaces an older one.
    """
    body, page = request.read(MAX_BYTES + 1), request.headers.get("X-Page", "")[:MOST_WORD]
    return answered(lambda: msgspec.Raw(service.read(body.decode("utf-8", "replace"), page)))


@require_POST
def change(request: HttpRequest) -> HttpResponse:
    """Apply form edits: {"text", "changes"} -> changed lines; see editor/apply_edits.py."""

    def edit() -> dict[str, Any]:
        sent = body_of(request)
        return {"edit": msgspec.Raw(service.change(text_in(sent), sent.get("changes")))}

    return answered(edit)


@require_GET
@cache_control(max_age=3600)
def fields(request: HttpRequest) -> HttpResponse:
    """Return the Kubernetes schema and our own for completion."""
    return HttpResponse(schema.completion_json(), content_type="application/json")


@require_GET
@cache_control(max_age=3600)
def scoring_form(request: HttpRequest) -> HttpResponse:
    """Return the form of strategy and weights for `release`."""
    context = {"scoring": scoring.offered(request.GET.get("release", "")), "id": "editor"}
    return render(request, "parts/scoring.html", context)


@require_POST
def run(request: HttpRequest) -> HttpResponse:
    """Start a run: {"text", "tries": numbers of earlier scenarios} -> {"url" of the run, "scenario": its number}."""

    def begin() -> dict[str, Any]:
        sent = body_of(request)
        tries = sent.get("tries")
        tries = [one for one in tries if isinstance(one, int)][-MOST_TRIES:] if isinstance(tries, list) else []
        made = try_runs.run_text(text_in(sent), tries)
        return {"url": reverse("run", args=[made.pk]), "scenario": made.scenario_id}

    return answered(begin)


@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Save the text: {"text"} -> {"url" of the scenario}."""
    return answered(lambda: {"url": reverse("scenario", args=[try_runs.store_text(text_in(body_of(request))).pk])})


def answered(ask: Any) -> HttpResponse:
    """Return the result as JSON, or {"error": sentence}.

    Status 409: a newer text of the page was sent; 503: the server is busy.
    """
    try:
        return HttpResponse(msgspec.json.encode(ask()), content_type="application/json")
    except (InputError, IngestError) as error:
        return refused(str(error), 400)
    except service.Superseded:
        return refused("A newer version of the text replaced this one.", 409)
    except PoolBusy as problem:
        answer = refused(str(problem), 503)
        answer["Retry-After"] = str(problem.retry_after)
        return answer


def refused(why: str, status: int) -> HttpResponse:
    return HttpResponse(msgspec.json.encode({"error": why}), status=status, content_type="application/json")


def body_of(request: HttpRequest) -> dict[str, Any]:
    """Return the JSON object in the request body. Raises InputError."""
    body = request.read(MAX_BODY + 1)
    if len(body) > MAX_BODY:
        raise InputError("the text", "", f"is larger than {MAX_BYTES:,} bytes, the limit of the editor")
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        found = None
    if not isinstance(found, dict):
        raise InputError("the request", "", "must be a JSON object")
    return found


def text_in(sent: dict[str, Any]) -> str:
    """Return the text of a request. Raises InputError."""
    text = sent.get("text")
    if not isinstance(text, str):
        raise InputError("the request", "text", "is missing")
    return text
