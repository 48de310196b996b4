"""EvenPodsSpread: topology spread constraints with DoNotSchedule (feature gate EvenPodsSpread).

Source: pkg/scheduler/algorithm/predicates/predicates.go (EvenPodsSpreadPredicate), metadata.go.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy import reasons
from scheduler_core.plugins.pod_topology_spread import PodTopologySpread

REFUSED = reasons.refusal(reasons.SPREAD)
NO_DEFAULTS = SimpleNamespace(defaulting_type="List", default_constraints=())


class EvenPodsSpread(PodTopologySpread):
    """Rejects a node that lacks the label with the same reason as a node with too many matching pods."""

    name = "EvenPodsSpread"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(NO_DEFAULTS, cluster)

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        verdict = super().filter(state, pod)
        return verdict if verdict.codes is None else fwk.Verdict.reject(verdict.codes > 0, REFUSED)

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.Change) -> fwk.Status | None:
        return None if super().filter_node(state, pod, change) is None else REFUSED
