"""EvenPodsSpreadPriority: topology spread constraints with ScheduleAnyway (feature gate EvenPodsSpread).

Source: pkg/scheduler/algorithm/priorities/even_pods_spread.go.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy.predicates.even_pods_spread import NO_DEFAULTS
from scheduler_core.legacy.priorities.scale import MAX_PRIORITY, max_priority
from scheduler_core.plugins.pod_topology_spread import Constraint, PodTopologySpread
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import (
    Tree,
    constant,
    divide,
    either,
    equal,
    multiply,
    over,
    subtract,
    total,
    truncated,
)

_SKIPPED = -1  # the raw score of nodes that lack a label


class EvenPodsSpreadPriority(PodTopologySpread):
    """Prefers nodes with fewer matching pods in their domains, as a share of the sum over all nodes."""

    name = "EvenPodsSpreadPriority"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(NO_DEFAULTS, cluster)

    def pre_score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> None:
        """Count matching pods in the domains of each feasible node."""
        constraints = self._constraints(pod, "ScheduleAnyway")
        state[self.name] = self._around(constraints, pod, rows) if constraints else None

    def _around(self, constraints: list[Constraint], pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return the number of matching pods, summed over constraints; int64 over the rows, -1 for nodes that lack a
        label."""
        labelled: fwk.Bool | None = self._with_all_keys(constraints)
        counts = np.zeros(len(self.cluster.nodes), np.int64)
        for constraint in constraints:
            column = self.cluster.columns.matching(frozenset((pod.namespace,)), constraint.selector, terminating=True)
            sums = constraint.topology.sums(column.counts, self._eligible(constraint, pod, labelled))
            counts += constraint.topology.over_nodes(sums)
        if labelled is not None:
            counts[~labelled] = _SKIPPED
        return counts[rows]

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        around: fwk.Int64 | None = state[self.name]
        return np.zeros(len(self.cluster.nodes), np.int64)[rows] if around is None else around

    def normalize(self, state: fwk.CycleState, pod: PodInfo, scores: fwk.Int64, rows: fwk.Rows) -> fwk.Int64:
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

    # ---- explanations

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        constraints = self._constraints(view.pod, "ScheduleAnyway")
        labelled = self._with_all_keys(constraints) if constraints else None
        if not constraints:
            return constant(0, "the pod has no such constraints").with_text(
                "0: the pod asks for no spreading of this kind"
            )
        if labelled is not None and not labelled[view.row]:
            return constant(_SKIPPED, "stands for a node that lacks a label").with_text(
                f"{view.node.name} lacks a label"
            )
        parts = []
        for constraint in constraints:
            ids, key = constraint.topology.ids, constraint.topology_key
            column = self.cluster.columns.matching(
                frozenset((view.pod.namespace,)), constraint.selector, terminating=True
            )
            eligible = self._eligible(constraint, view.pod, labelled)
            alike = ids == ids[view.row] if eligible is None else (ids == ids[view.row]) & eligible
            number = int(column.counts[alike].sum())
            parts.append(over("sum", number, int(alike.sum()), f"pods that match where {key} is the same"))
        tree = total(parts, "pods that match around the node")
        return tree.with_text(f"{tree.value} = pods that match in the domains of {view.node.name}")

    def explain_normalize(self, state: fwk.CycleState, view: View, raw: Tree, scores: fwk.Int64) -> Tree:
        if state[self.name] is None:
            return multiply(raw, constant(1), "left as it is").with_text(
                "0: the pod asks for no spreading of this kind"
            )
        scored = scores != _SKIPPED
        if raw.value == _SKIPPED:
            skipped = equal(raw, constant(_SKIPPED, "lacks a label"))
            return either(skipped, constant(0), raw).with_text(f"0: {view.node.name} lacks a label")
        everything = over("sum", int(scores[scored].sum()), int(scored.sum()), "all feasible nodes' raw scores")
        fewest = over("min", int(scores[scored].min()), int(scored.sum()), "lowest raw score")
        if everything.value == fewest.value:
            tree = either(equal(everything, fewest, "all alike"), max_priority(), constant(0))
            return tree.with_text(f"{tree.value}: nothing matches elsewhere")
        share = divide(subtract(everything, raw), subtract(everything, fewest))
        tree = truncated(multiply(max_priority(), share))
        return tree.with_text(f"{tree.value}: {raw.value} of {everything.value} match around {view.node.name}")
