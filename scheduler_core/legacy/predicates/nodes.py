"""Predicates about the node object: taints, conditions, labels and cordoning; and CheckServiceAffinity.

Source: pkg/scheduler/algorithm/predicates/predicates.go.
"""

from __future__ import annotations

from typing import ClassVar

from scheduler_core.api import quantity
from scheduler_core.api.objects import Node
from scheduler_core.cluster import node_matching
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy import reasons
from scheduler_core.plugins.node_label import NodeLabel
from scheduler_core.plugins.node_unschedulable import NodeUnschedulable
from scheduler_core.plugins.service_affinity import ServiceAffinity
from scheduler_core.plugins.taint_toleration import TaintToleration
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, equal, every, opposite, some


class CheckNodeUnschedulable(NodeUnschedulable):
    """Behaves as NodeUnschedulable and uses its reason."""

    name = "CheckNodeUnschedulable"


class PodToleratesNodeTaints(TaintToleration):
    name = "PodToleratesNodeTaints"

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        codes, taints = node_matching.untolerated(self.cluster.nodes, pod)
        return fwk.Verdict.reject(codes > 0, reasons.refusal(reasons.TAINTS)) if taints else fwk.PASSES


class CheckNodeLabelPresence(NodeLabel):
    """Behaves as NodeLabel and uses its reason."""

    name = "CheckNodeLabelPresence"


class CheckServiceAffinity(ServiceAffinity):
    """Behaves as ServiceAffinity and uses its reason."""

    name = "CheckServiceAffinity"
    no_node = fwk.error('node "" not found')


class _ByNode(fwk.FilterPlugin):
    """A predicate that uses only the node object."""

    def judge(self, node: Node) -> tuple[str, ...]:
        """Return the reasons for rejecting a node."""
        raise NotImplementedError

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        nodes = self.cluster.nodes

        def status(node: Node) -> fwk.Status | None:
            messages = self.judge(node)
            return reasons.refusal(*messages) if messages else None

        return nodes.memo(self.name, lambda: fwk.Verdict.of_statuses([status(node) for node in nodes.nodes]))


class CheckNodeCondition(_ByNode):
    """Requires that nodes are ready, have a network and are not cordoned. TaintNodesByCondition replaces it
    by taints."""

    name = "CheckNodeCondition"

    def judge(self, node: Node) -> tuple[str, ...]:
        texts = []
        for condition in node.status.conditions:
            if condition.type == "Ready" and condition.status != "True":
                texts.append(reasons.NOT_READY)
            elif condition.type == "NetworkUnavailable" and condition.status != "False":
                texts.append(reasons.NO_NETWORK)
        return (*texts, reasons.UNSCHEDULABLE) if node.spec.unschedulable else tuple(texts)

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        node, parts = view.node, []
        wanted = {"Ready": ("True", reasons.NOT_READY), "NetworkUnavailable": ("False", reasons.NO_NETWORK)}
        for i, condition in enumerate(node.status.conditions):
            if condition.type in wanted:
                value, reason = wanted[condition.type]
                is_so = equal(view.field(node, "status", "conditions", i, "status"), constant(value, condition.type))
                parts.append(opposite(is_so, reason))
        cordoned = view.field(node, "spec", "unschedulable", missing=False)
        parts.append(every([cordoned], reasons.UNSCHEDULABLE))
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
    condition, reason = "MemoryPressure", reasons.MEMORY_PRESSURE

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        return super().filter(state, pod) if _is_best_effort(pod) else fwk.PASSES

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        alone = constant(_is_best_effort(view.pod), "the pod asks for nothing and is limited in nothing (BestEffort)")
        tree = super().explain_filter(state, view)
        return every([alone, tree]).with_text(tree.text if alone.value else "The pod is not BestEffort")


class CheckNodeDiskPressure(_Pressure):
    name = "CheckNodeDiskPressure"
    condition, reason = "DiskPressure", reasons.DISK_PRESSURE


class CheckNodePIDPressure(_Pressure):
    name = "CheckNodePIDPressure"
    condition, reason = "PIDPressure", reasons.PID_PRESSURE
