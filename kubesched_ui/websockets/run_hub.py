"""The runs that sockets of this process watch (lookout.py): a look asks the database how far they are.

What it finds is told to the run's sockets, which then take what they have not sent yet from the feed, each at its own
pace.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kubesched_ui.models import EventBlock, Run
from kubesched_ui.websockets import hub
from kubesched_ui.websockets.hub import end
from kubesched_ui.websockets.message_cache import Feed, Form, in_thread
from kubesched_ui.websockets.permissions import Scope, may_see
from kubesched_ui.websockets.websocket_base import NOT_FOUND, NOT_YOURS, Ending

STRETCH_BLOCKS = 2000


@dataclass(eq=False)
class Viewer(hub.Viewer):
    """A socket: what it asked for, and `since`, how far it is."""

    scope: Scope
    run_id: int
    since: int
    pod: str
    form: Form
    watch: Watch
    admitted: bool = False

    @property
    def lag(self) -> int:
        """Events that are there and not sent."""
        return max(0, self.watch.last_seq - self.since)


class Stretch(NamedTuple):
    """Whose events are after `since`, up to `until`."""

    since: int
    until: int
    pods: frozenset[str]


@dataclass(eq=False)
class Watch(hub.Watch):
    """A run that is watched, as it was when it was last looked at."""

    known: bool = False
    active: bool = True
    last_seq: int = 0
    forms: set[Form] = field(default_factory=set)  # that its sockets took so far
    stretches: deque[Stretch] = field(default_factory=lambda: deque(maxlen=64))

    def passed_over(self, viewer: Viewer) -> bool:
        """Takes a socket of one pod over a stretch in which nothing is about that pod, if that is known."""
        for since, until, pods in self.stretches:
            if since <= viewer.since < until and not {viewer.pod, ""} & pods:
                viewer.since = until
                return True
        return False


class Question(NamedTuple):
    """`of_pods`: whether to tell whose events are new since `last_seq`. `scopes`: who must be allowed to see it."""

    run_id: int
    last_seq: int
    of_pods: bool
    scopes: list[Scope]


class Seen(NamedTuple):
    """`active`: None where there is no such run."""

    active: bool | None
    last_seq: int
    stretch: Stretch | None
    allowed: list[bool]


def look(questions: Iterable[Question]) -> dict[int, Seen]:
    """How far these runs are."""
    asked = {question.run_id: question for question in questions}
    rows = Run.objects.filter(pk__in=asked).values_list("pk", "state", "last_seq")
    found = {pk: (state in Run.ACTIVE, last_seq) for pk, state, last_seq in rows}
    seen = {}
    for run_id, question in asked.items():
        active, last_seq = found.get(run_id, (None, 0))
        stretch = whose(run_id, question.last_seq, last_seq) if question.of_pods else None
        seen[run_id] = Seen(active, last_seq, stretch, may_see(run_id, question.scopes) if question.scopes else [])
    return seen


def whose(run_id: int, since: int, until: int) -> Stretch | None:
    """Whose events these are; None where it would be much to read."""
    rows = EventBlock.objects.filter(run_id=run_id, last_seq__gt=since, last_seq__lte=until).order_by("last_seq")
    pods = list(rows.values_list("pod", flat=True)[: STRETCH_BLOCKS + 1])
    return Stretch(since, until, frozenset(pods)) if until > since and len(pods) <= STRETCH_BLOCKS else None


class Lookout(hub.Lookout[Watch]):
    """All watches of an event loop, and the feed of their runs."""

    of = "run"
    spacing_s = 0.1

    def __init__(self) -> None:
        super().__init__()
        self.feed = Feed(self.turns)

    def begun(self, number: int) -> Watch:
        return Watch(number)

    async def join(self, viewer: Viewer) -> None:
        """Returns once it is known that there is the run and that this socket may see it; else ends the socket."""
        viewer.watch.viewers.add(viewer)
        viewer.watch.forms.add(viewer.form)
        if not viewer.watch.known:
            await self.news(viewer.watch)
        if not (await in_thread(may_see, viewer.run_id, [viewer.scope]))[0]:
            viewer.end(no_such_run(viewer.run_id))
            await asyncio.sleep(0)
        viewer.admitted = True

    def drop(self, watch: Watch) -> None:
        super().drop(watch)
        self.feed.forget(watch.number)

    async def look_at(self, watches: Sequence[Watch], everyone: bool) -> None:
        viewers = {
            watch.number: [viewer for viewer in watch.viewers if everyone and viewer.admitted] for watch in watches
        }
        questions = [
            Question(
                watch.number,
                watch.last_seq,
                watch.known and any(viewer.pod for viewer in watch.viewers),
                [viewer.scope for viewer in viewers[watch.number]],
            )
            for watch in watches
        ]
        found = await in_thread(look, questions) if questions else {}
        for watch in watches:
            seen = found[watch.number]
            if seen.active is None:
                end(watch.viewers, no_such_run(watch.number))
                continue
            refused = [viewer for viewer, yes in zip(viewers[watch.number], seen.allowed, strict=True) if not yes]
            end(refused, Ending(NOT_YOURS, f"Run {watch.number} is not shared with you any more."))
            watch.known, watch.active, watch.last_seq = True, bool(seen.active), seen.last_seq
            if seen.stretch is not None:
                watch.stretches.append(seen.stretch)
            self.tell(watch)


def no_such_run(run_id: int) -> Ending:
    """Also said of runs that one may not see: whether they are there is nobody's business."""
    return Ending(NOT_FOUND, f"There is no run {run_id}.")
