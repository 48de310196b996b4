"""Metrics of the resources of nodes: requested shares, stranded resources, hole filling.

Columns are int64 over nodes, in the scheduler's units (millicores of cpu, whole units of other resources).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.nodes import NodeTable
from scheduler_core.cluster.resources import CPU, MEMORY
from scheduler_core.metrics.distribution import figures, most_frequent

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Requests = Mapping[str, int]  # resource -> quantity

PODS = "pods"
COVERAGE = 0.95  # of the pods, by the typical ones
FULLNESS_BINS = 20


@dataclass(frozen=True, eq=False)
class NodeResources:
    """The allocatable and requested quantities of nodes: resource -> column. `pods` is a resource of which each pod
    requests one."""

    allocatable: Mapping[str, Int64]
    requested: Mapping[str, Int64]

    @classmethod
    def from_nodes(cls, nodes: NodeTable) -> Self:
        """Return the resources that some node has."""
        allocatable = {**nodes.allocatable, PODS: nodes.allowed_pods}
        requested = {**nodes.requested, PODS: nodes.pod_count}
        there = [name for name, column in allocatable.items() if (column > 0).any()]
        return cls({name: allocatable[name] for name in there}, {name: requested[name] for name in there})

    def free(self) -> dict[str, Int64]:
        """Return what is free of each resource, at least 0."""
        return {name: np.maximum(has - self.requested[name], 0) for name, has in self.allocatable.items()}


def requested_shares(resources: NodeResources) -> dict[str, dict[str, float]]:
    """Map each resource to the figures of its requested share, over the nodes that have it."""
    return {name: figures(share) for name, share in _shares(resources).items()}


def fullness(resources: NodeResources) -> dict[str, list[int]]:
    """Map each resource to a histogram of its requested share: the number of nodes in each of 20 equal intervals from 0
    to 1. The first and the last one also count nodes with less and more."""
    found = {}
    for name, share in _shares(resources).items():
        bins = np.clip(share * FULLNESS_BINS, 0, FULLNESS_BINS - 1).astype(np.int64)
        found[name] = np.bincount(bins, minlength=FULLNESS_BINS).tolist()
    return found


def _shares(resources: NodeResources) -> dict[str, Float64]:
    return {name: resources.requested[name][has > 0] / has[has > 0] for name, has in resources.allocatable.items()}


def typical_requests(pods: Sequence[Requests]) -> list[Requests]:
    """Return the distinct requests of pods, most frequent first, until they are those of 95% of the pods.

    Requests of 0 are left out. Source: as in metrics/fragmentation.py.
    """
    written = Counter[tuple[tuple[str, int], ...]]()
    for requests, count in _distinct(pods):
        written[tuple(sorted((name, amount) for name, amount in requests.items() if amount > 0))] += count
    ranked = sorted(written.items(), key=lambda item: (-item[1], item[0]))
    return [dict(key) for key, _ in most_frequent(ranked, COVERAGE)]


def _distinct(pods: Sequence[Requests]) -> Iterator[tuple[Requests, int]]:
    """Yield requests and how many pods share them, as equal pods do."""
    distinct = {id(requests): requests for requests in pods}
    for identity, count in Counter(map(id, pods)).items():
        yield distinct[identity], count


def mean_request(pods: Sequence[Requests]) -> dict[str, int]:
    """Return the mean request over all pods, rounded up, of cpu, memory and each resource that at least half of the
    pods request. Others would exclude nodes that suffice for most pods."""
    total, users = Counter[str](), Counter[str]()
    for requests, count in _distinct(pods):
        for name, amount in requests.items():
            if amount > 0:
                total[name] += amount * count
                users[name] += count
    chosen = (name for name in total if name in (CPU, MEMORY) or 2 * users[name] >= len(pods))
    return {name: -(-total[name] // len(pods)) for name in chosen}


def stranded(free: Mapping[str, Int64], typical: Sequence[Requests]) -> dict[str, int]:
    """Map each resource except `pods` to how much of it is stranded: the free total on nodes where no typical pod fits,
    although one that requests the resource would fit if the other resources sufficed.

    `free`: as of NodeResources. `typical`: as of `typical_requests`.
    """
    size = len(next(iter(free.values()))) if free else 0
    has_place = free[PODS] > 0 if PODS in free else np.ones(size, np.bool_)
    closed = np.ones(size, np.bool_)
    smallest: dict[str, int] = {}
    for requests in ({name: amount for name, amount in one.items() if amount > 0} for one in typical):
        for name, amount in requests.items():
            smallest[name] = min(amount, smallest.get(name, amount))
        rows = np.flatnonzero(closed & has_place)
        fits = np.ones(len(rows), np.bool_)
        for name, amount in requests.items():
            fits &= free[name][rows] >= amount if name in free else False
        closed[rows[fits]] = False
    names = [name for name in free if name in smallest and name != PODS]
    return {name: int(free[name][closed & (free[name] >= smallest[name])].sum()) for name in names}


def hole_filling(free: Mapping[str, Int64], unit: Requests) -> int:
    """Return how many pods with the requests `unit` would fit into the free resources of the nodes: the sum over nodes
    of the minimum over resources of floor(free / request). `unit`: a pod also takes one of `pods`.

    Source: Verma, Korupolu, Wilkes, "Evaluating job packing in warehouse-scale computing", CLUSTER 2014.
    """
    fit: Int64 | None = None
    for name, amount in {PODS: 1, **unit}.items():
        if amount <= 0:
            continue
        if name not in free:
            if name == PODS:
                continue
            return 0
        column = free[name] // amount
        fit = column if fit is None else np.minimum(fit, column)
    return int(fit.sum()) if fit is not None else 0
