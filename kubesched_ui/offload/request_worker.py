"""The part of an expensive request that runs in a worker: the middleware and views of the web process."""

import asyncio
import os
import sys
from collections.abc import Callable
from importlib import import_module
from io import BytesIO
from typing import Any, BinaryIO, TypeVar

import msgspec

PIECE = 1 << 18  # bytes that are collected before they are sent
HEAD_LENGTH = 4  # bytes before the head of a stream

T = TypeVar("T")

_handler: Any = None
_starved = False


def prepare(static_files: dict[str, str]) -> None:
    """Set up Django. `static_files`: the hashed names of static files in the web process. The web process has already
    run the middleware that counts, logs and offloads requests."""
    global _handler
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
    import django

    django.setup()
    from django.conf import settings
    from django.contrib.staticfiles.storage import staticfiles_storage
    from django.core.handlers.base import BaseHandler
    from django.core.signals import got_request_exception

    settings.OFFLOAD = False
    skipped = (".observability.", ".offload.", ".static_files.")
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if not any(part in name for part in skipped)]
    _handler = BaseHandler()
    _handler.load_middleware()
    import_module(settings.ROOT_URLCONF)  # all views, which the first request would otherwise load
    storage: Any = staticfiles_storage
    storage.hashed_files = static_files
    got_request_exception.connect(_note_memory_error)


def _note_memory_error(**_: Any) -> None:
    global _starved
    _starved |= isinstance(sys.exc_info()[1], MemoryError)


def respond(variables: dict[str, str]) -> tuple[dict[str, Any], bytes]:
    """Answer a request, given as WSGI variables, with the head and the body of its response."""
    return _handle(variables, lambda response: (_head(response), asyncio.run(_collect(response))))


def stream(variables: dict[str, str], path: str) -> None:
    """Write the response of a request to a named pipe: the length of the head, the head, the body."""

    def write(response: Any) -> None:
        with open(path, "wb", buffering=0) as pipe:
            head = msgspec.msgpack.encode(_head(response))
            pipe.write(len(head).to_bytes(HEAD_LENGTH) + head)
            asyncio.run(_write(response, pipe))

    _handle(variables, write)


def _handle(variables: dict[str, str], send: Callable[[Any], T]) -> T:
    from django.core.handlers.wsgi import WSGIRequest
    from django.db import close_old_connections

    close_old_connections()
    response = _handler.get_response(WSGIRequest(variables | {"wsgi.input": BytesIO()}))
    try:
        if _starved:
            raise MemoryError
        return send(response)
    finally:
        response.close()
        close_old_connections()


def _head(response: Any) -> dict[str, Any]:
    return {
        "status": response.status_code,
        "headers": list(response.items()),
        "cookies": [morsel.OutputString() for morsel in response.cookies.values()],
    }


async def _collect(response: Any) -> bytes:
    return b"".join([part async for part in response]) if response.streaming else response.content


async def _write(response: Any, pipe: BinaryIO) -> None:
    pieces = bytearray()
    if not response.streaming:
        pieces += response.content
    else:
        async for part in response:
            pieces += part
            if len(pieces) >= PIECE:
                _write_all(pipe, pieces)
                pieces.clear()
    _write_all(pipe, pieces)


def _write_all(pipe: BinaryIO, data: bytearray) -> None:
    with memoryview(data) as left:
        while left:
            left = left[pipe.write(left) :]
