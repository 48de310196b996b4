"""Coscheduling: binds either enough pods of a group or none of them.

This plugin is not part of kube-scheduler; it is the only out-of-tree plugin that is built in. A pod names its group in
the label `scheduling.x-k8s.io/pod-group`, and the PodGroup of that name sets how many pods must be placed
(`minMember`). The older form uses two labels, `pod-group.scheduling.sigs.k8s.io/name` and `/min-available`. A pod that
is placed early waits in Permit and keeps its place. If one pod of the group fits nowhere or has waited too long, all
waiting pods of the group release their places.

Not simulated: `podGroupBackoffSeconds`, and the cache of groups that have passed the check of `minResources`.

Source: sigs.k8s.io/scheduler-plugins, pkg/coscheduling.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.api import quantity
from scheduler_core.cluster import resources
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import causes, events
from scheduler_core.framework import interface as fwk
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, contains, either, less, opposite, over, some, total

POD_GROUP = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")
GROUP = "pod-group.scheduling.sigs.k8s.io/name"
MIN_AVAILABLE = "pod-group.scheduling.sigs.k8s.io/min-available"
PODS = "pods"
DEFAULT_WAIT_SECONDS = 60.0
SMALL_GAP = 0.1  # share of the group; PostFilter does not reject the group while at most this share is missing


def least_of(cluster: Cluster, pod: PodInfo, group: str) -> int | None:
    """Return how many pods of a pod's group must be placed; None if the PodGroup does not exist."""
    found = cluster.pod_groups.get(group)
    if found is not None:
        return found.spec.min_member
    if GROUP not in pod.labels:
        return None
    text = pod.labels.get(MIN_AVAILABLE, "")
    return int(text) if text.isdecimal() and len(text) < 10 else 1


class Coscheduling(
    fwk.QueueSortPlugin,
    fwk.PreFilterPlugin,
    fwk.PostFilterPlugin,
    fwk.ReservePlugin,
    fwk.PermitPlugin,
    fwk.PostBindPlugin,
):
    """The argument `permitWaitingTimeSeconds` sets how long a pod waits for the other pods of its group."""

    name = "Coscheduling"
    cause = causes.POD_GROUP
    in_tree = False

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        wait = args.get("permitWaitingTimeSeconds") if isinstance(args, dict) else None
        self.wait = float(wait) if isinstance(wait, int | float) and wait > 0 else DEFAULT_WAIT_SECONDS
        self._came: dict[str, float] = {}  # group -> timestamp of its first pod

    # ---- groups

    @staticmethod
    def group_of(pod: PodInfo) -> str:
        """Return `namespace/name` of the pod's group, or "" if the pod has none."""
        labels = pod.labels
        name = next((labels[key] for key in (*POD_GROUP, GROUP) if labels.get(key)), "")
        return f"{pod.namespace}/{name}" if name else ""

    def least(self, pod: PodInfo, group: str) -> int | None:
        return least_of(self.cluster, pod, group)

    def placed(self, group: str) -> int:
        """Return how many pods of the group are bound or assumed."""
        return sum(self.group_of(pod) == group for pod in self.cluster.pods.values())

    # ---- extension points, in the order of a cycle

    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[int, float, str]:
        """Sort by priority, then by the timestamp of the group (or of a pod without one), so that pods of a group are
        adjacent."""
        group = self.group_of(pod)
        came = self._came.setdefault(group, timestamp) if group else timestamp
        return -pod.priority, came, group or pod.key

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Reject the pod if too few pods of its group exist, or if the cluster has too few free resources for the
        group."""
        group = self.group_of(pod)
        least = self.least(pod, group) if group else None
        if least is None:
            return None
        there = sum(self.group_of(other) == group for other in self.handle.list_pods())
        if there < least:
            return fwk.unresolvable(
                f"pre-filter pod {pod.name} cannot find enough sibling pods, "
                f"current pods number: {there}, minMember of group: {least}"
            )
        gap = self._resource_gap(group, least)
        return fwk.unresolvable(f"resource gap: {gap}") if gap else None

    def explain_pre_filter(self, state: fwk.CycleState, view: View) -> Tree:
        """True if too few pods of the group exist, or if too little of a resource is free for the group."""
        group = self.group_of(view.pod)
        least = self.least(view.pod, group) if group else None
        if least is None:
            return constant(False, "the pod is in no group").with_text("The pod is in no group")
        members = [pod for pod in self.handle.list_pods() if self.group_of(pod) == group]
        there = view.long_count([partial(view.holds, p, "metadata", "labels", label=p.key) for p in members], "pods")
        wanted = self._explain_least(view, group, least)
        parts = [less(there.with_label(f"pods of {group}"), wanted, "too few pods of the group exist")]
        for name, amount in self._wanted(group, least).items():
            left = np.cumsum(self._left(name, group))
            most = over(
                "max", int(left.max()) if len(left) else 0, len(left), f"{name} left on nodes, without the group"
            )
            parts.append(less(most, constant(amount, f"{name} that the group requests"), f"too little {name} is left"))
        text = next((part.label for part in parts if part.value), "the group can be scheduled")
        return some(parts).with_text(f"{group}: {text}")

    def _wanted(self, group: str, least: int) -> dict[str, int]:
        """Return the requests of the whole group; empty if the PodGroup has no `minResources`."""
        found = self.cluster.pod_groups.get(group)
        if found is None or not found.spec.min_resources:
            return {}
        wanted = {name: resources.amount(name, quantity.nano_value(q)) for name, q in found.spec.min_resources.items()}
        return wanted | {PODS: least}

    def _resource_gap(self, group: str, least: int) -> str:
        """Return by how much `minResources` exceeds the free resources of all nodes, not counting the group's own pods;
        "" if it does not."""
        gaps = {}
        for name, amount in self._wanted(group, least).items():
            left = np.cumsum(self._left(name, group))
            if not len(left) or left.max() < amount:  # upstream stops at the first node at which the sum is sufficient
                gaps[name] = amount - int(left[-1]) if len(left) else amount
        return ", ".join(f"{name} {amount}" for name, amount in sorted(gaps.items()))

    def _left(self, name: str, group: str) -> npt.NDArray[np.int64]:
        """Return the free amount of a resource, as if no pod of the group were placed; int64 over nodes."""
        nodes = self.cluster.nodes
        nodes.refresh()
        left: npt.NDArray[np.int64]
        if name == PODS:
            left = nodes.allowed_pods - nodes.pod_count
        elif name in nodes.allocatable:
            left = nodes.allocatable[name] - nodes.requested[name]
        else:
            left = np.zeros(len(nodes), np.int64)
        for pod in self.cluster.pods.values():
            if self.group_of(pod) == group and (row := nodes.rows.get(pod.node)) is not None:
                left[row] += 1 if name == PODS else pod.requests.get(name, 0)
        return left

    def post_filter(
        self, state: fwk.CycleState, pod: PodInfo, filtered: fwk.Filtered
    ) -> tuple[fwk.PostFilterResult | None, fwk.Status]:
        """Reject the waiting pods of the group if the pod has no feasible node, because the rest probably would not fit
        either."""
        group = self.group_of(pod)
        least = self.least(pod, group) if group else None
        if least is None:
            return fwk.PostFilterResult(), fwk.unschedulable("can not find pod group")
        placed = self.placed(group)
        if placed >= least or (least - placed) / least <= SMALL_GAP:
            return fwk.PostFilterResult(), fwk.unschedulable()
        self._reject(group, "optimistic rejection in PostFilter")
        text = f"PodGroup {group} gets rejected due to Pod {pod.name} is unschedulable even after PostFilter"
        return fwk.PostFilterResult(), fwk.unschedulable(text)

    def explain_post_filter(
        self, state: fwk.CycleState, view: View, filtered: fwk.Filtered, found: fwk.PostFilterResult
    ) -> Tree:
        return constant(False, "a group preempts no pods").with_text(
            "Coscheduling preempts no pods; it rejects the waiting pods of the group"
        )

    def reserve(self, state: fwk.CycleState, pod: PodInfo, node: str) -> fwk.Status | None:
        return None

    def permit(self, state: fwk.CycleState, pod: PodInfo, node: str) -> tuple[fwk.Status | None, float]:
        """Let the pod wait until enough pods of its group have a node; the last of them allows all to bind."""
        group = self.group_of(pod)
        if not group:
            return None, 0.0
        least = self.least(pod, group)
        if least is None:
            return fwk.unschedulable("PodGroup not found"), 0.0
        placed = self.placed(group)
        if placed < least:
            if placed <= 1:
                # The group can start: activate its pods that were rejected earlier.
                others = (other for other in self.handle.list_pods() if other.key != pod.key)
                state.to_activate = [other.key for other in others if self.group_of(other) == group]
            return fwk.WAITING, self._timeout(group)
        for waiting in self.handle.waiting_pods:
            if self.group_of(waiting.pod) == group:
                waiting.allow(self.name)
        return None, 0.0

    def explain_reserve(self, state: fwk.CycleState, view: View) -> Tree:
        text = (
            "Coscheduling reserves nothing; but if this pod is unreserved, the pods of its group are unreserved as well"
        )
        return constant(False, "it refuses nothing").with_text(text)

    def explain_permit(self, state: fwk.CycleState, view: View) -> Tree:
        """True if too few pods of the group have a node (the pod waits), or if there is no such PodGroup (it is
        rejected)."""
        pod, group = view.pod, self.group_of(view.pod)
        if not group:
            return constant(False, "the pod is in no group").with_text("The pod is in no group")
        least = self.least(pod, group)
        if least is None:
            label = next(key for key in (*POD_GROUP, GROUP) if pod.labels.get(key))
            named = view.field(pod, "metadata", "labels", label)
            there = [key.partition("/")[2] for key in self.cluster.pod_groups if key.startswith(f"{pod.namespace}/")]
            groups = constant(sorted(there), "PodGroups of the namespace")
            return opposite(contains(groups, named), "there is no such PodGroup").with_text(
                f"There is no PodGroup {group}"
            )
        others = [other for other in self.cluster.pods.values() if self.group_of(other) == group]
        placed = [partial(view.runs_here, other) for other in others]
        count = total([view.long_count(placed, "pods", "of the group have a node"), constant(1, "this pod")])
        wanted = self._explain_least(view, group, least)
        short = less(count.with_label(f"pods of {group} with a node"), wanted, "too few of the group have a node")
        text = f"{count.value} of {least} pods of {group} have a node"
        if not short.value:
            return short.with_text(f"{text}: the group may be bound")
        seconds = self._explain_timeout(view, group)
        tree = either(short, seconds, constant(0.0), "maximum wait for the other pods", "s")
        return tree.with_text(f"{text}: it waits for the other pods, {seconds.value:g} s at most")

    def _explain_least(self, view: View, group: str, least: int) -> Tree:
        found = self.cluster.pod_groups.get(group)
        if found is None:
            leaf = view.field(view.pod, "metadata", "labels", MIN_AVAILABLE, missing=least)
            if isinstance(leaf.value, str) and leaf.value.isdecimal():
                leaf.value = int(leaf.value)
            return leaf if leaf.value == least else constant(least, "of a group without this field")
        return view.field(found, "spec", "minMember", missing=least)

    def _explain_timeout(self, view: View, group: str) -> Tree:
        """Return the timeout of the group, or that of the configuration if the group has none."""
        found = self.cluster.pod_groups.get(group)
        if found is not None and found.spec.schedule_timeout_seconds is not None:
            return view.field(found, "spec", "scheduleTimeoutSeconds")
        leaf = view.argument(self.name, "permitWaitingTimeSeconds", missing=self.wait)
        return leaf if leaf.value == self.wait else constant(self.wait, "DefaultWaitTime")

    def _timeout(self, group: str) -> float:
        found = self.cluster.pod_groups.get(group)
        own = found.spec.schedule_timeout_seconds if found is not None else None
        return self.wait if own is None else float(own)

    def unreserve(self, state: fwk.CycleState, pod: PodInfo, node: str) -> None:
        """Reject the waiting pods of the group when one of its pods releases its place."""
        if group := self.group_of(pod):
            self._reject(group, "rejection in Unreserve", but=pod.key)

    def _reject(self, group: str, why: str, but: str = "") -> None:
        for waiting in self.handle.waiting_pods:
            if waiting.pod.key != but and self.group_of(waiting.pod) == group:
                waiting.reject(self.name, why)

    def post_bind(self, state: fwk.CycleState, pod: PodInfo, node: str) -> None:
        """Do nothing. Older releases of the plugin counted bound pods here, but nothing depends on it."""

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered(events.POD, events.ADD, events.DELETE, hint=self._after_pod_change),
            events.registered(events.NODE, events.ADD, events.UPDATE_NODE_ALLOCATABLE),
            events.registered("PodGroup", events.ADD, events.UPDATE),
        ]

    def _after_pod_change(self, pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> bool:
        """Return whether a pod of the same group was added, or any pod was deleted."""
        return old is not None or (new is not None and self.group_of(new) == self.group_of(pod))
