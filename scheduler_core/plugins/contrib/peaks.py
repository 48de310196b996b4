"""Peaks: prefers nodes whose power rises least with the pod.

Source: sigs.k8s.io/scheduler-plugins, pkg/trimaran/peaks.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Self

import msgspec

from scheduler_core.api import quantity
from scheduler_core.api.objects import Node, Pod
from scheduler_core.api.plugin_args import Complain, PluginArgs, Strict
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins.contrib import trimaran
from scheduler_core.plugins.contrib.linear_scores import LowestNormalized
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant


class PowerModel(Strict, frozen=True, kw_only=True):
    """The power of a node at a load of x %: k0 + k1 x e^(k2 x)."""

    k0: float = 0.0
    k1: float = 0.0
    k2: float = 0.0


class PeaksArgs(PluginArgs, frozen=True, kw_only=True):
    """The names of its fields begin with capitals, as upstream accepts them."""

    watcher_address: str = msgspec.field(default="", name="WatcherAddress")
    node_power_model: dict[str, PowerModel] = msgspec.field(default_factory=dict, name="NodePowerModel")

    def finish(self, complain: Complain) -> Self:
        if not self.watcher_address:
            complain("WatcherAddress", "invalid MetricProvider.Type, got ")
        if not self.node_power_model:
            complain("NodePowerModel", "open : no such file or directory")
        return self


def request_of(pod: Pod) -> int:
    """Return the millicores that a pod requests. Source: pkg/api/v1/resource (GetResourceRequestQuantity)."""
    nano = sum(quantity.nano_value(one.resources.requests.get("cpu", 0)) for one in pod.spec.containers)
    nano = max([nano, *(quantity.nano_value(one.resources.requests.get("cpu", 0)) for one in pod.spec.init_containers)])
    if pod.spec.resources is not None and "cpu" in pod.spec.resources.requests:
        nano = quantity.nano_value(pod.spec.resources.requests["cpu"])
    if nano:
        nano += quantity.nano_value(pod.spec.overhead.get("cpu", 0))
    return -(-nano // 10**6)


class Peaks(LowestNormalized):
    name = "Peaks"
    args_class = PeaksArgs
    cost = "the rise of the power"
    best = "the one whose power rises least"

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return by how much the power rises, x 10^15; 0 without measurements and beyond 100 %."""
        request = request_of(pod.pod)
        return trimaran.scores_of(self.cluster, rows, lambda node: self._score(node, request))

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.OBJECTS

    def sign(self, pod: PodInfo) -> None:
        return None

    def _score(self, node: Node, request: int) -> int:
        metrics = trimaran.load_of(self.cluster).of_node(node.name) or ()
        counted = [one for one in metrics if one.type == trimaran.CPU]
        counted = [one for one in counted if one.operator in (trimaran.AVERAGE, trimaran.LATEST)]
        if not counted:
            return 0
        now = counted[0].value
        capacity = float(quantity.milli_value(node.status.capacity.get("cpu", 0)))
        predicted = 100 * (now / 100 * capacity + float(request)) / capacity if capacity else 0.0
        if predicted > 100:
            return 0
        model = self.args.node_power_model.get(node.name, PowerModel())
        rise = model.k1 * (_exp(model.k2 * predicted) - _exp(model.k2 * now))
        return trimaran.to_int64(rise * math.pow(10, 15))

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        score = self._score(view.node, request_of(view.pod.pod))
        text = f"{score} = how much the power of {view.node.name} rises, x 10^15" if score else trimaran.NO_LOAD
        return constant(score, "rise of the power").with_text(text)


_LOG2E, _LN2_UPPER, _LN2_LOWER = 1.4426950408889634, 0.6931471805596629565116018, 0.28235290563031577122588448175e-12
_OVERFLOW = 7.09782712893384e02
# 1/8!, 1/7! ... 1/3!, 1/2!, 1
_SERIES = (
    *(2.4801587301587301587e-5, 1.9841269841269841270e-4, 1.3888888888888888889e-3, 8.3333333333333333333e-3),
    *(4.1666666666666666667e-2, 1.6666666666666666667e-1, 0.5, 1.0),
)


@lru_cache(maxsize=65536)
def _exp(power: float) -> float:
    """Return e^x with the last digit of Go's math.Exp on amd64. Source: math/exp_amd64.s."""
    if power > _OVERFLOW:
        return math.inf
    exponent = round(power * _LOG2E)
    rest = _fused(-float(exponent), _LN2_LOWER, _fused(-float(exponent), _LN2_UPPER, power)) * 0.0625
    value, *series = _SERIES
    for coefficient in series:
        value = _fused(value, rest, coefficient)
    value *= rest
    for _ in range(3):
        value *= value + 2.0
    return math.ldexp(_fused(value, value + 2.0, 1.0), exponent)


def _fused(a: float, b: float, c: float) -> float:
    """Return a x b + c, rounded once."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))
