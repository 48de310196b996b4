"""Subscriptions of this process's sockets to runs (hub.py). The state of a run is queried once for all its sockets."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kubesched_ui.accounts.websocket_auth import may_watch
from kubesched_ui.event_log import cycle_batches
from kubesched_ui.models import EventBlock, Run
from kubesched_ui.websockets import hub
from kubesched_ui.websockets.hub import end
from kubesched_ui.websockets.websocket_base import NOT_FOUND, NOT_YOURS, Ending, Scope, in_thread

PROGRESS = (
    "state", "last_seq", "cycles_done", "cycles_total", "placed", "unschedulable", "nominated", "evicted", "gated",
    "errors", "clock",
)  # fmt: skip

RANGE_BLOCKS = 2000

Read = Callable[[int, str, int, int], tuple[int, str]]
"""Reads what a socket sends next: (run, pod, since, until) -> (up to where everything is read, the message)."""


@dataclass(eq=False)
class RunSubscriber(hub.Subscriber):
    """A socket. `since`: the last seq that it has sent. `pod`: "" for all pods. `log`: whether it sends the log."""

    scope: Scope
    run_id: int
    since: int
    pod: str
    subscription: RunSubscription
    log: bool
    admitted: bool = False

    @property
    def lag(self) -> int:
        """Number of events of the run that were not sent."""
        return max(0, self.subscription.last_seq - self.since) if self.log else 0


class LogRange(NamedTuple):
    """Part of a log: the pods ("": the run itself) that have events after `since`, up to `until`."""

    since: int
    until: int
    pods: frozenset[str]


@dataclass(eq=False)
class RunSubscription(hub.Subscription):
    """A run with subscribers, as of the last query. `progress`: the message about it."""

    known: bool = False
    active: bool = True
    last_seq: int = 0
    cycles: int = 0
    progress: str = ""
    log_ranges: deque[LogRange] = field(default_factory=lambda: deque(maxlen=64))

    def skip(self, subscriber: RunSubscriber) -> bool:
        """Move a socket of one pod past a part of the log without events for it. Return whether there was one."""
        for since, until, pods in self.log_ranges:
            if since <= subscriber.since < until and not {subscriber.pod, ""} & pods:
                subscriber.since = until
                return True
        return False


class RunQuery(NamedTuple):
    """A query of a run. `with_pods`: also query which pods have events after `last_seq`. `scopes`: sockets to
    authorize."""

    run_id: int
    last_seq: int
    with_pods: bool
    scopes: list[Scope]


class RunSnapshot(NamedTuple):
    """The current state of a run. `allowed`: for each of the query's scopes, whether it may view the run."""

    row: dict[str, Any]
    log_range: LogRange | None
    allowed: list[bool]


def query_runs(queries: Iterable[RunQuery]) -> dict[int, RunSnapshot]:
    """Query the state of these runs. A run that does not exist is left out."""
    by_run = {query.run_id: query for query in queries}
    snapshots = {}
    for run_id, *values in Run.objects.filter(pk__in=by_run).values_list("pk", *PROGRESS):
        query, row = by_run[run_id], dict(zip(PROGRESS, values, strict=True))
        log_range = find_log_range(run_id, query.last_seq, row["last_seq"]) if query.with_pods else None
        snapshots[run_id] = RunSnapshot(row, log_range, may_watch(run_id, query.scopes) if query.scopes else [])
    return snapshots


def find_log_range(run_id: int, since: int, until: int) -> LogRange | None:
    """Return which pods have events in this part of the log; None if that takes too many rows."""
    rows = EventBlock.objects.filter(run_id=run_id, last_seq__gt=since, last_seq__lte=until).order_by("last_seq")
    pods = list(rows.values_list("pod", flat=True)[: RANGE_BLOCKS + 1])
    pods += cycle_batches.pods_between(run_id, since, until, RANGE_BLOCKS + 1)
    return LogRange(since, until, frozenset(pods)) if until > since and len(pods) <= RANGE_BLOCKS else None


class RunHub(hub.Hub[RunSubscription]):
    """All subscriptions of an event loop to runs. `reads`: the latest reads, by what they read, run, pod and since."""

    kind = "run"
    spacing_s = 0.1
    new_subscription = RunSubscription

    def __init__(self) -> None:
        super().__init__()
        self.reads: dict[tuple[Read, int, str, int], asyncio.Future[tuple[int, str]]] = {}

    async def join(self, subscriber: RunSubscriber) -> None:
        """Return once the run is known to exist and this socket may see it; else end the socket."""
        subscriber.subscription.subscribers.add(subscriber)
        if not subscriber.subscription.known:
            await self.wait_for_change(subscriber.subscription)
        if not (await in_thread(may_watch, subscriber.run_id, [subscriber.scope]))[0]:
            subscriber.end(no_such_run(subscriber.run_id))
            await asyncio.sleep(0)
        subscriber.admitted = True

    async def refresh(self, subscriptions: Sequence[RunSubscription], everyone: bool) -> None:
        sockets = {one.number: [s for s in one.subscribers if everyone and s.admitted] for one in subscriptions}
        queries = []
        for one in subscriptions:
            with_pods = one.known and any(socket.pod for socket in one.subscribers)
            scopes = [socket.scope for socket in sockets[one.number]]
            queries.append(RunQuery(one.number, one.last_seq, with_pods, scopes))
        found = await in_thread(query_runs, queries) if queries else {}
        for subscription in subscriptions:
            if (snapshot := found.get(subscription.number)) is None:
                end(subscription.subscribers, no_such_run(subscription.number))
                continue
            allowed = zip(sockets[subscription.number], snapshot.allowed, strict=True)
            refused = [socket for socket, yes in allowed if not yes]
            end(refused, Ending(NOT_YOURS, f"Run {subscription.number} is no longer shared with you."))
            subscription.known, subscription.active = True, snapshot.row["state"] in Run.ACTIVE
            subscription.last_seq, subscription.cycles = snapshot.row["last_seq"], snapshot.row["cycles_done"]
            if snapshot.log_range is not None:
                subscription.log_ranges.append(snapshot.log_range)
            subscription.progress = json.dumps({"progress": snapshot.row}, separators=(",", ":"))
            self.notify(subscription)


def no_such_run(run_id: int) -> Ending:
    """Return the ending for a run that does not exist or that the client may not view, without revealing which."""
    return Ending(NOT_FOUND, f"There is no run {run_id}.")
