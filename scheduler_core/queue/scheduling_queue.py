"""The scheduling queue: the order of pods, what they wait for, and the events that requeue them.

A pod is in exactly one part: activeQ (ready, in the order of QueueSort), backoffQ (failed, waits for its backoff),
unschedulable (waits for an event) or gated (a PreEnqueue plugin holds it). Or it is in flight: popped and not yet done.
`add`, `update` and `delete` handle changes of the pod itself, `move_all` handles cluster events, and the scheduler
calls `pop`, `add_unschedulable` and `done`.

Source: pkg/scheduler/backend/queue (scheduling_queue.go, active_queue.go), v1.27: pkg/scheduler/internal/queue.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from scheduler_core.api.objects import Pod, PodStatus
from scheduler_core.cluster.nominator import Nominator
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.framework.events import ClusterEvent
from scheduler_core.framework.runtime import Framework
from scheduler_core.queue.backoff import BackoffQueue
from scheduler_core.queue.clock import Clock
from scheduler_core.queue.hints import Hints, QueueingStrategy
from scheduler_core.queue.keyed_heap import KeyedHeap
from scheduler_core.queue.queued_pod import ACTIVE, BACKOFF, GATED, GONE, POPPED, UNSCHEDULABLE, QueuedPod
from scheduler_core.releases import Release

LEFTOVER_SECONDS = 300.0  # after this time an unschedulable pod is tried again
OLD_LEFTOVER_SECONDS = 60.0
LEFTOVER_PERIOD = 30.0

# (pod, old part, new part, the label of the cause)
OnMove = Callable[[str, str, str, str], None]
PreCheck = Callable[[PodInfo], bool]

# The names of the events in releases without hints.
_OLD_LABELS = {
    "UnschedulablePodAdd": "PodAdd",
    "UnschedulablePodUpdate": "PodUpdate",
    "UnschedulablePodDelete": "PodDelete",
    "AssignedPodUpdatePodLabel": "PodLabelChange",
    "AssignedPodUpdatePodScaleDown": "PodRequestChange",
    "NodeUpdateNodeAllocatable": "NodeAllocatableChange",
    "NodeUpdateNodeLabel": "NodeLabelChange",
    "NodeUpdateNodeTaint": "NodeTaintChange",
    "NodeUpdateNodeCondition": "NodeConditionChange",
    "NodeUpdateNodeAnnotation": "NodeAnnotationChange",
    "PersistentVolumeAdd": "PvAdd",
    "PersistentVolumeUpdate": "PvUpdate",
    "PersistentVolumeClaimAdd": "PvcAdd",
    "PersistentVolumeClaimUpdate": "PvcUpdate",
}


# The prefixes of events in releases that distinguish the pod itself from other pods.
_TARGET_LABELS = (("UnschedulablePodUpdate", "TargetPodUpdate"), ("UnschedulablePod", "UnscheduledPod"))


@dataclass(slots=True)
class _InFlightEvent:
    event: ClusterEvent
    old: Any
    new: Any


def leftover_seconds(release: Release) -> float:
    """Return the number of seconds that a pod may stay unschedulable without another attempt."""
    return LEFTOVER_SECONDS if release.unschedulable_timeout_five_minutes else OLD_LEFTOVER_SECONDS


class SchedulingQueue:
    """The scheduling queue. `initial_backoff`, `max_backoff`: seconds. `on_move` is called for every move of a pod."""

    def __init__(
        self,
        profiles: Mapping[str, Framework],
        nominator: Nominator,
        clock: Clock,
        release: Release,
        *,
        initial_backoff: float = 1.0,
        max_backoff: float = 10.0,
        on_move: OnMove = lambda pod, was, to, event: None,
    ) -> None:
        self.profiles = profiles
        self.nominator = nominator
        self.clock = clock
        self.release = release
        self.with_hints = release.queueing_hints
        self.pops_early = release.pop_from_backoff
        self.hints = Hints(profiles, release)
        self._on_move = on_move
        sort = next(iter(profiles.values())).queue_sort  # upstream requires the same QueueSort in all profiles

        def order(pod: QueuedPod) -> tuple[Any, int]:
            return sort.sort_key(pod.info, pod.timestamp), pod.stamp

        def order_by_first_attempt(pod: QueuedPod) -> tuple[Any, int]:
            since = pod.timestamp if pod.first_attempt is None else pod.first_attempt
            return sort.sort_key(pod.info, since), pod.stamp

        if sort.by_first_attempt:
            order = order_by_first_attempt
        self.active = KeyedHeap(order)
        self.backoff = BackoffQueue(
            clock,
            initial_backoff,
            max_backoff,
            order,
            windows=self.pops_early,
            counts_attempts=release.backoff_counts_attempts,
            past_its_end=release.backoff_includes_end,
        )
        self.unschedulable: dict[str, QueuedPod] = {}  # includes gated pods
        self.cycle = 0  # incremented by every pop
        self.move_request_cycle = -1  # the cycle in which pods were last moved; used without hints
        self._stamps = self._activations = 0
        self._changes = 0  # events and changes of pods so far
        self._nothing_since = -1  # the value of `_changes` since when no pod can be popped early
        self._in_flight: dict[str, int] = {}  # pod -> number of the first event after its pop
        self._events: deque[_InFlightEvent] = deque()
        self._first_event = 0  # number of the first stored event

    # ---- queries

    def __len__(self) -> int:
        """The number of pods in all parts."""
        return len(self.active) + len(self.backoff) + len(self.unschedulable)

    def get(self, key: str) -> QueuedPod | None:
        return self.active.get(key) or self.backoff.get(key) or self.unschedulable.get(key)

    def in_flight(self, key: str) -> bool:
        return key in self._in_flight

    def parts(self) -> dict[str, str]:
        """Return pod -> part."""
        parts = {pod.key: ACTIVE for entity in self.active for pod in entity.pods}
        parts.update((pod.key, BACKOFF) for entity in self.backoff for pod in entity.pods)
        for entity in self.unschedulable.values():
            parts.update((pod.key, GATED if entity.gated else UNSCHEDULABLE) for pod in entity.pods)
        return parts

    # ---- changes of the pod itself

    def add(self, info: PodInfo) -> None:
        """Add a new pod."""
        self._changes += 1
        if self.release.gated_pods_hold_nominations and info.nominated_node:
            self.nominator.forget(info)
            self.nominator.nominate(info, info.nominated_node)
        self._to_active(self._new(info), events.UNSCHEDULABLE_POD_ADD.label)

    def _new(self, info: PodInfo) -> QueuedPod:
        self._stamps += 1
        return QueuedPod(info, self.clock.now, self._stamps)

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """Update a changed pod. In activeQ and backoffQ it stays; an unschedulable pod may be requeued."""
        self._changes += 1
        changes = events.pod_changes(old, new)
        if self.with_hints and new.key in self._in_flight:
            self._events.extend(_InFlightEvent(event, old, new) for event in changes)
            return
        for heap in (self.active, self.backoff):
            waiting = heap.get(new.key)
            if waiting is not None:
                waiting.info = new
                (heap.put if isinstance(heap, KeyedHeap) else heap.add)(waiting)
                self._renominate(old, new)
                return
        pod = self.unschedulable.get(new.key)
        if pod is None:
            if self.release.events_name_target_pods:
                self.add(new)
            else:
                self._to_active(self._new(new), events.UNSCHEDULABLE_POD_UPDATE.label)
            return
        pod.info = new
        self._renominate(old, new)
        if self.with_hints and self.release.queueing_hint_pod_changes:
            for event in changes:
                if self._requeue(pod, self.hints.worth(pod, event, old, new), event.label) != UNSCHEDULABLE:
                    break
        elif meaning(old.pod) != meaning(new.pod):
            counted = self.release.own_update_completes_backoff and not self.backoff.is_backing_off(pod)
            label = events.BACKOFF_COMPLETE if counted else events.UNSCHEDULABLE_POD_UPDATE.label
            self._requeue(pod, QueueingStrategy.AFTER_BACKOFF, label)

    def delete(self, info: PodInfo) -> None:
        """Remove a pod that was deleted, or bound by another scheduler."""
        self._changes += 1
        self.nominator.forget(info)
        key = info.key
        pod = self.active.remove(key) or self.backoff.remove(key) or self.unschedulable.pop(key, None)
        if pod is not None:
            self._moved(pod, GONE, events.UNSCHEDULABLE_POD_DELETE.label)

    def _renominate(self, old: PodInfo, new: PodInfo) -> None:
        """Keep a nomination that only the scheduler has so far; otherwise use the one in the pod's status."""
        node = new.nominated_node
        if not old.nominated_node and not node:
            node = self.nominator.node_of(old)
        self.nominator.forget(old)
        if node:
            self.nominator.nominate(new, node)

    # ---- cycles

    @property
    def ready(self) -> bool:
        """Whether `pop` would return a pod."""
        return bool(len(self.active)) or self._early() is not None

    def pop(self) -> QueuedPod | None:
        """Pop the next pod: the first of activeQ. If activeQ is empty, a pod may be popped from backoffQ early."""
        pod, label = self.active.pop(), "Pop"
        if pod is None and (pod := self._early()) is not None:
            self.backoff.remove(pod.key)
            label = events.POP_FROM_BACKOFF
        return self._popped(pod, label) if pod is not None else None

    def _early(self) -> QueuedPod | None:
        """Return the pod that is popped from backoffQ while activeQ is empty.

        Upstream pops the members of a rejected group again at once, without end. Attempts take no time here, so they
        are popped early only if something has changed since their last attempt; the others would end as that did.
        """
        if not self.pops_early:
            return None
        if not self.release.pod_groups:
            return self.backoff.first()
        if self._nothing_since == self._changes:
            return None
        found = self.backoff.first(lambda pod: not pod.info.group or pod.changes < self._changes)
        self._nothing_since = self._changes if found is None else -1
        return found

    def pop_specific(self, key: str) -> QueuedPod | None:
        """Pop this pod, wherever it waits. Return None if it is not in the queue or PreEnqueue gates it."""
        self._activate(key)
        pod = self.active.remove(key)
        return self._popped(pod, "Pop") if pod is not None else None

    def _popped(self, pod: QueuedPod, label: str) -> QueuedPod:
        pod.changes = self._changes
        self.cycle += 1
        for one in pod.pods:
            one.attempts += 1
            if self.release.attempts_forget_rejections:
                one.unschedulable_plugins.clear()
            one.pending_plugins.clear()
            if self.with_hints:
                self._in_flight[one.key] = self._first_event + len(self._events)
        self._moved(pod, POPPED, label)
        return pod

    def done(self, key: str) -> None:
        """Mark a popped pod as bound, deleted or requeued. Events are no longer stored for it."""
        self._in_flight.pop(key, None)
        oldest = next(iter(self._in_flight.values()), self._first_event + len(self._events))
        while self._first_event < oldest:
            self._events.popleft()
            self._first_event += 1

    def add_unschedulable(
        self, pod: QueuedPod, plugins: Iterable[str], pending: Iterable[str] = (), cycle: int | None = None
    ) -> None:
        """Add a pod whose attempt failed: `plugins` rejected it, or (if empty) an error occurred."""
        assert self.get(pod.key) is None, f"{pod.key} is in the queue already"
        pod.unschedulable_plugins = set(plugins) or pod.unschedulable_plugins
        pod.pending_plugins.update(pending)
        self._begin_backoff(pod, with_error=not pod.rejectors)
        if self.with_hints:
            self._requeue(pod, self._hint_in_flight(pod), events.SCHEDULE_ATTEMPT_FAILURE)
        elif self.move_request_cycle >= (self.cycle if cycle is None else cycle) or (
            self.release.failed_pods_back_off and not pod.rejectors
        ):
            self._to_backoff(pod, events.SCHEDULE_ATTEMPT_FAILURE)
        else:
            self._to_unschedulable(pod, events.SCHEDULE_ATTEMPT_FAILURE)
        self.done(pod.key)

    def _begin_backoff(self, pod: QueuedPod, with_error: bool) -> None:
        """Count the failure, from which the length of the backoff follows."""
        if with_error:
            pod.consecutive_errors += 1
        else:
            pod.unschedulable_count += 1
            pod.consecutive_errors = 0
        self._stamps += 1
        pod.timestamp, pod.stamp = self.clock.now, self._stamps
        self.backoff.begin(pod)

    def _hint_in_flight(self, pod: QueuedPod) -> QueueingStrategy:
        """Return where the events during the cycle move the pod. A member of a pod group is always tried again."""
        end = self._first_event + len(self._events)
        if not pod.rejectors and not self.release.failed_pods_back_off and self._in_flight.get(pod.key) == end:
            return QueueingStrategy.SKIP  # in 1.28.0 to 1.28.4; after a failed binding there is always an event
        if not pod.rejectors or (self.release.pod_groups and pod.info.group):
            return QueueingStrategy.AFTER_BACKOFF
        strategy = QueueingStrategy.SKIP
        begin = self._in_flight.get(pod.key, end) - self._first_event
        for number, happened in enumerate(self._events):
            if number >= begin:
                strategy = max(strategy, self.hints.worth(pod, happened.event, happened.old, happened.new))
        return strategy

    # ---- cluster events

    def move_all(self, event: ClusterEvent, old: Any, new: Any, check: PreCheck | None = None) -> list[str]:
        """Move the pods that pass `check` and that the event may make schedulable. Return the pods moved."""
        self._changes += 1
        if not self.hints.of_interest(event):
            return []
        waiting = self.unschedulable.values()
        pods = [one for one in waiting if check is None or any(check(pod.info) for pod in one.pods)]
        return self._move(pods, event, old, new)

    def _move(self, pods: list[QueuedPod], event: ClusterEvent, old: Any, new: Any) -> list[str]:
        moved = []
        for pod in sorted(pods, key=lambda pod: pod.key):
            if pod.gated and not self.hints.concerns(pod, pod.gating_plugin, event):
                continue
            strategy = max(self.hints.worth(one, event, old, new) for one in pod.pods)
            if strategy and self._requeue(pod, strategy, event.label) != UNSCHEDULABLE:
                moved.append(pod.key)
        self.move_request_cycle = self.cycle
        if self._in_flight:
            self._events.append(_InFlightEvent(event, old, new))
        return moved

    def activate(self, keys: Collection[str], infos: Mapping[str, PodInfo]) -> None:
        """Move pods to activeQ, whatever they wait for. A pod in flight returns to it. `infos`: all known pods."""
        for key in keys:
            if not self._activate(key) and key in self._in_flight and key in infos:
                self._events.append(_InFlightEvent(events.FORCE_ACTIVATE, None, infos[key]))
            self.move_request_cycle = self.cycle

    def _activate(self, key: str) -> bool:
        """Move an unschedulable or backing-off pod to activeQ. Return False if there is no such pod."""
        pod, passed = self.unschedulable.get(key), False
        if pod is None:
            pod, passed = self.backoff.remove(key), self.pops_early
        if pod is not None:
            self._to_active(pod, events.FORCE_ACTIVATE.label, passed=passed)
        return pod is not None

    # ---- time

    def flush_backoff(self) -> None:
        """Move pods whose backoff has ended to activeQ. Call it every second."""
        for pod in self.backoff.pop_completed():
            self._to_active(pod, events.BACKOFF_COMPLETE, passed=self.pops_early)

    def flush_leftovers(self) -> None:
        """Requeue pods that have been unschedulable for more than five minutes (one minute in old releases).

        Call it every 30 seconds.
        """
        now, longest = self.clock.now, leftover_seconds(self.release)
        left = [pod for pod in self.unschedulable.values() if now - pod.timestamp > longest]
        if left:
            self._move(left, events.UNSCHEDULABLE_TIMEOUT, None, None)

    def next_flush(self) -> float:
        """Return when a flush may next move a pod, in seconds of the run; infinite if no pod waits for time to pass."""
        flush = self.backoff.next_flush()
        for pod in self.unschedulable.values():
            if not pod.gating_plugin:
                return min(flush, (math.floor(self.clock.now / LEFTOVER_PERIOD) + 1) * LEFTOVER_PERIOD)
        return flush

    # ---- moves between parts

    def _requeue(self, pod: QueuedPod, strategy: QueueingStrategy, label: str) -> str:
        """Move a pod to the part that the strategy requires. Return the part."""
        if strategy == QueueingStrategy.SKIP:
            self._to_unschedulable(pod, label)
            return UNSCHEDULABLE
        if strategy == QueueingStrategy.AFTER_BACKOFF and self.backoff.is_backing_off(pod):
            return BACKOFF if self._to_backoff(pod, label) else UNSCHEDULABLE
        return ACTIVE if self._to_active(pod, label) else UNSCHEDULABLE

    def _run_pre_enqueue(self, pod: QueuedPod) -> bool:
        """Run PreEnqueue and record the plugin that gates the pod."""
        framework = self.profiles[pod.info.pod.spec.scheduler_name]
        status = framework.run_pre_enqueue(pod.info)
        pod.gating_plugin = status.plugin if status is not None else ""
        if status is not None:
            pod.unschedulable_plugins.add(status.plugin)
        return status is None

    def _to_active(self, pod: QueuedPod, label: str, passed: bool = False) -> bool:
        """Move a pod to activeQ. Return False if PreEnqueue gates it. `passed`: PreEnqueue already ran for backoffQ."""
        if not passed and not self._run_pre_enqueue(pod):
            self._to_unschedulable(pod, label)
            return False
        if pod.first_attempt is None:
            self._activations += 1
            pod.first_attempt, pod.activation = self.clock.now, self._activations
        self.unschedulable.pop(pod.key, None)
        self.backoff.remove(pod.key)
        self.active.put(pod)
        self._moved(pod, ACTIVE, label)
        if label in (events.UNSCHEDULABLE_POD_ADD.label, events.UNSCHEDULABLE_POD_UPDATE.label):
            self.nominator.forget(pod.info)
            if pod.info.nominated_node:
                self.nominator.nominate(pod.info, pod.info.nominated_node)
        return True

    def _to_backoff(self, pod: QueuedPod, label: str) -> bool:
        if self.pops_early and not self._run_pre_enqueue(pod):
            self._to_unschedulable(pod, label)
            return False
        self.unschedulable.pop(pod.key, None)
        self._nothing_since = -1
        self.backoff.add(pod)
        self._moved(pod, BACKOFF, label)
        return True

    def _to_unschedulable(self, pod: QueuedPod, label: str) -> None:
        if pod.key not in self.unschedulable:
            self.unschedulable[pod.key] = pod
            self._moved(pod, GATED if pod.gated else UNSCHEDULABLE, label)

    def _moved(self, pod: QueuedPod, to: str, label: str) -> None:
        if self.release.events_name_target_pods:
            for prefix, newer in _TARGET_LABELS:
                label = label.replace(prefix, newer)
        for one in (one for one in pod.pods if one.part != to):
            was, one.part = one.part, to
            self._on_move(one.key, was, to, label if self.with_hints else _OLD_LABELS.get(label, label))


def event_of(label: str) -> ClusterEvent | None:
    """Return the event that the label of a move names; None if it names none."""
    newer = {old: new for new, old in _OLD_LABELS.items()}
    newer |= {"AssignedPodUpdate": "AssignedPodUpdatePodLabel", "NodeSpecUnschedulableChange": "NodeUpdateNodeTaint"}
    label = newer.get(label, label)
    for prefix, target in _TARGET_LABELS:
        label = label.replace(target, prefix)
    return events.labelled(label)


def meaning(pod: Pod) -> Pod:
    """Return the pod without status and version. Without hints, only an update that changes the rest requeues it."""
    metadata = msgspec.structs.replace(pod.metadata, resource_version="")
    # the API server omits an empty selector
    spec = msgspec.structs.replace(pod.spec, node_selector=pod.spec.node_selector or None)
    return msgspec.structs.replace(pod, metadata=metadata, spec=spec, status=PodStatus())
