"""Event loop of a run in virtual time: objects change, and pods wait, are scheduled, requeued and bound.

`step` processes one instant: first all due actions in the order in which they were scheduled, then the queue's flushes,
then scheduling cycles, one at a time, while the queue has a ready pod. The writes of a cycle are delivered after it.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any

import msgspec

from scheduler_core.api.objects import PodCondition
from scheduler_core.cluster.cache_states import Lifecycle
from scheduler_core.cluster.change_log import LoggedChange
from scheduler_core.controllers.admission import Admission
from scheduler_core.cycle.extenders import Extenders
from scheduler_core.cycle.schedule_one import SKIPPED
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.framework.interface import CycleState
from scheduler_core.framework.runtime import Framework
from scheduler_core.legacy.queue import OldQueue
from scheduler_core.pod_groups.serialize import result_of
from scheduler_core.pod_groups.trace import GroupTrace
from scheduler_core.preemption.victims import clears_nominations
from scheduler_core.queue import QueuedPod, SchedulingQueue
from scheduler_core.queue.clock import EPOCH, Clock
from scheduler_core.queue.group_queue import GroupQueue
from scheduler_core.queue.scheduling_queue import LEFTOVER_PERIOD
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.api_server import ApiServer
from scheduler_core.virtual_time.binding import Binder, BindingCycle
from scheduler_core.virtual_time.event_handlers import EventHandlers

Action = Callable[[], None]

MOST_AT_ONCE = 500  # attempts of a pod at one instant that take no time
ATTEMPT_SECONDS = 0.001  # of each of its attempts that follow them
PREEMPTED = PodCondition("DisruptionTarget", "True", "PreemptionByScheduler", "preempted by a pod of higher priority")


class Record(msgspec.Struct, frozen=True, eq=False):
    """An event of the run. `seq` numbers the records of a run from 1, without gaps. `time`: virtual seconds.

    docs/virtual-time.md lists each `kind` with its `data`. `trace`: the cycle, for an attempt. `group`: the cycle of a
    pod group, after those of its members. `cause`: `seq` of the
    record that caused this one, 0 for none. `changes`: the complete objects that it changed; final once the instant is
    over.
    """

    seq: int
    time: float
    kind: str
    data: Mapping[str, Any]
    cause: int = 0
    trace: CycleTrace | None = None
    changes: list[LoggedChange] = []
    group: GroupTrace | None = None


class _Caused:
    """The context of Engine.caused."""

    __slots__ = ("_before", "_engine", "_seq")

    def __init__(self, engine: Engine, seq: int) -> None:
        self._engine, self._seq = engine, seq

    def __enter__(self) -> None:
        self._before = self._engine.cause
        self._engine.cause = self._seq

    def __exit__(self, *error: object) -> None:
        self._engine.cause = self._before


class Engine:
    """A run in virtual time. `simulation`: the initial cluster, the profiles and the pending pods. `admission`,
    `graceful`: see ApiServer. `bind_seconds`, `bind_failures`: see Binder."""

    def __init__(
        self,
        simulation: Simulation,
        *,
        admission: bool = False,
        graceful: bool = False,
        bind_seconds: float = 0.0,
        bind_failures: Mapping[str, int] | None = None,
        extenders: Extenders | None = None,
    ) -> None:
        self.scheduler = simulation.scheduler
        self.extenders = extenders
        self.scheduler.use_extenders(extenders)
        self.cluster = cluster = simulation.cluster
        self.clock = Clock()
        cluster.epoch, cluster.now = EPOCH, lambda: self.clock.unix
        release = simulation.release
        groups = release.pod_groups and release.groups_are_queued
        make = OldQueue if release.legacy_queue else GroupQueue if groups else SchedulingQueue
        self.queue = make(
            self.scheduler.profiles,
            cluster.nominator,
            self.clock,
            simulation.release,
            initial_backoff=simulation.configuration.pod_initial_backoff_seconds,
            max_backoff=simulation.configuration.pod_max_backoff_seconds,
            on_move=self._moved,
        )
        lifecycle = Lifecycle(cluster)
        handlers = EventHandlers(cluster, lifecycle, self.queue)
        admit = Admission(cluster.priority_classes, cluster.storage_classes) if admission else None
        self.api = ApiServer(self, cluster, lifecycle, handlers, admit, graceful)
        self.binder = Binder(self.api, self.scheduler, self.queue, bind_seconds, dict(bind_failures or {}))
        for framework in self.scheduler.profiles.values():
            framework.list_pods = lambda: self.api.pods.values()
        self._due: list[tuple[float, int, int, Action]] = []
        self._count = count()
        self._records: list[Record] = []
        self._early: list[LoggedChange] = []  # changes since the last record, which belong to the next record
        self.seq = 0  # the number of the last record
        self.cause = 0  # that of the record that causes what happens now
        self._listed: list[str] | None = None
        self._tried: Counter[str] = Counter()  # attempts of each pod that follow each other without a pause
        self._free = 0.0  # when the last attempt has ended
        self.max_records: float = math.inf  # limit of records, so that the run cannot grow without bounds
        self.max_pods: float = math.inf  # limit of pods that exist at the same time
        self.before_cycle: dict[int, list[Action]] = {}  # number of a cycle -> actions to run right before it
        self.after_second: list[tuple[float, Action]] = []  # ascending: actions to run after everything in that second
        self.at(0.0, lambda: self.api.begin(simulation.pending))

    # ---- the loop

    def at(self, time: float, action: Action) -> None:
        """Schedule an action for `time`, or for now if that is past. Actions at the same time run in the order of these
        calls.

        The cause of the action is the current cause at the time of this call.
        """
        heapq.heappush(self._due, (max(time, self.clock.now), next(self._count), self.cause, action))

    def run(self, until: float) -> Iterator[Record]:
        """Run until that second (inclusive); yield the records."""
        while True:
            while self.next_instant() <= until:
                self.step()
                records, self._records = self._records, []
                yield from records
            self.clock.advance(until)
            if not self._stage():
                break
        yield from self._records
        self._records = []

    def next_instant(self) -> float:
        """Return the time of the next action or flush; infinite if there is none."""
        return min(self._next(), self.after_second[0][0] if self.after_second else math.inf)

    def _next(self) -> float:
        due, flush = self._due[0][0] if self._due else math.inf, max(self.queue.next_flush(), self.clock.now)
        return min(due, flush, self._free if self._free > self.clock.now else math.inf)

    def step(self) -> None:
        """Process the next instant: due actions, queue flushes, then cycles while a pod can be popped."""
        now = self.next_instant()
        self.clock.advance(now)
        if self.after_second and self.after_second[0][0] == now < self._next():
            self.begin_changes()
            self.after_second.pop(0)[1]()
        else:
            self._run_due(now)
            if now == int(now):
                self.queue.flush_backoff()
                if now % LEFTOVER_PERIOD == 0:
                    self.queue.flush_leftovers()
        if now < self._free:
            return  # an attempt still runs
        if now > self._free:
            self._tried.clear()
            self._free = now
        while True:
            if self.before_cycle and self.queue.ready:
                self._stage()
            if (pod := self.queue.pop()) is None:
                break
            self.attempt(pod)
            self._run_due(now)
            self._tried[pod.key] += 1
            if self._tried[pod.key] > MOST_AT_ONCE:  # pods wake each other without end; in a cluster, time passes
                self._free = round(now + ATTEMPT_SECONDS, 6)
                break

    def _stage(self) -> bool:
        """Run the actions planned before the next cycle; return whether there were any."""
        actions = self.before_cycle.pop(self.scheduler.cycles + 1, [])
        if actions:
            self.begin_changes()
        for action in actions:
            action()
        return bool(actions)

    def _run_due(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            _, _, cause, action = heapq.heappop(self._due)
            self.begin_changes()
            before, self.cause = self.cause, cause
            try:
                action()
            finally:
                self.cause = before

    # ---- records

    def record(self, kind: str, **data: Any) -> int:
        """Add a record for the current time; return its number."""
        return self._note(kind, data)

    def begin_changes(self) -> None:
        """Attribute the following changes to the next record instead of the last one."""
        self.cluster.journal.entries = self._early

    def note_attempt(self, trace: CycleTrace) -> int:
        """Record a cycle; return the number of the record."""
        trace.time = self.clock.now
        seq = self._note("attempt", _summary(trace), trace)
        self._note_extenders(seq)
        return seq

    def note_group(self, trace: GroupTrace) -> int:
        """Record the cycle of a pod group, after those of its members."""
        data = {"group": trace.name, "result": result_of(trace), "message": trace.status.message}
        return self._note("group.finished", data, group=trace)

    def _note(
        self, kind: str, data: Mapping[str, Any], trace: CycleTrace | None = None, group: GroupTrace | None = None
    ) -> int:
        self.seq += 1
        if self.seq > self.max_records or len(self.api.pods) > self.max_pods:
            what = f"{self.max_records:,} events" if self.seq > self.max_records else f"{self.max_pods:,} pods"
            raise InputError("run", "", f"stopped at {self.clock.now:,.3f} s: more than {what}")
        changes, self._early = self._early, []
        self._records.append(Record(self.seq, self.clock.now, kind, data, self.cause, trace, changes, group))
        self.cluster.journal.entries = changes  # changes from here on belong to this record
        return self.seq

    def caused(self, seq: int) -> _Caused:
        """Return a context in which that record is the cause of everything recorded."""
        return _Caused(self, seq)

    def _moved(self, pod: str, was: str, to: str, event: str) -> None:
        self._note("queue.moved", {"pod": pod, "from": was, "to": to, "event": event})

    # ---- cycles and their writes

    def skip(self, queued: QueuedPod) -> bool:
        """Drop a popped pod that is being deleted (upstream skipPodSchedule). Return whether it is one."""
        if queued.info.terminating:
            self.queue.done(queued.key)
            self.record("pod.skipped", pod=queued.key, message=SKIPPED.format(pod=queued.key))
        return queued.info.terminating

    def list_nodes(self) -> None:
        """Record the list of nodes if it has changed since the last cycle."""
        self.cluster.nodes.refresh()
        if self.cluster.nodes.names is not self._listed:
            self._listed = self.cluster.nodes.names
            self.record("nodes.listed", names=list(self._listed))

    def attempt(self, queued: QueuedPod) -> None:
        """Run the cycle of a popped pod, and begin its binding or requeue it."""
        if self.skip(queued):
            return
        self.list_nodes()
        self.begin_changes()
        framework, state, trace = self.scheduler.try_pod(queued.info, queued.attempts)
        seq = self.note_attempt(trace)
        with self.caused(seq):
            if trace.result in ("scheduled", "waiting"):
                self.begin_binding(queued, framework, state, trace)
            else:
                self._failed(queued, trace)
            self.binder.settle()
            self.api.handlers.deliver()
            self._note_extenders(seq)

    def begin_binding(self, queued: QueuedPod, framework: Framework, state: CycleState, trace: CycleTrace) -> None:
        """Begin the binding cycle of an assumed pod, and activate the pods that its Permit plugins ask for."""
        self.binder.begin(BindingCycle(queued, framework, state, trace, self.queue.cycle))
        if state.to_activate:
            self.queue.activate(state.to_activate, self.api.pods)

    def _note_extenders(self, seq: int) -> None:
        """Record the failures of extenders since the last call."""
        if self.extenders:
            with self.caused(seq):
                while self.extenders.events:
                    self.record("extender.failed", message=self.extenders.events.pop(0))

    def _failed(self, queued: QueuedPod, trace: CycleTrace) -> None:
        """Requeue the pod, then write the results of its cycle: evict victims, clear lost nominations, set its own
        nomination."""
        if isinstance(self.queue, OldQueue):
            self._failed_of_old(self.queue, queued, trace)
            return
        pod = queued.info
        changes = trace.result == "error" or (trace.postfilter is not None and trace.postfilter.decides)
        nominated = self.requeue(queued, trace.unschedulable_plugins, trace.nominated_node if changes else None)
        lower = [p for p in self.cluster.nominator.on(trace.nominated_node) if p.priority < pod.priority]
        clears = clears_nominations(self.cluster.release, [self.api.pods[key] for key in trace.victims])
        for key in trace.victims:
            self.evict(key, pod.key)
        for loser in lower if trace.nominated_node and clears else ():
            self.api.nominate(loser, "")
        self.api.nominate(pod, nominated)

    def requeue(self, queued: QueuedPod, plugins: Iterable[str], nominated: str | None) -> str:
        """Put a pod back into the queue. `plugins`: those that rejected it. `nominated`: its nominated node, None for
        an unchanged one. Return that node."""
        pod, nominator = queued.info, self.cluster.nominator
        self.queue.add_unschedulable(queued, plugins)
        nominated = pod.nominated_node if nominated is None else nominated
        nominator.forget(pod)
        if nominated:
            nominator.nominate(pod, nominated)
        return nominated

    def evict(self, victim: str, by: str) -> None:
        """Evict a pod to make room for another one; a pod that waits for Permit is rejected."""
        if self.binder.reject(victim, "preempted"):
            return
        pod, release = self.api.pods[victim], self.cluster.release
        if not pod.terminating:
            self.api.evict(pod, "preempted", by=by, condition=PREEMPTED)
        elif release.waits_only_for_preempted_pods and not release.skips_terminating_victims:
            self.api.add_condition(pod, PREEMPTED)

    def _failed_of_old(self, queue: OldQueue, queued: QueuedPod, trace: CycleTrace) -> None:
        """Handle a failed attempt in releases in which preemption is not a plugin.

        The pod's nomination is written before the victims are evicted, so that the pod is already unschedulable when
        they are deleted. The pod loses its nomination only if preemption clears it. Source: pkg/scheduler/scheduler.go
        (recordSchedulingFailure, preempt).
        """
        pod = queued.info
        queue.add_unschedulable(queued, trace.unschedulable_plugins)
        queue.write_condition(pod, "Unschedulable", trace.message or trace.error)
        lost = trace.postfilter.cleared if trace.postfilter is not None else []
        if trace.nominated_node:
            others = self.cluster.nominator.on(trace.nominated_node)
            lost = [other.key for other in others if other.priority < pod.priority]
            self.cluster.nominator.nominate(pod, trace.nominated_node)
            self.api.nominate(pod, trace.nominated_node)
        for key in trace.victims:
            if not self.binder.reject(key, "preempted"):
                self.api.evict(self.api.pods[key], "preempted", by=pod.key)
        for key in lost:
            self.api.nominate(self.api.pods[key], "")


def _summary(trace: CycleTrace) -> dict[str, Any]:
    """Return the result of an attempt, without empty fields."""
    placed = trace.placed_on
    found: dict[str, Any] = {"pod": trace.pod, "attempt": trace.attempt, "result": trace.result}
    if placed:
        found["node"] = placed
    if message := trace.message or trace.error:
        found["message"] = message
    if trace.unschedulable_plugins and trace.result not in ("scheduled", "waiting"):
        found["plugins"] = trace.unschedulable_plugins
    if trace.nominated_node:
        found["nominated_node"] = trace.nominated_node
    if trace.victims:
        found["victims"] = trace.victims
    if trace.group:
        found["group"] = trace.group
    return found
