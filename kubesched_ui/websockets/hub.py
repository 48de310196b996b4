"""What sockets of this process watch, runs or rooms: each is looked at once, for all of its sockets together.

Notices say when there is something to see, and without them there is a look each second.
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

from kubesched_ui.outages import trouble_of
from kubesched_ui.runtime.fair_scheduler import Turns
from kubesched_ui.websockets import socket_metrics
from kubesched_ui.websockets.subscriber import Notices
from kubesched_ui.websockets.websocket_base import FAILED, Ending

logger = logging.getLogger(__name__)

POLL_S = 1.0
SPACING_PER_SOCKET_S = 0.00025


@dataclass(eq=False, kw_only=True)
class Viewer:
    """A socket. `task` serves it; `ending`: why it is ended, if we do."""

    task: asyncio.Task[Any] | None = None
    ending: Ending | None = None

    def end(self, ending: Ending) -> None:
        """Ends it wherever it is, be it that it waits for a reader who does not read."""
        if self.ending is None and self.task is not None:
            self.ending = ending
            self.task.cancel()


@dataclass(eq=False)
class Watch:
    """What is watched, by its number, and its sockets."""

    number: int
    viewers: set[Any] = field(default_factory=set)
    waiting: list[asyncio.Future[Any]] = field(default_factory=list)


W = TypeVar("W", bound=Watch)


class Lookout(ABC, Generic[W]):
    """All watches of an event loop; `follow` runs while there are any. `of`: what is watched, as notices name it."""

    of: ClassVar[str]
    spacing_s: ClassVar[float]  # between looks; what comes meanwhile is told together
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
        """The process's one; a new one where there is a new event loop, as in tests."""
        if cls.one is None or cls.one.loop is not asyncio.get_running_loop():
            cls.one = cls()
        found: Self = cls.one
        return found

    @abstractmethod
    def begun(self, number: int) -> W:
        """A new watch."""

    @abstractmethod
    async def look_at(self, watches: Sequence[W], everyone: bool) -> None:
        """Looks at these and tells their sockets. `everyone`: it is the look of each second. Raises what the database
        raises."""

    def watch(self, number: int) -> W:
        """The watch of this number, begun if there is none."""
        if number not in self.watches:
            self.watches[number] = self.begun(number)
            if self.following is None:
                self.start()
            if self.notices is not None:
                self.notices.add(number)
            self.hear(number)
        return self.watches[number]

    def leave(self, watch: W, viewer: Viewer) -> None:
        """The socket is over. Who leaves last ends the watch."""
        watch.viewers.discard(viewer)
        if not watch.viewers and self.watches.get(watch.number) is watch:
            self.drop(watch)

    def drop(self, watch: W) -> None:
        """Nobody watches this any more."""
        del self.watches[watch.number]
        if self.notices is not None:
            self.notices.discard(watch.number)
        if not self.watches:
            self.stop()

    def start(self) -> None:
        """There is something to watch."""
        self.notices = Notices(self.hear, self.of)
        self.following = asyncio.create_task(self.follow(), context=Context())  # no socket's

    def stop(self) -> None:
        """Nobody watches anything any more."""
        if self.notices is not None:
            self.notices.stop()
            self.notices = None
        if self.following is not None:
            self.following.cancel()
            self.following = None

    async def news(self, watch: W) -> None:
        """Waits until there was another look at it."""
        future = self.loop.create_future()
        watch.waiting.append(future)
        await future

    def tell(self, watch: W) -> None:
        """Wakes who waits."""
        waiting, watch.waiting = watch.waiting, []
        self.turns.call(waiting)

    def hear(self, number: int | None) -> None:
        """A notice: there is a reason to look. None: it does not say at what."""
        self.due |= self.watches.keys() if number is None else {number}
        self.wake.set()

    async def follow(self) -> None:
        """Looks and tells, time and again."""
        while True:
            self.wake.clear()
            everyone = self.loop.time() >= self.round_at
            due = [watch for watch in self.watches.values() if everyone or watch.number in self.due]
            self.due.clear()
            if everyone:
                self.round_at = self.loop.time() + POLL_S
            try:
                await self.look_at(due, everyone)
            except Exception as error:  # whatever it is: a socket that nobody looks after must not stay open
                socket_metrics.failures += 1
                problem = error or "no answer"
                logger.warning("No look at a %s: %s", self.of, problem, exc_info=not trouble_of(error))
                for watch in due:
                    end(watch.viewers, Ending(FAILED))
            spacing = self.spacing_s + SPACING_PER_SOCKET_S * len(socket_metrics.sockets)
            await asyncio.sleep(min(spacing, POLL_S))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), max(0.0, self.round_at - self.loop.time()))


def end(viewers: Iterable[Viewer], ending: Ending) -> None:
    """Ends all of these."""
    for viewer in list(viewers):
        viewer.end(ending)
