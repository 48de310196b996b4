"""How full a node would be with the pod: the scoring formulas of NodeResourcesFit.

Upstream: pkg/scheduler/framework/plugins/noderesources (resource_allocation.go, least_allocated.go, most_allocated.go,
requested_to_capacity_ratio.go), pkg/scheduler/framework/plugins/helper (BuildBrokenLinearFunction).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from scheduler_core.cluster import resources
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import MAX_NODE_SCORE, Bool, Int64, Rows

ResourceScorer = Callable[[PodInfo, Rows], Int64]
Formula = Callable[[Int64, Int64], Int64]  # (requested, allocatable > 0), int64 over rows -> 0..100

_MAX_UTILIZATION = 100
_SHAPE_SCALE = 10  # a shape's scores are 0..10


def columns(cluster: Cluster, pod: PodInfo, name: str, rows: Rows, nonzero: bool) -> tuple[Int64, Int64] | None:
    """(allocatable, requested with the pod) of a resource, int64 over the rows; None where it does not take part.

    `nonzero` counts containers without requests of cpu or memory with their defaults.
    """
    nodes = cluster.nodes
    allocatable = nodes.allocatable.get(name)
    if name == resources.CPU:
        used = nodes.nonzero_cpu if nonzero else nodes.requested[name]
        amount = pod.nonzero_cpu if nonzero else pod.requests.get(name, 0)
    elif name == resources.MEMORY:
        used = nodes.nonzero_memory if nonzero else nodes.requested[name]
        amount = pod.nonzero_memory if nonzero else pod.requests.get(name, 0)
    else:
        amount = pod.requests.get(name, 0)
        if allocatable is None or (amount == 0 and name != resources.EPHEMERAL):
            return None
        used = nodes.requested[name]
    if allocatable is None:
        return None
    return allocatable[rows], used[rows] + amount


def divide(numerators: Int64, denominators: Int64) -> Int64:
    """numerators // denominators for 0 <= numerators <= 100 x denominators, denominators > 0; int64.

    float64 gives the same below 2^46: a quotient that is not whole is further than 1 / 2^46 from the next whole number,
    which is more than what rounding near 100 can move it. It takes a quarter of the time of integer division.
    """
    if len(denominators) and int(denominators.max()) < 1 << 46:
        return (numerators / denominators).astype(np.int64)
    return numerators // denominators


def least_allocated(requested: Int64, allocatable: Int64) -> Int64:
    """100 x free / allocatable; 0 where it would be overcommitted."""
    free = allocatable - requested
    np.maximum(free, 0, out=free)
    free *= MAX_NODE_SCORE
    return divide(free, allocatable)


def most_allocated(requested: Int64, allocatable: Int64) -> Int64:
    """100 x requested / allocatable, at most 100."""
    return divide(np.minimum(requested, allocatable) * MAX_NODE_SCORE, allocatable)


def broken_linear(shape: list[tuple[int, int]]) -> Int64:
    """The score of each utilization 0..100 under a shape of (utilization, score) points; int64[101]."""
    table = np.empty(_MAX_UTILIZATION + 1, np.int64)
    for utilization in range(_MAX_UTILIZATION + 1):
        table[utilization] = _interpolate(shape, utilization)
    return table


def _interpolate(shape: list[tuple[int, int]], utilization: int) -> int:
    for i, (x, y) in enumerate(shape):
        if utilization <= x:
            if i == 0:
                return y
            x0, y0 = shape[i - 1]
            rise = (y - y0) * (utilization - x0)
            step = abs(rise) // (x - x0)  # Go divides toward zero
            return y0 + (step if rise >= 0 else -step)
    return shape[-1][1]


def requested_to_capacity_ratio(shape: list[tuple[int, int]]) -> Formula:
    """The shape's score at the node's utilization; at 100 where it would be overcommitted."""
    table = broken_linear(shape)

    def formula(requested: Int64, allocatable: Int64) -> Int64:
        utilization = np.where(requested > allocatable, _MAX_UTILIZATION, requested * _MAX_UTILIZATION // allocatable)
        # the product may wrap, as Go's; the shape's ends hold beyond it
        points: Int64 = table[np.clip(utilization, 0, _MAX_UTILIZATION)]
        return points

    return formula


def round_half_away(values: Any) -> Int64:
    """math.Round, as int64."""
    whole = np.trunc(values)
    rounded: Int64 = (whole + np.where(np.abs(values - whole) >= 0.5, np.copysign(1.0, values), 0.0)).astype(np.int64)
    return rounded


def make_scorer(cluster: Cluster, strategy: Any) -> ResourceScorer:
    """The scorer of a NodeResourcesFit scoring strategy: the weighted mean over resources that the node has."""
    weights = [(spec.name, int(spec.weight)) for spec in strategy.resources]
    ratio = strategy.type == "RequestedToCapacityRatio"
    if ratio:
        shape = [(p.utilization, p.score * _SHAPE_SCALE) for p in strategy.requested_to_capacity_ratio.shape]
        formula = requested_to_capacity_ratio(shape)
    else:
        formula = most_allocated if strategy.type == "MostAllocated" else least_allocated

    def score(pod: PodInfo, rows: Rows) -> Int64:
        total: Any = 0
        divisor: Any = 0
        for name, weight in weights:
            found = columns(cluster, pod, name, rows, nonzero=True)
            if found is None:
                continue
            allocatable, requested = found
            counts: Bool | None = None
            if not allocatable.all():
                counts = allocatable != 0
                allocatable = np.where(counts, allocatable, 1)
            points = formula(requested, allocatable)
            if ratio:  # there, resources that score nothing do not count in the mean either
                counts = points > 0 if counts is None else counts & (points > 0)
            if counts is None:
                total = total + points * weight
                divisor = divisor + weight
            else:
                total = total + np.where(counts, points * weight, 0)
                divisor = divisor + np.where(counts, weight, 0)
        if isinstance(total, int):
            return np.zeros(len(cluster.nodes), np.int64)[rows]
        if not isinstance(divisor, int):
            divisor = np.where(divisor == 0, 1, divisor)
        if ratio:
            return round_half_away(total / divisor)
        return total // divisor  # type: ignore[no-any-return]

    return score
