"""Sends requests of browsers and of the web process itself to the workers."""

import os
import select
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from kubesched_ui.models import current_viewer
from kubesched_ui.offload import request_worker
from kubesched_ui.offload.pool import OffloadError, TaskCancelled, Ticket, TimedOut
from kubesched_ui.offload.pools import get_pool
from kubesched_ui.offload.request_worker import HEAD_LENGTH, PIECE
from kubesched_ui.offload.spool import Spool
from kubesched_ui.web.client_address import address_of

CHECK_SECONDS = 0.2  # between two checks whether the worker still writes and the client still reads
NOT_COPIED = {"content-length"}


R = TypeVar("R", bound=HttpResponseBase)


class BrokenStream(Exception):
    """A stream that has started cannot continue."""


class ReadTooSlowly(OffloadError):
    """The reader of a large export is slow, and others wait for its worker."""

    def __init__(self) -> None:
        super().__init__("The export was read too slowly.")


def fetch(path: str, run: str) -> str:
    """Return the body of a page of this server, requested by the anonymous user. `run`: ID of the run whose data it
    needs. Raises OffloadError."""
    host = next((name.lstrip(".") for name in settings.ALLOWED_HOSTS if name != "*"), "localhost")
    variables = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": "", "SCRIPT_NAME": ""}
    variables |= {"SERVER_NAME": "localhost", "SERVER_PORT": "80", "HTTP_HOST": host, "wsgi.url_scheme": "http"}
    head, body = get_pool("requests").run(request_worker.respond, variables, ticket=Ticket(run))
    if head["status"] != 200:
        raise OffloadError("This part could not be loaded.")
    return str(body.decode())


def respond(request: HttpRequest, run: str, pool: str = "requests") -> HttpResponse:
    """Return the response of a worker, preferably of the one that has cached the run. Raises OffloadError."""
    ticket = Ticket(run, current_viewer.owner_id())
    head, body = get_pool(pool).run(request_worker.respond, variables_of(request), ticket=ticket)
    return with_head(HttpResponse(body), head)


def stream(request: HttpRequest) -> StreamingHttpResponse:
    """Return a response whose body a worker writes as it is read. Raises OffloadError."""
    user = current_viewer.owner_id()
    pieces = WorkerStream(variables_of(request), address_of(request) if user is None else user)
    return with_head(StreamingHttpResponse(pieces), pieces.head)


def variables_of(request: HttpRequest) -> dict[str, str]:
    """Return the WSGI variables of a request."""
    variables = {name: value for name, value in request.META.items() if isinstance(value, str)}
    variables.pop("HTTP_ACCEPT_ENCODING", None)  # compressed in this process, which knows the encodings of the client
    path = request.path_info.encode().decode("latin-1")  # WSGI requires this encoding
    return variables | {"wsgi.url_scheme": request.scheme or "http", "SCRIPT_NAME": "", "PATH_INFO": path}


def with_head(response: R, head: dict[str, Any]) -> R:
    """Copy status, headers and cookies to a response."""
    response.status_code = head["status"]
    for name, value in head["headers"]:
        if name.lower() not in NOT_COPIED:
            response[name] = value
    vars(response)["xframe_options_exempt"] = "X-Frame-Options" not in response  # as the worker decided
    for cookie in head["cookies"]:
        response.cookies.load(cookie)
    return response


class WorkerStream:
    """The body of a response that a worker writes to a named pipe. A thread moves it to a spool as fast as the worker
    writes, then releases the worker. `user`: as in Ticket."""

    def __init__(self, variables: dict[str, str], user: int | str | None) -> None:
        self._closing = ExitStack()
        self._pool = get_pool("exports")
        self._seconds: float = settings.OFFLOAD_MAX_SECONDS
        self._spool = Spool(user)
        try:
            self._worker = self._closing.enter_context(self._pool.worker(Ticket(user=user)))
            folder = self._closing.enter_context(tempfile.TemporaryDirectory(dir=settings.FILE_UPLOAD_TEMP_DIR))
            path = Path(folder) / "pipe"
            os.mkfifo(path, 0o600)
            self._pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            self._closing.callback(os.close, self._pipe)
            self._future = self._worker.submit(request_worker.stream, variables, str(path))
            self._closing.callback(self._end_worker)
            self.head = self._read_head()
        except BaseException:
            self._closing.close()
            self._spool.close()
            raise
        threading.Thread(target=self._fill, daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while piece := await sync_to_async(self._next, thread_sensitive=False)():
                yield piece
        finally:
            self.close()

    def close(self) -> None:
        """Delete what has not been read. The worker stops if it still writes."""
        self._spool.close()

    def _next(self) -> bytes:
        """Return the next piece; empty after the last one. Raises BrokenStream."""
        try:
            return self._spool.read(PIECE)
        except EOFError as problem:
            raise BrokenStream(str(problem)) from None

    def _fill(self) -> None:
        """Move all pieces to the spool, and release the worker."""
        problem = ""
        try:
            with self._closing:
                while piece := self._read(PIECE):
                    self._spool_piece(piece)
                self._worker.result(self._future)
        except Exception as error:
            known = isinstance(error, OffloadError)
            problem = str(error) if known else "It failed before the response was complete."
        self._spool.end(problem)

    def _spool_piece(self, piece: bytes) -> None:
        """Wait for disk space. A worker that others need waits only for a limited time."""
        end = time.monotonic() + self._seconds
        while not self._spool.write(piece, CHECK_SECONDS):
            if time.monotonic() > end and next(self._pool.order(), None):
                raise ReadTooSlowly

    def _end_worker(self) -> None:
        if not self._future.done():
            self._future.cancel()
            self._worker.stop()

    def _read_head(self) -> dict[str, Any]:
        received = b""
        while (length := HEAD_LENGTH + int.from_bytes(received[:HEAD_LENGTH])) > len(received) or not received:
            if not (piece := self._read(length - len(received))):
                self._worker.result(self._future)  # raises the exception of the worker
                raise OffloadError("This part could not be loaded.")
            received += piece
        head: dict[str, Any] = msgspec.msgpack.decode(received[HEAD_LENGTH:])
        return head

    def _read(self, size: int) -> bytes:
        """Wait for bytes; empty once the worker has written all. Raises TaskCancelled if the reader has gone."""
        end, readable = time.monotonic() + self._seconds, select.poll()
        readable.register(self._pipe, select.POLLIN)
        while True:
            if self._spool.closed:
                raise TaskCancelled
            if readable.poll(CHECK_SECONDS * 1000):
                return os.read(self._pipe, size)
            if self._future.done() and not readable.poll(0):
                return b""
            if time.monotonic() > end:
                raise TimedOut(self._seconds)
