"""A follower for tests: applies the items of a LiveSource to a store and checks each of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable

import msgspec

from scheduler_core.live.aiohttp_transport import AiohttpTransport, Endpoint
from scheduler_core.live.kinds import KINDS, WatchedKind
from scheduler_core.live.source import LiveSource
from scheduler_core.live.store import Store
from scheduler_core.live.transport import Transport
from scheduler_core.live.watch_events import ADDED, DELETED, Gap, Item, Listed, WatchEvent
from tests.api_server.server import ApiServer
from tests.api_server.storage import encoded


class Follower:
    """Follows a test API server in the background. Use it as an async context manager.

    `problems`: what no consumer may receive, such as a second deletion; `items`: all that was received.
    """

    def __init__(
        self,
        server: ApiServer,
        kinds: Iterable[str],
        seed: int = 0,
        token: str = "",
        transport: Transport | None = None,
    ) -> None:
        self.server = server
        self.token = token
        self.kinds: list[WatchedKind] = [KINDS[kind] for kind in kinds]
        self.transport = transport or AiohttpTransport(self._connect)
        self.store = Store()
        self._random = random.Random(seed)
        self.items: list[Item] = []
        self.problems: list[str] = []
        self._gap: set[str] = set()
        self._listed: set[str] = set()
        self._changed = asyncio.Event()

    async def _connect(self) -> Endpoint:
        token = self.token
        return Endpoint("the server", self.server.url, authorization=lambda: {"Authorization": f"Bearer {token}"})

    async def __aenter__(self) -> Follower:
        self._start()
        return self

    def _start(self) -> None:
        clock, versions = asyncio.get_running_loop().time, self.store.resource_versions
        known = {k: Listed(k, versions[k], tuple(self.store.objects(k)), clock()) for k in self._listed}
        self.source = LiveSource(self.transport, self.kinds, known=known, clock=clock, random_source=self._random)
        self._task = asyncio.create_task(self._follow())

    async def restart(self) -> None:
        """Continue from the state with another source, as after a crash."""
        await self.__aexit__()
        self._gap.clear()
        self._start()

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self.transport.close()

    async def _follow(self) -> None:
        items = self.source.items()
        try:
            async for item in items:
                self._check(item)
                self.store.apply(item)
                self.items.append(item)
                self._changed.set()
        finally:
            await items.aclose()  # type: ignore[attr-defined]

    def _check(self, item: Item) -> None:
        kind, known = item.kind, self.store.by_key(item.kind)
        if isinstance(item, Gap):
            if item.after != self.store.resource_versions.get(kind):
                self.problems.append(f"{item} does not begin at {self.store.resource_versions.get(kind)}")
            self._gap.add(kind)
            return
        if isinstance(item, WatchEvent):
            if (item.key in known) == (item.type == ADDED):
                self.problems.append(f"{item.type} of {kind} {item.key} at {item.resource_version} twice or too early")
            known_uid = known[item.key].metadata.uid if item.key in known else item.object.metadata.uid
            if item.object.metadata.uid != known_uid:
                self.problems.append(f"{item.type} of {kind} {item.key} is about another object than the known one")
            if kind not in self._listed:
                self.problems.append(f"{item.type} of {kind} {item.key} before the list")
        if isinstance(item, Listed):
            listed = {obj.key: obj for obj in item.objects}
            if kind in self._listed and (listed != known or kind not in self._gap):
                self.problems.append(f"A list of {kind} replaces what its changes do not explain")
            self._listed.add(kind)
            self._gap.discard(kind)
        elif kind not in self._gap and item.resource_version < self.store.resource_versions.get(kind, 0):
            self.problems.append(f"{kind} goes back to {item.resource_version}")

    def differences(self) -> list[str]:
        """Return how the store differs from the state of the server."""
        found = []
        for kind in self.kinds:
            there = {
                key: msgspec.json.decode(encoded(obj))["metadata"]
                for key, obj in self.server.storage.collection(kind.resource).objects.items()
            }
            here = self.store.by_key(kind.kind)
            for key in there.keys() | here.keys():
                versions = [
                    there[key]["resourceVersion"] if key in there else None,
                    here[key].metadata.resource_version if key in here else None,
                ]
                if versions[0] != versions[1]:
                    found.append(f"{kind.kind} {key}: {versions[1]} instead of {versions[0]}")
        return found

    def _served(self) -> set[str]:
        health = self.source.health
        return {kind.kind for kind in self.kinds if health[kind.kind].state != "not served"}

    async def synced(self, seconds: float = 7200.0) -> None:
        """Wait until the store equals the state of the server. Raises AssertionError with the differences."""
        try:
            async with asyncio.timeout(seconds):
                while self._listed != self._served() or self.differences():
                    self._changed.clear()
                    await self._changed.wait()
                    await asyncio.sleep(0.05)  # for the changes that follow at once
        except TimeoutError:
            raise AssertionError((self.differences(), self.source.health)) from None
        assert self.problems == []

    async def healthy(self, seconds: float = 1200.0) -> None:
        """Wait until each kind is watched. Raises AssertionError."""
        for _ in range(int(seconds)):
            if all(health.state == "watching" for health in self.source.health.values()):
                return
            await asyncio.sleep(1)
        raise AssertionError(self.source.health)

    def deletions(self, kind: str) -> list[str]:
        """Return the keys of the deletions of a kind, in order."""
        return [i.key for i in self.items if isinstance(i, WatchEvent) and i.type == DELETED and i.kind == kind]
