"""Live classes as topics of websockets (websockets/hub.py). Each class is read once for all its sockets.

Messages are encoded once per change. A socket always sends the newest messages and skips older ones.
"""

import json
from typing import Any, NamedTuple

import msgspec

from kubesched_ui.live_classes import publisher, serializers
from kubesched_ui.live_classes.lesson_copies import NotReady, without_waiting
from kubesched_ui.live_classes.models import OVER, LiveClass, Rejected
from kubesched_ui.websockets.hub import Topic


def encode(message: dict[str, Any]) -> str:
    """Encode a message for a websocket."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


class LiveClassSnapshot(NamedTuple):
    """Snapshot of a live class, with encoded messages.

    `shown`: the message for everyone. `mine`: per student with an answer, the message about it. `none`: the same
    for students without an answer. `counts`: the message for the teacher. `wall`: the message for the wall page.
    `removed`: keys of removed students. `over`: why the class is over, or "".
    """

    version: int
    answers_version: int
    over: str
    shown: str | None = None
    none: str | None = None
    mine: dict[int, str] = {}
    counts: str | None = None
    wall: str | None = None
    removed: frozenset[int] = frozenset()


class LiveClassQuery(NamedTuple):
    """The known state of a live class. `teaches`: whether a teacher or a wall page is subscribed."""

    live_class_id: int
    known: LiveClassSnapshot | None
    teaches: bool


def read(live_class: LiveClass, query: LiveClassQuery) -> LiveClassSnapshot:
    """Return the current snapshot of one live class."""
    known, over = query.known, "" if live_class.live else OVER
    if (
        known
        and (known.version, known.answers_version) == (live_class.version, live_class.answers_version)
        and (known.counts or not query.teaches)
    ):
        return known._replace(over=over)
    try:
        with without_waiting():
            return _read(live_class, query, over)
    except NotReady:  # the class is published again when it is ready
        return known._replace(over=over) if known else LiveClassSnapshot(0, 0, over)
    except Rejected as refused:
        return LiveClassSnapshot(live_class.version, live_class.answers_version, str(refused))


def _read(live_class: LiveClass, query: LiveClassQuery, over: str) -> LiveClassSnapshot:
    known = query.known
    if known is None or known.version != live_class.version:
        none = encode({"mine": serializers.own_answer(live_class, live_class.step, None)})
        shown = encode({"room": serializers.state(live_class)})
        known = LiveClassSnapshot(live_class.version, live_class.answers_version, over, shown, none)
    answers = serializers.answers_of(live_class)
    words = {msgspec.json.encode(one): one for one in answers.values()}  # equal answers share one encoded message
    messages = {
        key: encode({"mine": serializers.own_answer(live_class, live_class.step, one)}) for key, one in words.items()
    }
    mine = {student: messages[msgspec.json.encode(one)] for student, one in answers.items()}
    version, removed = live_class.answers_version, serializers.removed(live_class)
    known = known._replace(answers_version=version, over=over, mine=mine, counts=None, wall=None, removed=removed)
    if not query.teaches:
        return known
    found = serializers.counts_html(live_class, answers)
    wall = encode({"wall": serializers.wall_counts(live_class, found)})
    return known._replace(counts=encode({"counts": found}), wall=wall)


class LiveClassTopic(Topic[LiveClassSnapshot]):
    """A live class with subscribers. Other threads of this process notify it directly."""

    kind, spacing_s, missing = publisher.KIND, 0.05, "There is no such class, or you have not joined it."
    listeners = publisher.listeners

    def question(self) -> LiveClassQuery:
        teaches = any(one.subscription.student is None for one in self.connections)
        return LiveClassQuery(self.number, self.state, teaches)

    @staticmethod
    def read(questions: dict[int, LiveClassQuery]) -> dict[int, LiveClassSnapshot]:
        """Return current snapshots. Unchanged state is not read again."""
        rows = LiveClass.objects.select_related("run").filter(pk__in=questions)
        return {live_class.pk: read(live_class, questions[live_class.pk]) for live_class in rows}

    def update(self, state: LiveClassSnapshot) -> bool:
        before, self.state = self.state, state
        return before is None or state[:3] != before[:3] or state.counts is not before.counts
