"""Priorities by utilization of the node with the pod, and ResourceLimitsPriority.

They are LeastRequestedPriority, MostRequestedPriority, BalancedResourceAllocation and RequestedToCapacityRatioPriority.
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
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy.priorities.scale import MAX_PRIORITY, max_priority
from scheduler_core.plugins.resource_allocation import broken_linear, quotients, round_half_away
from scheduler_core.provenance.context import View
from scheduler_core.provenance.requests import in_use, request, unit_of
from scheduler_core.provenance.tree import (
    Tree,
    absolute,
    constant,
    divide,
    divide_int,
    either,
    every,
    less,
    less_equal,
    multiply,
    over,
    rounded,
    some,
    subtract,
    total,
    truncated,
)

CPU_AND_MEMORY = (("cpu", 1), ("memory", 1))


def quantities(cluster: Cluster, pod: PodInfo, name: str, rows: fwk.Rows) -> tuple[fwk.Int64, fwk.Int64]:
    """Return (allocatable, requested with the pod) over the rows; int64.

    cpu and memory include default requests for containers without requests. The allocatable amount of a resource that
    no node has is 0.
    """
    nodes = cluster.nodes
    allocatable = nodes.allocatable.get(name)
    if allocatable is None:
        none = np.zeros(len(nodes), np.int64)[rows]
        return none, none + _container_requests(pod, name)
    used = nodes.requested[name]
    if name in (resources.CPU, resources.MEMORY):
        used = nodes.nonzero_cpu if name == resources.CPU else nodes.nonzero_memory
        return allocatable[rows], used[rows] + pod.nonzero_incoming[name == resources.MEMORY]
    return allocatable[rows], used[rows] + _container_requests(pod, name)


def _container_requests(pod: PodInfo, name: str) -> int:
    """Return the requests of the containers; init containers do not count here."""
    requests = [container.resources.requests for container in pod.pod.spec.containers]
    return sum(resources.amount(name, quantity.nano_value(asked[name])) for asked in requests if name in asked)


def filled(view: View, name: str) -> tuple[Tree, Tree]:
    """Return the trees of `quantities` on the view's node."""
    unit = unit_of(name)
    has = view.field(view.node, "status", "allocatable", name, unit=unit, label=f"allocatable {name}", missing=0)
    if name in (resources.CPU, resources.MEMORY):
        with_pod = request(view, view.pod, name, nonzero=True, incoming=True)
    else:
        with_pod = constant(_container_requests(view.pod, name), f"{name} of the pod's containers", unit)
    return has, in_use(view, view.row, name, nonzero=True, also=with_pod)


class _Mean(fwk.ScorePlugin):
    """Mean of the scores of cpu and memory."""

    def points(self, requested: fwk.Int64, capacity: fwk.Int64) -> fwk.Int64:
        """Return a resource's score where capacity > 0 and requested <= capacity."""
        raise NotImplementedError

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        total = np.zeros(len(self.cluster.nodes.pod_count[rows]), np.int64)
        for name, _ in CPU_AND_MEMORY:
            capacity, requested = quantities(self.cluster, pod, name, rows)
            fits = (capacity > 0) & (requested <= capacity)
            if fits.all():
                total += self.points(requested, capacity)
            else:
                total[fits] += self.points(requested[fits], capacity[fits])
        return total // len(CPU_AND_MEMORY)

    def explain_points(self, has: Tree, used: Tree) -> Tree:
        """Return the tree of `points`."""
        raise NotImplementedError

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        points, texts = [], []
        for name, _ in CPU_AND_MEMORY:
            has, used = filled(view, name)
            if has.value > 0 and used.value <= has.value:
                own = divide_int(self.explain_points(has, used), has, f"points for {name}")
            else:
                own = either(less(has, used, f"{name} would be overcommitted"), constant(0), constant(0))
                own = own.with_label(f"points for {name}")
            points.append(own)
            texts.append(f"{name} {own.value}")
        tree = divide_int(total(points, "points"), constant(len(points), "resources"))
        return tree.with_text(f"{tree.value} = the mean of {' and '.join(texts)} ({view.node.name})")


class LeastRequestedPriority(_Mean):
    """Scores 10 x the free share of cpu and memory with the pod; 0 for a resource that would be overcommitted."""

    name = "LeastRequestedPriority"

    def points(self, requested: fwk.Int64, capacity: fwk.Int64) -> fwk.Int64:
        return quotients((capacity - requested) * MAX_PRIORITY, capacity)

    def explain_points(self, has: Tree, used: Tree) -> Tree:
        return multiply(subtract(has, used, "free with this pod"), max_priority())


class MostRequestedPriority(_Mean):
    """Scores 10 x the used share of cpu and memory with the pod; 0 for a resource that would be overcommitted."""

    name = "MostRequestedPriority"

    def points(self, requested: fwk.Int64, capacity: fwk.Int64) -> fwk.Int64:
        return quotients(requested * MAX_PRIORITY, capacity)

    def explain_points(self, has: Tree, used: Tree) -> Tree:
        return multiply(used, max_priority())


class BalancedResourceAllocation(fwk.ScorePlugin):
    """Scores 10 x (1 - difference of the used shares of cpu and memory); 0 if either would be full."""

    name = "BalancedResourceAllocation"

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        shares = []
        for name, _ in CPU_AND_MEMORY:
            capacity, requested = quantities(self.cluster, pod, name, rows)
            there = capacity != 0
            if there.all():
                shares.append(requested / capacity)
            else:
                shares.append(np.where(there, requested / np.where(there, capacity, 1), 1.0))
        cpu, memory = shares
        scores = ((1 - np.abs(cpu - memory)) * float(MAX_PRIORITY)).astype(np.int64)
        full = (cpu >= 1) | (memory >= 1)
        return np.where(full, 0, scores) if full.any() else scores

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        shares = []
        for name, _ in CPU_AND_MEMORY:
            has, used = filled(view, name)
            share = divide(used, has) if has.value else constant(1.0, f"no {name}: full")
            shares.append(share.with_label(f"used share of {name}"))
        text = " and ".join(f"{share.label.removeprefix('used share of ')} {share.value:.0%}" for share in shares)
        full = [less_equal(constant(1), share, f"{share.label}: full") for share in shares]
        if any(part.value for part in full):
            return either(some(full), constant(0), constant(0)).with_text(f"0: full, {text} used ({view.node.name})")
        apart = absolute(subtract(shares[0], shares[1]), "how far the shares are apart")
        tree = truncated(multiply(subtract(constant(1), apart), max_priority()))
        return tree.with_text(f"{tree.value} = how even the used shares are: {text} ({view.node.name})")


class RequestedToCapacityRatioPriority(fwk.ScorePlugin):
    """Weighted mean of the shape's scores at the utilization, over resources with a score above 0."""

    name = "RequestedToCapacityRatioPriority"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self.shape: list[tuple[int, int]] = list(args.shape) if args is not None else [(0, 10), (100, 0)]
        self.weights: tuple[tuple[str, int], ...] = args.resources if args is not None else CPU_AND_MEMORY
        self._table = broken_linear(self.shape)

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        size = len(self.cluster.nodes.pod_count[rows])
        total, divisor = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for name, weight in self.weights:
            capacity, requested = quantities(self.cluster, pod, name, rows)
            full = (capacity == 0) | (requested > capacity)
            free = (capacity - requested) * 100 // np.where(full, 1, capacity)
            points = self._table[np.where(full, 100, np.clip(100 - free, 0, 100))]
            total += np.where(points > 0, points * weight, 0)
            divisor += np.where(points > 0, weight, 0)
        return round_half_away(total / np.where(divisor == 0, 1, divisor))

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        points, weights, texts = [], [], []
        for name, weight in self.weights:
            has, used = filled(view, name)
            full = not has.value or used.value > has.value
            hundred = constant(100, "maxUtilization")
            free = hundred if full else divide_int(multiply(subtract(has, used), hundred), has, "free hundredths")
            use = 100 if full else 100 - free.value
            own = over("shape", int(self._table[min(max(use, 0), 100)]), len(self.shape), f"score at {use} % of {name}")
            texts.append(f"{name} {own.value} at {use} %")
            if own.value > 0:
                points.append(multiply(own, constant(weight, f"weight of {name}"), f"{name} x weight"))
                weights.append(constant(weight, f"weight of {name}"))
        if not points:
            return constant(0, "no resource scores").with_text(f"0: {', '.join(texts)} ({view.node.name})")
        tree = rounded(divide(total(points, "points"), total(weights, "weights")))
        return tree.with_text(f"{tree.value} = the weighted mean of {', '.join(texts)} ({view.node.name})")


class ResourceLimitsPriority(fwk.ScorePlugin):
    """Scores 1 for nodes that can hold the pod's limit of cpu or memory (ResourceLimitsPriorityFunction)."""

    name = "ResourceLimitsPriority"

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        held = np.zeros(len(self.cluster.nodes), np.bool_)
        for name in (resources.CPU, resources.MEMORY):
            limit = limit_of(pod, name)
            allocatable = self.cluster.nodes.allocatable[name]
            if limit:
                held |= (allocatable != 0) & (limit <= allocatable)
        return held.astype(np.int64)[rows]

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        parts = []
        for name in (resources.CPU, resources.MEMORY):
            limit = limit_of(view.pod, name)
            if limit:
                has = view.field(view.node, "status", "allocatable", name, unit=unit_of(name), missing=0)
                asks = constant(limit, f"limit of {name}", unit_of(name))
                parts.append(every([less(constant(0), has), less_equal(asks, has)], f"the limit of {name} fits"))
        tree = either(some(parts, "a limit of the pod fits"), constant(1), constant(0))
        return tree.with_text(
            f"{tree.value}: {view.node.name} {'could' if tree.value else 'could not'} hold the pod's limits"
        )


def limit_of(pod: PodInfo, name: str) -> int:
    """Return the sum of the containers' limits, or the limit of an init container if it is higher; 0 for none."""
    spec = pod.pod.spec
    texts = [
        [
            resources.amount(name, quantity.nano_value(c.resources.limits[name]))
            for c in some
            if name in c.resources.limits
        ]
        for some in (spec.containers, spec.init_containers)
    ]
    return max(sum(texts[0]), *texts[1], 0)
