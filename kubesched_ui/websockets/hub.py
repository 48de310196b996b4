"""Fan-out to the sockets of this process: each run or live class is queried once for all its sockets.

Notices trigger queries; without notices, everything with subscribers is queried each second.
"""

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Self, TypeVar

from kubesched_ui.outages import outage_of
from kubesched_ui.runtime.fair_scheduler import FairScheduler
from kubesched_ui.websockets import socket_metrics
from kubesched_ui.websockets.subscriber import Notices
from kubesched_ui.websockets.websocket_base import FAILED, Ending

logger = logging.getLogger(__name__)

POLL_S = 1.0
SPACING_PER_SOCKET_S = 0.00025


@dataclass(eq=False, kw_only=True)
class Subscriber:
    """A socket. `task` serves it; `ending` is the reason if the server ends it."""

    task: asyncio.Task[Any] | None = None
    ending: Ending | None = None

    def end(self, ending: Ending) -> None:
        """End the socket, even while it waits for a slow client."""
        if self.ending is None and self.task is not None:
            self.ending = ending
            self.task.cancel()


@dataclass(eq=False)
class Subscription:
    """A run or live class by its number, with its sockets."""

    number: int
    subscribers: set[Any] = field(default_factory=set)
    waiting: list[asyncio.Future[Any]] = field(default_factory=list)


W = TypeVar("W", bound=Subscription)


class Hub(ABC, Generic[W]):
    """All subscriptions of an event loop. `follow` runs while there are any. `kind`: of the objects in notices."""

    kind: ClassVar[str]
    spacing_s: ClassVar[float]  # minimum time between queries; changes in the meantime are combined
    one: ClassVar[Any] = None
    new_subscription: ClassVar[Any]  # creates a subscription from its number

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.turns = FairScheduler()
        self.subscriptions: dict[int, W] = {}
        self.due: set[int] = set()
        self.wake = asyncio.Event()
        self.round_at = 0.0
        self.notices: Notices | None = None
        self.following: asyncio.Task[None] | None = None

    @classmethod
    def of_this_loop(cls) -> Self:
        """Return the instance of this process; create a new one for a new event loop, as in tests."""
        if cls.one is None or cls.one.loop is not asyncio.get_running_loop():
            cls.one = cls()
        found: Self = cls.one
        return found

    @abstractmethod
    async def refresh(self, subscriptions: Sequence[W], everyone: bool) -> None:
        """Query these objects and notify their sockets. `everyone`: whether this is the periodic query of all. Raises
        the exceptions of the database."""

    def subscribe(self, number: int) -> W:
        """Return the subscription to this number; create it if there is none."""
        if number not in self.subscriptions:
            self.subscriptions[number] = self.new_subscription(number)
            if self.following is None:
                self.start()
            if self.notices is not None:
                self.notices.add(number)
            self.mark_due(number)
        return self.subscriptions[number]

    def leave(self, subscription: W, subscriber: Subscriber) -> None:
        """Remove a socket. The last one removes the subscription."""
        subscription.subscribers.discard(subscriber)
        if not subscription.subscribers and self.subscriptions.get(subscription.number) is subscription:
            self.drop(subscription)

    def drop(self, subscription: W) -> None:
        """Remove a subscription without sockets."""
        del self.subscriptions[subscription.number]
        if self.notices is not None:
            self.notices.discard(subscription.number)
        if not self.subscriptions:
            self.stop()

    def start(self) -> None:
        """Start querying when the first subscription is added."""
        self.notices = Notices(self.mark_due, self.kind)
        self.following = asyncio.create_task(self.follow(), context=Context())  # not the context of a socket

    def stop(self) -> None:
        """Stop querying when there are no subscriptions."""
        if self.notices is not None:
            self.notices.stop()
            self.notices = None
        if self.following is not None:
            self.following.cancel()
            self.following = None

    async def wait_for_change(self, subscription: W) -> None:
        """Wait until the object is queried again."""
        future = self.loop.create_future()
        subscription.waiting.append(future)
        await future

    def notify(self, subscription: W) -> None:
        """Wake the sockets that wait for the subscription."""
        waiting, subscription.waiting = subscription.waiting, []
        self.turns.call(waiting)

    def mark_due(self, number: int | None) -> None:
        """Handle a notice: mark an object as due, or all if the notice does not name one."""
        self.due |= self.subscriptions.keys() if number is None else {number}
        self.wake.set()

    async def follow(self) -> None:
        """Query due objects and notify their sockets, repeatedly."""
        while True:
            self.wake.clear()
            everyone = self.loop.time() >= self.round_at
            due = [one for one in self.subscriptions.values() if everyone or one.number in self.due]
            self.due.clear()
            if everyone:
                self.round_at = self.loop.time() + POLL_S
            try:
                await self.refresh(due, everyone)
            except Exception as error:  # any error: a socket without updates must not stay open
                socket_metrics.failures += 1
                problem = error or "no answer"
                logger.warning("Cannot query a %s: %s", self.kind, problem, exc_info=not outage_of(error))
                for subscription in due:
                    end(subscription.subscribers, Ending(FAILED))
            spacing = self.spacing_s + SPACING_PER_SOCKET_S * len(socket_metrics.sockets)
            await asyncio.sleep(min(spacing, POLL_S))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), max(0.0, self.round_at - self.loop.time()))


def end(subscribers: Iterable[Subscriber], ending: Ending) -> None:
    """End all of these sockets."""
    for subscriber in list(subscribers):
        subscriber.end(ending)
