"""The runs that sockets of this process watch (hub.py). Their state is queried once for all sockets."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kubesched_ui.models import EventBlock, Run
from kubesched_ui.websockets import hub
from kubesched_ui.websockets.hub import end
from kubesched_ui.websockets.permissions import Scope, may_see
from kubesched_ui.websockets.websocket_base import NOT_FOUND, NOT_YOURS, Ending, in_thread

PROGRESS = (
    "state", "last_seq", "cycles_done", "cycles_total", "placed", "unschedulable", "gated", "errors", "clock",
)  # fmt: skip


STRETCH_BLOCKS = 2000


@dataclass(eq=False)
class Viewer(hub.Viewer):
    """A socket. `since`: the last seq that it has sent. `pod`: "" for all pods. `log`: whether it sends the log."""

    scope: Scope
    run_id: int
    since: int
    pod: str
    watch: Watch
    log: bool
    admitted: bool = False

    @property
    def lag(self) -> int:
        """Number of events of the run that were not sent."""
        return max(0, self.watch.last_seq - self.since) if self.log else 0


class Stretch(NamedTuple):
    """Part of a log: the pods ("": the run itself) that have events after `since`, up to `until`."""

    since: int
    until: int
    pods: frozenset[str]


@dataclass(eq=False)
class Watch(hub.Watch):
    """A watched run as of the last query. `progress`: the message about it."""

    known: bool = False
    active: bool = True
    last_seq: int = 0
    progress: str = ""
    stretches: deque[Stretch] = field(default_factory=lambda: deque(maxlen=64))

    def skip(self, viewer: Viewer) -> bool:
        """Move a socket of one pod past a part of the log without events for it. Return whether there was one."""
        for since, until, pods in self.stretches:
            if since <= viewer.since < until and not {viewer.pod, ""} & pods:
                viewer.since = until
                return True
        return False


class Question(NamedTuple):
    """A query of a run. `of_pods`: also query which pods have events after `last_seq`. `scopes`: sockets to
    authorize."""

    run_id: int
    last_seq: int
    of_pods: bool
    scopes: list[Scope]


class Seen(NamedTuple):
    """The current state of a run. `allowed`: for each of the question's scopes, whether it may view the run."""

    row: dict[str, Any]
    stretch: Stretch | None
    allowed: list[bool]


def look(questions: Iterable[Question]) -> dict[int, Seen]:
    """Query the state of these runs. A run that does not exist is left out."""
    asked = {question.run_id: question for question in questions}
    seen = {}
    for run_id, *values in Run.objects.filter(pk__in=asked).values_list("pk", *PROGRESS):
        question, row = asked[run_id], dict(zip(PROGRESS, values, strict=True))
        stretch = stretch_of(run_id, question.last_seq, row["last_seq"]) if question.of_pods else None
        seen[run_id] = Seen(row, stretch, may_see(run_id, question.scopes) if question.scopes else [])
    return seen


def stretch_of(run_id: int, since: int, until: int) -> Stretch | None:
    """Return which pods have events in this part of the log; None if that takes too many rows."""
    rows = EventBlock.objects.filter(run_id=run_id, last_seq__gt=since, last_seq__lte=until).order_by("last_seq")
    pods = list(rows.values_list("pod", flat=True)[: STRETCH_BLOCKS + 1])
    return Stretch(since, until, frozenset(pods)) if until > since and len(pods) <= STRETCH_BLOCKS else None


class Lookout(hub.Lookout[Watch]):
    """All watches of an event loop. `reads`: the latest reads of logs, by (run, pod, since)."""

    of = "run"
    spacing_s = 0.1

    def __init__(self) -> None:
        super().__init__()
        self.reads: dict[tuple[int, str, int], asyncio.Future[tuple[int, str]]] = {}

    def begun(self, number: int) -> Watch:
        return Watch(number)

    async def join(self, viewer: Viewer) -> None:
        """Return once the run is known to exist and this socket may see it; else end the socket."""
        viewer.watch.viewers.add(viewer)
        if not viewer.watch.known:
            await self.news(viewer.watch)
        if not (await in_thread(may_see, viewer.run_id, [viewer.scope]))[0]:
            viewer.end(no_such_run(viewer.run_id))
            await asyncio.sleep(0)
        viewer.admitted = True

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
            if (seen := found.get(watch.number)) is None:
                end(watch.viewers, no_such_run(watch.number))
                continue
            refused = [viewer for viewer, yes in zip(viewers[watch.number], seen.allowed, strict=True) if not yes]
            end(refused, Ending(NOT_YOURS, f"Run {watch.number} is not shared with you any more."))
            watch.known, watch.active = True, seen.row["state"] in Run.ACTIVE
            watch.last_seq = seen.row["last_seq"]
            if seen.stretch is not None:
                watch.stretches.append(seen.stretch)
            watch.progress = json.dumps({"progress": seen.row}, separators=(",", ":"))
            self.tell(watch)


def no_such_run(run_id: int) -> Ending:
    """Return the ending for a run that does not exist or that the client may not view, without revealing which."""
    return Ending(NOT_FOUND, f"There is no run {run_id}.")
