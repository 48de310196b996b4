"""Shared parts of all websockets: serving, close codes, and database access outside of the event loop."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from django.db import close_old_connections

from kubesched_ui.websockets import socket_metrics

OVER, LATER, BAD_REQUEST, NOT_YOURS, NOT_FOUND, FAILED = 1000, 1013, 4400, 4403, 4404, 1011
DATABASE_S = 30  # A query that takes longer counts as failed.
ERROR_S = 1  # Time for a client to receive an error before its websocket is closed.

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
R = TypeVar("R")

THREADS = ThreadPoolExecutor(2, thread_name_prefix="sockets")  # The threads of pages may all be busy.


class Ending(NamedTuple):
    """The reason for closing a socket: its code, and an error message to send before, if any."""

    code: int
    says: str = ""


async def attended(serve: Callable[[Scope, Send], Awaitable[None]], scope: Scope, receive: Receive, send: Send) -> None:
    """Accept a socket and serve it until it is disconnected. Raises errors of closing; the server then ends the
    connection itself."""
    await receive()
    await send({"type": "websocket.accept"})
    serving = asyncio.ensure_future(serve(scope, send))
    listening = asyncio.create_task(gone(receive))
    try:
        await asyncio.wait({serving, listening}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
            await listening
    finally:
        serving.cancel()
        listening.cancel()
        await asyncio.gather(serving, listening, return_exceptions=True)


async def gone(receive: Receive) -> None:
    """Return when the client has disconnected. Ignore what it sends."""
    while (await receive())["type"] != "websocket.disconnect":
        pass


async def send_text(send: Send, text: str) -> None:
    """Send a message and count it. Return when the connection can accept more."""
    await send({"type": "websocket.send", "text": text})
    socket_metrics.messages += 1
    socket_metrics.octets += len(text)


async def close(send: Send, ending: Ending) -> None:
    """Send the error, if there is one, then close. A slow client receives both later."""
    if ending.says:
        error = {"type": "websocket.send", "text": json.dumps({"error": ending.says})}
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(send(error), ERROR_S)
    await send({"type": "websocket.close", "code": ending.code})


async def in_thread(function: Callable[..., R], *args: Any) -> R:
    """Call a function that uses the database, in a thread.

    Raises:
        TimeoutError: it did not return within DATABASE_S.
        Exception: whatever the function raises.
    """
    loop = asyncio.get_running_loop()
    return await asyncio.wait_for(loop.run_in_executor(THREADS, connected, function, *args), DATABASE_S)


def connected(function: Callable[..., R], *args: Any) -> R:
    """Call with a database connection that is not stale, as Django does for each request."""
    close_old_connections()
    try:
        return function(*args)
    finally:
        close_old_connections()
