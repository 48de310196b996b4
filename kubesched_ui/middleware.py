"""Request checks that hold for pages and API alike, and how answers are compressed."""

import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware, re_accepts_gzip
from django.utils.cache import patch_vary_headers

from kubesched_ui.origin_check import is_ours

GZIP = 31  # zlib's window bits of a gzip stream
PACKED = {"application/zip"}
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
                return JsonResponse({"error": "Nothing exists at this address."}, status=404)
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


class Compression(GZipMiddleware):
    """Answers are compressed; one that is sent while it is being made is one stream of gzip from begin to end.

    Django compresses each piece of such an answer for itself: browsers and curl take the first for the whole.
    """

    def process_response(self, request: HttpRequest, response: Any) -> HttpResponseBase:
        if not (response.streaming and response.is_async):
            answer: HttpResponseBase = super().process_response(request, response)
            return answer
        if response.has_header("Content-Encoding") or response["Content-Type"] in PACKED:
            return response
        patch_vary_headers(response, ("Accept-Encoding",))
        if re_accepts_gzip.search(request.headers.get("Accept-Encoding", "")):
            response.streaming_content = compressed(response.streaming_content)
            del response.headers["Content-Length"]
            response.headers["Content-Encoding"] = "gzip"
        return response


async def compressed(parts: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    """The parts as one gzip stream. What goes wrong in making them goes on to who reads: no end is written then."""
    packing = zlib.compressobj(6, zlib.DEFLATED, GZIP)
    async with aclosing(parts):
        async for part in parts:
            if data := packing.compress(part):
                yield data
    yield packing.flush()
