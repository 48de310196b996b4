"""Subscriptions of this process's sockets to live classes (websockets/hub.py). Each class is read once for all its
sockets.

Messages are encoded once per change. A socket always sends the newest messages and skips older ones.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from kubesched_ui.live_classes import publisher, serializers
from kubesched_ui.live_classes.lesson_copies import NotReady, without_waiting
from kubesched_ui.live_classes.models import OVER, LiveClass, Rejected
from kubesched_ui.websockets import hub
from kubesched_ui.websockets.websocket_base import in_thread


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


def query_live_classes(queries: Iterable[LiveClassQuery]) -> dict[int, LiveClassSnapshot | None]:
    """Return current snapshots, None for a deleted live class. Unchanged state is not read again."""
    by_class = {one.live_class_id: one for one in queries}
    rows = {live_class.pk: live_class for live_class in LiveClass.objects.select_related("run").filter(pk__in=by_class)}
    return {pk: read(rows[pk], one) if pk in rows else None for pk, one in by_class.items()}


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


@dataclass(eq=False)
class LiveClassSubscriber(hub.Subscriber):
    """A socket. `student`: its student, None for the teacher and the `wall` page. `version`, `counts`: what was sent
    last."""

    subscription: LiveClassSubscription
    student: int | None
    version: int
    counts: str | None = None
    own_sent: bool = False  # whether the student's own state was sent
    wall: bool = False
    lag: int = 0  # always 0: only the newest message is sent, so a socket has no backlog

    def counts_in(self, snapshot: LiveClassSnapshot) -> str | None:
        """Return the message with the answer counts for this socket; None for a student."""
        if self.student is not None:
            return None
        return snapshot.wall if self.wall else snapshot.counts


@dataclass(eq=False)
class LiveClassSubscription(hub.Subscription):
    """A live class with subscribers, and its latest snapshot. `gone`: the live class was deleted."""

    snapshot: LiveClassSnapshot | None = None
    gone: bool = False


class LiveClassHub(hub.Hub[LiveClassSubscription]):
    """All subscriptions of an event loop to live classes. Other threads of this process notify it directly."""

    kind = publisher.KIND
    spacing_s = 0.05
    new_subscription = LiveClassSubscription

    async def join(self, subscriber: LiveClassSubscriber) -> None:
        """Register a socket. Returns once a snapshot for it is available."""
        subscriber.subscription.subscribers.add(subscriber)
        snapshot = subscriber.subscription.snapshot
        if snapshot is None or (subscriber.student is None and snapshot.counts is None and not snapshot.over):
            self.mark_due(subscriber.subscription.number)
            await self.wait_for_change(subscriber.subscription)

    def start(self) -> None:
        super().start()
        publisher.listeners.append(self.mark_due_from_thread)

    def stop(self) -> None:
        super().stop()
        publisher.listeners.remove(self.mark_due_from_thread)

    def mark_due_from_thread(self, number: int) -> None:
        """Notify the event loop from another thread."""
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            self.loop.call_soon_threadsafe(self.mark_due, number)

    async def refresh(self, subscriptions: Sequence[LiveClassSubscription], everyone: bool) -> None:
        queries = [
            LiveClassQuery(one.number, one.snapshot, any(socket.student is None for socket in one.subscribers))
            for one in subscriptions
        ]
        found = await in_thread(query_live_classes, queries) if queries else {}
        for subscription in subscriptions:
            now = found[subscription.number]
            before = subscription.snapshot
            subscription.snapshot, subscription.gone = now or before, now is None
            if before is None or now is None or now[:3] != before[:3] or now.counts is not before.counts:
                self.notify(subscription)
