"""The runs that sockets of this process watch: each is looked at once, for all of its sockets together.

A look asks the database how far a run is; notices say when, and without them there is one a second. What it finds is
told to the run's sockets, which then take what they have not sent yet from the feed, each at its own pace.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Iterable
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kubesched_ui.models import EventBlock, Run
from kubesched_ui.recording import counted
from kubesched_ui.recording.feed import Feed, Form, in_thread
from kubesched_ui.recording.notices import Notices
from kubesched_ui.recording.rights import Scope, may_see
from kubesched_ui.recording.turns import Turns
from kubesched_ui.trouble import trouble_of

logger = logging.getLogger(__name__)

POLL_S = 1.0
SPACING_S = 0.1  # between looks; what comes meanwhile is one message
SPACING_PER_SOCKET_S = 0.00025
STRETCH_BLOCKS = 2000

NOT_YOURS, NOT_FOUND, FAILED = 4403, 4404, 1011


class Ending(NamedTuple):
    """Why a socket is closed: its code, and what is said before, if anything."""

    code: int
    says: str = ""


@dataclass(eq=False)
class Viewer:
    """A socket: what it asked for, and `since`, how far it is."""

    scope: Scope
    run_id: int
    since: int
    pod: str
    form: Form
    watch: Watch
    task: asyncio.Task[Any] | None = None
    admitted: bool = False
    ending: Ending | None = None

    @property
    def lag(self) -> int:
        """Events that are there and not sent."""
        return max(0, self.watch.last_seq - self.since)

    def end(self, ending: Ending) -> None:
        """Ends it wherever it is, be it that it waits for a reader who does not read."""
        if self.ending is None and self.task is not None:
            self.ending = ending
            self.task.cancel()


class Stretch(NamedTuple):
    """Whose events are after `since`, up to `until`."""

    since: int
    until: int
    pods: frozenset[str]


@dataclass(eq=False)
class Watch:
    """A run that is watched, as it was when it was last looked at."""

    run_id: int
    known: bool = False
    active: bool = True
    last_seq: int = 0
    viewers: set[Viewer] = field(default_factory=set)
    forms: set[Form] = field(default_factory=set)  # that its sockets took so far
    waiting: list[asyncio.Future[Any]] = field(default_factory=list)
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


class Lookout:
    """All watches of an event loop; `follow` runs while there are any."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.turns = Turns()
        self.feed = Feed(self.turns)
        self.watches: dict[int, Watch] = {}
        self.due: set[int] = set()
        self.wake = asyncio.Event()
        self.round_at = 0.0
        self.notices: Notices | None = None
        self.following: asyncio.Task[None] | None = None

    def watch(self, run_id: int) -> Watch:
        """The watch of a run, begun if there is none."""
        if run_id not in self.watches:
            self.watches[run_id] = Watch(run_id)
            if self.following is None:
                self.notices = Notices(self.hear)
                self.following = asyncio.create_task(self.follow(), context=Context())  # no socket's
            if self.notices is not None:
                self.notices.add(run_id)
            self.hear(run_id)
        return self.watches[run_id]

    async def join(self, viewer: Viewer) -> None:
        """Returns once it is known that there is the run and that this socket may see it; else ends the socket."""
        viewer.watch.viewers.add(viewer)
        viewer.watch.forms.add(viewer.form)
        if not viewer.watch.known:
            await self.news(viewer)
        if not (await in_thread(may_see, viewer.run_id, [viewer.scope]))[0]:
            viewer.end(no_such_run(viewer.run_id))
            await asyncio.sleep(0)
        viewer.admitted = True

    def leave(self, viewer: Viewer) -> None:
        """The socket is over. Who leaves last ends the watch."""
        watch = viewer.watch
        watch.viewers.discard(viewer)
        if not watch.viewers and self.watches.get(watch.run_id) is watch:
            self.drop(watch)

    def drop(self, watch: Watch) -> None:
        del self.watches[watch.run_id]
        self.feed.forget(watch.run_id)
        if self.notices is not None:
            self.notices.discard(watch.run_id)
            if not self.watches:
                self.notices.stop()
                self.notices = None
        if not self.watches and self.following is not None:
            self.following.cancel()
            self.following = None

    async def news(self, viewer: Viewer) -> None:
        """Waits until there was another look at the run."""
        future = self.loop.create_future()
        viewer.watch.waiting.append(future)
        await future

    def hear(self, run_id: int | None) -> None:
        """A notice: there is a reason to look."""
        self.due |= self.watches.keys() if run_id is None else {run_id}
        self.wake.set()

    async def follow(self) -> None:
        """Looks and tells, time and again."""
        while True:
            self.wake.clear()
            everyone = self.loop.time() >= self.round_at
            due = [watch for watch in self.watches.values() if everyone or watch.run_id in self.due]
            self.due.clear()
            if everyone:
                self.round_at = self.loop.time() + POLL_S
            try:
                await self.look_at(due, everyone)
            except Exception as error:  # whatever it is: a socket that nobody looks after must not stay open
                counted.failures += 1
                problem = error or "no answer"
                logger.warning("Runs cannot be looked at: %s", problem, exc_info=not trouble_of(error))
                for watch in due:
                    self.end(watch.viewers, Ending(FAILED))
            spacing = SPACING_S + SPACING_PER_SOCKET_S * len(counted.sockets)
            await asyncio.sleep(min(spacing, POLL_S))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.wake.wait(), max(0.0, self.round_at - self.loop.time()))

    async def look_at(self, watches: list[Watch], everyone: bool) -> None:
        """Looks at these runs and tells their sockets. Raises what the database raises."""
        viewers = {
            watch.run_id: [viewer for viewer in watch.viewers if everyone and viewer.admitted] for watch in watches
        }
        questions = [
            Question(
                watch.run_id,
                watch.last_seq,
                watch.known and any(viewer.pod for viewer in watch.viewers),
                [viewer.scope for viewer in viewers[watch.run_id]],
            )
            for watch in watches
        ]
        found = await in_thread(look, questions) if questions else {}
        for watch in watches:
            seen = found[watch.run_id]
            if seen.active is None:
                self.end(watch.viewers, no_such_run(watch.run_id))
                continue
            refused = [viewer for viewer, yes in zip(viewers[watch.run_id], seen.allowed, strict=True) if not yes]
            self.end(refused, Ending(NOT_YOURS, f"Run {watch.run_id} is not shared with you any more."))
            self.tell(watch, seen)

    def tell(self, watch: Watch, seen: Seen) -> None:
        """Wakes who waits."""
        watch.known, watch.active, watch.last_seq = True, bool(seen.active), seen.last_seq
        if seen.stretch is not None:
            watch.stretches.append(seen.stretch)
        waiting, watch.waiting = watch.waiting, []
        self.turns.call(waiting)

    @staticmethod
    def end(viewers: Iterable[Viewer], ending: Ending) -> None:
        for viewer in list(viewers):
            viewer.end(ending)


def no_such_run(run_id: int) -> Ending:
    """Also said of runs that one may not see: whether they are there is nobody's business."""
    return Ending(NOT_FOUND, f"There is no run {run_id}.")
