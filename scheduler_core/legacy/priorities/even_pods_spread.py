"""EvenPodsSpreadPriority: topology spread constraints that need not hold (EvenPodsSpread).

Source: pkg/scheduler/algorithm/priorities/even_pods_spread.go.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import Bool, CycleState, Int64, Rows
from scheduler_core.legacy.predicates.even_pods_spread import NO_DEFAULTS
from scheduler_core.legacy.priorities.scale import MAX_PRIORITY
from scheduler_core.plugins.pod_topology_spread import Constraint, PodTopologySpread

_SKIPPED = -1  # the raw score of nodes that lack a label


class EvenPodsSpreadPriority(PodTopologySpread):
    """The fewer pods match in the node's domains, the better, as shares of all that match around any node."""

    name = "EvenPodsSpreadPriority"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(NO_DEFAULTS, cluster)

    def pre_score(self, state: CycleState, pod: PodInfo, rows: Rows) -> None:
        """Counts matching pods around each feasible node."""
        constraints = self._constraints(pod, "ScheduleAnyway")
        state[self.name] = self._around(constraints, pod, rows) if constraints else None

    def _around(self, constraints: list[Constraint], pod: PodInfo, rows: Rows) -> Int64:
        """The pods that match, summed over constraints; int64 over the rows, -1 for nodes that lack a label."""
        labelled: Bool | None = self._with_all_keys(constraints)
        counts = np.zeros(len(self.cluster.nodes), np.int64)
        for constraint in constraints:
            column = self.cluster.columns.matching(frozenset((pod.namespace,)), constraint.selector, terminating=True)
            sums = constraint.topology.sums(column.counts, self._eligible(constraint, pod, labelled))
            counts += constraint.topology.over_nodes(sums)
        if labelled is not None:
            counts[~labelled] = _SKIPPED
        return counts[rows]

    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        around: Int64 | None = state[self.name]
        return np.zeros(len(self.cluster.nodes), np.int64)[rows] if around is None else around

    def normalize(self, state: CycleState, pod: PodInfo, scores: Int64, rows: Rows) -> Int64:
        if state[self.name] is None:
            return scores
        scored = scores != _SKIPPED
        if not scored.any():
            return np.zeros_like(scores)
        everything, fewest = int(scores[scored].sum()), int(scores[scored].min())
        if everything == fewest:
            return np.where(scored, MAX_PRIORITY, 0).astype(np.int64)
        shares = float(MAX_PRIORITY) * ((everything - scores) / float(everything - fewest))
        return np.where(scored, shares.astype(np.int64), 0)
