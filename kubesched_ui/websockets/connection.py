"""One websocket: it is accepted, counted, joined to its topic, streamed to, ended for one reason, and closed."""

import asyncio
import contextlib
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, ClassVar

from django.conf import settings

from kubesched_ui.runtime.outages import outage_of
from kubesched_ui.websockets import socket_metrics
from kubesched_ui.websockets.hub import FAILED, NOT_FOUND, Ending, Hub, Scope, Topic, in_thread

logger = logging.getLogger(__name__)

OVER, LATER, BAD_REQUEST = 1000, 1013, 4400
ERROR_S = 1  # Time for a client to receive an error before its websocket is closed.

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Subscription(ABC):
    """What a connection receives. `topic`: its subject, once it has joined. `lag`: events that it has not sent yet."""

    topics: ClassVar[type[Topic[Any]]]
    topic: Any = None
    lag = 0

    @abstractmethod
    async def open(self, scope: Scope) -> int:
        """Return the number of the topic. Raises Ending, and the exceptions of the database."""

    @property
    def ready(self) -> bool:
        """Whether the state of the topic is enough for the first message."""
        return self.topic.state is not None

    @abstractmethod
    def messages(self) -> AsyncGenerator[str]:
        """Yield messages until everything is sent. Raises the exceptions of the database."""


class WebsocketConnection:
    """An accepted websocket. `admitted`: it has joined its topic and may see it. `ending`: why the server ends it."""

    def __init__(self, subscription: Subscription, scope: Scope, send: Send) -> None:
        self.subscription, self.scope, self.send = subscription, scope, send
        self.admitted = False
        self.ending: Ending | None = None
        self.task = asyncio.ensure_future(self.serve())

    @property
    def lag(self) -> int:
        return self.subscription.lag

    def end(self, ending: Ending) -> None:
        """End the connection, even while it waits for a slow client."""
        if self.ending is None:
            self.ending = ending
            self.task.cancel()

    async def serve(self) -> None:
        """Send messages until there is a reason to end, then close. Raises errors of closing."""
        if len(socket_metrics.sockets) >= settings.SOCKETS_MAX:
            socket_metrics.refused += 1
            await self.close(Ending(LATER, "The server has too many open websockets. Try again later."))
            return
        socket_metrics.sockets.add(self)
        try:
            await self.stream()
            ending = Ending(OVER)
        except Ending as reason:
            ending = reason
        except asyncio.CancelledError:
            if self.ending is None:  # The client has disconnected.
                raise
            ending = self.ending
        except Exception as error:
            socket_metrics.failures += 1
            problem, name = error or "no answer", type(self.subscription).__name__  # its address may be a secret
            logger.warning("A websocket (%s) failed: %s", name, problem, exc_info=not outage_of(error))
            ending = Ending(FAILED)
        finally:
            socket_metrics.sockets.discard(self)
        await self.close(ending)

    async def stream(self) -> None:
        """Join the topic and send its messages. Raises Ending."""
        subscription, number = self.subscription, await self.subscription.open(self.scope)
        hub = Hub.of_this_loop(subscription.topics)
        with hub.joined(number, self) as subscription.topic:
            topic = subscription.topic
            if not subscription.ready:
                hub.mark_due(number)
                await topic.change()
            if topic.model and not (await in_thread(hub.may_watch, number, [self.scope]))[0]:
                raise Ending(NOT_FOUND, topic.missing.format(number))
            self.admitted = True
            async with contextlib.aclosing(subscription.messages()) as messages:
                async for message in messages:
                    await hub.turns.mine()
                    await self.send({"type": "websocket.send", "text": message})
                    socket_metrics.messages += 1
                    socket_metrics.octets += len(message)

    async def close(self, ending: Ending) -> None:
        """Send the error, if there is one, then close. A slow client receives both later."""
        if ending.text:
            error = {"type": "websocket.send", "text": json.dumps({"error": ending.text})}
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.send(error), ERROR_S)
        await self.send({"type": "websocket.close", "code": ending.code})


async def serve(subscription: type[Subscription], scope: Scope, receive: Receive, send: Send) -> None:
    """Serve a websocket until it is disconnected. Raises errors of closing; the server then ends the connection."""
    await receive()
    await send({"type": "websocket.accept"})
    serving = WebsocketConnection(subscription(), scope, send).task
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


class Nowhere(Subscription):
    """Any other address."""

    async def open(self, scope: Scope) -> int:
        raise Ending(NOT_FOUND, "Nothing exists at this address. Runs are at /ws/runs/{id}.")

    async def messages(self) -> AsyncGenerator[str]:
        yield ""
