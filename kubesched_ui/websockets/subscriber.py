"""Hears what is told of the runs that this process watches, through one channel. Only a hint, as in notify.py. Of what
else is watched, it is the same."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any

from channels.layers import get_channel_layer

from kubesched_ui.websockets.publisher import group

logger = logging.getLogger(__name__)

AGAIN_S = 1.0  # until the broker is asked again; meanwhile polling does


class Notices:
    """`heard(run)` is called for each notice; with None for one that does not say which run it is about. `of`: what is
    watched, if no runs."""

    def __init__(self, heard: Callable[[int | None], None], of: str = "run") -> None:
        self.heard, self.of = heard, of
        self.runs: set[int] = set()
        self.layer: Any = None
        self.channel: str | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.listening = asyncio.create_task(self.listen(), context=Context())

    def add(self, run_id: int) -> None:
        """Listens for a run, too."""
        self.runs.add(run_id)
        if self.channel is not None:
            self.later(self.layer.group_add(group(run_id, self.of), self.channel))

    def discard(self, run_id: int) -> None:
        """Listens no longer."""
        self.runs.discard(run_id)
        if self.channel is not None:
            self.later(self.layer.group_discard(group(run_id, self.of), self.channel))

    def stop(self) -> None:
        self.listening.cancel()

    def later(self, telling: Coroutine[Any, Any, None]) -> None:
        async def tell() -> None:
            with contextlib.suppress(Exception):  # a broker that is away knows nothing of us anyway
                await asyncio.wait_for(telling, 5)

        task = asyncio.create_task(tell())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def listen(self) -> None:
        while True:
            try:
                self.layer = layer = get_channel_layer()
                self.channel = channel = await layer.new_channel()
                for run_id in list(self.runs):
                    await layer.group_add(group(run_id, self.of), channel)
                while True:
                    self.heard((await layer.receive(channel)).get(self.of))
            except Exception as error:  # whatever the layer's backend raises
                logger.debug("No notices: %s", error)
                self.channel = None
                await asyncio.sleep(AGAIN_S)
