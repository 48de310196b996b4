"""A streamed response is one gzip stream. Clients read only the first of several."""

import zlib
from collections.abc import AsyncIterator

import pytest
from django.http import HttpResponseBase, StreamingHttpResponse
from django.test import RequestFactory

from kubesched_ui.web.middleware import Compression
from tests.kubesched_ui.http_api import body

PIECES = [b"a" * 1000, b"", b"b" * 70_000, b"end"]


async def pieces() -> AsyncIterator[bytes]:
    for piece in PIECES:
        yield piece


async def broken() -> AsyncIterator[bytes]:
    yield b"x" * 1000
    raise ValueError("midway")


def answered(content: AsyncIterator[bytes], accepts: str = "gzip", kind: str = "application/json") -> HttpResponseBase:
    request = RequestFactory().get("/", headers={"accept-encoding": accepts})
    return Compression(lambda _: StreamingHttpResponse(content, content_type=kind))(request)  # type: ignore[return-value]


def test_the_response_is_one_stream() -> None:
    answer = answered(pieces())
    unpacking = zlib.decompressobj(31)
    assert unpacking.decompress(body(answer)) == b"".join(PIECES)
    assert unpacking.eof
    assert unpacking.unused_data == b""
    assert (answer["Content-Encoding"], answer["Vary"]) == ("gzip", "Accept-Encoding")


@pytest.mark.parametrize(("accepts", "kind"), [("identity", "application/json"), ("gzip", "application/zip")])
def test_without_accept_encoding_the_response_is_not_compressed(accepts: str, kind: str) -> None:
    answer = answered(pieces(), accepts, kind)
    assert not answer.has_header("Content-Encoding")
    assert body(answer) == b"".join(PIECES)


def test_an_interrupted_response_has_no_end_of_stream() -> None:
    with pytest.raises(ValueError, match="midway"):
        body(answered(broken()))
