"""How a web process leaves without a loss, while others go on serving: it was told to stop, so

it takes no further connection, ends its websockets with code 1012 (browsers come back with `since`, to another
process), and answers what it was asked before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from typing import Any

from autobahn.websocket.protocol import WebSocketProtocol

RESTART = 1012  # RFC 6455's registry: Service Restart
LOOK_EVERY_S = 0.05


async def drain(server: Any, ports: Iterable[Any], seconds: float) -> None:
    """Returns when nothing is under way, or after `seconds`. `server`: ours; `ports`: Twisted's, where it listens."""
    for port in ports:
        port.stopListening()
    end = time.monotonic() + seconds
    while (server.arriving or any(under_way(server))) and time.monotonic() < end:
        for protocol in under_way(server):
            if isinstance(protocol, WebSocketProtocol) and protocol.state == WebSocketProtocol.STATE_OPEN:
                protocol.sendCloseFrame(code=RESTART, isReply=False)
        await asyncio.sleep(LOOK_EVERY_S)


def under_way(server: Any) -> Iterator[Any]:
    """Requests that came and lack their whole answer, and websockets that are not closed."""
    for protocol, details in list(server.connections.items()):
        application = details.get("application_instance")
        if application is not None and not application.done() and "disconnected" not in details:
            yield protocol
