"""Daphne with bounds: `python -m kubesched_ui.server -b HOST -p PORT kubesched_ui.asgi:application`.

Daphne hands websocket frames to Twisted's transport without asking whether the last ones have left, so a browser
that reads slowly would have a whole run piled up for it in memory. Here a consumer's `send` returns once the
transport has room again (Twisted's push producer protocol). What many sockets get is framed and compressed once: a
consumer may send `frames`, ready to be written, made for the window of compression that its scope's extension
`kubesched.frames` tells (kubesched_ui/recording). Of many sockets that come at once one is let in at a time, so that
pages pass them. An answer in parts waits for its reader in the same way, and is broken off if he takes nothing for a
minute.

Daphne also writes a request's whole body to disk before the application is asked. Here what is beyond the largest
upload is read and forgotten, and answered with 413; large bodies are bounded in number and bytes, too, and what is
beyond that is answered with 503. Our own application gets the body as it is on disk; Daphne would pass it on through
memory. Forms are the application's to read.

An answer whose application fails midway is broken off. When it is told to stop it first finishes what it began
(runtime/graceful_shutdown.py).

Before it serves KubeSched's own application it gathers the static files.
"""

import asyncio
import contextlib
import gc
import io
import json
import logging
import os
import resource
import socket
import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import django
from autobahn.websocket import protocol
from autobahn.websocket.compress import PerMessageDeflateOffer, PerMessageDeflateOfferAccept
from daphne import cli, http_protocol, ws_protocol
from daphne import server as daphne_server
from daphne.access import AccessLogGenerator
from daphne.cli import CommandLineInterface
from django.urls import get_resolver
from twisted.internet import defer
from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

from kubesched_ui import env
from kubesched_ui.log_redaction import hidden
from kubesched_ui.request_bodies import Body
from kubesched_ui.runtime.fair_scheduler import Turns
from kubesched_ui.runtime.graceful_shutdown import drain
from kubesched_ui.runtime.web_supervisor import AGAIN, READY

HANDSHAKE_S = 30  # a thousand that come at once are not turned away because they wait for each other
FILES = 65_536
SOCKETS = Turns(1)
READER_S = 60  # for the reader of an answer in parts to take something


@implementer(IPushProducer)
class Gate:
    """Open while the transport takes more; the transport itself opens and closes it. `moved`: it took what it had."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.moved = False

    def pauseProducing(self) -> None:
        self.open.clear()

    def resumeProducing(self) -> None:
        self.moved = True
        self.open.set()

    def stopProducing(self) -> None:
        self.open.set()


class BoundedRequest(http_protocol.WebRequest):
    """A request whose body is kept up to a limit, where there is room for it."""

    limit = env.max_upload() + 1024 * 1024  # a form is a little larger than its files
    received = 0
    length = 0  # as it was announced
    no_room = ""
    gate: Gate | None = None  # of an answer in parts
    turn: asyncio.Future[None] | None = None  # of one that becomes a websocket
    arriving: set[Any] = set()  # those that are not here as a whole, of all

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.arriving.add(self)
        # Twisted would read forms, too: all of them in memory, with an empty 400 for a broken one.
        self._parsePOSTFormSubmission = False

    def gotLength(self, length: int | None) -> None:
        self.content = Body(length)
        self.length = min(length or 0, self.limit)

    def handleContentChunk(self, data: bytes) -> None:
        self.received += len(data)
        if self.received > self.limit or self.no_room:
            return
        self.no_room = self.content.fits(max(self.length, self.received))
        if self.no_room:
            self.content.close()
            self.content = Body(0)
            return
        super().handleContentChunk(data)

    def handle_exception(self, exception: BaseException) -> None:
        """Breaks off what was begun: a file that ends early must not look whole, and nobody waits for its rest.

        Daphne would begin a second answer here, which raises, and its look after connections would end with that.
        """
        if self._response_started:
            self.channel.forceAbortClient()
        else:
            super().handle_exception(exception)

    def connectionLost(self, reason: Any) -> None:
        self.arriving.discard(self)
        if self.gate is not None:
            self.gate.open.set()
        super().connectionLost(reason)

    def process(self) -> Any:
        self.arriving.discard(self)
        if self.received > self.limit:
            return self.refuse(413, f"The request body is larger than {self.limit} bytes.")
        if self.no_room:
            self.setHeader(b"Retry-After", b"30")
            return self.refuse(503, self.no_room)
        if self.requestHeaders.hasHeader(b"Upgrade"):
            self.turn = asyncio.ensure_future(self.let_in())
            return None
        return super().process()

    async def let_in(self) -> None:
        """A socket when its turn comes: of a crowd that comes at once, one between two looks at everything else."""
        self.arriving.add(self)
        await SOCKETS.mine()
        self.arriving.discard(self)
        if self.channel is not None:  # else it went
            super().process()

    def refuse(self, status: int, why: str) -> Any:
        self.setResponseCode(status)
        self.setHeader(b"Content-Type", b"application/json")
        self.write(json.dumps({"error": why}).encode())
        return self.finish()


http_protocol.WebRequest = BoundedRequest  # Daphne's factory has no option for it


# Codes that a server may close with (RFC 6455, 7.4.1). Autobahn's `sendClose`, which is for applications, raises for
# them, and the socket would stay open and silent.
SERVER_CODES = frozenset({1001, 1011, 1012, 1013})


# Windows of compression that messages are made for: browsers take the largest, small devices ask for less.
WINDOWS = (15, 12)


def compression(offers: Sequence[Any]) -> PerMessageDeflateOfferAccept | None:
    """permessage-deflate, each message by itself, so that one does for all sockets; None: not compressed."""
    for offer in offers:
        if isinstance(offer, PerMessageDeflateOffer):
            most = offer.request_max_window_bits or max(WINDOWS)
            if bits := next((bits for bits in WINDOWS if bits <= most), 0):
                return PerMessageDeflateOfferAccept(offer, no_context_takeover=True, window_bits=bits)
    return None


class Websocket(ws_protocol.WebSocketProtocol):
    """A websocket that is given up when nobody is there, but not while somebody reads slowly."""

    gate: Gate

    def window(self) -> int:
        """The window of its compression, in bits; 0 without."""
        return 0 if self._perMessageCompress is None else int(self._perMessageCompress.server_max_window_bits)

    def opened(self) -> None:
        """From here on it is a websocket."""
        self.closeHandshakeTimeout = 30  # a reader that lags answers the close when it has read what is before
        self.gate = Gate()
        self.transport.unregisterProducer()  # the HTTP channel that the websocket took the transport from
        self.transport.registerProducer(self.gate, True)
        with contextlib.suppress(OSError, AttributeError):  # as little in the system's memory as in ours; Linux, TCP
            self.transport.getHandle().setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 64 * 1024)

    async def write(self, frames: Sequence[bytes]) -> None:
        """Hands over frames as they are, each when there is room."""
        for frame in frames:
            if self.state == self.STATE_OPEN:
                self.put(frame)
                await self.gate.open.wait()

    def put(self, frame: bytes) -> None:
        """As the transport's `write`, but at once where nothing waits: half the work, for most sockets take it all."""
        transport = self.transport
        if getattr(transport, "dataBuffer", None) == b"" and not transport._tempDataBuffer:
            taken = transport.writeSomeData(frame)
            if isinstance(taken, int) and taken > 0:
                frame = frame[taken:]
        if frame:  # and where the connection is lost, the transport finds out by itself
            transport.write(frame)

    def sendMessage(self, payload: bytes, isBinary: bool = False, **options: Any) -> None:
        """What is for one socket alone is a sentence: not worth the 256 kB that a compressor takes."""
        super().sendMessage(payload, isBinary, doNotCompress=True)

    def _sendAutoPing(self) -> None:
        if self.autoPingTimeoutCall is None:  # the answer to the last one may be on its way
            super()._sendAutoPing()

    def onAutoPingTimeout(self) -> None:
        """Nothing came back. If it has read on since, the ping lies behind what it has still to read."""
        if self.gate.moved:
            self.gate.moved, timer = False, self.factory._batched_timer
            self.autoPingTimeoutCall = timer.call_later(self.autoPingTimeout, self.onAutoPingTimeout)
        else:
            super().onAutoPingTimeout()


class WebsocketFactory(ws_protocol.WebSocketFactory):
    protocol = Websocket

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.setProtocolOptions(perMessageCompressionAccept=compression)


daphne_server.WebSocketFactory = WebsocketFactory
vars(protocol)["pformat"] = repr  # of all its options, for its own debugging: a third of a handshake


class Server(daphne_server.Server):
    """Replies to websockets wait for the transport; a crowd that comes at once is let in. `hands_over`: the application
    takes a body as it is on disk."""

    hands_over = False

    def __init__(self, application: Any, endpoints: Sequence[str] = (), **options: Any) -> None:
        crowd = [f"{one}:backlog=1024" if one.startswith("tcp:") and "backlog" not in one else one for one in endpoints]
        longer = dict.fromkeys(("websocket_handshake_timeout", "websocket_connect_timeout"), HANDSHAKE_S)
        # Never for age: a socket that is closed with 1000 has seen the end of its run.
        super().__init__(application, crowd, **options | longer | {"websocket_timeout": -1})

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        if scope["type"] == "websocket":
            scope["extensions"] = {"kubesched.frames": protocol.window}
        elif self.hands_over:
            scope["kubesched.body"], protocol.content = protocol.content, io.BytesIO()
        return super().create_application(protocol, scope)

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "websocket.send" and "frames" in message:
            await protocol.write(message["frames"])
            return
        if kind == "websocket.accept":
            protocol.opened()
        if kind == "websocket.close" and (code := message.get("code")) in SERVER_CODES:
            protocol.sendCloseFrame(code=code, isReply=False)
            return
        if kind == "http.response.body":
            self.before_part(protocol, message.get("more_body", False))
        await super().handle_reply(protocol, message)
        if kind == "websocket.send":
            await protocol.gate.open.wait()
        if kind == "http.response.body" and protocol.gate is not None:
            await self.taken(protocol)

    def before_part(self, protocol: Any, more: bool) -> None:
        """An answer in parts waits for who reads it; else an export would pile up here."""
        if more and protocol.gate is None and protocol in self.connections and protocol.channel is not None:
            protocol.gate = Gate()
            protocol.registerProducer(protocol.gate, True)
        elif not more and protocol.gate is not None:
            protocol.gate.open.set()
            if protocol.channel is not None:  # else its reader is gone
                protocol.unregisterProducer()

    async def taken(self, protocol: Any) -> None:
        """Until there is room for the next part; who takes nothing for so long keeps what makes it from others."""
        try:
            await asyncio.wait_for(protocol.gate.open.wait(), READER_S)
        except TimeoutError:
            if protocol.channel is not None:
                protocol.channel.forceAbortClient()

    arriving = BoundedRequest.arriving

    def listen_success(self, port: Any) -> None:
        self.ports = [*getattr(self, "ports", ()), port]
        super().listen_success(port)
        if ready := os.environ.pop(READY, ""):  # who keeps this process waits for it
            os.write(int(ready), b".")
            os.close(int(ready))
        if self.hands_over:
            threading.Thread(target=get_ready, daemon=True).start()

    def kill_all_applications(self) -> defer.Deferred[Any]:
        """Asked before the reactor stops, which waits: what is under way gets DRAIN_S to come to its end."""
        draining = drain(self, getattr(self, "ports", ()), env.number("DRAIN_S", 3))
        drained = defer.Deferred.fromFuture(asyncio.ensure_future(draining))
        return drained.addBoth(lambda _: super(Server, self).kill_all_applications())


def get_ready() -> None:
    """Loads what the first page needs. What is in memory by then stays, so it is no more looked through for garbage:
    with it, that would stop everything for a fifth of a second time and again."""
    try:
        get_resolver().url_patterns  # noqa: B018
    finally:
        gc.freeze()
        gc.enable()


def allow_files() -> None:
    """As many sockets as the system lets us have; many systems begin with 1,024 files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < (most := min(hard, FILES) if hard > 0 else FILES):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class AccessLog(AccessLogGenerator):
    """Daphne's line a request, without what it asks for and without the secrets that some addresses hold."""

    def write_entry(self, host: str, date: Any, request: str, **more: Any) -> None:
        super().write_entry(host, date, hidden(request.partition("?")[0]), **more)


cli.AccessLogGenerator = AccessLog  # Daphne's command line has no option for it

OURS = "kubesched_ui.asgi:application"


def listens_at(args: Sequence[str]) -> None:
    """Whether people sign in is by the address that is really listened at, unless HOST or ACCOUNTS say otherwise."""
    hosts = [after for option, after in pairwise(args) if option in ("-b", "--bind")]
    if hosts and not os.environ.get("HOST"):
        os.environ["HOST"] = hosts[-1]


class CommandLine(CommandLineInterface):
    server_class = Server

    def run(self, args: Sequence[str]) -> None:
        """Serves until told to stop. Our own pages find their static files gathered."""
        if OURS in args:
            gc.disable()  # what is loaded stays
            listens_at(args)
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
            django.setup()
            from django.conf import settings

            from kubesched_ui import static_files  # needs the settings

            for warning in env.warnings():
                logging.getLogger(__name__).warning(warning)
            if not (os.environ.get(AGAIN) and static_files.collected()):
                static_files.collect()
            Server.hands_over = True
            if settings.LOG_FORMAT == "json":
                args = ["-v", "0", *args]  # without Daphne's own line a request, which is not JSON; ours is logged
        allow_files()
        super().run(args)


if __name__ == "__main__":
    CommandLine.entrypoint()
