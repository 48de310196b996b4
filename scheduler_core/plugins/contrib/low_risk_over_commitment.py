"""LowRiskOverCommitment: prefers nodes whose limits and whose measured load make overcommitment least risky.

Source: sigs.k8s.io/scheduler-plugins, pkg/trimaran/lowriskovercommitment.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import msgspec

from scheduler_core.api import quantity
from scheduler_core.api.objects import Node, Pod
from scheduler_core.api.plugin_args import Complain, Int64
from scheduler_core.api.scheduler_plugins import LoadMetric
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins.contrib import trimaran
from scheduler_core.plugins.contrib.trimaran import Amounts, ResourceStats, TrimaranArgs
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant

MAX_VARIANCE_ALLOWANCE = 0.99
DEFAULT_WEIGHT = 0.5
_TINY = 1e-300


class LowRiskOverCommitmentArgs(TrimaranArgs, frozen=True, kw_only=True):
    """Over how many windows the load is smoothed, and the share of limits in the risk of each resource."""

    smoothing_window_size: Int64 | None = None
    risk_limit_weights: dict[str, float] | None = None

    def finish(self, complain: Complain) -> Self:
        self.check_provider(complain)
        window, given = self.smoothing_window_size, self.risk_limit_weights or {}
        weights = {name: weight if 0 <= weight <= 1 else DEFAULT_WEIGHT for name, weight in given.items()}
        return msgspec.structs.replace(
            self,
            smoothing_window_size=5 if window is None or window <= 0 else window,
            risk_limit_weights={"cpu": DEFAULT_WEIGHT, "memory": DEFAULT_WEIGHT} | weights,
        )


class RequestsAndLimits(NamedTuple):
    """The requests of pods, and their limits, which are at least the requests."""

    requests: Amounts
    limits: Amounts

    @staticmethod
    def of_pod(pod: Pod) -> RequestsAndLimits:
        requests, limits = trimaran.effective(pod), trimaran.effective(pod, limits=True)
        return RequestsAndLimits(requests, Amounts(*map(max, requests, limits)))

    def plus(self, other: RequestsAndLimits, sign: int = 1) -> RequestsAndLimits:
        """Return the sum with other pods, or the difference."""
        sums = [[a + sign * b for a, b in zip(mine, its, strict=True)] for mine, its in zip(self, other, strict=True)]
        return RequestsAndLimits(Amounts(*sums[0]), Amounts(*sums[1]))


NONE = RequestsAndLimits(Amounts(), Amounts())


class LowRiskOverCommitment(fwk.PreScorePlugin, fwk.ScorePlugin):
    name = "LowRiskOverCommitment"
    args_class = LowRiskOverCommitmentArgs
    in_tree = False
    best = "the one with the lowest risk of overcommitment"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self._on: dict[str, RequestsAndLimits] = {}  # node -> sum of its pods
        for pod in cluster.pods.values():
            self._count(pod, True)
        cluster.watch_pods(self._count)

    def _count(self, pod: PodInfo, placed: bool) -> None:
        own = RequestsAndLimits.of_pod(pod.pod)
        self._on[pod.node] = self._on.get(pod.node, NONE).plus(own, 1 if placed else -1)

    def pre_score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Status | None:
        state[self.name] = RequestsAndLimits.of_pod(pod.pod)
        return None

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return (1 - risk) x 100 of the riskier of cpu and memory; 0 without requests, limits or measurements."""
        own: RequestsAndLimits = state.get(self.name) or RequestsAndLimits.of_pod(pod.pod)
        return trimaran.scores_of(self.cluster, rows, lambda node: self._score(node, own))

    def _score(self, node: Node, own: RequestsAndLimits) -> int:
        risks = self._risks(node, own)
        return trimaran.rounded_int64((1 - max(risks.values())) * float(fwk.MAX_NODE_SCORE)) if risks else 0

    def _risks(self, node: Node, own: RequestsAndLimits) -> dict[str, float]:
        """Return the risk of each resource; empty if the plugin does not score the node."""
        metrics = trimaran.load_of(self.cluster).of_node(node.name)
        if metrics is None or not any((*own.requests, *own.limits)):
            return {}
        without = self._on.get(node.name, NONE)
        total = without.plus(own)
        offered = node.status.allocatable
        capacity = Amounts(quantity.milli_value(offered.get("cpu", 0)), quantity.value(offered.get("memory", 0)))
        risks = {}
        for place, (name, kind) in enumerate((("cpu", trimaran.CPU), ("memory", trimaran.MEMORY))):
            offered_here = capacity[place]
            requested, before = min(total.requests[place], offered_here), min(without.requests[place], offered_here)
            of_limits = 0.0
            if total.limits[place] > offered_here:
                of_limits = float(total.limits[place] - offered_here) / float(total.limits[place] - requested)
            of_load = self._risk_of_load(metrics, node, kind, before, without.limits[place], offered_here)
            weight = self.args.risk_limit_weights[name]
            risks[name] = min(max(weight * of_limits + (1 - weight) * of_load, 0.0), 1.0)
        return risks

    def _risk_of_load(
        self, metrics: list[LoadMetric], node: Node, kind: str, requested: int, limit: int, capacity: int
    ) -> float:
        """Return the probability that the load exceeds the requests, if it is known not to exceed the limits."""
        stats = ResourceStats.of_node(metrics, node, kind)
        if stats is None:
            return 0.0
        mean, deviation = trimaran.mean_and_deviation(stats, 0.0)
        deviation *= math.pow(float(self.args.smoothing_window_size), 0.5)
        most = mean * (1 - mean) if 0 < mean < 1 else 0.0
        deviation = min(deviation, math.sqrt(most * MAX_VARIANCE_ALLOWANCE))
        threshold = min(max(float(requested) / float(capacity), 0.0), 1.0) if capacity else math.nan
        probability, fitted = at_most(mean, deviation, threshold)
        if limit < capacity and requested <= limit:
            if limit == 0:
                probability = 1.0
            elif fitted is not None:
                within = distribution(*fitted, float(limit) / float(capacity))
                if within > 0:
                    probability = min(max(probability / within, 0.0), 1.0)
        return 1 - probability

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        own = RequestsAndLimits.of_pod(view.pod.pod)
        risks, score = self._risks(view.node, own), self._score(view.node, own)
        if not risks:
            text = trimaran.NO_LOAD if any((*own.requests, *own.limits)) else "0: the pod has no requests and limits"
            return constant(0, "not scored").with_text(text)
        name = max(risks, key=lambda one: risks[one])
        text = f"{score}: the risk of overcommitted {name} on {view.node.name} is {risks[name]:.3f}"
        return constant(score, "by the risk").with_text(text)


def at_most(mean: float, deviation: float, threshold: float) -> tuple[float, tuple[float, float] | None]:
    """Return the probability that the load is at most the threshold, and the parameters of the fitted beta
    distribution, if one is."""
    if mean == 0 or (deviation == 0 and mean <= threshold):
        return 1.0, None
    if deviation == 0 and mean > threshold:
        return 0.0, None
    variance = deviation * deviation + mean * mean - mean * mean
    if not 0 <= mean <= 1 or variance < 0 or variance >= mean * (1 - mean):
        return 0.0, None
    scale = max(mean * (1 - mean) / variance - 1 if variance else math.inf, 5e-324)
    fitted = mean * scale, (1 - mean) * scale
    return distribution(*fitted, threshold), fitted


def distribution(alpha: float, beta: float, x: float) -> float:
    """Return the distribution function of a beta distribution; 0 if it is not defined."""
    if not (alpha > 0 and beta > 0 and 0 <= x <= 1):
        return 0.0
    if x in (0.0, 1.0):
        return x
    if x > (alpha + 1) / (alpha + beta + 2):
        return min(max(1 - distribution_below(beta, alpha, 1 - x), 0.0), 1.0)
    return distribution_below(alpha, beta, x)


def distribution_below(alpha: float, beta: float, x: float) -> float:
    """Return the regularized incomplete beta function below its mean, by a continued fraction (Lentz)."""
    log = math.lgamma(alpha + beta) - math.lgamma(alpha) - math.lgamma(beta)
    front = math.exp(log + alpha * math.log(x) + beta * math.log1p(-x)) / alpha
    c, d = 1.0, 1 - (alpha + beta) * x / (alpha + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, 2000):
        for term in (
            m * (beta - m) * x / ((alpha + 2 * m - 1) * (alpha + 2 * m)),
            -(alpha + m) * (alpha + beta + m) * x / ((alpha + 2 * m) * (alpha + 2 * m + 1)),
        ):
            d = 1 + term * d
            c = 1 + term / c
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = c if abs(c) > _TINY else _TINY
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * value
