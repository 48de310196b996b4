"""A process that answers requests for the web process, so that what they need in memory and time is bounded:

    python -m kubesched_ui.beside.worker BYTES

Its standard input is a socket, over which `multiprocessing.connection` carries messages. The first is msgpack of the
names of static files; from then on each is a request, msgpack of its WSGI variables. The reply is msgpack of {status,
headers, cookies, body, more, last}; with `more`, pieces follow, each after a byte b"+", and b"." at the end, or b"!" if
it failed midway. `last`: the process has grown and ends now. It ends when the socket is closed, and may be ended at any
time.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from importlib import import_module
from io import BytesIO
from multiprocessing.connection import Connection
from typing import Any

import msgspec

PIECE = 1 << 18  # bytes that are gathered before they are sent
LOOK_SECONDS = 1.0  # between two looks whether who asks is there
PAGE = resource.getpagesize()


def resident() -> int:
    """Bytes in memory."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * PAGE


def bound(most: int) -> None:
    """No more than so many bytes of data; and the process goes with who asks, also amid an answer."""
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_DATA, (most, resource.RLIM_INFINITY))
    # No PR_SET_PDEATHSIG: that would go with the thread which started the process.
    threading.Thread(target=_go_with, args=(os.getppid(),), daemon=True).start()


def _go_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os._exit(0)


def handler() -> Any:
    """Our own middleware and views, without counting, logging and sending on what the web process has seen already."""
    from django.conf import settings
    from django.core.handlers.base import BaseHandler

    settings.BESIDE = False
    passed = (".seeing.", ".beside.", ".static_files.")
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if not any(part in name for part in passed)]
    made = BaseHandler()
    made.load_middleware()
    import_module(settings.ROOT_URLCONF)  # all views, which the first question would load
    return made


def names_of_files(gathered: dict[str, str]) -> None:
    """Static files have the names here that the web process gave them when it gathered them."""
    from django.contrib.staticfiles.storage import staticfiles_storage

    storage: Any = staticfiles_storage
    storage.hashed_files = gathered


class Answering:
    """Takes one request after the other."""

    def __init__(self, asking: Connection, most: int) -> None:
        self.asking, self.most, self.handler, self.starved = asking, most, handler(), False
        from django.core.signals import got_request_exception

        got_request_exception.connect(self._noted)

    def _noted(self, **_: Any) -> None:
        self.starved |= isinstance(sys.exc_info()[1], MemoryError)

    def serve(self) -> None:
        """Answers until nobody asks any more, or it has become too large to be kept."""
        while not self.starved and resident() < self.most * 3 // 4:
            try:
                variables = msgspec.msgpack.decode(self.asking.recv_bytes())
            except EOFError:
                return
            self.answer(variables)

    def answer(self, variables: dict[str, Any]) -> None:
        from django.core.handlers.wsgi import WSGIRequest
        from django.db import close_old_connections

        close_old_connections()
        request = WSGIRequest(variables | {"wsgi.input": BytesIO()})
        response = self.handler.get_response(request)
        last = self.starved or resident() >= self.most * 3 // 4
        whole = b"" if response.streaming or self.starved else response.content
        more = response.streaming or len(whole) > PIECE
        told = {
            "status": 507 if self.starved else response.status_code,
            "headers": [(name, value) for name, value in response.items()],
            "cookies": [morsel.OutputString() for morsel in response.cookies.values()],
            "body": b"" if more else whole,
            "more": more,
            "last": last and not more,
        }
        self.asking.send_bytes(msgspec.msgpack.encode(told))
        if response.streaming:
            self.stream(response)
        elif more:
            for begin in range(0, len(whole), PIECE):
                self.asking.send_bytes(b"+" + whole[begin : begin + PIECE])
            self.asking.send_bytes(b".")
        response.close()
        close_old_connections()

    def stream(self, response: Any) -> None:
        try:
            asyncio.run(self._pieces(aiter(response)))
            self.asking.send_bytes(b".")
        except OSError:
            raise  # nobody listens any more
        except BaseException:
            import logging

            logging.getLogger(__name__).exception("An answer ended midway")
            self.asking.send_bytes(b"!")

    async def _pieces(self, parts: AsyncIterator[bytes]) -> None:
        gathered = bytearray()
        async for part in parts:
            gathered += part
            if len(gathered) >= PIECE:
                self.asking.send_bytes(b"+" + gathered)
                gathered.clear()
        if gathered:
            self.asking.send_bytes(b"+" + gathered)


def main(most: int) -> None:
    asking = Connection(os.dup(sys.stdin.fileno()))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
    import django

    django.setup()
    bound(most)  # after what was imported, of which the bytes count, too
    names_of_files(msgspec.msgpack.decode(asking.recv_bytes()))
    with suppress(BrokenPipeError, ConnectionResetError):  # who asked is gone
        Answering(asking, most).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]))
