"""What websockets of any kind have in common: how one is served, what it may be closed with, who is gone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from kubesched_ui.websockets.permissions import Scope

OVER, LATER, BAD_REQUEST, NOT_YOURS, NOT_FOUND, FAILED = 1000, 1013, 4400, 4403, 4404, 1011
FRAMES = "kubesched.frames"  # our server sends frames as they are; its extension tells a socket's window (server.py)

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Ending(NamedTuple):
    """Why a socket is closed: its code, and what is said before, if anything."""

    code: int
    says: str = ""


async def attended(serve: Callable[[Scope, Send], Awaitable[None]], scope: Scope, receive: Receive, send: Send) -> None:
    """Accepts a socket and serves it until it is gone.

    Raises what goes wrong in closing; the server then ends the connection itself.
    """
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
    """Returns when the socket is gone. Nothing need be said to us."""
    while (await receive())["type"] != "websocket.disconnect":
        pass


async def close(send: Send, ending: Ending) -> None:
    """Says what is wrong in a frame, if anything is, then closes."""
    if ending.says:
        await send({"type": "websocket.send", "text": json.dumps({"error": ending.says})})
    await send({"type": "websocket.close", "code": ending.code})
