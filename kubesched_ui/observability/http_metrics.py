"""HTTP metrics of this process for Prometheus. Each web process exports its own; Prometheus adds them up."""

import logging

from django.conf import settings
from django.http import HttpRequest
from prometheus_client import Counter, Histogram, Info, disable_created_metrics

disable_created_metrics()  # they would add a line per counter with its creation time

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

REQUESTS = Counter(
    "kubesched_http_requests", "Answered requests by method, route and status.", ["method", "route", "status"]
)
REQUEST_SECONDS = Histogram(
    "kubesched_http_request_seconds", "Seconds until the response started.", ["method", "route"], buckets=SECONDS
)
ERRORS = Counter("kubesched_errors", "Log records of level ERROR and above.", ["logger"])
Info("kubesched_build", "The version of this process.").info({"version": settings.VERSION})


def route_of(request: HttpRequest) -> str:
    """Return the URL pattern as label, never the URL itself, to keep the number of label values small."""
    if request.path.startswith(settings.STATIC_URL):
        return settings.STATIC_URL
    if request.resolver_match is None:
        return "none"
    route = "/" + str(request.resolver_match.route)
    return "/admin/" if route.startswith("/admin/") else route


def count_request(request: HttpRequest, status: int, seconds: float) -> None:
    """Count an answered request."""
    method = request.method if request.method in METHODS else "other"
    route = route_of(request)
    REQUESTS.labels(method, route, str(status)).inc()
    REQUEST_SECONDS.labels(method, route).observe(seconds)


class CountErrors(logging.Handler):
    """Counts log records of level ERROR and above."""

    def emit(self, record: logging.LogRecord) -> None:
        ERRORS.labels(record.name).inc()


# Only web processes, which export these counters, import this module.
logging.getLogger().addHandler(CountErrors(logging.ERROR))
