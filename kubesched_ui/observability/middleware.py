"""Middleware for the ID, the duration and the log of every request, and the URLs for operators."""

import logging
import re
import time
from collections.abc import Callable
from typing import Any

from channels.middleware import BaseMiddleware
from django.http import HttpRequest, HttpResponse

from kubesched_ui.observability import task_correlation as task_correlation  # adds the request ID to tasks
from kubesched_ui.observability.logs import HEADER, REQUEST_ID, RUN_ID, request_id
from kubesched_ui.web.log_redaction import hidden

logger = logging.getLogger("kubesched_ui.requests")

RUN_SOCKET = re.compile(r"/ws/runs/(\d{1,18})")

Answer = Callable[[HttpRequest], HttpResponse]


def operator_urls(get_response: Answer) -> Answer:
    """Answer /healthz, /readyz and /metrics. This comes first because local clients may send any Host header. These
    requests are not counted: they would be the majority."""

    def middleware(request: HttpRequest) -> HttpResponse:
        # The modules are imported at the first request, so that processes start faster.
        match request.path:
            case "/healthz":  # this process responds
                return HttpResponse("ok", content_type="text/plain")
            case "/readyz":
                from kubesched_ui.observability import health

                return health.readyz(request)
            case "/metrics":
                from kubesched_ui.observability import metrics

                return metrics.metrics(request)
        return get_response(request)

    return middleware


def request_log(get_response: Answer) -> Answer:
    """Set the ID of each request (X-Request-ID if it is valid) and return it in the response; count and log the
    request."""

    def middleware(request: HttpRequest) -> HttpResponse:
        begun = time.perf_counter()
        number = request_id(request.headers.get(HEADER))
        REQUEST_ID.set(number)  # not reset: Django logs refused requests after the last middleware
        RUN_ID.set(None)
        answer = get_response(request)
        answer[HEADER] = number
        log_request(request, answer.status_code, time.perf_counter() - begun)
        return answer

    middleware.process_view = about_run  # type: ignore[attr-defined]
    return middleware


def about_run(request: HttpRequest, view: Any, args: Any, named: dict[str, Any]) -> None:
    """Set the run ID of log records to that in the URL."""
    if "run_id" in named:
        RUN_ID.set(int(named["run_id"]))


def log_request(request: HttpRequest, status: int, seconds: float) -> None:
    """Count and log an answered request."""
    from kubesched_ui.observability import http_metrics

    http_metrics.count_request(request, status, seconds)
    about = {"method": request.method, "route": http_metrics.route_of(request), "status": status}
    more = about | {"seconds": round(seconds, 4)}
    logger.info("%s %s %s", request.method, hidden(request.path[:500]), status, extra=more)


class Identified(BaseMiddleware):
    """Sets the same IDs for log records of a websocket consumer."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        given = dict(scope.get("headers", [])).get(HEADER.lower().encode(), b"")
        REQUEST_ID.set(request_id(given.decode("latin-1")))
        named = RUN_SOCKET.match(scope["path"])
        RUN_ID.set(int(named[1]) if named else None)
        return await super().__call__(scope, receive, send)
