"""The live classes that sockets of this process watch (websockets/hub.py). Each is read once for all of its sockets.

Messages are encoded once per change. A socket always sends the newest messages and skips those that it missed.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from kubesched_ui.live_classes import publisher, serializers
from kubesched_ui.live_classes.errors import Refused
from kubesched_ui.live_classes.models import Room
from kubesched_ui.live_classes.teacher_actions import OVER
from kubesched_ui.websockets import hub
from kubesched_ui.websockets.websocket_base import in_thread


def encode(message: dict[str, Any]) -> str:
    """Encode a message for a websocket."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


class Seen(NamedTuple):
    """Snapshot of a live class, with encoded messages.

    `shown`: the message for everyone. `mine`: per student with an answer, the message about it. `none`: the same
    for students without an answer. `counts`: the message for the teacher. `removed`: keys of removed students.
    `over`: why the class is over, or "".
    """

    version: int
    heard: int
    over: str
    shown: str | None = None
    none: str | None = None
    mine: dict[int, str] = {}
    counts: str | None = None
    removed: frozenset[int] = frozenset()


class Question(NamedTuple):
    """The known state of a live class. `teaches`: whether a teacher watches it."""

    room_id: int
    known: Seen | None
    teaches: bool


def look(questions: Iterable[Question]) -> dict[int, Seen | None]:
    """Return current snapshots, None for a deleted live class. Unchanged state is not read again."""
    asked = {one.room_id: one for one in questions}
    rows = {room.pk: room for room in Room.objects.select_related("run").filter(pk__in=asked)}
    return {pk: read(rows[pk], one) if pk in rows else None for pk, one in asked.items()}


def read(room: Room, question: Question) -> Seen:
    """Return the current snapshot of one live class."""
    known, over = question.known, "" if room.live else OVER
    if known and (known.version, known.heard) == (room.version, room.heard) and (known.counts or not question.teaches):
        return known._replace(over=over)
    try:
        if known is None or known.version != room.version:
            none = encode({"mine": serializers.own(room, room.step, None)})
            known = Seen(room.version, room.heard, over, encode({"room": serializers.state(room)}), none)
        answers = serializers.answers_of(room)
        words = {msgspec.json.encode(one): one for one in answers.values()}  # equal answers share one encoded message
        told = {key: encode({"mine": serializers.own(room, room.step, one)}) for key, one in words.items()}
        mine = {student: told[msgspec.json.encode(one)] for student, one in answers.items()}
        counts = encode({"counts": serializers.counted(room, answers)}) if question.teaches else None
        return known._replace(heard=room.heard, over=over, mine=mine, counts=counts, removed=serializers.removed(room))
    except Refused as refused:
        return Seen(room.version, room.heard, str(refused))


@dataclass(eq=False)
class Viewer(hub.Viewer):
    """A socket. `student`: its student, None for the teacher. `version`, `counts`: what was sent last."""

    watch: Watch
    student: int | None
    version: int
    counts: str | None = None
    told: bool = False  # whether the student's own state was sent
    lag: int = 0  # always 0: only the newest message is sent, so a socket has no backlog


@dataclass(eq=False)
class Watch(hub.Watch):
    """A watched live class with its latest snapshot. `gone`: the live class was deleted."""

    seen: Seen | None = None
    gone: bool = False


class Lookout(hub.Lookout[Watch]):
    """All watches of an event loop. Other threads of this process notify it directly."""

    of = publisher.OF
    spacing_s = 0.05

    def begun(self, number: int) -> Watch:
        return Watch(number)

    async def join(self, viewer: Viewer) -> None:
        """Register a socket. Returns once a snapshot for it is available."""
        viewer.watch.viewers.add(viewer)
        seen = viewer.watch.seen
        if seen is None or (viewer.student is None and seen.counts is None and not seen.over):
            self.hear(viewer.watch.number)
            await self.news(viewer.watch)

    def start(self) -> None:
        super().start()
        publisher.listeners.append(self.hear_from_thread)

    def stop(self) -> None:
        super().stop()
        publisher.listeners.remove(self.hear_from_thread)

    def hear_from_thread(self, number: int) -> None:
        """Notify the event loop from another thread."""
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            self.loop.call_soon_threadsafe(self.hear, number)

    async def look_at(self, watches: Sequence[Watch], everyone: bool) -> None:
        questions = [
            Question(watch.number, watch.seen, any(viewer.student is None for viewer in watch.viewers))
            for watch in watches
        ]
        found = await in_thread(look, questions) if questions else {}
        for watch in watches:
            now = found[watch.number]
            before, watch.seen, watch.gone = watch.seen, now or watch.seen, now is None
            if before is None or now is None or now[:3] != before[:3] or now.counts is not before.counts:
                self.tell(watch)
