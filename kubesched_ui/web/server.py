"""Serve KubeSched with Daphne: `python -m kubesched_ui.web.server -b HOST -p PORT kubesched_ui.asgi:application`.

This server adds to Daphne:

* Backpressure. `send` of a websocket message, or of a part of a streamed response, returns when the transport accepts
  more data (push producers of Twisted). A websocket client that does not answer a ping is disconnected; it resumes with
  `since`.
* Deadlines. Headers must arrive within HEADERS_S. The body of a request and the reader of a streamed response must
  reach LEAST_RATE on average, after GRACE_S or READER_GRACE_S. Slower clients are disconnected.
* Limits for request bodies. Daphne writes the whole body to disk before it calls the application. This server discards
  the part that exceeds the largest upload and answers 413. It limits the number and the total size of large bodies and
  answers 503 above that. The application of this project names the sender of a body before anything of it is stored,
  and gets the body as the file on disk. A body that it would refuse anyway is discarded.
* Fairness. The server opens one websocket per iteration of the event loop, so pages are served while many connect.
* A graceful stop (web/graceful_shutdown.py), and an access log without secrets.
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
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any
from urllib.parse import unquote

import django
from autobahn.websocket.compress import PerMessageDeflateOffer, PerMessageDeflateOfferAccept
from daphne import server as daphne
from daphne.cli import CommandLineInterface
from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.ws_protocol import WebSocketProtocol
from django.urls import get_resolver
from twisted.internet import defer, task
from twisted.internet.interfaces import IPushProducer
from twisted.web.http import HTTPChannel
from zope.interface import implementer

from kubesched_ui.runtime import env
from kubesched_ui.web.fair_scheduler import FairScheduler
from kubesched_ui.web.graceful_shutdown import drain
from kubesched_ui.web.log_redaction import hidden
from kubesched_ui.web.request_bodies import Body
from scheduler_core.garbage_collection import freeze_objects

logger = logging.getLogger(__name__)

HANDSHAKE_S = 30  # Many clients that connect at once wait for each other.
PING_EVERY_S, PONG_S = 40, 35  # The pong comes before the next ping; proxies close a silent connection after 60 s.
FILES = 65_536
SOCKETS = FairScheduler(1)
HEADERS_S = 20  # from the first byte of a request to the end of its headers
BODY_S = 3600  # for a whole body
GRACE_S = 20  # that a slow sender may lag behind LEAST_RATE
READER_GRACE_S = 10  # that a slow reader may, which keeps disk space from others
LEAST_RATE = 16_000  # bytes per second
TICK_S, LONGEST_TICK_S = 1, 2  # A tick that comes late, because this process was busy, is not the client's fault.
UNKNOWN = 16 * 1024  # bytes of a body that are accepted before its sender is known
SENDERS = ThreadPoolExecutor(2, thread_name_prefix="senders")
LARGE = 1024  # Smallest size in bytes of a message that is compressed.


@implementer(IPushProducer)
class Gate:
    """A producer whose `open` event is set while the transport accepts data."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()

    def pauseProducing(self) -> None:
        self.open.clear()

    def resumeProducing(self) -> None:
        self.open.set()

    stopProducing = resumeProducing


class Allowance:
    """The seconds that a slow client may lag behind LEAST_RATE. Bytes earn time, at most `most`."""

    def __init__(self, most: float) -> None:
        self.left = self.most = most

    def earn(self, size: int) -> None:
        self.left = min(self.most, self.left + size / LEAST_RATE)


class Channel(HTTPChannel):
    """A connection with deadlines for the headers and the body of each request."""

    waiting: dict[Any, None] = {}  # Connections whose headers have not arrived completely, oldest first.
    sending: set[Any] = set()  # Connections whose body has not arrived completely.
    most_waiting = 1000
    began = 0.0  # Time at which this part of the request began.
    held = False
    allowance: Allowance
    transport: Any
    _networkProducer: Any

    def connectionMade(self) -> None:
        super().connectionMade()
        self.await_headers()

    def await_headers(self) -> None:
        """Begin the deadline for headers. If too many connections wait, the oldest one is closed: it is the slowest."""
        self.began = time.monotonic()
        self.waiting[self] = None
        if len(self.waiting) > self.most_waiting:
            next(iter(self.waiting)).expire("")

    def dataReceived(self, data: bytes) -> None:
        if not self.requests and self not in self.waiting:  # The next request of this connection.
            self.await_headers()
        super().dataReceived(data)

    def allHeadersReceived(self) -> None:
        self.waiting.pop(self, None)
        self.sending.add(self)
        self.began, self.allowance = time.monotonic(), Allowance(GRACE_S)
        super().allHeadersReceived()

    def allContentReceived(self) -> None:
        self.sending.discard(self)
        super().allContentReceived()

    def requestDone(self, request: Any) -> None:
        super().requestDone(request)
        if self.requests and not self._handlingRequest and self not in self.sending:
            self.await_headers()  # The client has sent the beginning of the next request already.

    def connectionLost(self, reason: Any = None) -> None:
        self.waiting.pop(self, None)
        self.sending.discard(self)
        super().connectionLost(reason)

    def hold(self) -> None:
        """Read nothing until `release`."""
        self.held = True
        self._networkProducer.pauseProducing()

    def release(self) -> None:
        self.held = False
        self._networkProducer.resumeProducing()

    def expire(self, why: str) -> None:
        """Disconnect a client that is too slow, with the reason if it has begun a request."""
        self.waiting.pop(self, None)
        self.sending.discard(self)
        if self.requests and why:
            text = json.dumps({"error": why}).encode()
            head = f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
            self.transport.write(b"HTTP/1.1 408 Request Timeout\r\n" + head.encode() + text)
        self.timeoutConnection()

    @classmethod
    def tick(cls, seconds: float) -> None:
        """Disconnect clients that are too slow. `seconds`: since the last tick."""
        now = time.monotonic()
        for channel in [one for one in cls.waiting if now - one.began > HEADERS_S]:
            channel.expire(f"The headers of the request did not arrive within {HEADERS_S} s.")
        for channel in [one for one in cls.sending if not one.held]:
            channel.allowance.left -= seconds
            if channel.allowance.left <= 0 or now - channel.began > BODY_S:
                required = f"{LEAST_RATE} bytes per second, and the whole body within {BODY_S} s"
                channel.expire(f"The request body arrives too slowly. Required: {required}.")


class Request(WebRequest):
    """A request with a bounded body."""

    limit = env.max_upload() + 1024 * 1024  # A form is a little larger than its files.
    received = 0
    length = 0  # From the Content-Length header.
    refusal = ""
    discards = False  # Whether the application will refuse the request, whatever its body is.
    started = False  # Whether the response has started.
    gate: Gate | None = None  # For a streamed response.
    identifying: asyncio.Future[None] | None = None
    turn: asyncio.Future[None] | None = None  # For a request that becomes a websocket.
    arriving: set[Any] = set()  # Requests of all connections that have not arrived completely.

    def __init__(self, *args: Any, **options: Any) -> None:
        # Twisted would parse forms in memory, and answer a malformed one with an empty 400.
        super().__init__(*args, parsePOSTFormSubmission=False, **options)
        self.arriving.add(self)

    def gotLength(self, length: int | None) -> None:
        self.content = Body(length, str(getattr(self.channel.getPeer(), "host", "")))
        self.length = min(length or 0, self.limit)
        if (length is None or length > UNKNOWN) and self.channel.factory.server.sender_of is not None:
            self.channel.hold()
            self.identifying = asyncio.ensure_future(self.identify(self.scope()))

    async def identify(self, scope: dict[str, Any]) -> None:
        """Let the application name the sender of the body, then receive the body."""
        server, loop = self.channel.factory.server, asyncio.get_running_loop()
        try:
            sender = await loop.run_in_executor(SENDERS, server.sender_of, scope)
            self.content.sender, self.discards = sender.key, not sender.accepted
            if sender.anonymous_url:
                self.limit, self.length = UNKNOWN, 0
        except Exception:
            logger.exception("Cannot determine the sender of a request body")
            self.refusal = "The server cannot check who sends this. Try again in a few seconds."
        if self.channel is not None:  # Else the client has gone.
            self.channel.release()

    def scope(self) -> dict[str, Any]:
        """Return an ASGI scope of what is known before the body arrives."""
        path, _, query = self.channel._path.partition(b"?")
        headers = [(name.lower(), value) for name, all in self.requestHeaders.getAllRawHeaders() for value in all]
        scope = {"type": "http", "method": self.channel._command.decode("latin1"), "query_string": query}
        peer = [str(getattr(self.channel.getPeer(), "host", "")), 0]
        return scope | {"path": unquote(path.decode("latin1")), "headers": headers, "client": peer}

    def handleContentChunk(self, data: bytes) -> None:
        self.received += len(data)
        self.channel.allowance.earn(len(data))
        if self.received > self.limit or self.refusal or self.discards:
            return
        if self.channel.held:  # This came together with the headers.
            super().handleContentChunk(data)
            return
        self.refusal = self.content.fits(max(self.length, self.received))
        if self.refusal:
            self.content.close()
            self.content = Body(0)
            return
        super().handleContentChunk(data)

    def handle_reply(self, message: dict[str, Any]) -> None:
        self.started |= message["type"] == "http.response.start"
        super().handle_reply(message)

    def handle_exception(self, exception: BaseException) -> None:
        """Abort a response that has started, so that the client sees that it is incomplete. Daphne would start a second
        response here. That raises, and stops Daphne's check of its connections."""
        if self.started:
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
        if self.channel.held:  # The whole body came together with the headers: the application decides.
            self.identifying.cancel()  # type: ignore[union-attr]
            self.channel.release()
        if self.received > self.limit and not self.discards:
            return self.refuse(413, f"The request body is larger than {self.limit} bytes.")
        if self.refusal:
            self.setHeader(b"Retry-After", b"30")
            return self.refuse(503, self.refusal)
        if self.requestHeaders.hasHeader(b"Upgrade"):
            self.turn = asyncio.ensure_future(self.let_in())
            return None
        return super().process()

    async def let_in(self) -> None:
        """Open a websocket when its turn comes."""
        self.arriving.add(self)
        await SOCKETS.mine()
        self.arriving.discard(self)
        if self.channel is not None:  # Else the client has gone.
            super().process()

    def refuse(self, status: int, why: str) -> Any:
        self.setResponseCode(status)
        self.setHeader(b"Content-Type", b"application/json")
        self.write(json.dumps({"error": why}).encode())
        return self.finish()


class RequestFactory(HTTPFactory):
    """Creates a Channel for each connection, and a Request for each HTTP request."""

    protocol = Channel

    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = Request
        return protocol


# Close codes of servers (RFC 6455, 7.4.1). Autobahn's `sendClose` accepts the codes of applications only.
SERVER_CODES = frozenset({1001, 1011, 1012, 1013})


def accept_compression(offers: Sequence[Any]) -> PerMessageDeflateOfferAccept | None:
    """Accept permessage-deflate without context takeover: an idle connection then needs no compression window."""
    for offer in offers:
        if isinstance(offer, PerMessageDeflateOffer):
            return PerMessageDeflateOfferAccept(offer, no_context_takeover=True)
    return None


class Websocket(WebSocketProtocol):
    """A websocket with backpressure that closes its connection cleanly."""

    gate: Gate

    def onConnect(self, request: Any) -> Any:
        self.gate = Gate()
        return super().onConnect(request)

    def onOpen(self) -> None:
        super().onOpen()
        self.transport.unregisterProducer()  # The HTTP channel, which handed over the transport.
        self.transport.registerProducer(self.gate, True)
        with contextlib.suppress(OSError, AttributeError):  # Linux, TCP: bounds the kernel's buffer as well.
            self.transport.getHandle().setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 64 * 1024)

    def sendMessage(self, payload: bytes, isBinary: bool = False, **options: Any) -> None:
        """Compress large messages only: a compressor takes 256 kB of memory."""
        super().sendMessage(payload, isBinary, doNotCompress=len(payload) < LARGE)

    def serverClose(self, code: int | None = None) -> None:
        if code in SERVER_CODES:
            self.sendCloseFrame(code=code, isReply=False)
        else:
            super().serverClose(code)

    def dropConnection(self, abort: bool = False) -> None:
        """End the connection with a FIN after a complete closing handshake. Autobahn resets it, and a proxy then logs
        an error with the address of the websocket."""
        if self.wasClean:
            abort = False
            self.transport.unregisterProducer()  # Twisted waits for a producer that is paused.
            self.gate.open.set()
        super().dropConnection(abort)


class Server(daphne.Server):
    """Daphne's server with the limits of this module. `hands_over`: the application takes a body as a file.
    `sender_of`: names the sender of a body (accounts/body_access.py)."""

    hands_over = False
    sender_of: Callable[[dict[str, Any]], Any] | None = None

    def __init__(self, application: Any, endpoints: Sequence[str] = (), **options: Any) -> None:
        crowd = [f"{one}:backlog=1024" if one.startswith("tcp:") and "backlog" not in one else one for one in endpoints]
        options |= dict.fromkeys(("websocket_handshake_timeout", "websocket_connect_timeout"), HANDSHAKE_S)
        # No limit of age: a websocket that is closed with 1000 has sent the end of its run.
        options |= {"websocket_timeout": -1, "ping_interval": PING_EVERY_S, "ping_timeout": PONG_S}
        super().__init__(application, crowd, **options)
        self.sender_of = getattr(application, "sender_of", None)

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        if scope["type"] == "http" and self.hands_over:
            scope["kubesched.body"], protocol.content = protocol.content, io.BytesIO()
        return super().create_application(protocol, scope)

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "http.response.body":
            self.before_part(protocol, message.get("more_body", False))
        await super().handle_reply(protocol, message)
        if kind == "websocket.send":
            await protocol.gate.open.wait()
        if kind == "http.response.body" and protocol.gate is not None:
            await self.taken(protocol, len(message.get("body", b"")))

    def log_action(self, protocol: Any, action: str, details: dict[str, Any]) -> None:
        """Log a request without its query and without the secrets that some addresses contain."""
        path = hidden(details["path"].partition("?")[0])
        if path != "/healthz":  # Probes would fill the log.
            super().log_action(protocol, action, details | {"path": path})

    def before_part(self, protocol: Any, more: bool) -> None:
        """Register a producer for a streamed response, so that its parts do not fill the memory faster than the client
        reads."""
        if more and protocol.gate is None and protocol in self.connections and protocol.channel is not None:
            protocol.gate = Gate()
            protocol.channel.allowance = Allowance(READER_GRACE_S)
            protocol.registerProducer(protocol.gate, True)
        elif not more and protocol.gate is not None:
            protocol.gate.open.set()
            if protocol.channel is not None:  # otherwise the client has gone
                protocol.unregisterProducer()

    async def taken(self, protocol: Any, size: int) -> None:
        """Wait until the transport accepts the next part. Abort a client that reads too slowly, because it holds the
        disk space of what it has not read."""
        if protocol.gate.open.is_set() or protocol.channel is None:
            return
        allowance, since = protocol.channel.allowance, time.monotonic()
        allowance.earn(size)
        try:
            await asyncio.wait_for(protocol.gate.open.wait(), allowance.left)
        except TimeoutError:
            if protocol.channel is not None:
                protocol.channel.forceAbortClient()
        allowance.left -= time.monotonic() - since

    arriving = Request.arriving

    def listen_success(self, port: Any) -> None:
        self.ports = [*getattr(self, "ports", ()), port]
        super().listen_success(port)
        # Daphne's factories have no option for these. Nothing has connected yet.
        replaced, port.factory = port.factory, RequestFactory(self)
        replaced.doStop()
        port.factory.doStart()
        self.ws_factory.protocol = Websocket
        self.ws_factory.setProtocolOptions(
            perMessageCompressionAccept=accept_compression,
            closeHandshakeTimeout=HANDSHAKE_S,  # A slow client first reads what was sent before the close.
        )
        if len(self.ports) == 1:
            Channel.most_waiting = max(100, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 8)
            task.LoopingCall.withCount(lambda count: Channel.tick(min(count * TICK_S, LONGEST_TICK_S))).start(TICK_S)
        if self.hands_over:
            threading.Thread(target=get_ready, daemon=True).start()

    def kill_all_applications(self) -> defer.Deferred[Any]:
        """Give active requests DRAIN_S to finish. Daphne calls this before the reactor stops, and the reactor waits for
        it."""
        draining = drain(self, getattr(self, "ports", ()), env.number("DRAIN_S", 3))
        drained = defer.Deferred.fromFuture(asyncio.ensure_future(draining))
        return drained.addBoth(lambda _: super(Server, self).kill_all_applications())


def get_ready() -> None:
    """Load what the first page needs, then exclude all loaded objects from garbage collection. A full collection of
    these objects would repeatedly stop the process for a fifth of a second."""
    try:
        get_resolver().url_patterns  # noqa: B018
    finally:
        freeze_objects()
        gc.enable()


def allow_files() -> None:
    """Raise the limit of open files to the system's maximum, at most FILES. Many systems start with a limit of
    1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < (most := min(hard, FILES) if hard > 0 else FILES):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


OURS = "kubesched_ui.asgi:application"


def listens_at(args: Sequence[str]) -> None:
    """Set HOST from `--bind` unless it is set: it decides whether users sign in (unless ACCOUNTS does)."""
    hosts = [after for option, after in pairwise(args) if option in ("-b", "--bind")]
    if hosts and not env.text("HOST"):
        os.environ["KUBESCHED_HOST"] = hosts[-1]


class CommandLine(CommandLineInterface):
    server_class = Server

    def run(self, args: Sequence[str]) -> None:
        """Serve until the process is stopped. For the application of this project, collect the static files first."""
        if OURS in args:
            gc.disable()  # objects that are loaded now stay in memory
            listens_at(args)
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kubesched_ui.settings")
            django.setup()
            from django.conf import settings

            from kubesched_ui.web import static_files  # needs the settings

            for warning in env.warnings():
                logging.getLogger(__name__).warning(warning)
            static_files.collect()
            Server.hands_over = True
            if settings.LOG_FORMAT == "json":
                args = ["-v", "0", *args]  # Daphne's request lines are not JSON; observability logs the requests
        allow_files()
        super().run(args)


if __name__ == "__main__":
    CommandLine.entrypoint()
