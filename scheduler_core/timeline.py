"""A run in time: objects come, change and go, pods wait, are tried, woken and bound, on a virtual clock.

`step` is the loop. At each instant what is due happens first, in the order in which it was asked for; then the queue's
flushes; then scheduling cycles, one at a time, while there is a pod to try. What a cycle writes is delivered after it.
"""

from __future__ import annotations

import copy
import heapq
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from scheduler_core.clock import Clock
from scheduler_core.cluster.lifecycle import Lifecycle
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.handlers import EventHandlers
from scheduler_core.objects import Node, Object, Pod
from scheduler_core.queue import QueuedPod, SchedulingQueue
from scheduler_core.simulation import Simulation
from scheduler_core.trace import CycleTrace

Action = Callable[[], None]

# What is due at the same instant goes by this first.
WRITES, FLUSHES = 0, 1


@dataclass(frozen=True, slots=True)
class Record:
    """Something that happened. `seq` numbers the records of a run from 1, without gaps. `time`: seconds.

    `kind`: attempt (with its `trace`), queue.moved, pod.created, pod.bound, pod.deleted, pod.evicted, node.changed,
    object.changed, permit.waiting or warning. `data`: plain values, by kind (docs/time.md).
    """

    seq: int
    time: float
    kind: str
    data: Mapping[str, Any]
    trace: CycleTrace | None = None


class Timeline:
    """`simulation`: the cluster at the beginning, the profiles and the pods that wait. `pop_from_backoff`: None is the
    release's default."""

    def __init__(self, simulation: Simulation, *, pop_from_backoff: bool | None = None) -> None:
        self.scheduler = simulation.scheduler
        self.cluster = simulation.cluster
        self.clock = Clock()
        self.queue = SchedulingQueue(
            self.scheduler.profiles,
            self.cluster.nominator,
            self.clock,
            simulation.release,
            initial_backoff=simulation.configuration.pod_initial_backoff_seconds,
            max_backoff=simulation.configuration.pod_max_backoff_seconds,
            pop_from_backoff=pop_from_backoff,
            on_move=self._moved,
        )
        self.lifecycle = Lifecycle(self.cluster)
        self.handlers = EventHandlers(self.cluster, self.lifecycle, self.queue)
        self.pods: dict[str, PodInfo] = dict(self.cluster.pods)  # every pod that exists
        self._due: list[tuple[float, int, int, Action]] = []
        self._count = count()
        self._records: list[Record] = []
        self._seq = 0
        for pod in simulation.pending:
            self.at(0.0, lambda pod=pod: self._appear(pod, ""))  # type: ignore[misc]

    # ---- the loop

    def at(self, time: float, action: Action, priority: int = WRITES) -> None:
        """Has something happen at `time`, or now if that is past."""
        heapq.heappush(self._due, (max(time, self.clock.now), priority, next(self._count), action))

    def run(self, until: float) -> Iterator[Record]:
        """Goes on until that second (included); yields what happens."""
        while self.next_instant() <= until:
            self.step()
            records, self._records = self._records, []
            yield from records
        self.clock.advance(until)

    def next_instant(self) -> float:
        """When something happens next; infinite when nothing will."""
        return min(self._due[0][0] if self._due else math.inf, max(self.queue.next_flush(), self.clock.now))

    def step(self) -> None:
        """The next instant: what is due, the flushes, then cycles while a pod can be popped."""
        now = self.next_instant()
        self.clock.advance(now)
        self._happen(now)
        if now == int(now):
            self.queue.flush_backoff()
            if now % 30 == 0:
                self.queue.flush_leftovers()
        while (pod := self.queue.pop()) is not None:
            self._attempt(pod)
            self._happen(now)

    def _happen(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            heapq.heappop(self._due)[3]()

    # ---- records

    def record(self, kind: str, trace: CycleTrace | None = None, **data: Any) -> None:
        self._seq += 1
        self._records.append(Record(self._seq, self.clock.now, kind, data, trace))

    def _moved(self, pod: str, to: str, event: str) -> None:
        self.record("queue.moved", pod=pod, to=to, event=event)

    # ---- the API: what users, controllers and the scheduler write

    def create(self, obj: Object) -> None:
        """Creates an object; one that exists already is left as it is."""
        if isinstance(obj, Pod):
            if obj.key not in self.pods and not obj.terminated:
                self._appear(PodInfo(obj, self.cluster.release), obj.spec.node_name)
        elif self.cluster.find(obj) is None:
            self._note_change("created", obj)
            self.handlers.add(obj)

    def _appear(self, pod: PodInfo, node: str) -> None:
        self.pods[pod.key] = pod
        self.record("pod.created", pod=pod.key, node=node)
        self.handlers.add_pod(pod, node)

    def update(self, obj: Object) -> None:
        """Replaces an object that exists. A pod keeps its uid, creation time, node and status."""
        if not isinstance(obj, Pod):
            old_object = self.cluster.find(obj)
            if old_object is not None:
                self._note_change("updated", obj)
                self.handlers.update(old_object, obj)
            return
        old = self.pods.get(obj.key)
        if old is None:
            return
        stored = old.pod
        obj.metadata.uid, obj.metadata.creation_timestamp = stored.metadata.uid, stored.metadata.creation_timestamp
        obj.metadata.deletion_timestamp = stored.metadata.deletion_timestamp
        obj.spec.node_name, obj.status = stored.spec.node_name, stored.status
        self._replace(old, PodInfo(obj, self.cluster.release))

    def _replace(self, old: PodInfo, new: PodInfo) -> None:
        new.node, new.nominated_node, new.start_time = old.node, old.nominated_node, old.start_time
        if self.lifecycle.is_assumed(new.key):
            new.node = ""
        self.pods[new.key] = new
        self.handlers.update_pod(old, new)

    def delete(self, obj: Object) -> None:
        """Deletes an object, if it exists."""
        if isinstance(obj, Pod):
            if obj.key in self.pods:
                self.remove(self.pods[obj.key], "deleted")
            return
        stored = self.cluster.find(obj)
        if stored is not None:
            self._note_change("deleted", stored)
            self.handlers.delete(stored)

    def remove(self, pod: PodInfo, reason: str) -> None:
        """A pod ceases to exist."""
        del self.pods[pod.key]
        self.record("pod.deleted", pod=pod.key, node=pod.node, reason=reason)
        self.handlers.delete_pod(pod)

    def _note_change(self, how: str, obj: Object) -> None:
        kind = type(obj).__name__
        if isinstance(obj, Node):
            self.record("node.changed", node=obj.name, change=how)
        else:
            self.record("object.changed", object=f"{kind} {obj.key}", change=how)

    # ---- a cycle, and what it writes

    def _attempt(self, queued: QueuedPod) -> None:
        pod = queued.info
        trace = self.scheduler.schedule_one(pod, queued.attempts)
        trace.time = self.clock.now
        self.record("attempt", trace, pod=pod.key, attempt=queued.attempts, result=trace.result)
        if trace.result == "scheduled":
            self._bind(pod)
        else:
            self._failed(queued, trace)
        self.queue.done(pod.key)

    def _bind(self, pod: PodInfo) -> None:
        self.lifecycle.assume(pod, pod.node)
        self.lifecycle.finish_binding(pod, self.clock.now)
        pod.start_time = self.clock.unix
        self.handlers.bound(pod)

    def _failed(self, queued: QueuedPod, trace: CycleTrace) -> None:
        """Back into the queue; then what the cycle wrote becomes known: victims, nominations lost, its own."""
        pod = queued.info
        self.queue.add_unschedulable(queued, trace.unschedulable_plugins)
        nominated = pod.nominated_node  # kept if the cycle says nothing of it
        if trace.result == "error" or (trace.postfilter is not None and trace.postfilter.decides):
            nominated = trace.nominated_node
        self.cluster.nominator.forget(pod)
        if nominated:
            self.cluster.nominator.nominate(pod, nominated)
        losers = []
        if trace.nominated_node:
            losers = [p for p in self.cluster.nominator.on(trace.nominated_node) if p.priority < pod.priority]
        for key in trace.victims:
            self.remove(self.pods[key], "preempted")
        for loser in losers:
            self._nominate(loser, "")
        self._nominate(pod, nominated)

    def _nominate(self, pod: PodInfo, node: str) -> None:
        """Writes status.nominatedNodeName."""
        if pod.nominated_node != node:
            old = copy.copy(pod)
            pod.nominated_node = node
            self.handlers.update_pod(old, pod)
