"""The websockets of a run: its log, and its progress. docs/websocket.md describes both.

The worker writes events to the database and sends notices. This process reads the state of the watched runs once for
all their sockets (hub.py). Each socket of a log then reads what it has not sent yet.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator
from typing import NamedTuple
from urllib.parse import parse_qs

from kubesched_ui.event_log import cycle_batches
from kubesched_ui.event_log.log import join, read_blocks
from kubesched_ui.models import EventBlock, Run
from kubesched_ui.websockets.connection import BAD_REQUEST, Subscription
from kubesched_ui.websockets.hub import Ending, Hub, Scope, Topic

PROGRESS = (
    "state", "last_seq", "cycles_done", "cycles_total", "placed", "unschedulable", "nominated", "evicted", "gated",
    "errors", "clock",
)  # fmt: skip

MESSAGE_BYTES = 64 * 1024  # Size of JSON. A client that reads 2 kB per second still answers pings in time.
BLOCKS = 500
RANGE_BLOCKS = 2000
PROGRESS_S = 0.5  # Minimum time between two messages of progress.


class LogRange(NamedTuple):
    """Part of a log: the pods ("": the run itself) that have events after `since`, up to `until`."""

    since: int
    until: int
    pods: frozenset[str]


class RunState(NamedTuple):
    """The state of a run. `progress`: the message about it. `log_range`: the part of the log since the last read."""

    active: bool
    last_seq: int
    cycles: int
    progress: str
    log_range: LogRange | None


class RunTopic(Topic[RunState]):
    """A run. `log_ranges`: the latest parts of its log."""

    kind, spacing_s, model, missing = "run", 0.1, Run, "There is no run {}."

    def __init__(self, number: int, hub: Hub) -> None:
        super().__init__(number, hub)
        self.log_ranges: deque[LogRange] = deque(maxlen=64)

    def question(self) -> int | None:
        """Return the seq from which on to read which pods have events; None if no connection needs this."""
        with_pods = self.state is not None and any(one.subscription.pod for one in self.connections)
        return self.state.last_seq if self.state and with_pods else None

    @staticmethod
    def read(questions: dict[int, int | None]) -> dict[int, RunState]:
        found = {}
        for run_id, *values in Run.objects.filter(pk__in=questions).values_list("pk", *PROGRESS):
            row, since = dict(zip(PROGRESS, values, strict=True)), questions[run_id]
            log_range = None if since is None else find_log_range(run_id, since, row["last_seq"])
            progress = json.dumps({"progress": row}, separators=(",", ":"))
            active = row["state"] in Run.ACTIVE
            found[run_id] = RunState(active, row["last_seq"], row["cycles_done"], progress, log_range)
        return found

    def update(self, state: RunState) -> bool:
        if state.log_range is not None:
            self.log_ranges.append(state.log_range)
        return super().update(state)


def find_log_range(run_id: int, since: int, until: int) -> LogRange | None:
    """Return which pods have events in this part of the log; None if that takes too many rows."""
    rows = EventBlock.objects.filter(run_id=run_id, last_seq__gt=since, last_seq__lte=until).order_by("last_seq")
    pods = list(rows.values_list("pod", flat=True)[: RANGE_BLOCKS + 1])
    pods += cycle_batches.pods_between(run_id, since, until, RANGE_BLOCKS + 1)
    return LogRange(since, until, frozenset(pods)) if until > since and len(pods) <= RANGE_BLOCKS else None


class RunSubscription(Subscription):
    """A subscription to a run. `since`: the number of the last event, or decision, that was sent. `pod`: "" for all."""

    topics = RunTopic
    topic: RunTopic
    since = 0
    pod = ""

    async def open(self, scope: Scope) -> int:
        query = parse_qs(scope["query_string"].decode("utf-8", "replace"))
        since = query.get("since", ["0"])[0]
        if not (since.isascii() and since.isdigit() and len(since) < 19):
            raise Ending(BAD_REQUEST, "since must be an integer: the seq of the last received event.")
        self.since, self.pod = int(since), query.get("pod", [""])[0].replace("\0", "")
        return int(scope["url_route"]["kwargs"]["number"])

    @property
    def state(self) -> RunState:
        assert self.topic.state is not None
        return self.topic.state


class LogSubscription(RunSubscription):
    """/ws/runs/{id}?since=N[&pod=ns/name]: text frames {"events": [...]} until the run is over and all are sent."""

    @property
    def lag(self) -> int:  # type: ignore[override]
        return max(0, self.end - self.since) if self.topic and self.topic.state else 0

    @property
    def end(self) -> int:
        """The number of the last event that is stored."""
        return self.state.last_seq

    async def messages(self) -> AsyncGenerator[str]:
        while self.state.active or self.since < self.end:
            if self.since >= self.end:
                await self.topic.change()
            elif not self.skip():
                shared = self.topic.hub.shared
                last, message = await shared(self.read, self.topic.number, self.pod, self.since, until=self.end)
                if message:
                    yield message
                self.since = last

    def skip(self) -> bool:
        """Move past a part of the log without events for the pod. Return whether there was one."""
        for since, until, pods in self.topic.log_ranges if self.pod else ():
            if since <= self.since < until and not {self.pod, ""} & pods:
                self.since = until
                return True
        return False

    @staticmethod
    def read(run_id: int, pod: str, since: int, until: int) -> tuple[int, str]:
        """Read the next events after `since`.

        Args:
            until: the seq that the log is known to have reached.

        Returns:
            The seq up to which everything is read, and a message with the events, "" if there are none for `pod`.
        """
        texts: list[bytes] = []
        size, reached = 0, since
        for last, text in read_blocks(run_id, since, pod, BLOCKS):
            texts.append(text)
            size, reached = size + len(text), last
            if size > MESSAGE_BYTES:
                break
        else:
            reached = reached if len(texts) == BLOCKS else max(reached, until)
        return reached, f'{{"events":{join(texts).decode()}}}' if texts else ""


class ProgressSubscription(RunSubscription):
    """/ws/runs/{id}/progress: text frames {"progress": {...}}, at most one in PROGRESS_S, until the run is over."""

    async def messages(self) -> AsyncGenerator[str]:
        sent = ""
        while self.state.active or sent != self.state.progress:
            if sent == self.state.progress:
                await self.topic.change()
                continue
            sent = self.state.progress
            yield sent
            if self.state.active:
                await asyncio.sleep(PROGRESS_S)
