"""The websocket of a run: everything recorded since `since`, then what comes, until the run is over.

Write, notify, pull: the worker writes events to the database and sends notices; each socket reads the database at
its own pace and takes a notice as a reason to look. A notice that is lost costs a second. See docs/websocket.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from typing import Any
from urllib.parse import parse_qs

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.layers import get_channel_layer

from kubesched_ui.models import Run
from kubesched_ui.recording.eventlog import join, read_blocks
from kubesched_ui.recording.notify import group

logger = logging.getLogger(__name__)

POLL_S = 1.0
FRAME_BYTES = 256 * 1024
BAD_REQUEST, NOT_FOUND = 4400, 4404


class RunConsumer(AsyncWebsocketConsumer):
    """/ws/runs/{id}?since=N[&pod=ns/name]; text frames {"events": [...]}."""

    channel_layer_alias = None  # notices are read apart: a broker that is away must not close the socket

    async def connect(self) -> None:
        await self.accept()
        query = parse_qs(self.scope["query_string"].decode("utf-8", "replace"))
        since = query.get("since", ["0"])[0]
        self.tasks: list[asyncio.Task[None]] = []
        if not (since.isascii() and since.isdigit() and len(since) < 19):
            await self.refuse(BAD_REQUEST, "since must be a whole number, the last seq that was seen.")
            return
        self.run_id = int(self.scope["url_route"]["kwargs"]["run_id"])
        self.since = int(since)
        self.pod = query.get("pod", [""])[0].replace("\0", "")
        self.wake = asyncio.Event()
        self.tasks = [asyncio.create_task(self.stream()), asyncio.create_task(self.listen())]

    async def disconnect(self, code: int) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def stream(self) -> None:
        """Sends what there is and waits for more, until the run is over. Sending waits for a slow reader."""
        try:
            while True:
                self.wake.clear()
                active, frame = await self.pull()
                if active is None:
                    await self.refuse(NOT_FOUND, f"There is no run {self.run_id}.")
                    return
                if frame:
                    await self.send(text_data=frame)
                elif active:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self.wake.wait(), POLL_S)
                else:
                    await self.close(code=1000)
                    return
        except Exception:
            logger.exception("The websocket of run %s failed", self.run_id)
            await self.close(code=1011)

    @database_sync_to_async
    def pull(self) -> tuple[bool | None, str]:
        """Whether the run goes on (None: there is no such run), and the next frame ("" when nothing is new)."""
        # The state first: if the run is over by then, all of its events are there to be read.
        state = Run.objects.filter(pk=self.run_id).values_list("state", flat=True).first()
        if state is None:
            return None, ""
        texts, size = [], 0
        for last, text in read_blocks(self.run_id, self.since, self.pod):
            texts.append(text)
            size += len(text)
            self.since = last
            if size > FRAME_BYTES:
                break
        return state in Run.ACTIVE, f'{{"events":{join(texts).decode()}}}' if texts else ""

    async def listen(self) -> None:
        """Turns notices into wake-ups."""
        layer: Any = get_channel_layer()
        while True:
            channel = None
            try:
                channel = await layer.new_channel()
                await layer.group_add(group(self.run_id), channel)
                while True:
                    await layer.receive(channel)
                    self.wake.set()
            except asyncio.CancelledError:
                if channel is not None:
                    with contextlib.suppress(Exception):
                        await asyncio.wait_for(layer.group_discard(group(self.run_id), channel), 1)
                raise
            except Exception as error:  # whatever the layer's backend raises; until it is back, polling does
                logger.debug("No notices for run %s: %s", self.run_id, error)
                await asyncio.sleep(POLL_S)

    async def refuse(self, code: int, problem: str) -> None:
        """Says what is wrong in a frame, then closes."""
        await self.send(text_data=json.dumps({"error": problem}))
        await self.close(code=code)


class NoConsumer(AsyncWebsocketConsumer):
    """Any other websocket address."""

    channel_layer_alias = None

    async def connect(self) -> None:
        await self.accept()
        await self.send(text_data=json.dumps({"error": "There is nothing at this address; runs are at /ws/runs/{id}."}))
        await self.close(code=NOT_FOUND)
