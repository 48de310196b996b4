"""Sends notices that a run or a live class has new data. They are only hints: a lost notice delays a reader by a
second."""

import asyncio
import logging
import threading
from typing import Any, Self

from channels.layers import get_channel_layer

logger = logging.getLogger(__name__)


def group(number: int, kind: str = "run") -> str:
    """Return the channel layer's group for a run or another kind of object."""
    return f"{kind}-{number}"


class Publisher:
    """Sends notices from any thread through one event loop and one connection, without waiting.

    While a notice waits, a newer one of the same group replaces it.
    """

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.pending: dict[str, dict[str, Any]] = {}
        self.sending: asyncio.Task[None] | None = None
        self.thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self.thread.start()

    def publish(self, group: str, message: dict[str, Any]) -> None:
        """Queue a notice."""
        self.loop.call_soon_threadsafe(self._add, group, message)

    def _add(self, group: str, message: dict[str, Any]) -> None:
        self.pending[group] = message
        if self.sending is None or self.sending.done():
            self.sending = self.loop.create_task(self._send())

    async def _send(self) -> None:
        while self.pending:
            group = next(iter(self.pending))
            message = self.pending.pop(group)
            try:
                await asyncio.wait_for(get_channel_layer().group_send(group, message), timeout=2)
            except Exception as error:  # the caller continues after any error of the layer's backend
                logger.debug("No notice for %s: %s", group, error)

    async def _sent(self) -> None:
        if self.sending is not None:
            await self.sending  # bounded by the timeout of sending

    def close(self) -> None:
        """Send what is queued, then end the thread."""
        asyncio.run_coroutine_threadsafe(self._sent(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()  # this also closes the layer's connections of this loop


class Notifier:
    """Publishes the progress of a run inside the `with` block."""

    def __init__(self, run_id: int) -> None:
        self.run_id = run_id

    def __enter__(self) -> Self:
        self.publisher = Publisher(f"notify-{self.run_id}")
        return self

    def __call__(self, seq: int) -> None:
        self.publisher.publish(group(self.run_id), {"type": "run.progress", "run": self.run_id, "seq": seq})

    def __exit__(self, *_: object) -> None:
        self.publisher.close()
