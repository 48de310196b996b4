"""Fan-out to the sockets of this process: each topic, such as a run, is read once for all its connections.

Notices trigger reads; without notices, everything with connections is read each second.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from typing import Any, ClassVar, Generic, TypeVar

from django.db import close_old_connections

from kubesched_ui.accounts.websocket_auth import may_watch
from kubesched_ui.runtime.outages import outage_of
from kubesched_ui.web.fair_scheduler import FairScheduler
from kubesched_ui.websockets import socket_metrics
from kubesched_ui.websockets.subscriber import Notices

logger = logging.getLogger(__name__)

FAILED, NOT_YOURS, NOT_FOUND = 1011, 4403, 4404
POLL_S = 1.0
SPACING_PER_SOCKET_S = 0.00025
READS_MAX = 8  # Reads that sockets share. Twenty clients of one log then need a tenth of the processor time.
DATABASE_S = 30  # A query that takes longer counts as failed.

Scope = dict[str, Any]
R = TypeVar("R")
S = TypeVar("S")

THREADS = ThreadPoolExecutor(2, thread_name_prefix="sockets")  # The threads of pages may all be busy.


class Ending(Exception):
    """The reason for closing a socket: its code, and an error message to send before, if any."""

    def __init__(self, code: int, text: str = "") -> None:
        super().__init__(code, text)
        self.code, self.text = code, text


class Topic(ABC, Generic[S]):
    """A run, or another object by its number, with its connections. `state`: as it was read last, None before.

    `kind`: of the objects in notices. `model`: its viewers may subscribe; None if the subscription finds out itself.
    `missing`: the error if there is no such object. `listeners`: are called with numbers, from any thread.
    """

    kind: ClassVar[str]
    spacing_s: ClassVar[float]  # minimum time between reads; changes in the meantime are combined
    model: ClassVar[Any] = None
    missing: ClassVar[str]
    listeners: ClassVar[list[Callable[[int], None]]] = []

    def __init__(self, number: int, hub: Hub) -> None:
        self.number, self.hub = number, hub
        self.connections: set[Any] = set()
        self.waiting: list[asyncio.Future[Any]] = []
        self.state: S | None = None

    def question(self) -> Any:
        """Return what `read` needs to know of this topic."""

    @staticmethod
    @abstractmethod
    def read(questions: dict[int, Any]) -> dict[int, Any]:
        """Return the states of these topics, without those that do not exist. Raises the exceptions of the database."""

    def update(self, state: S) -> bool:
        """Keep a state. Return whether it is news to the connections."""
        before, self.state = self.state, state
        return state != before

    async def change(self) -> None:
        """Wait for news."""
        future = self.hub.loop.create_future()
        self.waiting.append(future)
        await future

    def end(self, connections: Iterable[Any], ending: Ending) -> None:
        for connection in list(connections):
            connection.end(ending)


class Hub:
    """All topics of one kind in an event loop. `follow` runs while there are any. `reads`: the latest shared reads."""

    hubs: ClassVar[dict[type[Topic[Any]], Hub]] = {}

    def __init__(self, topic: type[Topic[Any]]) -> None:
        self.topic = topic
        self.loop = asyncio.get_running_loop()
        self.turns = FairScheduler()
        self.topics: dict[int, Topic[Any]] = {}
        self.reads: dict[tuple[Any, ...], asyncio.Future[Any]] = {}
        self.due: set[int] = set()
        self.wake = asyncio.Event()
        self.round_at = 0.0
        self.notices: Notices | None = None
        self.following: asyncio.Task[None] | None = None

    @classmethod
    def of_this_loop(cls, topic: type[Topic[Any]]) -> Hub:
        """Return the hub of this process; create a new one for a new event loop, as in tests."""
        if topic not in cls.hubs or cls.hubs[topic].loop is not asyncio.get_running_loop():
            cls.hubs[topic] = cls(topic)
        return cls.hubs[topic]

    @contextlib.contextmanager
    def joined(self, number: int, connection: Any) -> Iterator[Topic[Any]]:
        """Add a connection to a topic for the block. Its first connection creates the topic, its last removes it."""
        if not self.topics:
            self.start()
        if number not in self.topics:
            self.topics[number] = self.topic(number, self)
            if self.notices is not None:
                self.notices.add(number)
        topic = self.topics[number]
        topic.connections.add(connection)
        try:
            yield topic
        finally:
            topic.connections.discard(connection)
            if not topic.connections:
                del self.topics[number]
                if self.notices is not None:
                    self.notices.discard(number)
            if not self.topics:
                self.stop()

    def start(self) -> None:
        """Start reading when the first topic is added."""
        self.notices = Notices(self.mark_due, self.topic.kind)
        self.following = asyncio.create_task(self.follow(), context=Context())  # not the context of a socket
        self.topic.listeners.append(self.mark_due_from_thread)

    def stop(self) -> None:
        """Stop reading when there are no topics."""
        self.topic.listeners.remove(self.mark_due_from_thread)
        if self.notices is not None:
            self.notices.stop()
            self.notices = None
        if self.following is not None:
            self.following.cancel()
            self.following = None

    def mark_due(self, number: int | None) -> None:
        """Handle a notice: mark a topic as due, or all if the notice does not name one."""
        self.due |= self.topics.keys() if number is None else {number}
        self.wake.set()

    def mark_due_from_thread(self, number: int) -> None:
        """Do the same from another thread."""
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            self.loop.call_soon_threadsafe(self.mark_due, number)

    async def follow(self) -> None:
        """Read due topics and notify their connections, repeatedly."""
        while True:
            self.wake.clear()
            everyone = self.loop.time() >= self.round_at
            due = [one for one in self.topics.values() if everyone or one.number in self.due]
            self.due.clear()
            if everyone:
                self.round_at = self.loop.time() + POLL_S
            try:
                await self.refresh(due, everyone)
            except Exception as error:  # any error: a socket without updates must not stay open
                socket_metrics.failures += 1
                problem = error or "no answer"
                logger.warning("Cannot query a %s: %s", self.topic.kind, problem, exc_info=not outage_of(error))
                for topic in due:
                    topic.end(topic.connections, Ending(FAILED))
            spacing = self.topic.spacing_s + SPACING_PER_SOCKET_S * len(socket_metrics.sockets)
            await asyncio.sleep(min(spacing, POLL_S))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), max(0.0, self.round_at - self.loop.time()))

    async def refresh(self, due: list[Topic[Any]], everyone: bool) -> None:
        """Read these topics and notify their connections. `everyone`: check also who may still see them. Raises the
        exceptions of the database."""
        if not due:
            return
        checks = everyone and self.topic.model is not None
        admitted = {one.number: [c for c in one.connections if checks and c.admitted] for one in due}
        questions = {one.number: one.question() for one in due}
        scopes = {number: [connection.scope for connection in some] for number, some in admitted.items() if some}
        states, allowed = await in_thread(self.read, questions, scopes)
        for topic in due:
            number = topic.number
            if number not in states:
                topic.end(topic.connections, Ending(NOT_FOUND, topic.missing.format(number)))
                continue
            refused = [one for one, yes in zip(admitted[number], allowed.get(number, ()), strict=False) if not yes]
            topic.end(refused, Ending(NOT_YOURS, f"{topic.kind.title()} {number} is no longer shared with you."))
            if topic.update(states[number]):
                waiting, topic.waiting = topic.waiting, []
                self.turns.call(waiting)

    def read(
        self, questions: dict[int, Any], scopes: dict[int, list[Scope]]
    ) -> tuple[dict[int, Any], dict[int, list[bool]]]:
        """Return the states of topics, and for each of the scopes whether it may see its topic."""
        states = self.topic.read(questions)
        return states, {one: self.may_watch(one, some) for one, some in scopes.items() if one in states}

    def may_watch(self, number: int, scopes: list[Scope]) -> list[bool]:
        """Return for each of the scopes whether it may see the topic. It queries the database."""
        return may_watch(number, scopes, self.topic.model)

    async def shared(self, function: Callable[..., R], *key: Any, **more: Any) -> R:
        """Call a function in a thread. Calls with an equal key share the result, whatever `more` is."""
        key = (function, *key)
        if key not in self.reads:
            socket_metrics.readings += 1
            self.reads[key] = asyncio.ensure_future(in_thread(*key, **more))
            if len(self.reads) > READS_MAX:
                del self.reads[next(iter(self.reads))]
        try:
            found: R = await asyncio.shield(self.reads[key])
            return found
        except Exception:
            self.reads.pop(key, None)
            raise


async def in_thread(function: Callable[..., R], *args: Any, **named: Any) -> R:
    """Call a function that uses the database, in a thread.

    Raises:
        TimeoutError: it did not return within DATABASE_S.
        Exception: whatever the function raises.
    """
    loop = asyncio.get_running_loop()
    return await asyncio.wait_for(loop.run_in_executor(THREADS, connected, function, args, named), DATABASE_S)


def connected(function: Callable[..., R], args: tuple[Any, ...], named: dict[str, Any]) -> R:
    """Call with a database connection that is not stale, as Django does for each request."""
    close_old_connections()
    try:
        return function(*args, **named)
    finally:
        close_old_connections()
