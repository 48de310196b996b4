"""Follows all kinds of a live cluster: a reflector for each, and their items in one stream."""

import asyncio
import random
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from scheduler_core.api.shared_parts import SharedParts
from scheduler_core.live.kinds import KINDS, WatchedKind
from scheduler_core.live.reflector import Backoff, KindHealth, Reflector, ServerFeatures
from scheduler_core.live.transport import Transport, TransportError
from scheduler_core.live.watch_events import Item, Listed

WATCH_LIST_SINCE = (1, 34)  # the first release whose API servers send initial events by default
MAX_VERSION = 2**16  # bytes
QUEUE = 4096  # items; a slower consumer slows the connections


class LiveSource:
    """Lists and watches a live cluster.

    `kinds`: in the order in which they are listed. `known`: kind -> state to continue from instead of a first list.
    `clock`: Unix seconds.
    Attributes: `health`: kind -> how well it is known; its keys are complete from the beginning. `version`: the answer
    of /version, such as {"gitVersion": "v1.36.2"}; {} as long as it is unknown or if it is refused.
    """

    def __init__(
        self,
        transport: Transport,
        kinds: Mapping[str, WatchedKind] | Iterable[WatchedKind] = KINDS,
        *,
        known: Mapping[str, Listed] | None = None,
        clock: Callable[[], float] = time.time,
        random_source: random.Random | None = None,
    ) -> None:
        self.version: dict[str, Any] = {}
        self._transport = transport
        self._clock = clock
        self._random = random_source or random.Random()
        self._queue: asyncio.Queue[Item] = asyncio.Queue(QUEUE)
        list_lock, shared, self._features = asyncio.Lock(), SharedParts(), ServerFeatures()
        self._reflectors = [
            Reflector(
                kind,
                transport,
                self._queue.put,
                list_lock=list_lock,
                shared=shared,
                features=self._features,
                clock=clock,
                random_source=self._random,
            )
            for kind in (kinds.values() if isinstance(kinds, Mapping) else kinds)
        ]
        for one in self._reflectors:
            if known and (listed := known.get(one.health.kind)):
                one.resume(listed)
        self.health: dict[str, KindHealth] = {one.health.kind: one.health for one in self._reflectors}

    async def items(self) -> AsyncIterator[Item]:
        """Yield what happens in the cluster, for as long as it is read. Items of one kind are in order.

        No answer of the server ends this; `health` says what is wrong.
        """
        run, following = asyncio.create_task(self._run()), None
        try:
            while not run.done():
                while not self._queue.empty():
                    yield self._queue.get_nowait()
                following = asyncio.create_task(self._queue.get())
                await asyncio.wait((run, following), return_when=asyncio.FIRST_COMPLETED)
                if following.done():
                    yield following.result()
            await run  # raises what ended it
        finally:
            run.cancel()
            if following is not None:
                following.cancel()
            await asyncio.gather(run, return_exceptions=True)

    async def _run(self) -> None:
        self._features.watch_list = release_of(await self._fetch_version()) >= WATCH_LIST_SINCE
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors:
                group.create_task(reflector.run())

    async def _fetch_version(self) -> dict[str, Any]:
        """Return the answer of /version when the server gives one; {} if it refuses to."""
        backoff = Backoff(self._random, self._clock)
        while True:
            try:
                async with self._transport.get("/version", {}) as response:
                    body = b""
                    async for chunk in response.chunks():
                        body += chunk[: MAX_VERSION - len(body)]
                        if len(body) >= MAX_VERSION:
                            break
                    status = response.status
                if status in (403, 404):
                    return {}
                if status == 200:
                    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                        version = msgspec.json.decode(body)
                        if isinstance(version, dict):
                            self.version = version
                            return version
                problem = f"The API server answered {status} for its version."
                if status == 401:
                    problem = "The API server does not accept the credentials (401)."
            except (TransportError, OSError) as error:
                problem = str(error)
            delay = backoff.next()
            for health in self.health.values():
                health.state, health.message = "retrying", problem
            await asyncio.sleep(delay)


def release_of(version: Mapping[str, Any]) -> tuple[int, int]:
    """Return (1, 36) for the answer of /version of an API server 1.36; (0, 0) if it is unknown."""
    match = re.match(r"v?(\d{1,3})\.(\d{1,3})", str(version.get("gitVersion", "")))
    return (int(match[1]), int(match[2])) if match else (0, 0)
