"""Daphne with bounds: `python -m kubesched_ui.server -b HOST -p PORT kubesched_ui.asgi:application`.

Daphne hands websocket frames to Twisted's transport without asking whether the last ones have left, so a browser
that reads slowly would have a whole run piled up for it in memory. Here a consumer's `send` returns once the
transport has room again (Twisted's push producer protocol).

Daphne also writes a request's whole body to disk before the application is asked. Here what is beyond the largest
upload is read and forgotten, and answered with 413. Forms are the application's to read.

An answer whose application fails midway is broken off.

Before it serves KubeSched's own application it gathers the static files.
"""

import asyncio
import logging
import os
from collections.abc import Sequence
from typing import Any

import django
from daphne import http_protocol
from daphne.cli import CommandLineInterface
from daphne.server import Server as DaphneServer
from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

from kubesched_ui import env


@implementer(IPushProducer)
class Gate:
    """Open while the transport takes more; the transport itself opens and closes it."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()

    def pauseProducing(self) -> None:
        self.open.clear()

    def resumeProducing(self) -> None:
        self.open.set()

    def stopProducing(self) -> None:
        self.open.set()


class BoundedRequest(http_protocol.WebRequest):
    """A request whose body is kept up to a limit."""

    limit = env.max_upload() + 1024 * 1024  # a form is a little larger than its files
    received = 0

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # Twisted would read forms, too: all of them in memory, with an empty 400 for a broken one.
        self._parsePOSTFormSubmission = False

    def handleContentChunk(self, data: bytes) -> None:
        self.received += len(data)
        if self.received <= self.limit:
            super().handleContentChunk(data)

    def handle_exception(self, exception: BaseException) -> None:
        """Breaks off what was begun: a file that ends early must not look whole, and nobody waits for its rest.

        Daphne would begin a second answer here, which raises, and its look after connections would end with that.
        """
        if self._response_started:
            self.channel.forceAbortClient()
        else:
            super().handle_exception(exception)

    def process(self) -> Any:
        if self.received <= self.limit:
            return super().process()
        self.setResponseCode(413)
        self.setHeader(b"Content-Type", b"application/json")
        self.write(b'{"error": "The request body is larger than %d bytes."}' % self.limit)
        return self.finish()


http_protocol.WebRequest = BoundedRequest  # Daphne's factory has no option for it


# Codes that a server may close with (RFC 6455, 7.4.1). Autobahn's `sendClose`, which is for applications, raises for
# them, and the socket would stay open and silent.
SERVER_CODES = frozenset({1001, 1011, 1012, 1013})


class Server(DaphneServer):
    """Replies to websockets wait for the transport."""

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.accept":
            protocol.closeHandshakeTimeout = 30  # a reader that lags answers the close when it has read what is before
            protocol.gate = Gate()
            protocol.transport.unregisterProducer()  # the HTTP channel that the websocket took the transport from
            protocol.transport.registerProducer(protocol.gate, True)
        if message["type"] == "websocket.close" and (code := message.get("code")) in SERVER_CODES:
            protocol.sendCloseFrame(code=code, isReply=False)
            return
        await super().handle_reply(protocol, message)
        if message["type"] == "websocket.send":
            await protocol.gate.open.wait()


OURS = "kubesched_ui.asgi:application"


class CommandLine(CommandLineInterface):
    server_class = Server

    def run(self, args: Sequence[str]) -> None:
        """Serves until told to stop. Our own pages find their static files gathered."""
        if OURS in args:
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
            django.setup()
            from django.conf import settings

            from kubesched_ui import static_files  # needs the settings

            for warning in env.warnings():
                logging.getLogger(__name__).warning(warning)
            static_files.collect()
            if settings.LOG_FORMAT == "json":
                args = ["-v", "0", *args]  # without Daphne's own line a request, which is not JSON; ours is logged
        super().run(args)


if __name__ == "__main__":
    CommandLine.entrypoint()
