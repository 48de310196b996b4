"""InterPodAffinityPriority: preferred (anti-)affinity, and required affinity of running pods by a weight.

Source: pkg/scheduler/algorithm/priorities (interpod_affinity.go).
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import CycleState, Int64, Rows
from scheduler_core.legacy.priorities.scale import MAX_PRIORITY
from scheduler_core.plugins.inter_pod_affinity import InterPodAffinity


class InterPodAffinityPriority(InterPodAffinity):
    """0 is among what is scaled, so a node where nothing matches is never below one that pods keep away from."""

    name = "InterPodAffinityPriority"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        hard = args.hard_pod_affinity_weight if args is not None else 1
        given = SimpleNamespace(hard_pod_affinity_weight=hard, ignore_preferred_terms_of_existing_pods=False)
        super().__init__(given, cluster)

    def normalize(self, state: CycleState, pod: PodInfo, scores: Int64, rows: Rows) -> Int64:
        lowest, highest = (min(int(scores.min()), 0), max(int(scores.max()), 0)) if len(scores) else (0, 0)
        if highest == lowest:
            return np.zeros_like(scores)
        result: Int64 = (MAX_PRIORITY * ((scores - lowest) / float(highest - lowest))).astype(np.int64)
        return result
