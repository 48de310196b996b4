"""The log of runs as messages: whatever place it is read from, it is read once for all sockets of this process.

A message begins where its readers are, so those who are at the same place get the same one. Who came in elsewhere, or
fell behind what is kept, reads for himself until he meets the others: messages end where the log ends, and at every
4,096th event.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from typing import Any, NamedTuple, TypeVar

from django.db import close_old_connections

from kubesched_ui.event_log.log import join, read_blocks
from kubesched_ui.outages import trouble_of
from kubesched_ui.runtime.fair_scheduler import Turns
from kubesched_ui.websockets import socket_metrics
from kubesched_ui.websockets.ws_frames import frames

logger = logging.getLogger(__name__)

MESSAGE_BYTES = 256 * 1024  # of JSON
BLOCKS = 500
MEET = 4096
KEPT_BYTES = 32 * 1024 * 1024
PATIENCE_S = 30  # for the database; one that hangs is as one that is away

Form = int | None  # permessage-deflate's window, 0 without; None: the text itself, for servers that frame by themselves
Place = tuple[int, str, int]  # run, pod ("" for all), seq after which is read
R = TypeVar("R")

THREADS = ThreadPoolExecutor(2, thread_name_prefix="log")  # apart from those of pages, which wait for each other


class Unreadable(Exception):
    """The log cannot be read at present."""


async def in_thread(function: Callable[..., R], *args: Any) -> R:
    """Asks the database beside the event loop. Raises what the function raises, TimeoutError when nothing comes."""
    loop = asyncio.get_running_loop()
    return await asyncio.wait_for(loop.run_in_executor(THREADS, connected, function, *args), PATIENCE_S)


def connected(function: Callable[..., R], *args: Any) -> R:
    """Calls with a connection that is not stale, as requests have it."""
    close_old_connections()
    try:
        return function(*args)
    finally:
        close_old_connections()


class Message(NamedTuple):
    """`last`: the seq up to which its reader knows all. `frames`: as they are sent; none where nothing was for him."""

    last: int
    frames: tuple[bytes, ...]

    @property
    def size(self) -> int:
        return sum(map(len, self.frames))


def read(place: Place, until: int, forms: Collection[Form]) -> dict[Form, Message]:
    """The next message of a place in each of these forms. `until`: the log is known to reach so far."""
    run_id, pod, since = place
    texts: list[bytes] = []
    size, last = 0, since
    for last, text in read_blocks(run_id, since, pod, BLOCKS):
        texts.append(text)
        size += len(text)
        if size > MESSAGE_BYTES or last // MEET > since // MEET:
            break
    else:
        last = last if len(texts) == BLOCKS else max(last, until)
    if not texts:
        return {form: Message(last, ()) for form in forms}
    text = b'{"events":' + join(texts) + b"}"
    return {form: Message(last, (text,) if form is None else frames(text, form)) for form in forms}


class Feed:
    """Messages of all runs that are watched, the latest used ones kept, up to a number of bytes."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.kept: OrderedDict[tuple[Place, Form], Message] = OrderedDict()
        self.size = 0
        self.waiting: defaultdict[Place, list[tuple[Form, asyncio.Future[Any]]]] = defaultdict(list)
        self.tasks: set[asyncio.Task[None]] = set()

    async def after(self, place: Place, form: Form, until: int, forms: Collection[Form]) -> Message:
        """The message that comes next at a place. `forms`: what others there take, made in the same reading."""
        while True:
            if (message := self.kept.get((place, form))) is not None:
                self.kept.move_to_end((place, form))
                return message
            future = asyncio.get_running_loop().create_future()
            if place not in self.waiting:
                task = asyncio.create_task(self.fetch(place, until, {form, *forms}), context=Context())
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
            self.waiting[place].append((form, future))
            if (message := await future) is not None:
                return message

    async def fetch(self, place: Place, until: int, forms: Collection[Form]) -> None:
        """Reads once and answers everybody who waits at the place."""
        socket_metrics.readings += 1
        made: dict[Form, Message] = {}
        problem: Exception | None = None
        try:
            made = await in_thread(read, place, until, forms)
        except Exception as error:
            socket_metrics.failures += 1
            logger.warning("Run %s cannot be read: %s", place[0], error or "no answer", exc_info=not trouble_of(error))
            problem = Unreadable()
        waiting = self.waiting.pop(place)
        if not all(future.cancelled() for _, future in waiting):  # else they went, and may have been the run's last
            for form, message in made.items():
                self.keep(place, form, message)
        for form, future in waiting:
            self.turns.call([future], problem or made.get(form))

    def keep(self, place: Place, form: Form, message: Message) -> None:
        """Keeps a message; what was not used for longest goes."""
        self.kept[place, form] = message
        self.size += message.size
        while self.size > KEPT_BYTES and len(self.kept) > 1:
            _, oldest = self.kept.popitem(last=False)
            self.size -= oldest.size

    def forget(self, run_id: int) -> None:
        """Nobody watches this run any more."""
        for key in [key for key in self.kept if key[0][0] == run_id]:
            self.size -= self.kept.pop(key).size
