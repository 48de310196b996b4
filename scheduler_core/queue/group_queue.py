"""The queue of 1.37 with pod groups: its entities are pods without a group, and groups with their pending members.

All members of a group are popped, requeued and gated together: if PreEnqueue gates one of them, it gates the group.

Source: pkg/scheduler/backend/queue/scheduling_queue.go, pkg/scheduler/framework/types.go (QueuedPodGroupInfo),
v1.37.0-alpha.2.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.queue.hints import QueueingStrategy
from scheduler_core.queue.queued_pod import GONE, UNSCHEDULABLE, QueuedPod
from scheduler_core.queue.scheduling_queue import SchedulingQueue

_ADDED = events.UNSCHEDULABLE_POD_ADD.label


@dataclass(slots=True, eq=False)
class QueuedGroup(QueuedPod):
    """A pod group in the queue. `members`: its pending pods in the order in which they are tried. `info`: the first of
    them, whose priority is that of the group."""

    members: list[QueuedPod] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.key = key_of(self.info)
        self.arrange()

    @property
    def pods(self) -> list[QueuedPod]:
        return self.members

    def arrange(self) -> None:
        """Sort the members by priority, then older attempts first."""
        self.members.sort(key=lambda pod: (-pod.info.priority, -pod.attempts, pod.timestamp, pod.stamp))
        self.info = self.members[0].info


def key_of(info: PodInfo) -> str:
    """Return the key of a pod's group in the queue, which no pod has."""
    return f"podgroup:{info.group}"


class GroupQueue(SchedulingQueue):
    """The queue of pods and pod groups. The arguments are those of SchedulingQueue."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._popped_key = ""  # the last entity popped, until it is requeued
        self._pending: dict[str, list[QueuedPod]] = {}  # members that wait until their group is requeued

    # ---- queries

    def get(self, key: str) -> QueuedPod | None:
        return super().get(key) or next((pod for pod in self._members() if pod.key == key), None)

    def _members(self) -> Iterable[QueuedPod]:
        for part in (self.active, self.backoff, self.unschedulable.values()):
            for entity in part:
                yield from entity.pods
        for pods in self._pending.values():
            yield from pods

    # ---- changes of the pod itself

    def add(self, info: PodInfo) -> None:
        if not info.group:
            super().add(info)
            return
        self._changes += 1
        self.nominator.forget(info)
        if info.nominated_node:
            self.nominator.nominate(info, info.nominated_node)
        self._add_member(self._new(info))

    def _add_member(self, pod: QueuedPod) -> None:
        """Add a pod to its group: where the group is in the queue; otherwise to the popped group, or as a new group."""
        key = key_of(pod.info)
        group, strategy = self._take(key)
        if group is not None:
            group.members.append(pod)
            group.arrange()
            self._requeue(group, strategy, _ADDED)
        elif self._popped_key == key:
            self._pending.setdefault(key, []).append(pod)
        else:
            self._to_active(QueuedGroup(pod.info, self.clock.now, pod.stamp, members=[pod]), _ADDED)

    def _take(self, key: str) -> tuple[QueuedGroup | None, QueueingStrategy]:
        """Remove a group from the queue. Return it with the strategy that moves it to the same part."""
        for part, strategy in (
            (self.active, QueueingStrategy.IMMEDIATELY),
            (self.backoff, QueueingStrategy.AFTER_BACKOFF),
        ):
            if (found := part.remove(key)) is not None:
                assert isinstance(found, QueuedGroup)
                return found, strategy
        found = self.unschedulable.pop(key, None)
        assert found is None or isinstance(found, QueuedGroup)
        return found, QueueingStrategy.SKIP

    def update(self, old: PodInfo, new: PodInfo) -> None:
        if not new.group or new.key in self._in_flight:
            super().update(old, new)
            return
        self._changes += 1
        key = key_of(new)
        group = self.active.get(key) or self.backoff.get(key) or self.unschedulable.get(key)
        members = group.members if isinstance(group, QueuedGroup) else self._pending.get(key, [])
        pod = next((pod for pod in members if pod.key == new.key), None)
        if pod is None:
            self.add(new)
            return
        pod.info = new
        self._renominate(old, new)
        if isinstance(group, QueuedGroup):
            group.arrange()
        if key not in self.unschedulable:
            return
        for event in events.pod_changes(old, new):
            strategy = max(self.hints.worth(one, event, old, new) for one in members)
            if self._requeue(self.unschedulable[key], strategy, event.label) != UNSCHEDULABLE:
                break

    def delete(self, info: PodInfo) -> None:
        key = key_of(info)
        group, strategy = self._take(key) if info.group else (None, QueueingStrategy.SKIP)
        if group is None:
            waiting = self._pending.get(key, [])
            self._pending[key] = [pod for pod in waiting if pod.key != info.key]
            super().delete(info)
            return
        self._changes += 1
        self.nominator.forget(info)
        for pod in [pod for pod in group.members if pod.key == info.key]:
            group.members.remove(pod)
            self._moved(pod, GONE, events.UNSCHEDULABLE_POD_DELETE.label)
        if group.members:
            group.arrange()
            self._requeue(group, strategy, _ADDED)

    # ---- cycles

    def _popped(self, pod: QueuedPod, label: str) -> QueuedPod:
        self._popped_key = pod.key
        return super()._popped(pod, label)

    def add_unschedulable(
        self, pod: QueuedPod, plugins: Iterable[str], pending: Iterable[str] = (), cycle: int | None = None
    ) -> None:
        """Add a pod whose attempt failed. A member of a group waits until `add_attempted_group`."""
        if not pod.info.group:
            self._popped_key = ""
            super().add_unschedulable(pod, plugins, pending, cycle)
            return
        pod.unschedulable_plugins.update(plugins)
        pod.pending_plugins.update(pending)
        self._begin_backoff(pod, with_error=not pod.rejectors)
        self.done(pod.key)
        self._add_member(pod)

    def add_attempted_group(self, group: QueuedPod) -> None:
        """Requeue a group after its cycle, with the members that were not placed and those that came meanwhile."""
        self._popped_key = ""
        members = self._pending.pop(group.key, [])
        if not members or not isinstance(group, QueuedGroup):
            return
        group.members = members
        group.arrange()
        self._begin_backoff(group, with_error=any(not pod.rejectors for pod in members))
        self._requeue(group, QueueingStrategy.AFTER_BACKOFF, events.SCHEDULE_ATTEMPT_FAILURE)

    def activate(self, keys: Collection[str], infos: Mapping[str, PodInfo]) -> None:
        """Move entities to activeQ: pods, and the groups of pods."""
        groups = {key: key_of(infos[key]) for key in keys if key in infos and infos[key].group}
        super().activate(dict.fromkeys(groups.get(key, key) for key in keys), infos)

    # ---- moves between parts

    def _run_pre_enqueue(self, pod: QueuedPod) -> bool:
        if not isinstance(pod, QueuedGroup):
            return super()._run_pre_enqueue(pod)
        gated = [one for one in pod.members if not super(GroupQueue, self)._run_pre_enqueue(one)]
        pod.gating_plugin = gated[-1].gating_plugin if gated else ""
        return not gated
