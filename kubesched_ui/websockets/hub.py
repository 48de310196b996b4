"""Fan-out to the sockets of this process: each watched run or live class is queried once for all its sockets.

Notices trigger queries; without notices, everything watched is queried each second.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Self, TypeVar

from kubesched_ui.outages import outage_of
from kubesched_ui.runtime.fair_scheduler import Turns
from kubesched_ui.websockets import socket_metrics
from kubesched_ui.websockets.subscriber import Notices
from kubesched_ui.websockets.websocket_base import FAILED, Ending

logger = logging.getLogger(__name__)

POLL_S = 1.0
SPACING_PER_SOCKET_S = 0.00025


@dataclass(eq=False, kw_only=True)
class Viewer:
    """A socket. `task` serves it; `ending` is the reason if the server ends it."""

    task: asyncio.Task[Any] | None = None
    ending: Ending | None = None

    def end(self, ending: Ending) -> None:
        """End the socket, even while it waits for a slow client."""
        if self.ending is None and self.task is not None:
            self.ending = ending
            self.task.cancel()


@dataclass(eq=False)
class Watch:
    """A watched object by its number, with its sockets."""

    number: int
    viewers: set[Any] = field(default_factory=set)
    waiting: list[asyncio.Future[Any]] = field(default_factory=list)


W = TypeVar("W", bound=Watch)


class Lookout(ABC, Generic[W]):
    """All watches of an event loop. `follow` runs while there are any. `of`: the kind of watched object in notices."""

    of: ClassVar[str]
    spacing_s: ClassVar[float]  # minimum time between queries; changes in the meantime are combined
    one: ClassVar[Any] = None

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.turns = Turns()
        self.watches: dict[int, W] = {}
        self.due: set[int] = set()
        self.wake = asyncio.Event()
        self.round_at = 0.0
        self.notices: Notices | None = None
        self.following: asyncio.Task[None] | None = None

    @classmethod
    def here(cls) -> Self:
        """Return the instance of this process; create a new one for a new event loop, as in tests."""
        if cls.one is None or cls.one.loop is not asyncio.get_running_loop():
            cls.one = cls()
        found: Self = cls.one
        return found

    @abstractmethod
    def begun(self, number: int) -> W:
        """Create a watch."""

    @abstractmethod
    async def look_at(self, watches: Sequence[W], everyone: bool) -> None:
        """Query these watches and notify their sockets.

        `everyone`: whether this is the periodic query of all. Raises what the database raises.
        """

    def watch(self, number: int) -> W:
        """Return the watch of this number; create it if there is none."""
        if number not in self.watches:
            self.watches[number] = self.begun(number)
            if self.following is None:
                self.start()
            if self.notices is not None:
                self.notices.add(number)
            self.hear(number)
        return self.watches[number]

    def leave(self, watch: W, viewer: Viewer) -> None:
        """Remove a socket. The last one removes the watch."""
        watch.viewers.discard(viewer)
        if not watch.viewers and self.watches.get(watch.number) is watch:
            self.drop(watch)

    def drop(self, watch: W) -> None:
        """Remove a watch without sockets."""
        del self.watches[watch.number]
        if self.notices is not None:
            self.notices.discard(watch.number)
        if not self.watches:
            self.stop()

    def start(self) -> None:
        """Start querying when the first watch is added."""
        self.notices = Notices(self.hear, self.of)
        self.following = asyncio.create_task(self.follow(), context=Context())  # not the context of a socket

    def stop(self) -> None:
        """Stop querying when there are no watches."""
        if self.notices is not None:
            self.notices.stop()
            self.notices = None
        if self.following is not None:
            self.following.cancel()
            self.following = None

    async def news(self, watch: W) -> None:
        """Wait until the watch is queried again."""
        future = self.loop.create_future()
        watch.waiting.append(future)
        await future

    def tell(self, watch: W) -> None:
        """Wake the sockets that wait for the watch."""
        waiting, watch.waiting = watch.waiting, []
        self.turns.call(waiting)

    def hear(self, number: int | None) -> None:
        """Handle a notice: mark a watch as due, or all watches if the notice does not name one."""
        self.due |= self.watches.keys() if number is None else {number}
        self.wake.set()

    async def follow(self) -> None:
        """Query due watches and notify their sockets, repeatedly."""
        while True:
            self.wake.clear()
            everyone = self.loop.time() >= self.round_at
            due = [watch for watch in self.watches.values() if everyone or watch.number in self.due]
            self.due.clear()
            if everyone:
                self.round_at = self.loop.time() + POLL_S
            try:
                await self.look_at(due, everyone)
            except Exception as error:  # any error: a socket without updates must not stay open
                socket_metrics.failures += 1
                problem = error or "no answer"
                logger.warning("No look at a %s: %s", self.of, problem, exc_info=not outage_of(error))
                for watch in due:
                    end(watch.viewers, Ending(FAILED))
            spacing = self.spacing_s + SPACING_PER_SOCKET_S * len(socket_metrics.sockets)
            await asyncio.sleep(min(spacing, POLL_S))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), max(0.0, self.round_at - self.loop.time()))


def end(viewers: Iterable[Viewer], ending: Ending) -> None:
    """End all of these sockets."""
    for viewer in list(viewers):
        viewer.end(ending)
