"""Predicates: find the feasible nodes. Each is a Filter plugin; most are the newer plugins with other reasons.

Predicates have no status codes. Preemption does not try a node that was rejected for certain reasons: here the status
is unresolvable. Newer plugins reject the pod as a whole in PreFilter, but a predicate fails on every node that it
checks. Such an error fails the cycle, unless earlier predicates reject all nodes.

Source: pkg/scheduler/algorithm/predicates (predicates.go, metadata.go, error.go, csi_volume_predicate.go),
pkg/scheduler/volumebinder.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

from scheduler_core.api import quantity
from scheduler_core.api.objects import Node
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.status_merge import merged, merged_verdict
from scheduler_core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_core.plugins.node_affinity import NodeAffinity
from scheduler_core.plugins.node_label import NodeLabel
from scheduler_core.plugins.node_name import NodeName
from scheduler_core.plugins.node_ports import NodePorts
from scheduler_core.plugins.node_resources_fit import NodeResourcesFit
from scheduler_core.plugins.node_unschedulable import NodeUnschedulable
from scheduler_core.plugins.node_volume_limits import NodeVolumeLimits
from scheduler_core.plugins.non_csi_limits import (
    NITRO,
    AzureDiskLimits,
    CinderLimits,
    EBSLimits,
    GCEPDLimits,
    NonCSILimits,
)
from scheduler_core.plugins.pod_topology_spread import PodTopologySpread
from scheduler_core.plugins.resource_allocation import CPU_AND_MEMORY, ScoringStrategy
from scheduler_core.plugins.service_affinity import ServiceAffinity
from scheduler_core.plugins.taint_toleration import TaintToleration
from scheduler_core.plugins.volume_binding import VolumeBinding
from scheduler_core.plugins.volume_restrictions import VolumeRestrictions
from scheduler_core.plugins.volume_zone import VolumeZone
from scheduler_core.plugins.volumes import class_of_claim
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, equal, every, opposite, some

NO_DEFAULTS = SimpleNamespace(defaulting_type="List", default_constraints=())
NOT_READY, NO_NETWORK = "node(s) were not ready", "node(s) had unavailable network"
UNSCHEDULABLE = "node(s) were unschedulable"

# ---- GeneralPredicates


class PodFitsResources(NodeResourcesFit):
    name = "PodFitsResources"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        strategy = ScoringStrategy(type="LeastAllocated", resources=CPU_AND_MEMORY)
        ignored = frozenset(getattr(args, "ignored", ()))
        super().__init__(
            SimpleNamespace(ignored_resources=ignored, ignored_resource_groups=(), scoring_strategy=strategy), cluster
        )


class HostName(NodeName):
    name = "HostName"
    rejected = fwk.unresolvable("node(s) didn't match the requested hostname")


class PodFitsHostPorts(NodePorts):
    name = "PodFitsHostPorts"


class MatchNodeSelector(NodeAffinity):
    name = "MatchNodeSelector"


class GeneralPredicates(fwk.FilterPlugin):
    """Runs all parts; a rejected node has the reasons of all parts that reject it."""

    name = "GeneralPredicates"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self.parts: tuple[fwk.FilterPlugin, ...] = (
            PodFitsResources(args, cluster),
            HostName(None, cluster),
            PodFitsHostPorts(None, cluster),
            MatchNodeSelector(None, cluster),
        )

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        together = merged_verdict({part.name: part.filter(state, pod) for part in self.parts})
        return fwk.Verdict(together.codes, tuple(fwk.Status(s.code, s.reasons) for s in together.statuses))

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.NodePodsChange) -> fwk.Status | None:
        found = []
        for part in self.parts:
            judge = part.filter_node
            status = judge(state, pod, change) if judge is not None else part.filter(state, pod).at(change.row)
            found += [status] if status is not None else []
        return merged(found)

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        trees = [(part.name, part.explain_filter(state, view)) for part in self.parts]
        texts = [tree for name, tree in trees if tree is not None]
        labelled = [tree.with_label(f"{name}: {tree.label or tree.text}") for name, tree in trees if tree is not None]
        refused = [tree.text.removeprefix(f"{view.node.name}: ") for tree in texts if tree.value]
        return some(labelled).with_text(f"{view.node.name}: {'; '.join(refused) or 'all general predicates pass'}")


# ---- the node object


class CheckNodeUnschedulable(NodeUnschedulable):
    name = "CheckNodeUnschedulable"


class PodToleratesNodeTaints(TaintToleration):
    name = "PodToleratesNodeTaints"


class CheckNodeLabelPresence(NodeLabel):
    name = "CheckNodeLabelPresence"


class _ByNode(fwk.FilterPlugin):
    """A predicate that uses only the node object."""

    def judge(self, node: Node) -> tuple[str, ...]:
        """Return the reasons for rejecting a node."""
        raise NotImplementedError

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        nodes = self.cluster.nodes

        def status(node: Node) -> fwk.Status | None:
            messages = self.judge(node)
            return fwk.unresolvable(*messages) if messages else None

        return nodes.memo(self.name, lambda: fwk.Verdict.of_statuses([status(node) for node in nodes.nodes]))


class CheckNodeCondition(_ByNode):
    """Requires that nodes are ready, have a network and are not cordoned. TaintNodesByCondition replaces it
    by taints."""

    name = "CheckNodeCondition"
    # condition -> the status that it must have, the reason otherwise
    wanted: ClassVar = {"Ready": ("True", NOT_READY), "NetworkUnavailable": ("False", NO_NETWORK)}

    def judge(self, node: Node) -> tuple[str, ...]:
        found = [(c.status, *self.wanted[c.type]) for c in node.status.conditions if c.type in self.wanted]
        texts = [reason for status, value, reason in found if status != value]
        return (*texts, UNSCHEDULABLE) if node.spec.unschedulable else tuple(texts)

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        node, parts = view.node, []
        for i, condition in enumerate(node.status.conditions):
            if condition.type in self.wanted:
                value, reason = self.wanted[condition.type]
                is_so = equal(view.field(node, "status", "conditions", i, "status"), constant(value, condition.type))
                parts.append(opposite(is_so, reason))
        cordoned = view.field(node, "spec", "unschedulable", missing=False)
        parts.append(every([cordoned], UNSCHEDULABLE))
        found = [part.label for part in parts if part.value]
        return some(parts).with_text(f"{node.name}: {'; '.join(found) or 'its conditions are fine'}")


class _Pressure(_ByNode):
    """Rejects nodes on which a condition is True. `condition`: its type. `reason`: the reason for the rejection."""

    condition: ClassVar[str]
    reason: ClassVar[str]

    def judge(self, node: Node) -> tuple[str, ...]:
        status = next((c.status for c in node.status.conditions if c.type == self.condition), "")
        return (self.reason,) if status == "True" else ()

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        node = view.node
        parts = [
            equal(view.field(node, "status", "conditions", i, "status"), constant("True", self.condition), self.reason)
            for i, condition in enumerate(node.status.conditions)
            if condition.type == self.condition
        ]
        text = self.reason if any(part.value for part in parts) else f"has no {self.condition}"
        return some(parts, f"{self.condition} is True").with_text(f"{node.name}: {text}")


def _is_best_effort(pod: PodInfo) -> bool:
    """Return whether no container of the pod requests or limits cpu or memory (quality of service BestEffort)."""
    spec = pod.pod.spec
    return not any(
        quantity.nano_value(amounts[name])
        for container in (*spec.containers, *spec.init_containers)
        for amounts in (container.resources.requests, container.resources.limits)
        for name in ("cpu", "memory")
        if name in amounts
    )


class CheckNodeMemoryPressure(_Pressure):
    """Applies only to best-effort pods."""

    name = "CheckNodeMemoryPressure"
    condition, reason = "MemoryPressure", "node(s) had memory pressure"

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        return super().filter(state, pod) if _is_best_effort(pod) else fwk.PASSES

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        alone = constant(_is_best_effort(view.pod), "the pod has no requests and no limits (BestEffort)")
        tree = super().explain_filter(state, view)
        return every([alone, tree]).with_text(tree.text if alone.value else "The pod is not BestEffort")


class CheckNodeDiskPressure(_Pressure):
    name = "CheckNodeDiskPressure"
    condition, reason = "DiskPressure", "node(s) had disk pressure"


class CheckNodePIDPressure(_Pressure):
    name = "CheckNodePIDPressure"
    condition, reason = "PIDPressure", "node(s) had pid pressure"


# ---- other pods


class CheckServiceAffinity(ServiceAffinity):
    name = "CheckServiceAffinity"
    no_node = fwk.error('node "" not found')


class EvenPodsSpread(PodTopologySpread):
    """Topology spread constraints with DoNotSchedule (feature gate EvenPodsSpread)."""

    name = "EvenPodsSpread"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(NO_DEFAULTS, cluster)


class MatchInterPodAffinity(InterPodAffinity):
    name = "MatchInterPodAffinity"


# ---- volumes


class NoDiskConflict(VolumeRestrictions):
    name = "NoDiskConflict"


class _Counted(NonCSILimits):
    class_of = staticmethod(class_of_claim)


class MaxEBSVolumeCount(_Counted, EBSLimits):
    name = "MaxEBSVolumeCount"

    def default_limit(self, node: Node) -> int:
        return 25 if NITRO.search(node.metadata.labels.get("beta.kubernetes.io/instance-type", "")) else 39


class MaxGCEPDVolumeCount(_Counted, GCEPDLimits):
    name = "MaxGCEPDVolumeCount"


class MaxAzureDiskVolumeCount(_Counted, AzureDiskLimits):
    name = "MaxAzureDiskVolumeCount"


class MaxCinderVolumeCount(_Counted, CinderLimits):
    name = "MaxCinderVolumeCount"


class MaxCSIVolumeCountPred(NodeVolumeLimits):
    name = "MaxCSIVolumeCountPred"


class CheckVolumeBinding(VolumeBinding):
    name = "CheckVolumeBinding"


class NoVolumeZoneConflict(VolumeZone):
    name = "NoVolumeZoneConflict"


PREDICATES: Mapping[str, type[fwk.Plugin]] = {
    cls.name: cls
    for cls in (
        *(CheckNodeCondition, CheckNodeUnschedulable, GeneralPredicates, HostName, PodFitsHostPorts),
        *(MatchNodeSelector, PodFitsResources, NoDiskConflict, PodToleratesNodeTaints, CheckNodeLabelPresence),
        *(CheckServiceAffinity, MaxEBSVolumeCount, MaxGCEPDVolumeCount, MaxCSIVolumeCountPred),
        *(MaxAzureDiskVolumeCount, MaxCinderVolumeCount, CheckVolumeBinding, NoVolumeZoneConflict),
        *(CheckNodeMemoryPressure, CheckNodePIDPressure, CheckNodeDiskPressure, EvenPodsSpread),
        MatchInterPodAffinity,
    )
}
"""All predicates, in the order in which they run, regardless of the order in a Policy (predicatesOrdering)."""
