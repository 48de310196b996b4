"""An analysis process as its follower sees it: started, fed with items, and replaced if it ends."""

import asyncio
import logging
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from django.conf import settings

from kubesched_ui.clusters.item_frames import START, Forget, framed, frames
from scheduler_core.live.store import Store
from scheduler_core.live.watch_events import Item, Listed

logger = logging.getLogger(__name__)

MAX_QUEUE = 200_000  # items; with more, the process starts anew from the store
CHUNK = 256 * 1024  # bytes that are written at once
AGAIN_S = (1.0, 60.0)  # shortest and longest wait before it starts again


class AnalysisProcess:
    """`part`: option of `manage.py follow`. `start`: the values of the first frame. `store`: what the source has
    yielded; a new process begins with it."""

    def __init__(self, part: str, start: dict[str, Any], store: Store) -> None:
        self.part, self.start, self.store = part, start, store
        self.queue: deque[Item | Forget] = deque()
        self.arrived = asyncio.Event()
        self.forgotten: set[str] = set()
        self.process: Process | None = None
        self.wanted = asyncio.Event()

    def send(self, item: Item) -> None:
        """Queue an item that the store has applied."""
        if isinstance(item, Listed):
            self.forgotten.discard(item.kind)
        if self.process is not None:
            self.queue.append(item)
            self.arrived.set()

    def forget(self, kind: str) -> None:
        """Do not expect items of a kind."""
        if kind not in self.forgotten:
            self.forgotten.add(kind)
            if self.process is not None:
                self.queue.append(Forget(kind))
                self.arrived.set()

    def remember(self, kind: str) -> None:
        """Expect items of a forgotten kind again, from what is known of it."""
        version = self.store.resource_versions.get(kind)
        if kind in self.forgotten and version is not None:
            self.send(Listed(kind, version, tuple(self.store.objects(kind)), time.time()))

    def configure(self, release: str, config: str) -> None:
        """Start the process, or start it anew, with this release and configuration."""
        settings_now = {"release": release, "config": config}
        if self.start | settings_now != self.start or not self.wanted.is_set():
            self.start |= settings_now
            self.wanted.set()
            self.stop()

    def stop(self) -> None:
        """End the running process; `run` starts another one."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.kill()

    async def run(self) -> None:
        """Keep a process running until cancelled."""
        await self.wanted.wait()
        delay = AGAIN_S[0]
        while True:
            began = time.monotonic()
            try:
                await self._run_once()
            finally:
                self.stop()
                self.process = None
                self.queue.clear()
            delay = AGAIN_S[0] if time.monotonic() - began > AGAIN_S[1] else min(2 * delay, AGAIN_S[1])
            await asyncio.sleep(delay)

    async def _run_once(self) -> None:
        command = [sys.executable, "-m", "kubesched_ui", "follow", f"--{self.part}"]
        self.process = process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=DEVNULL, cwd=settings.BASE_DIR
        )
        self.queue.extend(self._snapshot())
        feeding = asyncio.create_task(self._feed(process))
        ended = asyncio.create_task(process.wait())
        try:
            await asyncio.wait((feeding, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            feeding.cancel()
            with suppress(ProcessLookupError):
                process.kill()
            code = await ended
            results = await asyncio.gather(feeding, return_exceptions=True)
        if isinstance(problem := results[0], Exception) and not isinstance(problem, ConnectionError):
            logger.error("Cannot feed the process for %s", self.part, exc_info=problem)
        logger.info("The process for %s ended with %s", self.part, code)

    def _snapshot(self) -> Iterator[Item | Forget]:
        now = time.time()
        for kind, version in self.store.resource_versions.items():
            yield Listed(kind, version, tuple(self.store.objects(kind)), now)
        yield from (Forget(kind) for kind in self.forgotten)

    async def _feed(self, process: Process) -> None:
        assert process.stdin
        process.stdin.write(framed(START, self.start))
        while True:
            buffer = bytearray()
            while self.queue and len(buffer) < CHUNK:
                for frame in frames(self.queue.popleft()):
                    buffer += frame
                    if len(buffer) >= CHUNK:
                        await self._write(process, buffer)
                        buffer = bytearray()
            if buffer:
                await self._write(process, buffer)
            if len(self.queue) > MAX_QUEUE:
                logger.warning("The process for %s is too slow and starts anew from the current state", self.part)
                return
            if not self.queue:
                self.arrived.clear()
                await self.arrived.wait()

    async def _write(self, process: Process, data: bytes | bytearray) -> None:
        assert process.stdin
        process.stdin.write(data)
        await process.stdin.drain()
