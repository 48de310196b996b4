"""Request checks that hold for pages and API alike."""

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse

from kubesched_ui.origins import is_ours

READING = {"GET", "HEAD", "OPTIONS"}
API = "/api/"
Answer = Callable[[HttpRequest], HttpResponse]


def no_nul(get_response: Answer) -> Answer:
    """No NUL character of an address comes any further: PostgreSQL refuses to look for one.

    Nothing is at an address with one in its path. A page's query is read without, the API refuses it.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        query, api = request.META.get("QUERY_STRING", ""), request.path.startswith(API)
        if "\0" in request.path:
            if api:
                return JsonResponse({"error": "There is nothing at this address."}, status=404)
            raise Http404
        if "%00" in query or "\0" in query:
            if api:
                return refused(request)
            request.META["QUERY_STRING"] = query.replace("%00", "").replace("\0", "")
        return get_response(request)

    return middleware


def refused(request: HttpRequest) -> HttpResponse:
    """Names the parameters with a NUL character, as the API does."""
    named = [name for name, values in request.GET.lists() if "\0" in name + "".join(map(str, values))]
    problems = [f"{name}: holds a NUL character".replace("\0", "") for name in named]
    return JsonResponse({"error": "; ".join(problems), "fields": problems}, status=422)


def same_origin_writes(get_response: Answer) -> Answer:
    """Refuses writes that another site's page makes a browser send; programs send no Origin and pass.

    The API has no cookies to protect with a CSRF token, but a dashboard on localhost is within reach of every page
    its user visits.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        origin = request.headers.get("Origin")
        if request.method in READING or origin is None or is_ours(origin, request.scheme or "", request.get_host()):
            return get_response(request)
        return JsonResponse({"error": f"Writes from pages of another site ({origin[:200]}) are refused."}, status=403)

    return middleware
