"""Coscheduling: the pods of a group are bound together, or none of them.

An example of what Permit is for, not a plugin of kube-scheduler: profiles of scenario runs may enable it. A pod names
its group in the label `pod-group.scheduling.sigs.k8s.io/name` and in `pod-group.scheduling.sigs.k8s.io/min-available`
how many pods must be placed before any is bound. A pod that is placed earlier waits, holding its place; when it has
waited too long, the whole group gives its places back.

After sigs.k8s.io/scheduler-plugins (pkg/coscheduling), much simplified.
"""

from __future__ import annotations

from typing import Any

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.framework.interface import WAITING, PermitPlugin, ReservePlugin, Status

GROUP = "pod-group.scheduling.sigs.k8s.io/name"
MIN_AVAILABLE = "pod-group.scheduling.sigs.k8s.io/min-available"
DEFAULT_WAIT_SECONDS = 60.0


class Coscheduling(ReservePlugin, PermitPlugin):
    """Argument `permitWaitingTimeSeconds`: how long a pod waits for the others of its group."""

    name = "Coscheduling"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        wait = args.get("permitWaitingTimeSeconds") if isinstance(args, dict) else None
        self.wait = float(wait) if isinstance(wait, int | float) and wait > 0 else DEFAULT_WAIT_SECONDS

    @staticmethod
    def group_of(pod: PodInfo) -> tuple[str, str, int]:
        """(namespace, name, how many must be placed); the name is "" for a pod in no group."""
        least = pod.labels.get(MIN_AVAILABLE, "")
        return pod.namespace, pod.labels.get(GROUP, ""), int(least) if least.isdecimal() else 1

    def reserve(self, state: Any, pod: PodInfo, node: str) -> Status | None:
        return None

    def permit(self, state: Any, pod: PodInfo, node: str) -> tuple[Status | None, float]:
        """Lets the pod wait until enough of its group have a place; the last one lets all of them go."""
        namespace, group, least = self.group_of(pod)
        if not group:
            return None, 0.0
        placed = sum(self.group_of(other)[:2] == (namespace, group) for other in self.cluster.pods.values())
        if placed < least:
            return WAITING, self.wait
        for waiting in self.framework.waiting_pods:
            if self.group_of(waiting.pod)[:2] == (namespace, group):
                waiting.allow(self.name)
        return None, 0.0

    def unreserve(self, state: Any, pod: PodInfo, node: str) -> None:
        """One that gives its place back takes those that wait for it along."""
        namespace, group, _ = self.group_of(pod)
        if not group:
            return
        for waiting in self.framework.waiting_pods:
            if waiting.pod.key != pod.key and self.group_of(waiting.pod)[:2] == (namespace, group):
                waiting.reject(self.name, f"{pod.key} of the same group was not bound")

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered(events.POD, events.ADD, events.DELETE, hint=self._after_pod_change),
            events.registered(events.NODE, events.ADD, events.UPDATE_NODE_ALLOCATABLE),
        ]

    def _after_pod_change(self, pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> bool:
        """A pod of the group runs, or one of any other has left."""
        return old is not None or (new is not None and self.group_of(new)[:2] == self.group_of(pod)[:2])
