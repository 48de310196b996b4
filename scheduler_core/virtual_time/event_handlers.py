"""Event handlers of the scheduler: update the cache when an object changes, and requeue pods that may now be
schedulable.

Source: pkg/scheduler/eventhandlers.go.
"""

import copy
from collections.abc import Callable
from functools import partial

from scheduler_core.api import selectors
from scheduler_core.api.devices import DeviceTaintRule
from scheduler_core.api.objects import Node, Object, StorageClass
from scheduler_core.api.workloads import PodGroup
from scheduler_core.cluster import node_matching
from scheduler_core.cluster.cache_states import CacheState, Lifecycle
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.nodes import ports_conflict
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.framework.events import ClusterEvent
from scheduler_core.queue import SchedulingQueue


class EventHandlers:
    """Event handlers of the scheduler. Pods are PodInfo objects; a bound pod has `node` set."""

    def __init__(self, cluster: Cluster, lifecycle: Lifecycle, queue: SchedulingQueue) -> None:
        self.cluster = cluster
        self.lifecycle = lifecycle
        self.queue = queue
        self._written: list[tuple[Object | None, Object | None]] = []
        cluster.device_claims.watch(lambda key, old, new: self._written.append((old, new)))

    # ---- nodes and other objects

    def deliver(self) -> None:
        """Deliver the resource claims that plugins have written since the last call."""
        while self._written:
            old, new = self._written.pop(0)
            action = events.ADD if old is None else events.DELETE if new is None else events.UPDATE
            self._requeue(ClusterEvent("ResourceClaim", action), old, new)

    def _write(self, write: Callable[[Object], None], obj: Object) -> None:
        """Make a write of another client, which is delivered separately, so that `deliver` does not repeat it."""
        known = len(self._written)
        write(obj)
        del self._written[known:]

    def add(self, obj: Object) -> None:
        """Handle a new object other than a pod."""
        self._write(self.cluster.apply, obj)
        self._requeue(ClusterEvent(_resource(obj), events.ADD), None, obj)

    def update(self, old: Object, new: Object) -> None:
        self._write(self.cluster.apply, new)
        if not (isinstance(old, Node) and isinstance(new, Node)):
            self._requeue(ClusterEvent(_resource(new), events.UPDATE), old, new)
            return
        release = self.cluster.release
        changes = events.node_changes(old, new, release.queueing_hint_node_annotations)
        if not self.queue.with_hints and old.spec.unschedulable and not new.spec.unschedulable:
            changes[0] = _UNCORDONED
        if release.every_event_requeues and not self.queue.unschedulable:
            self.queue.move_request_cycle = self.queue.cycle  # no pod is unschedulable: the kind of change is ignored
        for event in changes if release.queueing_hint_every_node_change else changes[:1]:
            self._requeue(event, old, new)

    def delete(self, obj: Object) -> None:
        if not isinstance(obj, Node) or self.cluster.release.queueing_hint_node_deletes:
            self._requeue(ClusterEvent(_resource(obj), events.DELETE), obj, None)
        self._write(self.cluster.remove, obj)

    def _requeue(self, event: ClusterEvent, old: Object | None, new: Object | None) -> None:
        check = None
        if isinstance(rule := new or old, DeviceTaintRule):
            if not self._taints(rule) or (
                isinstance(old, DeviceTaintRule) and new is not None and old.spec == rule.spec
            ):
                return
            event = ClusterEvent("ResourceSlice", events.UPDATE)
        if self.cluster.release.every_event_requeues:
            if isinstance(new, StorageClass) and new.volume_binding_mode != "WaitForFirstConsumer":
                return  # its claims are bound without the scheduler
        elif isinstance(new, Node) and not self.queue.with_hints:
            self.cluster.nodes.refresh()
            check = partial(_could_take, self.cluster, new)
        self.queue.move_all(event, old, new, check)

    def _taints(self, rule: DeviceTaintRule) -> bool:
        """Return whether the rule changes a slice (upstream: resourceslice/tracker)."""
        return self.cluster.release.device_taint_rules and any(
            rule.taints(piece.spec.driver, piece.spec.pool.name, device.name)
            for piece in self.cluster.resource_slices.values()
            for device in piece.spec.devices
        )

    # ---- pods

    def add_pod(self, pod: PodInfo, node: str) -> None:
        """Handle a new pod: pending, or bound if `node` is set."""
        if node:
            self.lifecycle.add(pod, node)
            self._assigned(events.ASSIGNED_POD_ADD, None, pod)
        elif self._responsible(pod):
            self.queue.add(pod)
            if self.cluster.release.gang_scheduling:
                self.queue.move_all(events.UNSCHEDULABLE_POD_ADD, None, pod)

    def bound(self, pod: PodInfo) -> None:
        """Confirm an assumed pod in the cache after its binding; its nomination no longer reserves resources."""
        self.add_pod(pod, pod.node)
        self.queue.delete(pod)
        if pod.nominated_node:
            before = copy.copy(pod)
            before.node = ""
            self._place_freed(before)

    def update_pod(self, old: PodInfo, new: PodInfo) -> None:
        if self.lifecycle.is_assumed(new.key):
            return  # its binding cycle continues with the old pod
        if old.node:
            self.lifecycle.update(old, new)
            for event in self._changes_of_running(old, new):
                self._assigned(event, old, new)
        elif not self._responsible(new):
            self.queue.delete(old)
        else:
            self.queue.update(old, new)
            if old.nominated_node not in ("", new.nominated_node):
                self._place_freed(old)

    def delete_pod(self, pod: PodInfo) -> None:
        """Handle the deletion of a pod. The binding cycle handles assumed pods that are not bound yet."""
        if self.lifecycle.state_of(pod.key) == CacheState.ADDED:
            self.lifecycle.remove(pod)
            self.queue.move_all(events.ASSIGNED_POD_DELETE, pod, None)
            return
        self.queue.delete(pod)
        if pod.nominated_node:
            self._place_freed(pod)

    def _changes_of_running(self, old: PodInfo, new: PodInfo) -> list[ClusterEvent]:
        if not self.cluster.release.queueing_hint_pod_changes:
            return [_OLD_POD_UPDATE]
        changes = events.pod_changes(old, new)
        return changes if self.queue.with_hints else [change for change in changes if change.action in _PARTICULAR]

    def _responsible(self, pod: PodInfo) -> bool:
        return pod.pod.spec.scheduler_name in self.queue.profiles

    def _place_freed(self, pod: PodInfo) -> None:
        """Requeue pods of the same or lower priority, for which the nominated pod reserved its resources until now."""
        if self.queue.with_hints and self.cluster.release.queueing_hint_nominated_pods:
            freed = events.ASSIGNED_POD_DELETE
            self.queue.move_all(freed, pod, None, lambda other: other.priority <= pod.priority)

    def _assigned(self, event: ClusterEvent, old: PodInfo | None, new: PodInfo) -> None:
        """Handle the binding or an update of a running pod. Without hints, only pods with affinity to it are
        requeued."""
        if self.queue.with_hints:
            self.queue.move_all(event, old, new)
            return
        labels = self.cluster.namespaces.get(new.namespace, {})

        def wants(pod: PodInfo) -> bool:
            if self.cluster.release.queueing_hint_spread_pod_adds and pod.namespace == new.namespace:
                waiting = self.queue.get(pod.key)
                if waiting is not None and "PodTopologySpread" in waiting.unschedulable_plugins:
                    return True
            return any(term.matches(new.namespace, labels, new.labels) for term in pod.required_affinity)

        self.queue.move_all(event, old, new, wants)


# Until 1.30 all updates of a running pod are one event, which plugins receive if they register for label updates.
_OLD_POD_UPDATE = ClusterEvent(events.ASSIGNED_POD, events.UPDATE_POD_LABEL, "AssignedPodUpdate")
_UNCORDONED = ClusterEvent(events.NODE, events.UPDATE_NODE_TAINT, "NodeSpecUnschedulableChange")
_PARTICULAR = (events.UPDATE_POD_LABEL, events.UPDATE_POD_SCALE_DOWN)  # the updates that 1.31 distinguishes


def _resource(obj: Object) -> str:
    """Return the name of the object's kind in events."""
    return events.POD_GROUP if isinstance(obj, PodGroup) else type(obj).__name__


def _could_take(cluster: Cluster, node: Node, pod: PodInfo) -> bool:
    """Pre-check of v1.27: return whether a new or updated node could run the pod now, without preemption.

    Source: pkg/scheduler/eventhandlers.go (preCheckForNode, AdmissionCheck).
    """
    nodes = cluster.nodes
    row = nodes.rows[node.name]
    if nodes.pod_count[row] >= nodes.allowed_pods[row]:
        return False
    for name, amount in pod.requests.items():
        column = nodes.allocatable.get(name)
        if amount and (column is None or column[row] - nodes.requested[name][row] < amount):
            return False
    if pod.pod.spec.node_name not in ("", node.name) or not node_matching.required_matches(pod, node):
        return False
    for ip, protocol, port in pod.host_ports:
        if ports_conflict(ip, nodes.host_ports.get((protocol, port), {}).get(node.name, ())):
            return False
    effects = frozenset(("NoSchedule", "NoExecute") if cluster.release.precheck_counts_no_execute else ("NoSchedule",))
    return selectors.first_untolerated(node.spec.taints, pod.pod.spec.tolerations, effects) is None
