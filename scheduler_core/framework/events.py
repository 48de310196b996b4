"""Cluster events that may make a pending pod schedulable.

A plugin registers the events that may resolve its rejection (`Plugin.events_to_register`). Each can have a hint, which
compares the object before and after. The queue requeues a pod if the hint of a plugin that rejected it returns true.

Source: k8s.io/kube-scheduler/framework (types.go), pkg/scheduler/framework/events.go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import msgspec

from scheduler_core.api import quantity
from scheduler_core.api.objects import Node, Quantities
from scheduler_core.cluster.pod_info import PodInfo

# Actions: one bit each, ordered so that an update is greater than the general actions.
ADD = 1
DELETE = 1 << 1
UPDATE_NODE_ALLOCATABLE = 1 << 2
UPDATE_NODE_LABEL = 1 << 3
UPDATE_NODE_TAINT = 1 << 4
UPDATE_NODE_CONDITION = 1 << 5
UPDATE_NODE_ANNOTATION = 1 << 6
UPDATE_POD_LABEL = 1 << 7
UPDATE_POD_SCALE_DOWN = 1 << 8
UPDATE_POD_TOLERATION = 1 << 9
UPDATE_POD_GATES_ELIMINATED = 1 << 10
UPDATE_POD_RESOURCE_CLAIM = 1 << 11
UPDATE_NODE_FEATURES = 1 << 12
UPDATE = (1 << 13) - 1 - ADD - DELETE
ALL = ADD | DELETE | UPDATE

_ACTION_NAMES = {
    ADD: "Add",
    DELETE: "Delete",
    UPDATE_NODE_ALLOCATABLE: "UpdateNodeAllocatable",
    UPDATE_NODE_LABEL: "UpdateNodeLabel",
    UPDATE_NODE_TAINT: "UpdateNodeTaint",
    UPDATE_NODE_CONDITION: "UpdateNodeCondition",
    UPDATE_NODE_ANNOTATION: "UpdateNodeAnnotation",
    UPDATE_POD_LABEL: "UpdatePodLabel",
    UPDATE_POD_SCALE_DOWN: "UpdatePodScaleDown",
    UPDATE_POD_TOLERATION: "UpdatePodToleration",
    UPDATE_POD_GATES_ELIMINATED: "UpdatePodSchedulingGatesEliminated",
    UPDATE_POD_RESOURCE_CLAIM: "UpdatePodGeneratedResourceClaim",
    UPDATE_NODE_FEATURES: "UpdateNodeDeclaredFeature",
    UPDATE: "Update",
    ALL: "All",
}

# Resources.
POD = "Pod"  # for a registering plugin: both assigned and unschedulable pods
ASSIGNED_POD = "AssignedPod"
UNSCHEDULABLE_POD = "UnschedulablePod"
NODE = "Node"
POD_GROUP = "scheduling.k8s.io/PodGroup"
WILDCARD = "*"


class ClusterEvent(msgspec.Struct, frozen=True):
    """A resource and an action, or several actions in a registration."""

    resource: str
    action: int
    custom_label: str = ""

    @property
    def label(self) -> str:
        """Upstream's name of the event, such as `NodeAdd` or `AssignedPodUpdatePodLabel`."""
        if self.custom_label:
            return self.custom_label
        return f"{self.resource}{_ACTION_NAMES[self.action]}"

    @property
    def is_wildcard(self) -> bool:
        """Whether the event concerns every pod, whichever plugin rejected it."""
        return self.resource == WILDCARD and self.action == ALL

    def covers(self, incoming: ClusterEvent) -> bool:
        """Whether a registration of this event includes `incoming`, which is the same event or a more specific one."""
        if self.is_wildcard:
            return True
        if self.resource not in (WILDCARD, incoming.resource) and not (
            self.resource == POD and incoming.resource in (ASSIGNED_POD, UNSCHEDULABLE_POD)
        ):
            return False
        return bool(self.action & incoming.action) and incoming.action <= self.action


EVERYTHING = ClusterEvent(WILDCARD, ALL)
ASSIGNED_POD_ADD = ClusterEvent(ASSIGNED_POD, ADD)
ASSIGNED_POD_DELETE = ClusterEvent(ASSIGNED_POD, DELETE)
UNSCHEDULABLE_POD_ADD = ClusterEvent(UNSCHEDULABLE_POD, ADD)
UNSCHEDULABLE_POD_UPDATE = ClusterEvent(UNSCHEDULABLE_POD, UPDATE)
UNSCHEDULABLE_POD_DELETE = ClusterEvent(UNSCHEDULABLE_POD, DELETE)
UNSCHEDULABLE_TIMEOUT = ClusterEvent(WILDCARD, ALL, "UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent(WILDCARD, ALL, "ForceActivate")
NODE_ADD = ClusterEvent(NODE, ADD)
NODE_DELETE = ClusterEvent(NODE, DELETE)

# Labels of queue moves that no cluster event causes.
SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF = "PopFromBackoffQ"


def labelled(label: str) -> ClusterEvent | None:
    """Return the event with this label; None if there is none."""
    found = [(name, action) for action, name in _ACTION_NAMES.items() if label.endswith(name) and label != name]
    name, action = max(found, key=lambda one: len(one[0]), default=("", 0))
    return ClusterEvent(label.removesuffix(name), action) if name else None


Hint = Callable[[PodInfo, Any, Any], bool]
"""(the pending pod, the object before, the object after) -> whether to requeue the pod. Pods are PodInfo."""


@dataclass(frozen=True, slots=True)
class EventHint:
    """An event that may resolve a plugin's rejection. Without a hint it always requeues the pod."""

    event: ClusterEvent
    hint: Hint | None = None


def pod_changes(old: PodInfo, new: PodInfo) -> list[ClusterEvent]:
    """Return the events of a pod update; the general update event if no specific one applies."""
    resource = ASSIGNED_POD if new.node else UNSCHEDULABLE_POD
    actions = []
    if old.labels != new.labels:
        actions.append(UPDATE_POD_LABEL)
    if any(name not in new.requests or amount > new.requests[name] for name, amount in old.requests.items()):
        actions.append(UPDATE_POD_SCALE_DOWN)
    if old.pod.spec.scheduling_gates and not new.pod.spec.scheduling_gates:
        actions.append(UPDATE_POD_GATES_ELIMINATED)
    if len(old.pod.spec.tolerations) != len(new.pod.spec.tolerations):
        actions.append(UPDATE_POD_TOLERATION)
    return [ClusterEvent(resource, action) for action in actions or (UPDATE,)]


def node_changes(old: Node, new: Node, annotations: bool = True) -> list[ClusterEvent]:
    """Return the events of a node update; none if the scheduler ignores the change.

    `annotations`: whether a change of annotations is an event.
    """
    actions = []
    if old.spec.unschedulable and not new.spec.unschedulable:
        actions.append(UPDATE_NODE_TAINT)
    if _nano(old.status.allocatable) != _nano(new.status.allocatable):
        actions.append(UPDATE_NODE_ALLOCATABLE)
    if old.metadata.labels != new.metadata.labels:
        actions.append(UPDATE_NODE_LABEL)
    if old.spec.taints != new.spec.taints:
        actions.append(UPDATE_NODE_TAINT)
    if {c.type: c.status for c in old.status.conditions} != {c.type: c.status for c in new.status.conditions}:
        actions.append(UPDATE_NODE_CONDITION)
    if annotations and old.metadata.annotations != new.metadata.annotations:
        actions.append(UPDATE_NODE_ANNOTATION)
    if old.status.declared_features != new.status.declared_features:
        actions.append(UPDATE_NODE_FEATURES)
    return [ClusterEvent(NODE, action) for action in actions]


def _nano(amounts: Quantities) -> dict[str, int]:
    return {name: quantity.nano_value(text) for name, text in amounts.items()}


def registered(resource: str, *actions: int, hint: Hint | None = None) -> EventHint:
    """Build an entry of `events_to_register`: any of these actions on the resource."""
    return EventHint(ClusterEvent(resource, reduce(or_, actions)), hint)
