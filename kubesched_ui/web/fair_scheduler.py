"""Fair scheduling of websockets: pages and new connections are served while many websockets send data."""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Any

AT_ONCE = 16  # websockets per iteration of the event loop; about a millisecond


class FairScheduler:
    """A first-in, first-out queue of waiting futures. Each iteration of the event loop serves some of them."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self.at_once = at_once
        self.queue: deque[asyncio.Future[Any]] = deque()

    async def mine(self) -> None:
        """Wait for the next turn."""
        future = asyncio.get_running_loop().create_future()
        self.call([future])
        await future

    def call(self, futures: Iterable[asyncio.Future[Any]]) -> None:
        """Complete each future when its turn comes."""
        idle = not self.queue
        self.queue.extend(futures)
        if idle and self.queue:
            asyncio.get_running_loop().call_soon(self.serve)

    def serve(self) -> None:
        for _ in range(min(self.at_once, len(self.queue))):
            future = self.queue.popleft()
            if not future.done():  # else its websocket has closed
                future.set_result(None)
        if self.queue:
            asyncio.get_running_loop().call_soon(self.serve)
