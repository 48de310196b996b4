"""Graceful shutdown of a web process while others continue to serve.

The process accepts no further connections, closes its websockets with code 1012 (browsers reconnect to another process
with `since`), and completes its active requests.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator
from typing import Any

from autobahn.websocket.protocol import WebSocketProtocol

RESTART = 1012  # Service Restart, in the registry of RFC 6455
LOOK_EVERY_S = 0.05


async def drain(server: Any, ports: Iterable[Any], seconds: float) -> None:
    """Return when nothing is active, or after `seconds`. `server`: a Server of server.py. `ports`: its listening ports
    in Twisted."""
    for port in ports:
        port.stopListening()
    end = time.monotonic() + seconds
    while (server.arriving or any(under_way(server))) and time.monotonic() < end:
        for protocol in under_way(server):
            if isinstance(protocol, WebSocketProtocol) and protocol.state == WebSocketProtocol.STATE_OPEN:
                protocol.sendCloseFrame(code=RESTART, isReply=False)
        await asyncio.sleep(LOOK_EVERY_S)


def under_way(server: Any) -> Iterator[Any]:
    """Yield requests without a complete response, and websockets that are not closed."""
    for protocol, details in list(server.connections.items()):
        application = details.get("application_instance")
        if application is not None and not application.done() and "disconnected" not in details:
            yield protocol
