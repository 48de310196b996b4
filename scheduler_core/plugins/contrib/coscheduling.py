"""Coscheduling: binds either enough pods of a group or none of them.

A pod names its group in the label `scheduling.x-k8s.io/pod-group`, and the PodGroup of that name sets how many pods
must be placed (`minMember`). A pod that is placed early waits in Permit and keeps its place. If one pod of the group
fits nowhere or has waited too long, all waiting pods of the group release their places.

Source: sigs.k8s.io/scheduler-plugins, pkg/coscheduling.
"""

import re
from functools import partial
from typing import Any, Self

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.api import quantity
from scheduler_core.api.objects import PodGroup, Quantities
from scheduler_core.api.objects import timestamp as parse_time
from scheduler_core.api.plugin_args import Complain, Int32, Int64, PluginArgs
from scheduler_core.cluster import formatting, resources
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import causes, events
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, contains, either, less, opposite, over, some, subtract, total

POD_GROUP = "scheduling.x-k8s.io/pod-group"
PODS = "pods"
DEFAULT_WAIT_SECONDS = 60
AGES = 1e10  # seconds, longer than any run
SHORTEST_PASS = 3.0  # seconds for which a group counts as checked if the configuration says 0

NOT_FOUND, GAP = "PodGroup not found", "resource gap: "
GATED = "cannot proceed due to gated pods in the same PodGroup"
_SIBLINGS = re.compile(r"current pods number: ([0-9]+), minMember of group: ([0-9]+)$")


class CoschedulingArgs(PluginArgs, frozen=True, kw_only=True):
    """How long pods wait for their group and a group is not tried again, in seconds, and which share of it may lack."""

    permit_waiting_time_seconds: Int64 = DEFAULT_WAIT_SECONDS
    pod_group_backoff_seconds: Int64 = 0
    pod_group_reject_percentage: Int32 = 10
    # of older API versions; the plugin no longer reads them
    denied_pg_expiration_time_seconds: Int64 | None = msgspec.field(default=None, name="deniedPGExpirationTimeSeconds")
    kube_master: str | None = None
    kube_config_path: str | None = None
    not_in = {
        "v1beta2": ("kubeMaster", "kubeConfigPath"),
        **dict.fromkeys(("v1beta3", "v1"), ("deniedPGExpirationTimeSeconds", "kubeMaster", "kubeConfigPath")),
    }

    def finish(self, complain: Complain) -> Self:
        for field, value in (
            ("permitWaitingTimeSeconds", self.permit_waiting_time_seconds),
            ("podGroupBackoffSeconds", self.pod_group_backoff_seconds),
        ):
            if value < 0:
                complain(field, f"Invalid value: {value}: must be greater than 0")
        share = self.pod_group_reject_percentage
        if not 0 <= share <= 100:
            complain("podGroupRejectPercentage", f"Invalid value: {share}: must be between 0 and 100")
        return self


class Coscheduling(
    fwk.QueueSortPlugin,
    fwk.PreFilterPlugin,
    fwk.PostFilterPlugin,
    fwk.ReservePlugin,
    fwk.PermitPlugin,
    fwk.PostBindPlugin,
):
    """Counts the assigned pods of a group. Times are in seconds since 1970."""

    name = "Coscheduling"
    args_class = CoschedulingArgs
    cause = causes.POD_GROUP
    in_tree = False
    by_first_attempt = True
    memory = ("_checked", "_backed_off", "_failed")
    recalls_cycles = True

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self.wait = float(args.permit_waiting_time_seconds or DEFAULT_WAIT_SECONDS)
        # group -> until when `minResources` is not checked again; until when the group is not tried; last failure
        self._checked: dict[str, float] = {}
        self._backed_off: dict[str, float] = {}
        self._failed: dict[str, float] = {}

    # ---- groups

    @staticmethod
    def group_of(pod: PodInfo) -> str:
        """Return `namespace/name` of the pod's group, or "" if the pod has none."""
        name = pod.labels.get(POD_GROUP)
        return f"{pod.namespace}/{name}" if name else ""

    def least(self, group: str) -> int | None:
        """Return how many pods of the group must be placed; None if the PodGroup does not exist."""
        found = self.cluster.pod_groups.get(group) if group else None
        return found.spec.min_member if found is not None else None

    def placed(self, group: str) -> int:
        """Return how many pods of the group are bound or assumed."""
        return sum(self.group_of(pod) == group for pod in self.cluster.pods.values())

    def _members(self, group: str) -> list[PodInfo]:
        """Return all pods of the group, with or without a node."""
        return [pod for pod in self.handle.list_pods() if self.group_of(pod) == group]

    @classmethod
    def pod_obstacle(cls, context: RejectionContext | None, status: fwk.Status) -> Obstacle:
        """Return what the group lacks, with its name."""
        group = cls.group_of(context.pod) if context is not None else ""
        reason = status.reasons[0] if status.reasons else ""
        if context is None or not group:
            return super().pod_obstacle(context, status)
        found, text = context.cluster.pod_groups.get(group), ""
        if reason == NOT_FOUND:
            text = f"PodGroup {group} does not exist."
        elif (match := _SIBLINGS.search(reason)) is not None:
            exist = "1 exists" if match[1] == "1" else f"{match[1]} exist"
            text = f"PodGroup {group} needs {match[2]} pods (minMember), of which {exist}."
        elif reason.endswith(GATED):
            text = f"Too many pods of PodGroup {group} have scheduling gates."
        elif reason.startswith(GAP) and found is not None:
            parts = []
            for name, wanted in _wanted(found).items():
                asks, left = amount_of(name, wanted), int(_left(context.cluster, name, group).sum())
                if asks > left:
                    free = formatting.free_amount(name, left, asks)
                    parts.append(f"{formatting.amount(name, asks)} of {name} ({free} free)")
            if parts:
                text = f"PodGroup {group} needs {formatting.listing(parts)} on all nodes together (minResources)."
        if not text:
            return super().pod_obstacle(context, status)
        return Obstacle(cls.cause, cls.effort, text, (f"PodGroup {group}",))

    # ---- extension points, in the order of a cycle

    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[int, float, str]:
        """Sort by priority, then by the creation of the PodGroup, or by its last failure if it failed. Of a pod without
        PodGroup, the first attempt counts."""
        group = self.group_of(pod)
        found = self.cluster.pod_groups.get(group) if group else None
        since = timestamp
        if group in self._failed:
            since = self._failed[group] - self.cluster.epoch
        elif found is not None:
            since = parse_time(found.metadata.creation_timestamp) - self.cluster.epoch
            if since > timestamp:  # of a snapshot that is newer than the time of the run
                since -= AGES
        return -pod.priority, since, pod.key

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Reject the pod if its group failed recently, if too few of its pods exist or may be scheduled, or if the
        cluster has too few free resources for the group."""
        group = self.group_of(pod)
        least = self.least(group)
        if least is None:
            return None
        now = self.cluster.now()
        if self._backed_off.get(group, now) > now:
            return fwk.unresolvable(f"podGroup {group} failed recently")
        members = self._members(group)
        if len(members) < least:
            return fwk.unresolvable(
                f"pre-filter pod {pod.name} cannot find enough sibling pods, "
                f"current pods number: {len(members)}, minMember of group: {least}"
            )
        if sum(not other.pod.spec.scheduling_gates for other in members) < least:
            return fwk.unresolvable(f"pre-filter pod {pod.name} {GATED}")
        wanted = self._wanted(group)
        if not wanted or self._checked.get(group, now) > now:
            return None
        if gap := self._resource_gap(group, wanted):
            return fwk.unresolvable(f"{GAP}{gap}")
        self._note_checked(group)
        return None

    def _note_checked(self, group: str) -> None:
        self._checked[group] = self.cluster.now() + (self.args.permit_waiting_time_seconds or SHORTEST_PASS)

    def explain_pre_filter(self, state: fwk.CycleState, view: View) -> Tree:
        """True if too few pods of the group exist, or if too little of a resource is free for the group."""
        group = self.group_of(view.pod)
        least = self.least(group)
        if least is None:
            return constant(False, "the pod is in no group").with_text("The pod is in no group")
        members = self._members(group)
        there = view.long_count([partial(view.holds, p, "metadata", "labels", label=p.key) for p in members], "pods")
        wanted = self._explain_least(view, group, least)
        parts = [less(there.with_label(f"pods of {group}"), wanted, "too few pods of the group exist")]
        if gated := [pod for pod in members if pod.pod.spec.scheduling_gates]:
            held = [partial(view.holds, p, "spec", "schedulingGates", label=f"{p.key} is gated") for p in gated]
            free = subtract(constant(len(members), f"pods of {group}"), view.long_count(held, "pods", "gated pods"))
            parts.append(less(free, self._explain_least(view, group, least), "too many pods of the group are gated"))
        now = self.cluster.now()
        resources_wanted = {} if self._checked.get(group, now) > now else self._wanted(group)
        for name, quantity_wanted in resources_wanted.items():
            amount = amount_of(name, quantity_wanted)
            left = np.cumsum(_left(self.cluster, name, group))
            most = over(
                "max", int(left.max()) if len(left) else 0, len(left), f"{name} left on nodes, without the group"
            )
            parts.append(less(most, constant(amount, f"{name} that the group requests"), f"too little {name} is left"))
        text = next((part.label for part in parts if part.value), "the group can be scheduled")
        return some(parts).with_text(f"{group}: {text}")

    def _wanted(self, group: str) -> Quantities:
        found = self.cluster.pod_groups.get(group)
        return _wanted(found) if found is not None else {}

    def _resource_gap(self, group: str, wanted: Quantities) -> str:
        """Return by how much the requests exceed the free resources of all nodes, not counting the group's own pods, as
        Go prints a ResourceList; "" if they do not."""
        gaps = []
        for name, amount in sorted(wanted.items()):
            left = _left(self.cluster, name, group)
            nano = quantity.nano_value(amount)
            unit = 10**6 if name == resources.CPU else 10**9
            # a resource is settled at the first node at which the sum is sufficient
            if not len(left) or int(np.cumsum(left).max()) * unit < nano:
                number, scale, form = quantity.parsed(amount)
                if left.any():
                    scale = min(scale, -3 if name == resources.CPU else 0)
                missing = (nano - int(left.sum()) * unit) // 10 ** (9 + scale) if len(left) else number
                gaps.append(f"{name}:{{{{{missing} {scale}}} {{<nil>}}  {form}}}")
        return f"map[{' '.join(gaps)}]" if gaps else ""

    def post_filter(
        self, state: fwk.CycleState, pod: PodInfo, filtered: fwk.Filtered
    ) -> tuple[fwk.PostFilterResult | None, fwk.Status]:
        """Reject the waiting pods of the group if the pod has no feasible node, because the rest probably would not fit
        either."""
        group = self.group_of(pod)
        least = self.least(group)
        if least is None:
            return fwk.PostFilterResult(), fwk.unschedulable("can not find pod group")
        placed = self.placed(group)
        if placed >= least or (least - placed) / least <= self.args.pod_group_reject_percentage / 100:
            return fwk.PostFilterResult(), fwk.unschedulable()
        self._reject(group, "optimistic rejection in PostFilter")
        self._back_off(group, len(self._members(group)) >= least)
        return fwk.PostFilterResult(), fwk.unschedulable(_rejection(group, pod))

    def _back_off(self, group: str, complete: bool) -> None:
        """Note that the group failed, and if all its pods exist, do not try it for the time of the backoff."""
        now, backoff = self.cluster.now(), self.args.pod_group_backoff_seconds
        if backoff and self._backed_off.get(group, now) <= now and complete:
            self._backed_off[group] = now + backoff
        self._fail(group)

    def recall_cycle(self, pod: PodInfo, cycle: fwk.PastCycle) -> None:
        """Note that the group passed PreFilter, failed or was placed."""
        group = self.group_of(pod)
        least = self.least(group)
        if least is None:
            return
        refused, order, now = cycle.prefilter, [one.name for one in self.handle.pre_filter], self.cluster.now()
        by = order.index(refused.plugin) if refused is not None and refused.plugin in order else len(order)
        at = order.index(self.name) if self.name in order else len(order)  # not every point must be enabled
        if by > at and self._wanted(group) and self._checked.get(group, now) <= now:
            self._note_checked(group)
        if cycle.postfilter is not None and _rejection(group, pod) in cycle.postfilter.message:
            few = refused is not None and _SIBLINGS.search(refused.message) is not None
            self._back_off(group, not few if by >= at else len(self._members(group)) >= least)
        elif cycle.undone:
            self._fail(group)
        elif cycle.placed and self.name not in cycle.held_by:
            self._failed.pop(group, None)

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
        least = self.least(group)
        if least is None:
            return fwk.unschedulable(NOT_FOUND), 0.0
        placed = self.placed(group)
        if placed < least:
            if placed == 1:
                # The group can start: activate its pods that were rejected earlier.
                state.to_activate = [other.key for other in self._members(group) if other.key != pod.key]
            return fwk.WAITING, self._timeout(group)
        self._failed.pop(group, None)
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
        least = self.least(group)
        if least is None:
            named = view.field(pod, "metadata", "labels", POD_GROUP)
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
        return view.field(self.cluster.pod_groups[group], "spec", "minMember", missing=least)

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
        return (self.wait if own is None else float(own)) or self.wait

    def unreserve(self, state: fwk.CycleState, pod: PodInfo, node: str) -> None:
        """Reject the waiting pods of the group when one of its pods releases its place."""
        group = self.group_of(pod)
        if self.least(group) is not None:
            self._reject(group, "rejection in Unreserve", but=pod.key)
            self._fail(group)

    def _reject(self, group: str, why: str, but: str = "") -> None:
        for waiting in self.handle.waiting_pods:
            if waiting.pod.key != but and self.group_of(waiting.pod) == group:
                waiting.reject(self.name, why)

    def _fail(self, group: str) -> None:
        """Check `minResources` again for the next pod, and move the group back in the queue."""
        self._checked.pop(group, None)
        self._failed[group] = self.cluster.now()

    def post_bind(self, state: fwk.CycleState, pod: PodInfo, node: str) -> None:
        """Do nothing. Older releases of the plugin count bound pods here, and their manifests enable it."""

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered(events.POD, events.ADD),
            events.registered("PodGroup", events.ADD, events.UPDATE),
        ]


def _rejection(group: str, pod: PodInfo) -> str:
    return f"PodGroup {group} gets rejected due to Pod {pod.name} is unschedulable even after PostFilter"


def amount_of(name: str, text: str | float) -> int:
    """Return a quantity in scheduler units."""
    return resources.amount(name, quantity.nano_value(text))


def _wanted(group: PodGroup) -> Quantities:
    """Return the requests of the whole group; empty if the PodGroup has no `minResources`."""
    needed = group.spec.min_resources
    return needed | {PODS: str(group.spec.min_member)} if needed else {}


def _left(cluster: Cluster, name: str, group: str) -> npt.NDArray[np.int64]:
    """Return the free amount of a resource, as if no pod of the group were placed; int64 over nodes."""
    nodes = cluster.nodes
    nodes.refresh()
    left: npt.NDArray[np.int64]
    if name == PODS:
        left = nodes.allowed_pods - nodes.pod_count
    elif name in nodes.allocatable:
        left = nodes.allocatable[name] - nodes.requested[name]
    else:
        left = np.zeros(len(nodes), np.int64)
    for pod in cluster.pods.values():
        if Coscheduling.group_of(pod) == group and (row := nodes.rows.get(pod.node)) is not None:
            left[row] += 1 if name == PODS else pod.requests.get(name, 0)
    return left
