"""Scores that are scaled linearly between the lowest and the highest one.

Source: sigs.k8s.io/scheduler-plugins, pkg/noderesources, pkg/podstate, pkg/networkaware/networkoverhead,
pkg/trimaran/peaks (NormalizeScore).
"""

import numpy as np

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.provenance.context import View
from scheduler_core.provenance.scores import extreme, max_node_score
from scheduler_core.provenance.tree import Tree, constant, divide, divide_int, multiply, subtract, truncated


class LinearlyNormalized(fwk.ScorePlugin):
    """A plugin whose scores are scaled by the lowest and the highest one; equal scores become 0."""

    in_tree = False

    def normalize(self, state: fwk.CycleState, pod: PodInfo, scores: fwk.Int64, rows: fwk.Rows) -> fwk.Int64:
        lowest = scores.min()
        span = scores.max() - lowest
        if not span:
            return np.zeros_like(scores)
        scaled: fwk.Int64 = (scores - lowest) * fwk.MAX_NODE_SCORE // span
        return scaled

    def explain_normalize(self, state: fwk.CycleState, view: View, raw: Tree, scores: fwk.Int64) -> Tree:
        least, most = extreme(view, scores, "min"), extreme(view, scores, "max")
        if most.value == least.value:
            text = f"0: all {len(scores)} feasible nodes have the same raw score"
            return constant(0, "MinNodeScore").with_text(text)
        above = multiply(subtract(raw, least, "above the lowest"), max_node_score())
        tree = divide_int(above, subtract(most, least, "highest less lowest"))
        return tree.with_text(
            f"{tree.value} = {raw.value} between {least.value}, the lowest raw score, and {most.value}, the highest"
        )


class LowestNormalized(fwk.ScorePlugin):
    """A plugin whose lowest score, a cost, becomes 100, and the highest 0. Equal costs become 100, but 0 stays 0."""

    in_tree = False
    cost: str
    """The cost, in explanations."""

    def normalize(self, state: fwk.CycleState, pod: PodInfo, scores: fwk.Int64, rows: fwk.Rows) -> fwk.Int64:
        lowest, highest = int(scores.min()), int(scores.max())
        if lowest == highest:
            return np.full_like(scores, fwk.MAX_NODE_SCORE if highest else 0)
        share = float(fwk.MAX_NODE_SCORE) * (scores - lowest).astype(np.float64) / float(highest - lowest)
        return fwk.MAX_NODE_SCORE - share.astype(np.int64)

    def explain_normalize(self, state: fwk.CycleState, view: View, raw: Tree, scores: fwk.Int64) -> Tree:
        least, most = extreme(view, scores, "min"), extreme(view, scores, "max")
        if least.value == most.value:
            value = fwk.MAX_NODE_SCORE if most.value else 0
            return constant(value).with_text(f"{value}: {self.cost} is {most.value} for all feasible nodes")
        above = multiply(max_node_score(), subtract(raw, least, "above the lowest"))
        share = truncated(divide(above, subtract(most, least, "highest less lowest")))
        tree = subtract(max_node_score(), share, "less is better")
        return tree.with_text(
            f"{tree.value} = 100 less {raw.value} between {least.value} and {most.value}, {self.cost}"
        )
