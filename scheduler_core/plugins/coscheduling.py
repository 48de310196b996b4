"""Coscheduling: the pods of a group are bound together, or none of them.

Not a plugin of kube-scheduler: of those from outside the tree the one that is built in. A pod names its group in the
label `scheduling.x-k8s.io/pod-group`, and a PodGroup of that name says how many must be placed (`minMember`); older:
two labels, `pod-group.scheduling.sigs.k8s.io/name` and `/min-available`. A pod that is placed earlier waits in Permit,
holding its place; when one of the group fits nowhere or has waited too long, all of them give their places back.

Not played: `podGroupBackoffSeconds`, and that a group which has passed the check of `minResources` keeps the pass.

After sigs.k8s.io/scheduler-plugins, pkg/coscheduling.
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
from scheduler_core.framework import events
from scheduler_core.framework.interface import (
    WAITING,
    CycleState,
    Filtered,
    PermitPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreFilterPlugin,
    PreFilterResult,
    QueueSortPlugin,
    ReservePlugin,
    Status,
    unresolvable,
    unschedulable,
)
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, contains, either, less, opposite, over, some, total

POD_GROUP = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")
GROUP = "pod-group.scheduling.sigs.k8s.io/name"
MIN_AVAILABLE = "pod-group.scheduling.sigs.k8s.io/min-available"
PODS = "pods"
DEFAULT_WAIT_SECONDS = 60.0
SMALL_GAP = 0.1  # of the group; others may still close it


class Coscheduling(QueueSortPlugin, PreFilterPlugin, PostFilterPlugin, ReservePlugin, PermitPlugin, PostBindPlugin):
    """Argument `permitWaitingTimeSeconds`: how long a pod waits for the others of its group."""

    name = "Coscheduling"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        wait = args.get("permitWaitingTimeSeconds") if isinstance(args, dict) else None
        self.wait = float(wait) if isinstance(wait, int | float) and wait > 0 else DEFAULT_WAIT_SECONDS
        self._came: dict[str, float] = {}  # group -> when the first of its pods came

    # ---- groups

    @staticmethod
    def group_of(pod: PodInfo) -> str:
        """`namespace/name`; "" for a pod in no group."""
        labels = pod.labels
        name = next((labels[key] for key in (*POD_GROUP, GROUP) if labels.get(key)), "")
        return f"{pod.namespace}/{name}" if name else ""

    def least(self, pod: PodInfo, group: str) -> int | None:
        """How many of a pod's group must be placed; None where no PodGroup of that name exists."""
        found = self.cluster.pod_groups.get(group)
        if found is not None:
            return found.spec.min_member
        if GROUP not in pod.labels:
            return None
        told = pod.labels.get(MIN_AVAILABLE, "")
        return int(told) if told.isdecimal() and len(told) < 10 else 1

    def placed(self, group: str) -> int:
        """How many of a group are on a node, bound or assumed."""
        return sum(self.group_of(pod) == group for pod in self.cluster.pods.values())

    # ---- in the order of a cycle

    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[int, float, str]:
        """By priority, then by when the group (or the pod) came, so that those of a group follow each other."""
        group = self.group_of(pod)
        came = self._came.setdefault(group, timestamp) if group else timestamp
        return -pod.priority, came, group or pod.key

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | PreFilterResult | None:
        """A group of which too few pods exist, or for which the cluster has too little left, is not begun with."""
        group = self.group_of(pod)
        least = self.least(pod, group) if group else None
        if least is None:
            return None
        there = sum(self.group_of(other) == group for other in self.handle.list_pods())
        if there < least:
            return unresolvable(
                f"pre-filter pod {pod.name} cannot find enough sibling pods, "
                f"current pods number: {there}, minMember of group: {least}"
            )
        gap = self._resource_gap(group, least)
        return unresolvable(f"resource gap: {gap}") if gap else None

    def explain_pre_filter(self, state: CycleState, view: View) -> Tree:
        """Too few pods of the group exist, or too little of a resource is left for it."""
        group = self.group_of(view.pod)
        least = self.least(view.pod, group) if group else None
        if least is None:
            return constant(False, "the pod is in no group").tells("The pod is in no group")
        members = [pod for pod in self.handle.list_pods() if self.group_of(pod) == group]
        there = view.long_count([partial(view.holds, p, "metadata", "labels", label=p.key) for p in members], "pods")
        wanted = self._explain_least(view, group, least)
        parts = [less(there.says(f"pods of {group}"), wanted, "too few pods of the group exist")]
        for name, amount in self._wanted(group, least).items():
            left = np.cumsum(self._left(name, group))
            most = over(
                "max", int(left.max()) if len(left) else 0, len(left), f"{name} left on nodes, without the group"
            )
            parts.append(less(most, constant(amount, f"{name} that the group asks for"), f"too little {name} is left"))
        told = next((part.label for part in parts if part.value), "the group may be begun with")
        return some(parts).tells(f"{group}: {told}")

    def _wanted(self, group: str, least: int) -> dict[str, int]:
        """What the group asks for together; nothing if it does not say."""
        found = self.cluster.pod_groups.get(group)
        if found is None or not found.spec.min_resources:
            return {}
        wanted = {name: resources.amount(name, quantity.nano_value(q)) for name, q in found.spec.min_resources.items()}
        return wanted | {PODS: least}

    def _resource_gap(self, group: str, least: int) -> str:
        """What `minResources` asks beyond what the nodes have left, the group's own pods left out; "" if nothing."""
        gaps = {}
        for name, amount in self._wanted(group, least).items():
            left = np.cumsum(self._left(name, group))
            if not len(left) or left.max() < amount:  # upstream stops at the node that makes it enough
                gaps[name] = amount - int(left[-1]) if len(left) else amount
        return ", ".join(f"{name} {amount}" for name, amount in sorted(gaps.items()))

    def _left(self, name: str, group: str) -> npt.NDArray[np.int64]:
        """int64 over nodes: what is left of a resource, as if none of the group were there."""
        nodes = self.cluster.nodes
        nodes.refresh()
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
        self, state: CycleState, pod: PodInfo, filtered: Filtered
    ) -> tuple[PostFilterResult | None, Status]:
        """One that fits nowhere takes those that wait for it along: likely the rest would not fit either."""
        group = self.group_of(pod)
        least = self.least(pod, group) if group else None
        if least is None:
            return PostFilterResult(), unschedulable("can not find pod group")
        placed = self.placed(group)
        if placed >= least or (least - placed) / least <= SMALL_GAP:
            return PostFilterResult(), unschedulable()
        self._reject(group, "optimistic rejection in PostFilter")
        told = f"PodGroup {group} gets rejected due to Pod {pod.name} is unschedulable even after PostFilter"
        return PostFilterResult(), unschedulable(told)

    def explain_post_filter(self, state: CycleState, view: View, filtered: Filtered, found: PostFilterResult) -> Tree:
        return constant(False, "a group makes no room").tells("Coscheduling makes no room; it rejects those that wait")

    def reserve(self, state: CycleState, pod: PodInfo, node: str) -> Status | None:
        return None

    def permit(self, state: CycleState, pod: PodInfo, node: str) -> tuple[Status | None, float]:
        """Lets the pod wait until enough of its group have a place; the last one lets all of them go."""
        group = self.group_of(pod)
        if not group:
            return None, 0.0
        least = self.least(pod, group)
        if least is None:
            return unschedulable("PodGroup not found"), 0.0
        placed = self.placed(group)
        if placed < least:
            if placed <= 1:
                # The group may be begun with: those that were refused earlier are tried at once.
                others = (other for other in self.handle.list_pods() if other.key != pod.key)
                state.to_activate = [other.key for other in others if self.group_of(other) == group]
            return WAITING, self._timeout(group)
        for waiting in self.handle.waiting_pods:
            if self.group_of(waiting.pod) == group:
                waiting.allow(self.name)
        return None, 0.0

    def explain_reserve(self, state: CycleState, view: View) -> Tree:
        told = "Coscheduling takes nothing; but if the pod has to give its place back, those of its group do, too"
        return constant(False, "it refuses nothing").tells(told)

    def explain_permit(self, state: CycleState, view: View) -> Tree:
        """Too few of the group have a place: it waits; no such group: it is refused."""
        pod, group = view.pod, self.group_of(view.pod)
        if not group:
            return constant(False, "the pod is in no group").tells("The pod is in no group")
        least = self.least(pod, group)
        if least is None:
            label = next(key for key in (*POD_GROUP, GROUP) if pod.labels.get(key))
            named = view.field(pod, "metadata", "labels", label)
            there = [key.partition("/")[2] for key in self.cluster.pod_groups if key.startswith(f"{pod.namespace}/")]
            groups = constant(sorted(there), "PodGroups of the namespace")
            return opposite(contains(groups, named), "there is no such PodGroup").tells(f"There is no PodGroup {group}")
        others = [other for other in self.cluster.pods.values() if self.group_of(other) == group]
        placed = [partial(view.runs_here, other) for other in others]
        count = total([view.long_count(placed, "pods", "of the group have a place"), constant(1, "this pod")])
        wanted = self._explain_least(view, group, least)
        short = less(count.says(f"pods of {group} with a place"), wanted, "too few of the group have a place")
        told = f"{count.value} of {least} pods of {group} have a place"
        if not short.value:
            return short.tells(f"{told}: the group may be bound")
        seconds = self._explain_timeout(view, group)
        tree = either(short, seconds, constant(0.0), "how long it waits for the others at most", "s")
        return tree.tells(f"{told}: it waits for the others, {seconds.value:g} s at most")

    def _explain_least(self, view: View, group: str, least: int) -> Tree:
        found = self.cluster.pod_groups.get(group)
        if found is None:
            told = view.field(view.pod, "metadata", "labels", MIN_AVAILABLE, missing=least)
            if isinstance(told.value, str) and told.value.isdecimal():
                told.value = int(told.value)
            return told if told.value == least else constant(least, "of a group that does not say it")
        return view.field(found, "spec", "minMember", missing=least)

    def _explain_timeout(self, view: View, group: str) -> Tree:
        """Of the group, else of the configuration."""
        found = self.cluster.pod_groups.get(group)
        if found is not None and found.spec.schedule_timeout_seconds is not None:
            return view.field(found, "spec", "scheduleTimeoutSeconds")
        told = view.argument(self.name, "permitWaitingTimeSeconds", missing=self.wait)
        return told if told.value == self.wait else constant(self.wait, "DefaultWaitTime")

    def _timeout(self, group: str) -> float:
        found = self.cluster.pod_groups.get(group)
        own = found.spec.schedule_timeout_seconds if found is not None else None
        return self.wait if own is None else float(own)

    def unreserve(self, state: CycleState, pod: PodInfo, node: str) -> None:
        """One that gives its place back takes those that wait for it along."""
        if group := self.group_of(pod):
            self._reject(group, "rejection in Unreserve", but=pod.key)

    def _reject(self, group: str, why: str, but: str = "") -> None:
        for waiting in self.handle.waiting_pods:
            if waiting.pod.key != but and self.group_of(waiting.pod) == group:
                waiting.reject(self.name, why)

    def post_bind(self, state: CycleState, pod: PodInfo, node: str) -> None:
        """Older releases of the plugin counted here; nothing depends on it."""

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered(events.POD, events.ADD, events.DELETE, hint=self._after_pod_change),
            events.registered(events.NODE, events.ADD, events.UPDATE_NODE_ALLOCATABLE),
            events.registered("PodGroup", events.ADD, events.UPDATE),
        ]

    def _after_pod_change(self, pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> bool:
        """A pod of the group runs, or one of any other has left."""
        return old is not None or (new is not None and self.group_of(new) == self.group_of(pod))
