"""NodeResourcesLeastAllocated: prefers nodes with few requested resources.

Upstream (until 1.22): pkg/scheduler/framework/plugins/noderesources (least_allocated.go).
"""

from __future__ import annotations

from typing import Any, Self

from msgspec import structs

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config.args import Complain, PluginArgs, ResourceSpec
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins.resource_allocation import Strategy, checked_resources, explain_strategy, make_scorer
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree


class NodeResourcesLeastAllocatedArgs(PluginArgs, frozen=True, kw_only=True):
    resources: tuple[ResourceSpec, ...] = ()

    def finish(self, complain: Complain) -> Self:
        return structs.replace(self, resources=checked_resources(complain, self.resources))


class NodeResourcesLeastAllocated(fwk.ScorePlugin):
    name = "NodeResourcesLeastAllocated"
    args_class = NodeResourcesLeastAllocatedArgs

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self.strategy = Strategy("LeastAllocated", tuple(args.resources), own=True)
        self.scorer = make_scorer(cluster, self.strategy)

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return the weighted mean over the resources of 100 x free / allocatable."""
        return self.scorer(pod, rows)

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        return explain_strategy(view, self.name, self.strategy)
