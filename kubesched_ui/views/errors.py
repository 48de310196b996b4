"""Error pages: what happened and what to do next, without a traceback."""

import logging
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from kubesched_ui.runtime.outages import outage_of
from scheduler_core.errors import InputError

logger = logging.getLogger(__name__)

TITLES = {
    400: "Bad request",
    403: "Forbidden",
    404: "Not found",
    413: "Too large",
    429: "Too many requests",
    500: "Unreadable recording",
}


def readable(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate a view of recordings: show an error page for a recording that another version wrote."""

    @wraps(view)
    def answering(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except InputError as error:
            logger.warning("%s: %s", request.path, error)
            return page(request, 500, f"{error}. It was recorded by another version. Run it again.")

    return answering


def page(request: HttpRequest, status: int, detail: str) -> HttpResponse:
    """Render the error page for `status`, or the same as JSON for the API."""
    if request.path.startswith("/api/"):
        return JsonResponse({"error": detail}, status=status)
    context = {"status": status, "title": TITLES[status], "detail": detail, "doc": {}}
    return render(request, "error.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, RequestDataTooBig):
        return page(request, 413, "The form contains too much text. Upload a file instead.")
    if isinstance(exception, TooManyFieldsSent):
        return page(request, 413, f"The form has more than {settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:,} fields.")
    return page(request, 400, "The request is not valid. Go back and try again.")


def forbidden(request: HttpRequest, exception: Exception | None = None, reason: str = "") -> HttpResponse:
    """Explain a write without permission, or a form without a valid CSRF token."""
    expired = "The form has expired or was sent from another site. Reload the page and submit it again."
    return page(request, 403, str(exception or "") or expired)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    reason = exception.args[0] if exception.args and isinstance(exception.args[0], str) else ""
    lost = "Nothing exists at this address. It may have been deleted, or the address is incomplete."
    detail = reason if reason.endswith(".") else lost
    return page(request, 404, detail)


def too_many(request: HttpRequest) -> HttpResponse:
    """Render the page for too many attempts."""
    answer = page(request, 429, "Too many attempts. Try again in a minute.")
    answer["Retry-After"] = "60"
    return answer


def broken(request: HttpRequest) -> HttpResponse:
    """Handle an unexpected error. A database or disk outage returns 503 with Retry-After.

    The API, and clients that do not accept HTML, receive JSON. The page needs no database.
    """
    outage = outage_of(sys.exc_info()[1])
    status = 503 if outage else 500
    if request.path.startswith("/api/") or not request.accepts("text/html"):
        detail = outage.message if outage else "Internal error; the server log has the details."
        answer: HttpResponse = JsonResponse({"error": detail}, status=status)
    else:
        answer = HttpResponse(render_to_string("500.html", {"status": status, "outage": outage}), status=status)
    if outage:
        answer["Retry-After"] = str(outage.retry_after)
    return answer
