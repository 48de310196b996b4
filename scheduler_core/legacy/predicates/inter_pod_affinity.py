"""MatchInterPodAffinity: required (anti-)affinity of the pod, and required anti-affinity of running pods.

Source: pkg/scheduler/algorithm/predicates/predicates.go (InterPodAffinityMatches), metadata.go.
"""

from __future__ import annotations

from typing import Any

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins.inter_pod_affinity import FilterState, InterPodAffinity, InterPodAffinityArgs


class MatchInterPodAffinity(InterPodAffinity):
    """Behaves as InterPodAffinity of the next releases, but checks the changes of a node for every pod."""

    name = "MatchInterPodAffinity"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(InterPodAffinityArgs(), cluster)

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.Change) -> fwk.Status | None:
        if self.name not in state:
            state = fwk.CycleState()
            state[self.name] = FilterState([], None, [], [], selfish=False, anyone=False)
        return super().filter_node(state, pod, change)
