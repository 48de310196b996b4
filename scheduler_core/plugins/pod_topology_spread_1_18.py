"""Scores of PodTopologySpread until 1.18: matching pods in the node's domains as a share of all counted pods.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread (scoring.go of 1.18).
"""

import numpy as np
import numpy.typing as npt

from scheduler_core.provenance.context import View
from scheduler_core.provenance.scores import max_node_score
from scheduler_core.provenance.tree import Tree, constant, divide, either, equal, multiply, over, subtract, truncated

Int64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]


def normalized(scores: Int64, scored: Bool | None, constrained: bool, max_score: int) -> Int64:
    """Return max_score x (sum - score) / (sum - lowest), truncated; int64 over the feasible nodes.

    `scored`: bool, the nodes that have every topology label (None: all). Other nodes get 0, but if sum and lowest are
    equal, all nodes get max_score. `constrained`: whether the pod has constraints; if not, all nodes get 0.
    """
    counted = scores if scored is None else scores[scored]
    if not constrained or not len(counted):
        return np.zeros_like(scores)
    everything, fewest = int(counted.sum()), int(counted.min())
    if everything == fewest:
        return np.full_like(scores, max_score)
    shares = (float(max_score) * ((everything - scores) / float(everything - fewest))).astype(np.int64)
    return shares if scored is None else np.where(scored, shares, 0)


def explain_normalized(
    view: View, raw: Tree, scores: Int64, scored: Bool | None, constrained: bool, max_score: int
) -> Tree:
    """Return the tree of `normalized` for the view's node."""
    name = view.node.name
    place = int(np.flatnonzero(np.arange(len(view.cluster.nodes))[view.rows] == view.row)[0])
    counted = scores if scored is None else scores[scored]
    if not constrained or not len(counted):
        return multiply(raw, constant(0), "nothing to score").with_text("0: no spread constraint of the pod scores")
    everything = over("sum", int(counted.sum()), len(counted), "all feasible nodes' raw scores")
    fewest = over("min", int(counted.min()), len(counted), "lowest raw score")
    if everything.value == fewest.value:
        tree = either(equal(everything, fewest, "nothing tells them apart"), max_node_score(max_score), constant(0))
        return tree.with_text(f"{tree.value}: nothing that matches is elsewhere")
    if scored is not None and not scored[place]:
        tree = multiply(raw, constant(0), "a node that lacks a topology label")
        return tree.with_text(f"0: {name} lacks a topology label")
    share = divide(subtract(everything, raw), subtract(everything, fewest))
    tree = truncated(multiply(max_node_score(max_score), share))
    return tree.with_text(
        f"{tree.value}: {raw.value} of {everything.value} match around {name}, at least {fewest.value}"
    )
