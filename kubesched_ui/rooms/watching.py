"""The rooms that sockets of this process watch: each is read once, for all of its sockets together.

As with runs (recording/watching.py): a notice says when to look, and without one there is a look each second. What
a look finds is put into messages once; each socket takes the newest ones, whatever it missed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Iterable
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from kubesched_ui.recording import counted
from kubesched_ui.recording.feed import Form, in_thread
from kubesched_ui.recording.frames import frames
from kubesched_ui.recording.notices import Notices
from kubesched_ui.recording.turns import Turns
from kubesched_ui.rooms import seen, telling
from kubesched_ui.rooms.errors import Refused
from kubesched_ui.rooms.models import Room
from kubesched_ui.rooms.moving import OVER
from kubesched_ui.trouble import trouble_of

logger = logging.getLogger(__name__)

POLL_S = 1.0
SPACING_S = 0.05  # between looks; what comes meanwhile is told together
SPACING_PER_SOCKET_S = 0.00025


class Words:
    """A message for any number of sockets, put into frames once for each form that they take."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.text = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
        self.made: dict[Form, tuple[bytes, ...]] = {None: (self.text,)}

    def frames(self, form: Form) -> tuple[bytes, ...]:
        """As a socket of this form sends it."""
        if form is not None and form not in self.made:
            self.made[form] = frames(self.text, form)
        return self.made[form]


class Seen(NamedTuple):
    """A room as it was looked at. `shown`: for everybody; `mine`: for each student who answered, `none`: for the
    others; `counts`: for whoever teaches; `over`: why it is over, if it is."""

    version: int
    heard: int
    over: str
    shown: Words | None = None
    none: Words | None = None
    mine: dict[int, Words] = {}
    counts: Words | None = None


class Question(NamedTuple):
    """What is known of a room so far. `teaches`: whether somebody who does looks."""

    room_id: int
    known: Seen | None
    teaches: bool


def look(questions: Iterable[Question]) -> dict[int, Seen | None]:
    """These rooms as they are now; None for one that is gone. What has not changed is not read again."""
    asked = {one.room_id: one for one in questions}
    rows = {room.pk: room for room in Room.objects.select_related("run").filter(pk__in=asked)}
    return {pk: read(rows[pk], one) if pk in rows else None for pk, one in asked.items()}


def read(room: Room, question: Question) -> Seen:
    """One room."""
    known, over = question.known, "" if room.live else OVER
    if known and (known.version, known.heard) == (room.version, room.heard) and (known.counts or not question.teaches):
        return known._replace(over=over)
    try:
        if known is None or known.version != room.version:
            none = Words({"mine": seen.own(room, room.step, None)})
            known = Seen(room.version, room.heard, over, Words({"room": seen.state(room)}), none)
        answers = seen.answers_of(room)
        words = {msgspec.json.encode(one): one for one in answers.values()}  # the same answer is the same message
        told = {key: Words({"mine": seen.own(room, room.step, one)}) for key, one in words.items()}
        mine = {student: told[msgspec.json.encode(one)] for student, one in answers.items()}
        counts = Words({"counts": seen.counted(room, answers)}) if question.teaches else None
        return known._replace(heard=room.heard, over=over, mine=mine, counts=counts)
    except Refused as refused:
        return Seen(room.version, room.heard, str(refused))


@dataclass(eq=False)
class Viewer:
    """A socket. `student`: whose it is, None of whoever teaches. `version`, `counts`: what it was
    sent last."""

    room_id: int
    student: int | None
    version: int
    form: Form
    watch: Watch
    counts: Words | None = None
    told: bool = False  # what is its own
    task: asyncio.Task[Any] | None = None
    failed: bool = False
    lag: int = 0  # nothing is behind: the newest is sent, and what came before it does not matter

    def fail(self) -> None:
        """Ends it wherever it is; its page comes back."""
        if self.task is not None:
            self.failed = True
            self.task.cancel()


@dataclass(eq=False)
class Watch:
    """A room that is watched, as it was when it was last looked at; `gone`: it is not there any more."""

    room_id: int
    seen: Seen | None = None
    gone: bool = False
    viewers: set[Viewer] = field(default_factory=set)
    waiting: list[asyncio.Future[Any]] = field(default_factory=list)


class Lookout:
    """All watches of an event loop; `follow` runs while there are any."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.turns = Turns()
        self.watches: dict[int, Watch] = {}
        self.due: set[int] = set()
        self.wake = asyncio.Event()
        self.round_at = 0.0
        self.notices: Notices | None = None
        self.following: asyncio.Task[None] | None = None

    def watch(self, room_id: int) -> Watch:
        """The watch of a room, begun if there is none."""
        if room_id not in self.watches:
            self.watches[room_id] = Watch(room_id)
            if self.following is None:
                self.notices = Notices(self.hear, telling.OF)
                telling.listeners.append(self.hear_from_thread)
                self.following = asyncio.create_task(self.follow(), context=Context())  # no socket's
            if self.notices is not None:
                self.notices.add(room_id)
        return self.watches[room_id]

    async def join(self, viewer: Viewer) -> None:
        """Returns once the room was looked at for this socket."""
        viewer.watch.viewers.add(viewer)
        seen = viewer.watch.seen
        if seen is None or (viewer.student is None and seen.counts is None and not seen.over):
            self.hear(viewer.room_id)
            await self.news(viewer)

    def leave(self, viewer: Viewer) -> None:
        """The socket is over. Who leaves last ends the watch."""
        watch = viewer.watch
        watch.viewers.discard(viewer)
        if watch.viewers or self.watches.get(watch.room_id) is not watch:
            return
        del self.watches[watch.room_id]
        if self.notices is not None:
            self.notices.discard(watch.room_id)
        if not self.watches:
            self.stop()

    def stop(self) -> None:
        """Nobody watches any more."""
        if self.notices is not None:
            self.notices.stop()
            self.notices = None
        if self.following is not None:
            self.following.cancel()
            self.following = None
        if self.hear_from_thread in telling.listeners:
            telling.listeners.remove(self.hear_from_thread)

    async def news(self, viewer: Viewer) -> None:
        """Waits until there was another look at the room."""
        future = self.loop.create_future()
        viewer.watch.waiting.append(future)
        await future

    def hear(self, room_id: int | None) -> None:
        """A notice: there is a reason to look."""
        self.due |= self.watches.keys() if room_id is None else {room_id}
        self.wake.set()

    def hear_from_thread(self, room_id: int) -> None:
        """The same, of a page's thread."""
        with contextlib.suppress(RuntimeError):  # the loop is over
            self.loop.call_soon_threadsafe(self.hear, room_id)

    async def follow(self) -> None:
        """Looks and tells, time and again."""
        while True:
            self.wake.clear()
            everyone = self.loop.time() >= self.round_at
            due = [watch for watch in self.watches.values() if everyone or watch.room_id in self.due]
            self.due.clear()
            if everyone:
                self.round_at = self.loop.time() + POLL_S
            try:
                await self.look_at(due)
            except Exception as error:  # whatever it is: a socket that nobody looks after must not stay open
                counted.failures += 1
                logger.warning("Rooms cannot be looked at: %s", error or "no answer", exc_info=not trouble_of(error))
                for viewer in [viewer for watch in due for viewer in watch.viewers]:
                    viewer.fail()
            await asyncio.sleep(min(SPACING_S + SPACING_PER_SOCKET_S * len(counted.sockets), POLL_S))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), max(0.0, self.round_at - self.loop.time()))

    async def look_at(self, watches: list[Watch]) -> None:
        """Looks at these rooms and wakes their sockets. Raises what the database raises."""
        questions = [
            Question(watch.room_id, watch.seen, any(viewer.student is None for viewer in watch.viewers))
            for watch in watches
        ]
        found = await in_thread(look, questions) if questions else {}
        for watch in watches:
            now = found[watch.room_id]
            before, watch.seen, watch.gone = watch.seen, now or watch.seen, now is None
            if before is None or now is None or now[:3] != before[:3] or now.counts is not before.counts:
                waiting, watch.waiting = watch.waiting, []
                self.turns.call(waiting)
