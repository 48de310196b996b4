"""TargetLoadPacking: packs nodes up to a target load of cpu.

Source: sigs.k8s.io/scheduler-plugins, pkg/trimaran/targetloadpacking, pkg/trimaran/handler.go.
"""

import math
from collections.abc import Iterable
from typing import Any, Self

import msgspec
import numpy as np

from scheduler_core.api import quantity
from scheduler_core.api.objects import Pod, Quantities
from scheduler_core.api.plugin_args import Complain, Int64
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins.contrib import trimaran
from scheduler_core.plugins.contrib.trimaran import TrimaranArgs
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, go_round

REPORTING_SECONDS = 60  # how long measurements may lack a pod
MOST_MULTIPLIER = 1e6
DEFAULT_REQUESTS: Quantities = {"cpu": "1000m"}


class TargetLoadPackingArgs(TrimaranArgs, frozen=True, kw_only=True):
    """The load to pack nodes to, in percent, and what containers without limits are predicted to use."""

    default_requests: Quantities | None = None
    default_requests_multiplier: str | None = None
    target_utilization: Int64 | None = None

    def finish(self, complain: Complain) -> Self:
        self.check_provider(complain)
        multiplier = "1.5" if self.default_requests_multiplier is None else self.default_requests_multiplier
        try:
            factor = float(multiplier)
        except ValueError:
            factor = 0.0
            problem = f'unable to parse DefaultRequestsMultiplier: strconv.ParseFloat: parsing "{multiplier[:80]}"'
            complain("defaultRequestsMultiplier", f"{problem}: invalid syntax")
        if not abs(factor) <= MOST_MULTIPLIER:  # also of NaN; the predicted load must be a number
            complain(
                "defaultRequestsMultiplier", f"Invalid value: {multiplier[:80]}: must be at most {MOST_MULTIPLIER:g}"
            )
        target, requests = self.target_utilization, self.default_requests
        return msgspec.structs.replace(
            self,
            default_requests=DEFAULT_REQUESTS if requests is None else requests,
            default_requests_multiplier=multiplier,
            target_utilization=40 if target is None or target <= 0 else target,
        )


class TargetLoadPacking(fwk.ScorePlugin):
    name = "TargetLoadPacking"
    args_class = TargetLoadPackingArgs
    in_tree = False
    memory = ("_came",)
    best = "the one whose predicted load is nearest to the target"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self._multiplier = float(args.default_requests_multiplier)
        self._default = quantity.milli_value(args.default_requests.get("cpu", 0))
        # node -> pod -> when it was seen, millicores, whether it was placed since the beginning of the run
        self._came: dict[str, dict[str, tuple[float, int, bool]]] = {}
        for pod in cluster.pods.values():
            self._count(pod, True)
        cluster.watch_pods(self._count)

    def _count(self, pod: PodInfo, placed: bool) -> None:
        if placed:
            new = not pod.pod.spec.node_name
            self._came.setdefault(pod.node, {})[pod.key] = (self.cluster.now(), self.predicted(pod.pod), new)
        else:
            self._came.get(pod.node, {}).pop(pod.key, None)

    def recall_pods(self, placed: Iterable[PodInfo], evicted: Iterable[tuple[PodInfo, bool]]) -> None:
        """Note that the run placed these pods, so that the measurements lack them."""
        for pod in placed:
            self._came[pod.node][pod.key] = (self.cluster.now(), self.predicted(pod.pod), True)

    def predicted(self, pod: Pod) -> int:
        """Return how many millicores a pod is predicted to use. Init containers do not count."""
        used = quantity.milli_value(pod.spec.overhead.get("cpu", 0))
        for container in pod.spec.containers:
            limits, requests = container.resources.limits, container.resources.requests
            if "cpu" in limits:
                used += quantity.milli_value(limits["cpu"])
            elif "cpu" in requests:
                used += go_round(float(quantity.milli_value(requests["cpu"])) * self._multiplier)
            else:
                used += self._default
        return used

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return 100 at the target, less below it and much less above it; 0 beyond 100 % and without measurements."""
        own = self.predicted(pod.pod)
        chosen = np.arange(len(self.cluster.nodes))[rows].tolist()
        return np.array([self._score(row, own) for row in chosen], np.int64)

    def _usage(self, row: int, own: int) -> float | None:
        """Return the predicted load in percent; None without measurements."""
        node, load = self.cluster.nodes.nodes[row], trimaran.load_of(self.cluster)
        measured = None
        for metric in load.of_node(node.name) or ():
            if metric.type == trimaran.CPU and metric.operator in (trimaran.AVERAGE, trimaran.LATEST):
                measured = metric.value
        if measured is None:
            return None
        capacity = float(quantity.milli_value(node.status.capacity.get("cpu", 0)))
        if not capacity:
            return 0.0
        missing = 0
        for seen, used, new in self._came.get(node.name, {}).values():
            missing += used if (new if load.at_start else self._lacks(load, seen)) else 0
        return 100 * (measured / 100 * capacity + float(own) + float(missing)) / capacity

    @staticmethod
    def _lacks(load: trimaran.MeasuredLoad, seen: float) -> bool:
        """Return whether the measurements lack a pod that was seen at this time."""
        return load.window.end - math.floor(seen) < REPORTING_SECONDS

    def _score(self, row: int, own: int) -> int:
        usage, target = self._usage(row, own), float(self.args.target_utilization)
        if usage is None:
            return 0
        if usage <= target:
            return trimaran.rounded_int64((100 - target) * usage / target + target)
        return 0 if usage > 100 else trimaran.rounded_int64(target * (100 - usage) / (100 - target))

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        own = self.predicted(view.pod.pod)
        usage, score = self._usage(view.row, own), self._score(view.row, own)
        if usage is None:
            return constant(0, "no measurement").with_text(trimaran.NO_LOAD)
        text = f"{score}: the predicted load of {view.node.name} is {usage:.1f} %"
        text += f", the target {self.args.target_utilization} %"
        return constant(score, "by the predicted load").with_text(text)
