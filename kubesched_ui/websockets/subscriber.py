"""Receives notices about the runs, or other objects, that this process watches, through one channel.

Notices are only hints, see publisher.py.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any

from channels.layers import get_channel_layer

from kubesched_ui.websockets.publisher import group

logger = logging.getLogger(__name__)

AGAIN_S = 1.0  # until the next attempt to reach the broker; polling continues in the meantime


class Notices:
    """Receives notices: `on_notice(run)` is called for each notice, with None if the notice does not name a run.
    `kind`: that of the watched objects."""

    def __init__(self, on_notice: Callable[[int | None], None], kind: str = "run") -> None:
        self.on_notice, self.kind = on_notice, kind
        self.runs: set[int] = set()
        self.layer: Any = None
        self.channel: str | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.listening = asyncio.create_task(self.listen(), context=Context())

    def add(self, run_id: int) -> None:
        """Subscribe to a run."""
        self.runs.add(run_id)
        if self.channel is not None:
            self.in_background(self.layer.group_add(group(run_id, self.kind), self.channel))

    def discard(self, run_id: int) -> None:
        """Unsubscribe from a run."""
        self.runs.discard(run_id)
        if self.channel is not None:
            self.in_background(self.layer.group_discard(group(run_id, self.kind), self.channel))

    def stop(self) -> None:
        self.listening.cancel()

    def in_background(self, update: Coroutine[Any, Any, None]) -> None:
        async def run() -> None:
            with contextlib.suppress(Exception):  # an unavailable broker has no subscriptions to update
                await asyncio.wait_for(update, 5)

        task = asyncio.create_task(run())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def listen(self) -> None:
        while True:
            try:
                self.layer = layer = get_channel_layer()
                self.channel = channel = await layer.new_channel()
                for run_id in list(self.runs):
                    await layer.group_add(group(run_id, self.kind), channel)
                while True:
                    self.on_notice((await layer.receive(channel)).get(self.kind))
            except Exception as error:  # any error of the layer's backend
                logger.debug("Cannot receive notifications: %s", error)
                self.channel = None
                await asyncio.sleep(AGAIN_S)
