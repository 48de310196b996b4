"""LoadVariationRiskBalancing: prefers nodes with a low and steady load.

Source: sigs.k8s.io/scheduler-plugins, pkg/trimaran/loadvariationriskbalancing.
"""

import math
from typing import Self

import msgspec

from scheduler_core.api.objects import Node
from scheduler_core.api.plugin_args import Complain
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins.contrib import trimaran
from scheduler_core.plugins.contrib.trimaran import Amounts, ResourceStats, TrimaranArgs
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, lowest, rounded


class LoadVariationRiskBalancingArgs(TrimaranArgs, frozen=True, kw_only=True):
    """`safeVarianceMargin` multiplies the deviation, after its root of the order `safeVarianceSensitivity`."""

    safe_variance_margin: float | None = None
    safe_variance_sensitivity: float | None = None

    def finish(self, complain: Complain) -> Self:
        self.check_provider(complain)
        margin, sensitivity = self.safe_variance_margin, self.safe_variance_sensitivity
        return msgspec.structs.replace(
            self,
            safe_variance_margin=1.0 if margin is None or margin < 0 else margin,
            safe_variance_sensitivity=1.0 if sensitivity is None or sensitivity < 0 else sensitivity,
        )


class LoadVariationRiskBalancing(fwk.ScorePlugin):
    name = "LoadVariationRiskBalancing"
    args_class = LoadVariationRiskBalancingArgs
    in_tree = False
    best = "the one with the lowest and steadiest load"

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return (1 - risk) x 100 of the riskier of cpu and memory; 0 without measurements."""
        request = trimaran.effective(pod.pod)
        return trimaran.scores_of(self.cluster, rows, lambda node: self._score(node, request))

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.OBJECTS

    def sign(self, pod: PodInfo) -> None:
        return None

    def _score(self, node: Node, request: Amounts) -> int:
        parts = self._parts(node, request)
        return trimaran.rounded_int64(min(parts.values())) if parts else 0

    def _parts(self, node: Node, request: Amounts) -> dict[str, float]:
        """Return the score of each resource that is measured."""
        metrics = trimaran.load_of(self.cluster).of_node(node.name)
        scores = {}
        for kind, amount in ((trimaran.CPU, float(request.cpu)), (trimaran.MEMORY, request.memory * trimaran.MEGA)):
            stats = ResourceStats.of_node(metrics, node, kind) if metrics is not None else None
            if stats is not None:
                scores[kind] = self._of_resource(stats, amount)
        return scores

    def _of_resource(self, stats: ResourceStats, request: float) -> float:
        if stats.capacity <= 0:
            return 0.0
        average, spread = (max(min(one, stats.capacity), 0.0) for one in (stats.average, stats.deviation))
        within = ResourceStats(average, spread, stats.capacity)
        mean, deviation = trimaran.mean_and_deviation(within, max(request, 0.0))
        margin: float = self.args.safe_variance_margin
        sensitivity: float = self.args.safe_variance_sensitivity
        deviation = math.pow(deviation, 1 / sensitivity if sensitivity else math.inf) * margin
        return (1.0 - (mean + max(min(deviation, 1.0), 0.0)) / 2) * float(fwk.MAX_NODE_SCORE)

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        parts = self._parts(view.node, trimaran.effective(view.pod.pod))
        if not parts:
            return constant(0, "no measurement").with_text(trimaran.NO_LOAD)
        scores = [constant(score, f"score of {kind}") for kind, score in parts.items()]
        tree = rounded(lowest(scores, "the riskier resource"))
        return tree.with_text(f"{tree.value} by the measured load of {view.node.name} and its variation")
