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
        self.queue: deque[tuple[asyncio.Future[Any], Any]] = deque()

    async def mine(self) -> None:
        """Wait for the next turn."""
        future = asyncio.get_running_loop().create_future()
        self.call([future])
        await future

    def call(self, futures: Iterable[asyncio.Future[Any]], answer: Any = None) -> None:
        """Set the result of each future to `answer` when its turn comes."""
        idle = not self.queue
        self.queue.extend((future, answer) for future in futures)
        if idle and self.queue:
            asyncio.get_running_loop().call_soon(self.serve)

    def serve(self) -> None:
        for _ in range(min(self.at_once, len(self.queue))):
            future, answer = self.queue.popleft()
            if future.done():  # its websocket has closed
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        if self.queue:
            asyncio.get_running_loop().call_soon(self.serve)
