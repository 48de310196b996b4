"""Daphne with back-pressure: `python -m kubesched_ui.server -b HOST -p PORT kubesched_ui.asgi:application`.

Daphne hands websocket frames to Twisted's transport without asking whether the last ones have left, so a browser
that reads slowly would have a whole run piled up for it in memory. Here a consumer's `send` returns once the
transport has room again (Twisted's push producer protocol).
"""

import asyncio
from typing import Any

from daphne.cli import CommandLineInterface
from daphne.server import Server as DaphneServer
from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer


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


class Server(DaphneServer):
    """The one difference: replies to websockets wait for the transport."""

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.accept":
            protocol.closeHandshakeTimeout = 30  # a reader that lags answers the close when it has read what is before
            protocol.gate = Gate()
            protocol.transport.unregisterProducer()  # the HTTP channel that the websocket took the transport from
            protocol.transport.registerProducer(protocol.gate, True)
        await super().handle_reply(protocol, message)
        if message["type"] == "websocket.send":
            await protocol.gate.open.wait()


class CommandLine(CommandLineInterface):
    server_class = Server


if __name__ == "__main__":
    CommandLine.entrypoint()
