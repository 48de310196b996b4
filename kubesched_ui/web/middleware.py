"""Request checks for pages and the API, and compression of responses."""

import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware, re_accepts_gzip
from django.utils.cache import patch_vary_headers

from kubesched_ui.web.origin_check import is_ours

GZIP = 31  # window bits of zlib for a gzip stream
PACKED = {"application/zip"}
READING = {"GET", "HEAD", "OPTIONS"}
API = "/api/"
Answer = Callable[[HttpRequest], HttpResponse]


def no_nul(get_response: Answer) -> Answer:
    """Reject or remove NUL characters in URLs: PostgreSQL raises an error on them. A path with a NUL character is not
    found. In a query, the API rejects the parameter; pages drop the character."""

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
    """Return a response with status 422 that names the parameters with a NUL character, in the format of the API."""
    named = [name for name, values in request.GET.lists() if "\0" in name + "".join(map(str, values))]
    problems = [f"{name}: contains a NUL character".replace("\0", "") for name in named]
    return JsonResponse({"error": "; ".join(problems), "fields": problems}, status=422)


def same_origin_writes(get_response: Answer) -> Answer:
    """Refuse writes that a page of another site makes the browser send. Programs send no Origin and pass. The API has
    no cookies that a CSRF token would protect, but every page that a user visits can reach a server on localhost."""

    def middleware(request: HttpRequest) -> HttpResponse:
        origin = request.headers.get("Origin")
        if request.method in READING or origin is None or is_ours(origin, request.scheme or "", request.get_host()):
            return get_response(request)
        return JsonResponse({"error": f"Writes from pages of another site ({origin[:200]}) are rejected."}, status=403)

    return middleware


class Compression(GZipMiddleware):
    """Compress responses. A streamed response becomes one gzip stream. Django compresses each part of a streamed
    response separately; browsers and curl then read only the first part."""

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
    """Yield the parts as one gzip stream. An exception of `parts` reaches the reader, and the stream then has no
    end."""
    packing = zlib.compressobj(6, zlib.DEFLATED, GZIP)
    async with aclosing(parts):
        async for part in parts:
            if data := packing.compress(part):
                yield data
    yield packing.flush()
