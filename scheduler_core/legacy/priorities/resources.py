"""How full a node would be with the pod: LeastRequestedPriority, MostRequestedPriority, BalancedResourceAllocation,
RequestedToCapacityRatioPriority; and ResourceLimitsPriority.

Source: pkg/scheduler/algorithm/priorities (resource_allocation.go, least_requested.go, most_requested.go,
balanced_resource_allocation.go, requested_to_capacity_ratio.go, resource_limits.go).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scheduler_core.api import quantity
from scheduler_core.cluster import resources
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import CycleState, Int64, Rows, ScorePlugin
from scheduler_core.legacy.priorities.scale import MAX_PRIORITY
from scheduler_core.plugins.resource_allocation import broken_linear, quotients, round_half_away

CPU_AND_MEMORY = (("cpu", 1), ("memory", 1))


def amounts(cluster: Cluster, pod: PodInfo, name: str, rows: Rows) -> tuple[Int64, Int64]:
    """(allocatable, requested with the pod) over the rows; cpu and memory with defaults for containers that ask for
    nothing. A resource that no node has is there with 0. int64."""
    nodes = cluster.nodes
    allocatable = nodes.allocatable.get(name)
    if allocatable is None:
        none = np.zeros(len(nodes), np.int64)[rows]
        return none, none + _asked(pod, name)
    used = nodes.requested[name]
    if name in (resources.CPU, resources.MEMORY):
        used = nodes.nonzero_cpu if name == resources.CPU else nodes.nonzero_memory
        return allocatable[rows], used[rows] + pod.nonzero_incoming[name == resources.MEMORY]
    return allocatable[rows], used[rows] + _asked(pod, name)


def _asked(pod: PodInfo, name: str) -> int:
    """What the containers ask for; init containers do not count here."""
    requests = [container.resources.requests for container in pod.pod.spec.containers]
    return sum(resources.amount(name, quantity.nano_value(asked[name])) for asked in requests if name in asked)


class _Mean(ScorePlugin):
    """The mean of cpu's and memory's scores."""

    def points(self, requested: Int64, capacity: Int64) -> Int64:
        """A resource's score where capacity > 0 and requested <= capacity."""
        raise NotImplementedError

    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        total = np.zeros(len(self.cluster.nodes.pod_count[rows]), np.int64)
        for name, _ in CPU_AND_MEMORY:
            capacity, requested = amounts(self.cluster, pod, name, rows)
            fits = (capacity > 0) & (requested <= capacity)
            if fits.all():
                total += self.points(requested, capacity)
            else:
                total[fits] += self.points(requested[fits], capacity[fits])
        return total // len(CPU_AND_MEMORY)


class LeastRequestedPriority(_Mean):
    """10 x what would be free of cpu and memory; 0 for a resource that would be overcommitted."""

    name = "LeastRequestedPriority"

    def points(self, requested: Int64, capacity: Int64) -> Int64:
        return quotients((capacity - requested) * MAX_PRIORITY, capacity)


class MostRequestedPriority(_Mean):
    """10 x what would be used of cpu and memory; 0 for a resource that would be overcommitted."""

    name = "MostRequestedPriority"

    def points(self, requested: Int64, capacity: Int64) -> Int64:
        return quotients(requested * MAX_PRIORITY, capacity)


class BalancedResourceAllocation(ScorePlugin):
    """10 x (1 - how far the used shares of cpu and memory would be apart); 0 where either would be full."""

    name = "BalancedResourceAllocation"

    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        shares = []
        for name, _ in CPU_AND_MEMORY:
            capacity, requested = amounts(self.cluster, pod, name, rows)
            there = capacity != 0
            if there.all():
                shares.append(requested / capacity)
            else:
                shares.append(np.where(there, requested / np.where(there, capacity, 1), 1.0))
        cpu, memory = shares
        scores = ((1 - np.abs(cpu - memory)) * float(MAX_PRIORITY)).astype(np.int64)
        full = (cpu >= 1) | (memory >= 1)
        return np.where(full, 0, scores) if full.any() else scores


class RequestedToCapacityRatioPriority(ScorePlugin):
    """The score that a shape has at the utilization, a weighted mean over resources that score anything."""

    name = "RequestedToCapacityRatioPriority"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self.shape: list[tuple[int, int]] = list(args.shape) if args is not None else [(0, 10), (100, 0)]
        self.weights: tuple[tuple[str, int], ...] = args.resources if args is not None else CPU_AND_MEMORY
        self._table = broken_linear(self.shape)

    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        size = len(self.cluster.nodes.pod_count[rows])
        total, divisor = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for name, weight in self.weights:
            capacity, requested = amounts(self.cluster, pod, name, rows)
            full = (capacity == 0) | (requested > capacity)
            free = (capacity - requested) * 100 // np.where(full, 1, capacity)
            points = self._table[np.where(full, 100, np.clip(100 - free, 0, 100))]
            total += np.where(points > 0, points * weight, 0)
            divisor += np.where(points > 0, weight, 0)
        return round_half_away(total / np.where(divisor == 0, 1, divisor))


class ResourceLimitsPriority(ScorePlugin):
    """1 for nodes that could hold the pod's limit of cpu or of memory (ResourceLimitsPriorityFunction)."""

    name = "ResourceLimitsPriority"

    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        held = np.zeros(len(self.cluster.nodes), np.bool_)
        for name in (resources.CPU, resources.MEMORY):
            limit = limit_of(pod, name)
            allocatable = self.cluster.nodes.allocatable[name]
            if limit:
                held |= (allocatable != 0) & (limit <= allocatable)
        return held.astype(np.int64)[rows]


def limit_of(pod: PodInfo, name: str) -> int:
    """The limits of the containers together, or that of an init container if it is higher; 0 for none."""
    spec = pod.pod.spec
    told = [
        [
            resources.amount(name, quantity.nano_value(c.resources.limits[name]))
            for c in some
            if name in c.resources.limits
        ]
        for some in (spec.containers, spec.init_containers)
    ]
    return max(sum(told[0]), *told[1], 0)
