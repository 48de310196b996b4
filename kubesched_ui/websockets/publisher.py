"""Sends notices that a run has new data. They are only hints: a lost notice delays a reader by a second."""

import asyncio
import logging
import threading
from concurrent.futures import Future
from typing import Self

from channels.layers import get_channel_layer

logger = logging.getLogger(__name__)


def group(number: int, kind: str = "run") -> str:
    """Return the channel layer's group for a run or another kind of object."""
    return f"{kind}-{number}"


class Notifier:
    """Sends notices from synchronous code through one event loop and one connection, without waiting. New data while a
    notice is being sent causes one further notice."""

    def __init__(self, run_id: int) -> None:
        self.run_id = run_id
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name=f"notify-{run_id}", daemon=True)
        self.seq = 0
        self.pending: Future[None] | None = None

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __call__(self, seq: int) -> None:
        self.seq = seq
        if self.pending is None or self.pending.done():
            self.pending = asyncio.run_coroutine_threadsafe(self._send(), self.loop)

    def __exit__(self, *_: object) -> None:
        if self.pending:
            self.pending.result()  # bounded by the timeout of sending
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()  # this also closes the layer's connections of this loop

    async def _send(self) -> None:
        sent = 0
        try:
            while sent < self.seq:
                sent = self.seq
                message = {"type": "run.progress", "run": self.run_id, "seq": sent}
                await asyncio.wait_for(get_channel_layer().group_send(group(self.run_id), message), timeout=2)
        except Exception as error:  # the run continues after any error of the layer's backend
            logger.debug("Cannot notify subscribers of run %s: %s", self.run_id, error)
