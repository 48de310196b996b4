"""The rooms that sockets of this process watch (websockets/hub.py): each is read once, for all of its sockets.

What a look finds is encoded once; each socket takes the newest messages, whatever it missed.
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
    """A message as sockets send it."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


class Seen(NamedTuple):
    """A room as it was looked at. `shown`: for everybody; `mine`: for each student who answered, `none`: for the
    others; `counts`: for whoever teaches; `removed`: students for whom it is over; `over`: why it is over, if it is."""

    version: int
    heard: int
    over: str
    shown: str | None = None
    none: str | None = None
    mine: dict[int, str] = {}
    counts: str | None = None
    removed: frozenset[int] = frozenset()


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
            none = encode({"mine": serializers.own(room, room.step, None)})
            known = Seen(room.version, room.heard, over, encode({"room": serializers.state(room)}), none)
        answers = serializers.answers_of(room)
        words = {msgspec.json.encode(one): one for one in answers.values()}  # the same answer is the same message
        told = {key: encode({"mine": serializers.own(room, room.step, one)}) for key, one in words.items()}
        mine = {student: told[msgspec.json.encode(one)] for student, one in answers.items()}
        counts = encode({"counts": serializers.counted(room, answers)}) if question.teaches else None
        return known._replace(heard=room.heard, over=over, mine=mine, counts=counts, removed=serializers.removed(room))
    except Refused as refused:
        return Seen(room.version, room.heard, str(refused))


@dataclass(eq=False)
class Viewer(hub.Viewer):
    """A socket. `student`: whose it is, None of whoever teaches. `version`, `counts`: what it was sent last."""

    watch: Watch
    student: int | None
    version: int
    counts: str | None = None
    told: bool = False  # what is its own
    lag: int = 0  # nothing is behind: the newest is sent, and what came before it does not matter


@dataclass(eq=False)
class Watch(hub.Watch):
    """A room that is watched, as it was when it was last looked at; `gone`: it is not there any more."""

    seen: Seen | None = None
    gone: bool = False


class Lookout(hub.Lookout[Watch]):
    """All watches of an event loop. Pages of this process tell it directly."""

    of = publisher.OF
    spacing_s = 0.05

    def begun(self, number: int) -> Watch:
        return Watch(number)

    async def join(self, viewer: Viewer) -> None:
        """Returns once the room was looked at for this socket."""
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
        """A notice of a page's thread."""
        with contextlib.suppress(RuntimeError):  # the loop is over
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
