"""Priorities: score the feasible nodes from 0 to 10.

Each is a Score plugin: `score` is upstream's Map, `normalize` is its Reduce. Most are the newer plugins with another
scale. Source: pkg/scheduler/algorithm/priorities, pkg/scheduler/api (MaxPriority).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from scheduler_core.api import quantity
from scheduler_core.api.plugin_args import UtilizationShapePoint
from scheduler_core.cluster import resources
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_counts import SelectorColumn
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy.predicates import NO_DEFAULTS
from scheduler_core.plugins.image_locality import ImageLocality
from scheduler_core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_core.plugins.node_affinity import NodeAffinity
from scheduler_core.plugins.node_label import NodeLabel
from scheduler_core.plugins.node_prefer_avoid_pods import NodePreferAvoidPods
from scheduler_core.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
    NodeResourcesBalancedAllocationArgs,
)
from scheduler_core.plugins.pod_topology_spread import CompiledConstraint, PodTopologySpread
from scheduler_core.plugins.requested_to_capacity_ratio import RequestedToCapacityRatioArgs
from scheduler_core.plugins.resource_allocation import CPU_AND_MEMORY, ResourcesArgs, StrategyPlugin
from scheduler_core.plugins.selector_spread import SelectorSpread
from scheduler_core.plugins.service_affinity import ServiceAffinity
from scheduler_core.plugins.taint_toleration import TaintToleration
from scheduler_core.provenance.context import View
from scheduler_core.provenance.requests import unit_of
from scheduler_core.provenance.tree import Tree, constant, either, every, less, less_equal, multiply, some

MAX_PRIORITY = 10


class _Priority(fwk.ScorePlugin):
    max_score = MAX_PRIORITY


class NodeAffinityPriority(_Priority, NodeAffinity):
    """Sums the weights of the preferred terms that a node matches. matchFields are ignored."""

    name = "NodeAffinityPriority"


class TaintTolerationPriority(_Priority, TaintToleration):
    name = "TaintTolerationPriority"


class ImageLocalityPriority(_Priority, ImageLocality):
    name = "ImageLocalityPriority"


class NodePreferAvoidPodsPriority(_Priority, NodePreferAvoidPods):
    name = "NodePreferAvoidPodsPriority"


class NodeLabelPriority(_Priority, NodeLabel):
    name = "NodeLabelPriority"


class EqualPriority(fwk.ScorePlugin):
    """Scores 1 for every node."""

    name = "EqualPriority"

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        return np.ones(len(self.cluster.nodes), np.int64)[rows]

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        return constant(1, "the same for all").with_text("1: EqualPriority scores all nodes equally")


class InterPodAffinityPriority(_Priority, InterPodAffinity):
    name = "InterPodAffinityPriority"


class EvenPodsSpreadPriority(_Priority, PodTopologySpread):
    """Scores as PodTopologySpread of 1.18, but counts pods of all namespaces and terminating pods. Nodes that lack a
    label always get 0."""

    name = "EvenPodsSpreadPriority"
    counts_terminating = True

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(NO_DEFAULTS, cluster)

    def _column(self, constraint: CompiledConstraint, pod: PodInfo) -> SelectorColumn:
        return self.cluster.columns.matching(None, constraint.selector, terminating=self.counts_terminating)

    def normalize(self, state: fwk.CycleState, pod: PodInfo, scores: Any, rows: fwk.Rows) -> fwk.Int64:
        scored: fwk.Bool | None = state[f"{self.name}/score"][1]
        result = super().normalize(state, pod, scores, rows)
        return result if scored is None else np.where(scored, result, 0)

    def explain_normalize(self, state: fwk.CycleState, view: View, raw: Tree, scores: fwk.Int64) -> Tree:
        scored: fwk.Bool | None = state[f"{self.name}/score"][1]
        rows = np.arange(len(self.cluster.nodes))[view.rows]
        if scored is None or scored[rows == view.row].all():
            return super().explain_normalize(state, view, raw, scores)
        return multiply(raw, constant(0), "lacks a label").with_text(f"0: {view.node.name} lacks a label")


class SelectorSpreadPriority(_Priority, SelectorSpread):
    name = "SelectorSpreadPriority"


class ServiceSpreadingPriority(SelectorSpreadPriority):
    """Behaves as SelectorSpreadPriority.

    It is meant to use only services, but the metadata that priorities share includes the controllers.
    """

    name = "ServiceSpreadingPriority"


class ServiceAntiAffinityPriority(_Priority, ServiceAffinity):
    name = "ServiceAntiAffinityPriority"


class _StrategyPriority(_Priority, StrategyPlugin):
    """A scoring strategy. `default_args`: its arguments if the Policy gives none."""

    default_args = ResourcesArgs(resources=CPU_AND_MEMORY)

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args or self.default_args, cluster)

    @classmethod
    def describe_best(cls, args: Any) -> str:
        return super().describe_best(args or cls.default_args)


class LeastRequestedPriority(_StrategyPriority):
    name = "LeastRequestedPriority"
    strategy_type = "LeastAllocated"


class MostRequestedPriority(_StrategyPriority):
    name = "MostRequestedPriority"
    strategy_type = "MostAllocated"


class RequestedToCapacityRatioPriority(_StrategyPriority):
    name = "RequestedToCapacityRatioPriority"
    strategy_type = "RequestedToCapacityRatio"
    default_args = RequestedToCapacityRatioArgs(
        shape=(UtilizationShapePoint(utilization=0, score=10), UtilizationShapePoint(utilization=100, score=0)),
        resources=CPU_AND_MEMORY,
    )


class BalancedResourceAllocation(_Priority, NodeResourcesBalancedAllocation):
    name = "BalancedResourceAllocation"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(NodeResourcesBalancedAllocationArgs(), cluster)


class ResourceLimitsPriority(fwk.ScorePlugin):
    """Scores 1 for nodes that can hold the pod's limit of cpu or memory (ResourceLimitsPriorityFunction)."""

    name = "ResourceLimitsPriority"
    best = "the one that can hold the pod's limits"

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        held = np.zeros(len(self.cluster.nodes), np.bool_)
        for name in (resources.CPU, resources.MEMORY):
            allocatable = self.cluster.nodes.allocatable[name]
            if limit := _limit_of(pod, name):
                held |= (allocatable != 0) & (limit <= allocatable)
        return held.astype(np.int64)[rows]

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        parts = []
        for name in (resources.CPU, resources.MEMORY):
            if limit := _limit_of(view.pod, name):
                has = view.field(view.node, "status", "allocatable", name, unit=unit_of(name), missing=0)
                asks = constant(limit, f"limit of {name}", unit_of(name))
                parts.append(every([less(constant(0), has), less_equal(asks, has)], f"the limit of {name} fits"))
        tree = either(some(parts, "a limit of the pod fits"), constant(1), constant(0))
        return tree.with_text(
            f"{tree.value}: {view.node.name} {'could' if tree.value else 'could not'} hold the pod's limits"
        )


def _limit_of(pod: PodInfo, name: str) -> int:
    """Return the sum of the containers' limits, or the limit of an init container if it is higher; 0 for none."""
    limits, init_limits = (
        [
            resources.amount(name, quantity.nano_value(container.resources.limits[name]))
            for container in containers
            if name in container.resources.limits
        ]
        for containers in (pod.pod.spec.containers, pod.pod.spec.init_containers)
    )
    return max(sum(limits), *init_limits, 0)


PRIORITIES: Mapping[str, type[fwk.Plugin]] = {
    cls.name: cls
    for cls in (
        *(SelectorSpreadPriority, InterPodAffinityPriority, LeastRequestedPriority, BalancedResourceAllocation),
        *(NodePreferAvoidPodsPriority, NodeAffinityPriority, TaintTolerationPriority, ImageLocalityPriority),
        *(EqualPriority, MostRequestedPriority, RequestedToCapacityRatioPriority, ResourceLimitsPriority),
        *(ServiceSpreadingPriority, ServiceAntiAffinityPriority, NodeLabelPriority, EvenPodsSpreadPriority),
    )
}
