"""The score of VolumeBinding: how much of the storage that a node offers the pod's claims request.

Upstream: pkg/scheduler/framework/plugins/volumebinding (scorer.go; volume_binding.go: Score).
"""

import numpy as np

from scheduler_core.api.plugin_args import UtilizationShapePoint
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins.resource_allocation import Strategy, requested_to_capacity_ratio, round_half_away

DEFAULT_SHAPE = (UtilizationShapePoint(utilization=0, score=10), UtilizationShapePoint(utilization=100, score=0))
"""Plenty of free storage is best (upstream: SetDefaults_VolumeBindingArgs)."""


def strategy_of(shape: tuple[UtilizationShapePoint, ...] | None) -> Strategy:
    """Return the scoring strategy of a shape; without points that of the default one."""
    return Strategy("RequestedToCapacityRatio", (), shape or DEFAULT_SHAPE, own=True)


class ClassTotals:
    """What the claims of a pod request of each storage class, and what the class offers, on some nodes.

    Amounts are int64 columns over these nodes, in bytes.
    """

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._by_class: dict[str, tuple[fwk.Int64, fwk.Int64, fwk.Bool]] = {}

    def columns(self, storage_class: str) -> tuple[fwk.Int64, fwk.Int64, fwk.Bool]:
        """Return (requested, capacity, nodes where the class counts), to be changed in place."""
        if storage_class not in self._by_class:
            zeros = np.zeros(self._nodes, np.int64)
            self._by_class[storage_class] = zeros, zeros.copy(), np.zeros(self._nodes, np.bool_)
        return self._by_class[storage_class]

    def scores(self, strategy: Strategy) -> fwk.Int64:
        """Return the rounded mean over the classes that count on a node, 0 without any: the strategy's score for
        requested / capacity. A class without capacity is full."""
        formula = requested_to_capacity_ratio(strategy.points)
        total, classes = np.zeros(self._nodes, np.int64), np.zeros(self._nodes, np.int64)
        for requested, capacity, here in self._by_class.values():
            score = formula(np.where(capacity == 0, 1, requested), np.where(capacity == 0, 1, capacity))
            total += np.where(here, score, 0)
            classes += here
        return round_half_away(total / np.maximum(classes, 1))
