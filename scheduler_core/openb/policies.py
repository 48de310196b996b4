"""Placement policies: the six of the published comparison, and the strategies of NodeResourcesFit.

A policy scores the nodes that a pod fits on; the highest score wins. Scores are integers, as in a score plugin.

Source: hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator/plugin (fgd_score.go, best_fit_score.go,
dot_product_score.go, gpu_packing_score.go, gpu_clustering_score.go, random_score.go).
"""

import random
from collections.abc import Callable

import numpy as np

from scheduler_core.metrics.fragmentation import DEVICE, Float64, GPUShape, Int64, fragments
from scheduler_core.openb.gpu_cluster import GPUCluster, affinity
from scheduler_core.openb.trace import MAX_DEVICES, TracePod
from scheduler_core.plugins.resource_allocation import least_allocated, most_allocated, requested_to_capacity_ratio

MAX_CPU, MAX_GPU = 128_000, MAX_DEVICES * DEVICE  # of the largest node, by which policies normalize
_ABSENT = 1 << 20  # larger than the idle share of any device


class PlacementPolicy:
    """A placement policy. It reads the columns of `cluster`."""

    name = ""
    normalizes = False  # whether scores are stretched to 0..100 over the nodes that fit

    def __init__(self, cluster: GPUCluster, generator: random.Random) -> None:
        self.cluster = cluster
        self.random = generator

    def score(self, pod: TracePod, rows: Int64) -> Int64:
        """Return the scores of rows that the pod fits on; int64."""
        raise NotImplementedError

    def device(self, pod: TracePod, row: int) -> int:
        """Return the device for a pod that shares one."""
        return self.cluster.tightest_device(pod.shape, row)

    def best(self, scores: Int64, rows: Int64, rank: Int64) -> int:
        """Return the row with the highest score. `rank`: position of each node in the order that breaks ties."""
        if self.normalizes:
            low, high = int(scores.min()), int(scores.max())
            scores = (scores - low) * 100 // (high - low) if high > low else np.zeros_like(scores)
        top = rows[scores == scores.max()]
        return int(top[rank[top].argmin()])


class RandomNode(PlacementPolicy):
    """A random node that fits, a random device of it."""

    name = "Random"

    def score(self, pod: TracePod, rows: Int64) -> Int64:
        return np.zeros(len(rows), np.int64)

    def best(self, scores: Int64, rows: Int64, rank: Int64) -> int:
        return int(rows[self.random.randrange(len(rows))])

    def device(self, pod: TracePod, row: int) -> int:
        return int(self.random.choice(np.flatnonzero(self.cluster.devices[row] >= pod.shape.milli).tolist()))


class DotProduct(PlacementPolicy):
    """The less the dot product of what is free and what is requested, the better."""

    name = "DotProd"

    def score(self, pod: TracePod, rows: Int64) -> Int64:
        cluster = self.cluster
        gpu = cluster.devices[rows].sum(axis=1)
        product = cluster.cpu[rows] / MAX_CPU * (pod.shape.cpu / MAX_CPU) + gpu / MAX_GPU * (pod.shape.gpu / MAX_GPU)
        return np.asarray(100 * (1 - product / 2), np.int64)


class Clustering(PlacementPolicy):
    """Nodes with pods of the same kind of GPU request first, then idle nodes; fuller nodes before emptier ones."""

    name = "Clustering"

    def score(self, pod: TracePod, rows: Int64) -> Int64:
        if not pod.shape.devices:
            return np.zeros(len(rows), np.int64)
        kinds = (self.cluster.affinities[rows] > 0).sum(axis=1)
        same = self.cluster.affinities[rows, affinity(pod.shape)] > 0
        base = np.where(same, np.where(kinds == 1, 75, 50), np.where(kinds == 0, 25, 0))
        used = MAX_GPU - self.cluster.devices[rows].sum(axis=1)
        return np.asarray(base + 25 * used // MAX_GPU, np.int64)


class Packing(PlacementPolicy):
    """A shared device first, then idle devices of a node in use, then an idle node."""

    name = "Packing"

    def score(self, pod: TracePod, rows: Int64) -> Int64:
        shape = pod.shape
        if not shape.devices:
            return np.zeros(len(rows), np.int64)
        idle = self.cluster.devices[rows]
        used_devices = np.sort(np.where(idle >= shape.milli, idle, _ABSENT), axis=1)[:, : shape.devices]
        idle_devices = (idle == DEVICE).sum(axis=1)
        newly_used = (used_devices == DEVICE).sum(axis=1)
        on_shared = np.maximum(100 - (used_devices * 100 // DEVICE).sum(axis=1) // 10, 50)
        on_used_node = np.maximum(50 - newly_used, 33)
        on_idle_node = np.maximum(33 - idle_devices, idle_devices)
        scores = np.where(newly_used > 0, on_used_node, on_shared)
        return np.asarray(np.where(idle_devices == self.cluster.sizes[rows], on_idle_node, scores), np.int64)


class BestFit(PlacementPolicy):
    """The less is free afterwards, the better."""

    name = "BestFit"
    normalizes = True

    def score(self, pod: TracePod, rows: Int64) -> Int64:
        cpu = (self.cluster.cpu[rows] - pod.shape.cpu) / MAX_CPU * 0.5
        gpu = (self.cluster.devices[rows].sum(axis=1) - pod.shape.gpu) / MAX_GPU * 0.5
        return np.asarray((1.0 - (cpu + gpu)) * 100, np.int64)


class FragmentationGradientDescent(PlacementPolicy):
    """The less the fragmentation of the node grows, the better."""

    name = "FGD"

    def score(self, pod: TracePod, rows: Int64) -> Int64:
        shape = pod.shape
        if shape.shares_device:
            return np.asarray(self._by_device(shape, rows).max(axis=1), np.int64)
        after = self.cluster.devices[rows]
        if shape.devices:
            idle = after == DEVICE
            after[idle & (np.cumsum(idle, axis=1) <= shape.devices)] = 0
        return self._points(shape, rows, after)

    def device(self, pod: TracePod, row: int) -> int:
        return int(self._by_device(pod.shape, np.array([row]))[0].argmax())

    def _by_device(self, shape: GPUShape, rows: Int64) -> Int64:
        """Return the score of each device, node by device; -1 where the pod does not fit."""
        idle = self.cluster.devices[rows]
        row, device = np.nonzero(idle >= shape.milli)
        after = idle[row]
        after[np.arange(len(row)), device] -= shape.milli
        scores = np.full(idle.shape, -1, np.int64)
        scores[row, device] = self._points(shape, rows[row], after)
        return scores

    def _points(self, shape: GPUShape, rows: Int64, after: Int64) -> Int64:
        cluster = self.cluster
        lost = fragments(cluster.typical, cluster.cpu[rows] - shape.cpu, after, cluster.models[rows])
        gained: Float64 = cluster.fragments[rows] - lost
        return np.asarray(100 / (1 + np.exp(-gained / DEVICE)), np.int64)


class StrategyPolicy(PlacementPolicy):
    """A scoring strategy of NodeResourcesFit over CPU, memory and, for pods that request it, GPU; equal weights."""

    formula: Callable[[Int64, Int64], Int64]

    def score(self, pod: TracePod, rows: Int64) -> Int64:
        cluster, shape = self.cluster, pod.shape
        sizes = [cluster.cpu_size[rows], cluster.memory_size[rows]]
        used = [sizes[0] - cluster.cpu[rows] + shape.cpu, sizes[1] - cluster.memory[rows] + pod.memory]
        if shape.devices:
            sizes.append(cluster.sizes[rows] * DEVICE)
            used.append(sizes[2] - cluster.devices[rows].sum(axis=1) + shape.gpu)
        formula = type(self).formula
        total = sum((formula(one, size) for one, size in zip(used, sizes, strict=True)), np.zeros(len(rows), np.int64))
        return np.asarray(total // len(sizes), np.int64)


class LeastAllocated(StrategyPolicy):
    name = "LeastAllocated"
    formula = staticmethod(least_allocated)


class MostAllocated(StrategyPolicy):
    name = "MostAllocated"
    formula = staticmethod(most_allocated)


class CapacityRatioPolicy(StrategyPolicy):
    """With the shape 0 to 0, 100 to 100: the fuller the node, the better."""

    name = "RequestedToCapacityRatio"
    formula = staticmethod(requested_to_capacity_ratio([(0, 0), (100, 100)]))


PUBLISHED: tuple[type[PlacementPolicy], ...] = (
    RandomNode,
    DotProduct,
    Clustering,
    Packing,
    BestFit,
    FragmentationGradientDescent,
)
IN_TREE: tuple[type[PlacementPolicy], ...] = (LeastAllocated, MostAllocated, CapacityRatioPolicy)
POLICIES = {policy.name: policy for policy in (*PUBLISHED, *IN_TREE)}
