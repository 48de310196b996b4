"""Request checks that hold for pages and API alike."""

from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

READING = {"GET", "HEAD", "OPTIONS"}


def same_origin_writes(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Refuses writes that another site's page makes a browser send; programs send no Origin and pass.

    The API has no cookies to protect with a CSRF token, but a dashboard on localhost is within reach of every page
    its user visits.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        origin = request.headers.get("Origin")
        if request.method in READING or origin is None or origin in settings.CSRF_TRUSTED_ORIGINS:
            return get_response(request)
        if urlsplit(origin).netloc == request.get_host():
            return get_response(request)
        return JsonResponse({"error": f"Writes from pages of another site ({origin[:200]}) are refused."}, status=403)

    return middleware
