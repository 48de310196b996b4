"""Hands expensive requests to processes beside this one, and their answers back."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, TimeoutError
from typing import Any

import msgspec
from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.shortcuts import render

from kubesched_ui.beside import routes
from kubesched_ui.beside.pool import EXPORTS, QUESTIONS, NoAnswer, Pool, Process

PATIENCE = 1.0  # seconds after which a page says that it is being made
KEPT_SECONDS = 120.0  # for which it is kept until somebody comes for it
KEPT = 50
OWN_COPY = {"content-length"}

_making: dict[tuple[str, ...], tuple[float, Future[HttpResponseBase]]] = {}
_lock = threading.Lock()

Answer = Callable[[HttpRequest], HttpResponseBase]


def beside(get_response: Answer) -> Answer:
    """The last middleware: who may not ask was refused before."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        return get_response(request)

    middleware.process_view = process_view  # type: ignore[attr-defined]
    return middleware


def process_view(request: HttpRequest, view: Any, args: Any, named: dict[str, Any]) -> HttpResponseBase | None:
    """None for what is answered here."""
    match = request.resolver_match
    if not settings.BESIDE or request.method not in ("GET", "HEAD") or match is None:
        return None
    route = match.route
    if route in routes.BEFORE and not QUESTIONS.made:
        threading.Thread(target=QUESTIONS.warm, daemon=True).start()
    if route in routes.STREAMED:
        return answered(request, EXPORTS, "")
    if route in routes.ALWAYS or is_large(route, named):
        return soon(request, route, about(named, request))
    return None


def about(named: dict[str, Any], request: HttpRequest) -> str:
    """The run that a question is about."""
    run = str(named.get("run_id") or named.get("a") or request.GET.get("a", ""))
    return run or f"scenario {named.get('scenario_id')}"


def is_large(route: str, named: dict[str, Any]) -> bool:
    """Whether an address is about a run or a scenario that is not looked at in this process."""
    from kubesched_ui.models import Run, Scenario

    if route in routes.OF_LARGE_SCENARIOS:
        counts = Scenario.objects.filter(pk=named["scenario_id"]).values_list("counts", flat=True).first()
        return bool(counts) and counts.get("Pod", 0) > routes.LARGE
    if route not in routes.OF_LARGE_RUNS | routes.OF_LARGE_RUNS_IN_TIME:
        return False
    runs = Run.objects.filter(pk=named["run_id"], cycles_done__gt=routes.LARGE)
    return (runs if route in routes.OF_LARGE_RUNS else runs.filter(in_time=True)).exists()


def soon(request: HttpRequest, route: str, run: str) -> HttpResponseBase:
    """The answer; of a page that takes a while one that says so, asks again by itself and gets it then."""
    part = "X-Requested-With" in request.headers  # of a page, which says itself that it waits
    if route not in routes.PAGES or request.method != "GET" or part:
        return answered(request, QUESTIONS, run)
    key = (request.get_full_path(), request.META.get("HTTP_COOKIE", ""), request.META.get("HTTP_AUTHORIZATION", ""))
    now = time.monotonic()
    with _lock:
        for old in [k for k, (since, _) in _making.items() if now - since > KEPT_SECONDS]:
            del _making[old]
        _, making = _making.get(key, (0.0, None))
        if making is None and len(_making) < KEPT:
            making = Future()
            _making[key] = now, making
            threading.Thread(target=_make, args=(making, request, run), daemon=True).start()
    if making is None:
        return refused(request, NoAnswer("Too many ask at once; ask again in a moment.", 10))
    try:
        answer = making.result(PATIENCE)
    except TimeoutError:
        return waiting(request)
    with _lock:
        _making.pop(key, None)
    return answer


def _make(making: Future[HttpResponseBase], request: HttpRequest, run: str) -> None:
    try:
        answer = answered(request, QUESTIONS, run)
        making.set_result(gathered(answer) if isinstance(answer, StreamingHttpResponse) else answer)
    except BaseException as problem:
        making.set_exception(problem)


def gathered(answer: StreamingHttpResponse) -> HttpResponse:
    """As a whole: nobody may come for it, and its process is wanted."""
    pieces: Pieces = answer.pieces  # type: ignore[attr-defined]
    whole = HttpResponse(b"".join(pieces.all()), status=answer.status_code)
    whole.headers = answer.headers
    whole.cookies = answer.cookies
    return whole


def waiting(request: HttpRequest) -> HttpResponse:
    """A page that asks again."""
    answer = render(request, "waiting.html", status=202)
    answer["Cache-Control"] = "no-store"
    return answer


def answered(request: HttpRequest, pool: Pool, run: str) -> HttpResponseBase:
    """What a process beside this one answers."""
    variables = {name: value for name, value in request.META.items() if isinstance(value, str)}
    variables.pop("HTTP_ACCEPT_ENCODING", None)  # compressed here, where it is known how it leaves
    path = request.path_info.encode().decode("latin-1")  # as WSGI has it
    variables |= {"wsgi.url_scheme": request.scheme or "http", "SCRIPT_NAME": "", "PATH_INFO": path}
    try:
        process = pool.take(run)
    except NoAnswer as problem:
        return refused(request, problem)
    try:
        told = process.send(msgspec.msgpack.encode(variables), settings.BESIDE_MAX_SECONDS)
    except NoAnswer as problem:
        pool.give(process)
        return refused(request, problem)
    except BaseException:
        process.end()
        pool.give(process)
        raise
    if told["more"]:
        pieces: Any = Pieces(pool, process)
        answer: Any = as_response(told, StreamingHttpResponse(pieces))
        answer.pieces = pieces
        return answer
    pool.give(process)
    return as_response(told, HttpResponse(told["body"]))


def as_response(told: dict[str, Any], response: HttpResponseBase) -> HttpResponseBase:
    response.status_code = told["status"]
    for name, value in told["headers"]:
        if name.lower() not in OWN_COPY:
            response[name] = value
    for cookie in told["cookies"]:
        response.cookies.load(cookie)
    return response


class Pieces:
    """The pieces of an answer, whose process is free for others once the last one is taken or nobody reads any more."""

    def __init__(self, pool: Pool, process: Process) -> None:
        self._pool, self._process, self._given = pool, process, False
        self._pieces: Iterator[bytes] = process.pieces(settings.BESIDE_MAX_SECONDS)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while piece := await sync_to_async(self._next, thread_sensitive=False)():
                yield piece
        finally:
            self.close()

    def all(self) -> Iterator[bytes]:
        """Here and now."""
        try:
            yield from self._pieces
        finally:
            self.close()

    def _next(self) -> bytes:
        return next(self._pieces, b"")

    def close(self) -> None:
        """Also where it was never read."""
        if self._given:
            return
        self._given = True
        try:
            self._pieces.close()  # type: ignore[attr-defined]
        except ValueError:  # a thread waits for the next piece and nobody for the thread
            self._process.end()
        self._pool.give(self._process)


def refused(request: HttpRequest, problem: NoAnswer) -> HttpResponse:
    """503, with when to come again, in JSON where that is asked for."""
    if request.path.startswith("/api/"):
        answer: HttpResponse = JsonResponse({"error": str(problem)}, status=503)
    else:
        about = {"status": 503, "title": "This was not answered", "detail": str(problem)}
        answer = render(request, "error.html", about, status=503)
    if problem.again:
        answer["Retry-After"] = str(problem.again)
    return answer
