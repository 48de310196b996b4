"""Around every request: its id, its time, and the addresses for operators."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Any

from channels.middleware import BaseMiddleware
from django.http import HttpRequest, HttpResponse

from kubesched_ui.log_redaction import hidden
from kubesched_ui.observability import task_correlation as task_correlation  # adds the request id to tasks
from kubesched_ui.observability.logs import HEADER, REQUEST_ID, RUN_ID, request_id

logger = logging.getLogger("kubesched_ui.requests")

RUN_SOCKET = re.compile(r"/ws/runs/(\d{1,18})")

Answer = Callable[[HttpRequest], HttpResponse]


def operators(get_response: Answer) -> Answer:
    """Answers /healthz, /readyz and /metrics.

    Before anything else looks at the request: who asks from beside names whatever host he likes. They are not counted
    among the requests, which they would be most of.
    """
    addresses = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}

    def middleware(request: HttpRequest) -> HttpResponse:
        return addresses.get(request.path, get_response)(request)

    return middleware


# What they need is loaded when somebody asks: a process starts without.


def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as this process answers."""
    return HttpResponse("ok", content_type="text/plain")


def readyz(request: HttpRequest) -> HttpResponse:
    from kubesched_ui.observability import health

    return health.readyz(request)


def metrics(request: HttpRequest) -> HttpResponse:
    from kubesched_ui.observability import metrics

    return metrics.metrics(request)


def watched(get_response: Answer) -> Answer:
    """Gives each request an id, that of X-Request-ID if it is well-formed, and says it in the answer; counts, logs."""

    def middleware(request: HttpRequest) -> HttpResponse:
        begun = time.perf_counter()
        number = request_id(request.headers.get(HEADER))
        REQUEST_ID.set(number)  # and it stays: Django logs what was refused after the last middleware
        RUN_ID.set(None)
        answer = get_response(request)
        answer[HEADER] = number
        tell(request, answer.status_code, time.perf_counter() - begun)
        return answer

    middleware.process_view = about_run  # type: ignore[attr-defined]
    return middleware


def about_run(request: HttpRequest, view: Any, args: Any, named: dict[str, Any]) -> None:
    """What the view logs is about the run that the address names."""
    if "run_id" in named:
        RUN_ID.set(int(named["run_id"]))


def tell(request: HttpRequest, status: int, seconds: float) -> None:
    """Counts an answered request, and logs it."""
    from kubesched_ui.observability import http_metrics

    http_metrics.count_request(request, status, seconds)
    about = {"method": request.method, "route": http_metrics.route_of(request), "status": status}
    more = about | {"seconds": round(seconds, 4)}
    logger.info("%s %s %s", request.method, hidden(request.path[:500]), status, extra=more)


class Identified(BaseMiddleware):
    """The same ids for what a websocket's consumer logs."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        given = dict(scope.get("headers", [])).get(HEADER.lower().encode(), b"")
        REQUEST_ID.set(request_id(given.decode("latin-1")))
        named = RUN_SOCKET.match(scope["path"])
        RUN_ID.set(int(named[1]) if named else None)
        return await super().__call__(scope, receive, send)
