"""Sends expensive requests to the workers. Slow pages first return a placeholder that reloads."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, TimeoutError
from contextvars import copy_context
from typing import Any

from django.apps import apps
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render

from kubesched_ui.offload import client
from kubesched_ui.offload.pool import OffloadError, PoolBusy
from kubesched_ui.offload.pools import find_pool, get_pool

PATIENCE = 1.0  # seconds until the placeholder is returned
KEPT_SECONDS = 120.0  # seconds for which a finished page is kept until the client requests it
KEPT = 50
LARGE = 5_000  # cycles of a run, pods of a scenario or cluster
# Names of the URLs after which users usually request something expensive, and the pool that computes it.
SOON = dict.fromkeys(("runs", "run", "pod", "list_runs"), "requests") | {"written-edit": "lessons"}

_making: dict[tuple[str, ...], tuple[float, Future[HttpResponseBase]]] = {}
_lock = threading.Lock()

Answer = Callable[[HttpRequest], HttpResponseBase]


def offload(get_response: Answer) -> Answer:
    """The last middleware: the others have already refused requests without permission."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        return get_response(request)

    middleware.process_view = process_view  # type: ignore[attr-defined]
    return middleware


def process_view(request: HttpRequest, view: Any, args: Any, named: dict[str, Any]) -> HttpResponseBase | None:
    """Return the response of a worker, or None to run the view in this process."""
    match = request.resolver_match
    if not settings.OFFLOAD or request.method not in ("GET", "HEAD") or match is None:
        return None
    if (name := SOON.get(match.url_name or "")) and find_pool(name) is None:
        threading.Thread(target=get_pool(name).warm, daemon=True).start()
    cost: str = getattr(getattr(match.func, "permission", None), "cost", "")
    if cost == "stream":
        return respond(request, client.stream)
    if cost == "lesson":
        return respond(request, client.respond, f"lesson {named['lesson_id']}", "lessons")
    if cost.startswith("always") or (cost and is_large(named, "virtual time" in cost)):
        return respond_soon(request, cost.endswith("page"), run_key(named, request))
    return None


def run_key(named: dict[str, Any], request: HttpRequest) -> str:
    """Return the ID of the run (or the scenario or cluster) of a request."""
    run = str(named.get("run_id") or named.get("a") or request.GET.get("a", ""))
    if cluster := named.get("cluster_id"):
        return f"cluster {cluster}"
    return run or f"scenario {named.get('scenario_id')}"


def is_large(named: dict[str, Any], in_time: bool) -> bool:
    """Return whether a URL names a run, scenario or cluster that is too large for this process. `in_time`: of runs,
    only those in virtual time are."""
    from kubesched_ui.models import Run, Scenario

    if "run_id" in named:
        runs = Run.objects.filter(pk=named["run_id"], cycles_done__gt=LARGE)
        return (runs.filter(in_time=True) if in_time else runs).exists()
    pods, rows = "Pod", Scenario.objects.filter(pk=named.get("scenario_id"))
    if "cluster_id" in named:
        clusters: Any = apps.get_model("clusters", "Cluster")
        pods, rows = "pods", clusters.everything.filter(pk=named["cluster_id"])
    counts = rows.values_list("counts", flat=True).first() or {}
    return bool(counts.get(pods, 0) > LARGE)


def respond_soon(request: HttpRequest, page: bool, run: str) -> HttpResponseBase:
    """Return the response of a worker. A page that takes longer first gets a placeholder, which reloads until the page
    is ready."""
    part = "X-Requested-With" in request.headers  # a part of a page, which shows a wait message itself
    if not page or request.method != "GET" or part:
        return respond(request, client.respond, run)
    key = (request.get_full_path(), request.META.get("HTTP_COOKIE", ""), request.META.get("HTTP_AUTHORIZATION", ""))
    now = time.monotonic()
    with _lock:
        for old in [k for k, (since, _) in _making.items() if now - since > KEPT_SECONDS]:
            del _making[old]
        _, making = _making.get(key, (0.0, None))
        if making is None and len(_making) < KEPT:
            making = Future()
            _making[key] = now, making
            threading.Thread(target=copy_context().run, args=(_make, making, request, run), daemon=True).start()
    if making is None:
        return unavailable(request, PoolBusy())
    try:
        answer = making.result(PATIENCE)
    except TimeoutError:
        return waiting(request)
    with _lock:
        _making.pop(key, None)
    return answer


def _make(making: Future[HttpResponseBase], request: HttpRequest, run: str) -> None:
    try:
        making.set_result(respond(request, client.respond, run))
    except BaseException as problem:
        making.set_exception(problem)


def waiting(request: HttpRequest) -> HttpResponse:
    """Return the placeholder, which reloads."""
    answer = render(request, "waiting.html", status=202)
    answer["Cache-Control"] = "no-store"
    return answer


def respond(request: HttpRequest, answer: Callable[..., HttpResponseBase], *args: Any) -> HttpResponseBase:
    """Return the response of a worker."""
    try:
        return answer(request, *args)
    except OffloadError as problem:
        return unavailable(request, problem)


def unavailable(request: HttpRequest, problem: OffloadError) -> HttpResponse:
    """Return status 503 with Retry-After, as JSON for the API."""
    if request.path.startswith("/api/"):
        answer: HttpResponse = JsonResponse({"error": str(problem)}, status=503)
    else:
        about = {"status": 503, "title": "The request failed", "detail": str(problem)}
        answer = render(request, "error.html", about, status=503)
    if problem.retry_after:
        answer["Retry-After"] = str(problem.retry_after)
    return answer
