"""NodeResourcesBalancedAllocation: prefers nodes whose resources would be used in equal shares.

Upstream: pkg/scheduler/framework/plugins/noderesources (balanced_allocation.go).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import (
    MAX_NODE_SCORE,
    SKIPPED,
    CycleState,
    Int64,
    PreScorePlugin,
    Rows,
    ScorePlugin,
    Status,
)
from scheduler_core.plugins.resource_allocation import columns, filled
from scheduler_core.provenance.scores import max_node_score
from scheduler_core.provenance.tree import (
    Tree,
    absolute,
    constant,
    divide,
    lowest,
    multiply,
    root,
    subtract,
    total_floats,
    truncated,
)
from scheduler_core.provenance.view import View

Float64 = npt.NDArray[np.float64]


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin):
    name = "NodeResourcesBalancedAllocation"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self.resources = [spec.name for spec in args.resources]

    def pre_score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Status | None:
        """Skips pods that request none of the resources: they change no balance."""
        if self.cluster.release.prescore_skips and not any(pod.requests.get(name) for name in self.resources):
            return SKIPPED
        return None

    @np.errstate(invalid="ignore")  # sums that wrapped give shares beyond int64; Go does not complain either
    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        """100 x (1 - standard deviation of the used shares) over the resources that the node has."""
        fractions: list[Float64] = []
        present: list[npt.NDArray[np.bool_] | None] = []
        for name in self.resources:
            found = columns(self.cluster, pod, name, rows, nonzero=False)
            if found is None:
                continue
            allocatable, requested, has = found
            share = requested / allocatable
            np.minimum(share, 1.0, out=share)
            fractions.append(share)
            present.append(has)
        if not fractions:
            return np.full(len(self.cluster.nodes), MAX_NODE_SCORE, np.int64)[rows]
        if all(has is None for has in present):
            return _score(fractions)
        return _score_groups(fractions, present)

    def explain_score(self, state: CycleState, view: View) -> Tree:
        shares: list[Tree] = []
        told: list[str] = []
        for name in self.resources:
            found = filled(view, name, nonzero=False)
            if found is None:
                continue
            has, used = found
            share = divide(used, has, f"used share of {name}")
            shares.append(share if share.value <= 1 else lowest([share, constant(1, "at most all of it")], share.label))
            told.append(f"{name} {shares[-1].value:.0%}")
        uneven = _deviation(shares).says("standard deviation of the shares")
        tree = truncated(multiply(subtract(constant(1), uneven), max_node_score()))
        return tree.tells(
            f"{tree.value} = how even the used shares are: {', '.join(told) or 'none count'} ({view.node.name})"
        )


def _deviation(shares: list[Tree]) -> Tree:
    """The tree of what `_score` takes off."""
    number = constant(len(shares), "resources")
    if len(shares) < 2:
        return constant(0, "one share alone")
    if len(shares) == 2:
        return absolute(divide(subtract(shares[0], shares[1]), number))
    mean = divide(total_floats(shares), number, "mean share")
    squares = []
    for share in shares:
        away = subtract(share, mean)
        squares.append(multiply(away, away))
    return root(divide(total_floats(squares), number, "variance"))


def _score(fractions: list[Float64]) -> Int64:
    if len(fractions) == 1:
        return np.full(len(fractions[0]), MAX_NODE_SCORE, np.int64)
    if len(fractions) == 2:
        deviation = np.abs((fractions[0] - fractions[1]) / 2)
    else:
        total = fractions[0]
        for share in fractions[1:]:
            total = total + share
        mean = total / len(fractions)
        squares = np.zeros_like(mean)
        for share in fractions:
            squares = squares + (share - mean) * (share - mean)
        deviation = np.sqrt(squares / len(fractions))
    scores: Int64 = ((1 - deviation) * float(MAX_NODE_SCORE)).astype(np.int64)
    return scores


def _score_groups(fractions: list[Float64], present: list[npt.NDArray[np.bool_] | None]) -> Int64:
    """As `_score`, node by node over the resources that it has."""
    pattern = np.zeros(len(fractions[0]), np.int64)
    for bit, has in enumerate(present):
        pattern |= (np.int64(1) if has is None else has.astype(np.int64)) << bit
    scores = np.full(len(pattern), MAX_NODE_SCORE, np.int64)
    for key in np.unique(pattern).tolist():
        group = pattern == key
        shares = [share[group] for bit, share in enumerate(fractions) if key >> bit & 1]
        if shares:
            scores[group] = _score(shares)
    return scores
