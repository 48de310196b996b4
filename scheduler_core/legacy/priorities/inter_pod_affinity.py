"""InterPodAffinityPriority: preferred (anti-)affinity, and the required affinity of running pods with a weight.

Source: pkg/scheduler/algorithm/priorities (interpod_affinity.go).
"""

from typing import Any

import numpy as np

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy.priorities.scale import MAX_PRIORITY, max_priority
from scheduler_core.plugins.inter_pod_affinity import InterPodAffinity, InterPodAffinityArgs
from scheduler_core.provenance.context import View
from scheduler_core.provenance.scores import extreme
from scheduler_core.provenance.tree import (
    Tree,
    constant,
    divide,
    either,
    equal,
    highest,
    lowest,
    multiply,
    subtract,
    truncated,
)


class InterPodAffinityPriority(InterPodAffinity):
    """The scale always includes 0, so a node without matching terms never scores below one that pods repel."""

    name = "InterPodAffinityPriority"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args or InterPodAffinityArgs(), cluster)

    def normalize(self, state: fwk.CycleState, pod: PodInfo, scores: fwk.Int64, rows: fwk.Rows) -> fwk.Int64:
        lowest, highest = (min(int(scores.min()), 0), max(int(scores.max()), 0)) if len(scores) else (0, 0)
        if highest == lowest:
            return np.zeros_like(scores)
        result: fwk.Int64 = (MAX_PRIORITY * ((scores - lowest) / float(highest - lowest))).astype(np.int64)
        return result

    def explain_normalize(self, state: fwk.CycleState, view: View, raw: Tree, scores: fwk.Int64) -> Tree:
        least = lowest([extreme(view, scores, "min"), constant(0, "not above 0")])
        most = highest([extreme(view, scores, "max"), constant(0, "not below 0")])
        if least.value == most.value:
            tree = either(equal(most, least, "all alike"), constant(0), raw)
            return tree.with_text("0: nothing draws the pod to a node or keeps it away")
        share = divide(subtract(raw, least), subtract(most, least), "place between lowest and highest")
        tree = truncated(multiply(max_priority(), share))
        between = f"{raw.value} lies between {least.value} and {most.value}"
        return tree.with_text(f"{tree.value} = how far {between}, in tenths: {view.node.name}")
