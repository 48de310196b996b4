"""NodeResourcesBalancedAllocation: prefers nodes whose resources are used in similar shares, or become more balanced.

Upstream: pkg/scheduler/framework/plugins/noderesources (balanced_allocation.go).
"""

from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import structs

from scheduler_core.api.plugin_args import Complain, PluginArgs, ResourceSpec
from scheduler_core.api.syntax import shown
from scheduler_core.cluster import resources
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.nodes import on_rows
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.framework import signers
from scheduler_core.plugins.resource_allocation import (
    REQUESTED,
    columns,
    divisors,
    filled,
    shares_of_pair,
    with_weights,
)
from scheduler_core.provenance.context import View
from scheduler_core.provenance.requests import in_use
from scheduler_core.provenance.scores import max_node_score
from scheduler_core.provenance.tree import (
    Tree,
    absolute,
    constant,
    divide,
    divide_int,
    either,
    less_equal,
    lowest,
    multiply,
    root,
    some,
    subtract,
    total,
    total_floats,
    truncated,
)

_PAIR = [resources.CPU, resources.MEMORY]

Float64 = npt.NDArray[np.float64]
_Scores = TypeVar("_Scores", fwk.Int64, npt.NDArray[np.uint8])


class NodeResourcesBalancedAllocationArgs(PluginArgs, frozen=True, kw_only=True):
    resources: tuple[ResourceSpec, ...] = ()

    def finish(self, complain: Complain) -> Self:
        resources = with_weights(self.resources)
        seen: set[str] = set()
        for i, resource in enumerate(resources):
            if resource.name in seen:
                complain(f"resources[{i}].name", f"{shown(resource.name)} is given twice")
            if resource.weight != 1:
                complain(f"resources[{i}].weight", f"must be 1, got {resource.weight}")
            seen.add(resource.name)
        return structs.replace(self, resources=resources)


class NodeResourcesBalancedAllocation(fwk.PreScorePlugin, fwk.ScorePlugin):
    name = "NodeResourcesBalancedAllocation"
    best = "the most balanced"
    args_class = NodeResourcesBalancedAllocationArgs
    pod_fields = ("requests", "overhead")
    reads = "amounts"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self.resources = [spec.name for spec in args.resources]
        old = cluster.release.balanced_uses_default_requests or cluster.release.two_resource_balance
        self._of_pair = self.resources == _PAIR and not old

    def pre_score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Status | None:
        """Skip pods that request none of the resources, because they do not change the balance."""
        skips = self.cluster.release.balanced_skips_best_effort
        return fwk.SKIPPED if skips and not any(pod.requests.get(name) for name in self.resources) else None

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.USAGE

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Integers:
        """Return 100 x (1 - standard deviation of the used shares) over the resources that the node has.

        With `balanced_allocation_scores_change`: 50 + (50 + score with the pod - score without the pod) / 2.
        """
        if self._of_pair:
            shares = shares_of_pair(self.cluster, state, pod, rows, REQUESTED)
            if shares is not None:
                return self._score_of_pair(pod, shares, rows)
        with np.errstate(invalid="ignore"):  # overflowed sums give shares beyond int64; Go also ignores this
            return self._score(pod, rows)

    def _score(self, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        if self.cluster.release.two_resource_balance:
            return self._score_of_two(pod, rows)
        default_requests = self.cluster.release.balanced_uses_default_requests
        fractions: list[Float64] = []
        before: list[Float64] = []
        present: list[npt.NDArray[np.bool_] | None] = []
        for name in self.resources:
            found = columns(self.cluster, pod, name, rows, nonzero=default_requests)
            if found is None:
                continue
            allocatable, requested, has = found
            fractions.append(np.minimum(requested / allocatable, 1.0))
            if self.cluster.release.balanced_allocation_scores_change:
                requested -= pod.requests.get(name, 0)
                before.append(np.minimum(requested / allocatable, 1.0))
            present.append(has)
        if not fractions:
            even = np.full(len(self.cluster.nodes), fwk.MAX_NODE_SCORE, np.int64)[rows]
            return _change(even, even) if self.cluster.release.balanced_allocation_scores_change else even
        balance = _score if all(has is None for has in present) else partial(_score_groups, present=present)
        return _change(balance(fractions), balance(before)) if before else balance(fractions)

    def _score_of_pair(self, pod: PodInfo, shares: Float64, rows: fwk.Rows) -> npt.NDArray[np.uint8]:
        """Return the scores of cpu and memory. `shares`: see `shares_of_pair`. They change."""
        scores = _score_two_shares(np.minimum(shares, 1.0, out=shares))
        if not self.cluster.release.balanced_allocation_scores_change:
            return scores
        nodes = self.cluster.nodes
        capacity = divisors(nodes)
        assert capacity is not None, "the shares need it, too"
        before: Float64 = on_rows(nodes.used[1:3], rows).astype(np.float64)
        before[0] += pod.slip
        before /= on_rows(capacity, rows)
        return _change(scores, _score_two_shares(np.minimum(before, 1.0, out=before)))

    def _score_of_two(self, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return 100 x (1 - difference of the used shares of cpu and memory), with default requests.

        A node with one used up scores 0; with `balanced_caps_shares`, its share is 1.
        """
        shares = []
        for name in (resources.CPU, resources.MEMORY):
            found = columns(self.cluster, pod, name, rows, nonzero=True)
            if found is None:
                return np.zeros(len(self.cluster.nodes), np.int64)[rows]
            allocatable, requested, has = found
            share = requested / allocatable
            shares.append(share if has is None else np.where(has, share, 1.0))
        if caps := self.cluster.release.balanced_caps_shares:
            shares = [np.minimum(share, 1.0) for share in shares]
        cpu, memory = shares
        scores = ((1 - np.abs(cpu - memory)) * float(self.max_score)).astype(np.int64)
        return scores if caps else np.where((cpu >= 1) | (memory >= 1), 0, scores)

    def _explain_two(self, view: View) -> Tree:
        """Return the tree of `_score_of_two`."""
        caps = self.cluster.release.balanced_caps_shares
        shares: list[Tree] = []
        for name in (resources.CPU, resources.MEMORY):
            found = filled(view, name, nonzero=True)
            if found is None:
                shares.append(constant(1.0, f"the node has no {name}"))
            else:
                share = divide(found[1], found[0], f"used share of {name}")
                shares.append(_capped(share, share.label) if caps else share)
        text = ", ".join(f"{name} {share.value:.0%}" for name, share in zip(("cpu", "memory"), shares, strict=True))
        apart = absolute(subtract(shares[0], shares[1]), "difference of the shares")
        even = truncated(multiply(subtract(constant(1), apart), max_node_score(self.max_score)))
        if caps:
            return even.with_text(f"{even.value} = how even the used shares are: {text} ({view.node.name})")
        full = some([less_equal(constant(1), share, "used up") for share in shares], "one is used up")
        tree = either(full, constant(0), even)
        return tree.with_text(f"{tree.value} = how even the used shares are: {text} ({view.node.name})")

    sign = staticmethod(signers.requests)

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        if self.cluster.release.two_resource_balance:
            return self._explain_two(view)
        shares, before = self._shares(view)
        text = ", ".join(f"{name} {share.value:.0%}" for name, share in shares.items()) or "none count"
        tree = _evenness(list(shares.values()))
        if not self.cluster.release.balanced_allocation_scores_change:
            return tree.with_text(f"{tree.value} = how even the used shares are: {text} ({view.node.name})")
        without = _evenness(list(before.values()))
        change = subtract(tree.with_label("balance with the pod"), without.with_label("balance without the pod"))
        half = divide_int(max_node_score(), constant(2), "half of MaxNodeScore")
        tree = total([half, divide_int(total([half, change]), constant(2))])
        return tree.with_text(
            f"{tree.value} = change of the balance by the pod, from {without.value} to {change.value + without.value}: "
            f"{text} with it ({view.node.name})"
        )

    def _shares(self, view: View) -> tuple[dict[str, Tree], dict[str, Tree]]:
        """Return (resource -> its used share with the pod, resource -> its used share without the pod)."""
        shares: dict[str, Tree] = {}
        before: dict[str, Tree] = {}
        for name in self.resources:
            found = filled(view, name, nonzero=self.cluster.release.balanced_uses_default_requests)
            if found is None:
                continue
            has, used = found
            shares[name] = _share(used, has, f"used share of {name}")
            there = in_use(view, view.row, name)
            before[name] = _share(there, has, f"used share of {name} without the pod")
        return shares, before


def _share(used: Tree, has: Tree, label: str) -> Tree:
    return _capped(divide(used, has, label), label)


def _capped(share: Tree, label: str) -> Tree:
    return share if share.value <= 1 else lowest([share, constant(1, "at most all of it")], label)


def _evenness(shares: list[Tree]) -> Tree:
    """Return the tree of `_score`."""
    uneven = _deviation(shares).with_label("standard deviation of the shares")
    return truncated(multiply(subtract(constant(1), uneven), max_node_score()))


def _deviation(shares: list[Tree]) -> Tree:
    """Return the tree of the standard deviation in `_score`."""
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


def _change(after: _Scores, before: _Scores) -> _Scores:
    """Return 50 + (50 + after - before) / 2: between 0 and 100, and 75 if nothing changes."""
    half = fwk.MAX_NODE_SCORE // 2
    return half + (half + after - before) // 2  # never negative: the standard deviation of shares is at most 0.5


def _score_two_shares(shares: Float64) -> npt.NDArray[np.uint8]:
    """Return `_score` of two shares between 0 and 1. `shares` changes."""
    apart: Float64 = shares[0]
    apart -= shares[1]
    np.abs(apart, out=apart)
    # twice 1 - deviation, times 50: a factor of 2 does not change how a float64 is rounded
    np.subtract(2, apart, out=apart)
    apart *= float(fwk.MAX_NODE_SCORE // 2)
    return apart.astype(np.uint8)


def _score(fractions: list[Float64]) -> fwk.Int64:
    if len(fractions) == 1:
        return np.full(len(fractions[0]), fwk.MAX_NODE_SCORE, np.int64)
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
    scores: fwk.Int64 = ((1 - deviation) * float(fwk.MAX_NODE_SCORE)).astype(np.int64)
    return scores


def _score_groups(fractions: list[Float64], present: list[npt.NDArray[np.bool_] | None]) -> fwk.Int64:
    """Return `_score` of each node over the resources that it has."""
    pattern = np.zeros(len(fractions[0]), np.int64)
    for bit, has in enumerate(present):
        pattern |= (np.int64(1) if has is None else has.astype(np.int64)) << bit
    scores = np.full(len(pattern), fwk.MAX_NODE_SCORE, np.int64)
    for key in np.unique(pattern).tolist():
        group = pattern == key
        shares = [share[group] for bit, share in enumerate(fractions) if key >> bit & 1]
        if shares:
            scores[group] = _score(shares)
    return scores
