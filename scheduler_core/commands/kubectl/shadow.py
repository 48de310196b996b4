"""`kubectl kubesched shadow`: follows a cluster for a while and checks the decisions of its scheduler."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from scheduler_core.live.discovery import Discovered, discover, fetch
from scheduler_core.live.kinds import KINDS
from scheduler_core.live.ordering import Ordering
from scheduler_core.live.source import LiveSource
from scheduler_core.live.store import Store
from scheduler_core.live.transport import Transport, TransportError
from scheduler_core.live.watch_events import Item, Listed
from scheduler_core.releases import chosen_release
from scheduler_core.shadow.judge import Judge
from scheduler_core.shadow.judgement import Judgement

WITHOUT = ("refused", "not served")
BEGIN = 120.0  # seconds in which all kinds must be listed
LOOK = 1.0  # seconds between looks at the health of kinds


class LiveShadow:
    """Checks decisions while they are made. `begun`: called when all kinds are known."""

    def __init__(
        self, transport: Transport, release: str, config: Any, begun: Callable[[Discovered, list[str]], None]
    ) -> None:
        self._transport = transport
        self._release, self._config = release, config
        self._begun = begun
        self._source = LiveSource(transport)
        self.judge: Judge | None = None

    async def judgements(self, seconds: float) -> AsyncIterator[Judgement]:
        """Yield what is certain. `seconds`: how long the cluster is followed after all kinds are known.

        Raises TransportError if the kinds are not known after BEGIN seconds, InputError for a bad configuration.
        """
        loop = asyncio.get_running_loop()
        items = aiter(self._source.items())
        store, listed, waiting = Store(), set[str](), list[Item]()
        ordering, forgotten = Ordering(list(self._source.health)), set[str]()
        end, following = loop.time() + BEGIN, asyncio.ensure_future(anext(items))
        try:
            while loop.time() < end:
                await asyncio.wait((following,), timeout=min(LOOK, max(end - loop.time(), 0.0)))
                ready: list[Item] = []
                if following.done():
                    ready.append(following.result())
                    following = asyncio.ensure_future(anext(items))
                for kind, health in self._source.health.items():
                    if health.state in WITHOUT and kind not in listed | forgotten:
                        forgotten.add(kind)
                        waiting += ordering.forget(kind)
                for item in ready:
                    if isinstance(item, Listed):
                        listed.add(item.kind)
                        store.apply(item)
                    waiting += ordering.add(item)
                if self.judge is None and listed | forgotten >= self._source.health.keys():
                    self.judge = await self._begin(store, sorted(forgotten))
                    end = loop.time() + seconds
                if self.judge is not None:
                    for judgement in self._feed(waiting):
                        yield judgement
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await items.aclose()  # type: ignore[attr-defined]
        if self.judge is None:
            missing = sorted(self._source.health.keys() - listed - forgotten)
            reason = next((one.message for one in self._source.health.values() if one.message), "")
            raise TransportError(f"{', '.join(missing[:3])} cannot be listed. {reason}".strip())
        waiting += ordering.flush()
        for judgement in (*self._feed(waiting), *self.judge.finish()):
            yield judgement

    def _feed(self, waiting: list[Item]) -> Iterator[Judgement]:
        assert self.judge is not None
        for item in waiting:
            yield from self.judge.feed(item)
        waiting.clear()

    async def _begin(self, store: Store, forgotten: list[str]) -> Judge:
        found = discover(store, self._source.version, await fetch(self._transport, store, self._source.version))
        health = self._source.health
        release, lacking = chosen_release(self._release, found.release)
        found = found._replace(release=release.name, notes=(*lacking, *found.notes))
        self._begun(found, [kind for kind in forgotten if health[kind].state == "refused" or not KINDS[kind].optional])
        return Judge(release, self._config or found.config or None)
