"""Scores and devices of each placement policy on small clusters, computed by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest

from scheduler_core.metrics.fragmentation import GPUShape, TypicalPods
from scheduler_core.openb.gpu_cluster import GPUCluster
from scheduler_core.openb.policies import POLICIES, PlacementPolicy
from scheduler_core.openb.trace import TraceNode, TracePod

HALF, WHOLE, TWO, PLAIN = (
    GPUShape(8000, 1, 500),
    GPUShape(8000, 1, 1000),
    GPUShape(16000, 2, 1000),
    GPUShape(8000, 0, 0),
)
# a: two devices; b: four; c: eight
NODES = [
    TraceNode("a", 32_000, 1000, 2, "T4"),
    TraceNode("b", 64_000, 1000, 4, "T4"),
    TraceNode("c", 128_000, 1000, 8, "V100"),
]


def pod(shape: GPUShape, memory: int = 100) -> TracePod:
    return TracePod("pod", shape, memory)


def cluster_with(*placed: tuple[GPUShape, int, int]) -> GPUCluster:
    """Return the cluster with pods: shape, node and device of each."""
    cluster = GPUCluster(NODES, TypicalPods.from_shapes([HALF], ["T4", "V100"]), ["T4", "V100"])
    for shape, row, device in placed:
        cluster.place(pod(shape), row, device)
    return cluster


def scores(name: str, cluster: GPUCluster, shape: GPUShape) -> list[int]:
    policy = POLICIES[name](cluster, random.Random(1))
    return [int(score) for score in policy.score(pod(shape), np.arange(len(NODES)))]


@pytest.mark.parametrize(
    ("name", "placed", "shape", "expected"),
    [
        # 100 (1 - (free CPU x requested CPU + free GPU x requested GPU) / 2), as parts of 128 CPUs and 8 GPUs
        ("DotProd", [], WHOLE, [97, 95, 90]),
        ("DotProd", [], PLAIN, [99, 98, 96]),
        # 100 (1 - half of the free CPU afterwards - half of the free GPU afterwards)
        ("BestFit", [], WHOLE, [84, 59, 9]),
        ("BestFit", [(TWO, 1, -1)], WHOLE, [84, 78, 9]),
        # idle nodes: max(33 - devices, devices)
        ("Packing", [], HALF, [31, 29, 25]),
        # a's shared device has 50 %: 100 - 5; b has to use one more device: 50 - 1
        ("Packing", [(HALF, 0, 0), (WHOLE, 1, -1)], HALF, [95, 49, 25]),
        ("Packing", [(HALF, 0, 0), (WHOLE, 1, -1)], TWO, [-50, 48, 25]),
        ("Packing", [(HALF, 0, 0)], PLAIN, [0, 0, 0]),
        # idle nodes: 25 and 25 x used / 8 GPUs, where absent devices count as used
        ("Clustering", [], HALF, [43, 37, 25]),
        # a has pods of this kind alone, b of two kinds, c of another kind
        ("Clustering", [(HALF, 0, 0), (HALF, 1, 0), (WHOLE, 1, -1), (TWO, 2, -1)], HALF, [95, 67, 6]),
        ("Clustering", [(HALF, 0, 0)], PLAIN, [0, 0, 0]),
        # the mean of 100 x free / size of CPU, memory and GPU after the placement
        ("LeastAllocated", [], WHOLE, [(75 + 90 + 50) // 3, (87 + 90 + 75) // 3, (93 + 90 + 87) // 3]),
        ("LeastAllocated", [], PLAIN, [(75 + 90) // 2, (87 + 90) // 2, (93 + 90) // 2]),
        ("MostAllocated", [], WHOLE, [(25 + 10 + 50) // 3, (12 + 10 + 25) // 3, (6 + 10 + 12) // 3]),
        ("RequestedToCapacityRatio", [], WHOLE, [(25 + 10 + 50) // 3, (12 + 10 + 25) // 3, (6 + 10 + 12) // 3]),
    ],
)
def test_scores(name: str, placed: list[tuple[GPUShape, int, int]], shape: GPUShape, expected: list[int]) -> None:
    found = scores(name, cluster_with(*placed), shape)
    fits = cluster_with(*placed).fitting(pod(shape), np.arange(len(NODES)))
    assert [score if ok else -50 for score, ok in zip(found, fits, strict=True)] == expected


def test_fgd_prefers_the_device_whose_rest_typical_pods_can_use() -> None:
    # Typical pods request half a device. A pod of 0.3 leaves 0.2 of the half-used device and 0.7 of an idle one.
    cluster = cluster_with((HALF, 0, 0))
    policy: PlacementPolicy = POLICIES["FGD"](cluster, random.Random(1))
    third = GPUShape(1000, 1, 300)
    # idle node: no fragment before, none after: 50; a: 200 lost on device 0, none on device 1
    assert policy.score(pod(third), np.arange(3)).tolist() == [50, 50, 50]
    assert policy.device(pod(third), 0) == 1
    # 0.5 fits exactly on the used device and on an idle one alike: the first is taken
    assert policy.device(pod(HALF), 0) == 0


def test_fgd_scores_by_the_growth_of_the_fragmentation() -> None:
    cluster = cluster_with()
    policy: PlacementPolicy = POLICIES["FGD"](cluster, random.Random(1))
    # 0.7 of a device leaves 0.3, which no typical pod can use: 100 / (1 + e^0.3)
    assert policy.score(pod(GPUShape(1000, 1, 700)), np.arange(3)).tolist() == [42, 42, 42]
    # Without CPU for another typical pod all idle devices are lost: 1 of a, 3 of b, none of c
    big = GPUShape(30_000, 1, 1000)
    assert policy.score(pod(big), np.array([0])).tolist() == [26]
    assert policy.score(pod(big), np.array([1, 2])).tolist() == [50, 50]


def test_ties_are_broken_by_the_rank_of_the_node_and_best_fit_is_normalized() -> None:
    cluster = cluster_with()
    packing = POLICIES["Packing"](cluster, random.Random(1))
    assert packing.best(np.array([5, 7, 7]), np.array([0, 1, 2]), np.array([0, 2, 1])) == 2
    best_fit = POLICIES["BestFit"](cluster, random.Random(1))
    # 0..100 in steps of a quarter of a point: 99 and 100 of 400 stay apart, 400 x 100 // 400
    assert best_fit.best(np.array([0, 399, 400]), np.array([0, 1, 2]), np.array([0, 1, 2])) == 2
    assert best_fit.best(np.array([4, 4, 4]), np.array([0, 1, 2]), np.array([2, 1, 0])) == 2


def test_a_pod_gets_devices_only_where_it_fits() -> None:
    cluster = cluster_with((HALF, 0, 0), (WHOLE, 0, -1))
    assert cluster.devices[0].tolist() == [500, 0, 0, 0, 0, 0, 0, 0]
    assert cluster.fitting(pod(WHOLE), np.arange(3)).tolist() == [False, True, True]
    assert cluster.fitting(pod(HALF._replace(models=("V100",))), np.arange(3)).tolist() == [False, False, True]
    assert cluster.fitting(pod(HALF, memory=801), np.arange(3)).tolist() == [False, True, True]
    assert cluster.fitting(pod(GPUShape(17_000, 0, 0)), np.arange(3)).tolist() == [False, True, True]


def test_a_random_pod_is_placed_on_any_node_and_device() -> None:
    cluster = cluster_with()
    policy = POLICIES["Random"](cluster, random.Random(3))
    rows = np.arange(3)
    chosen = {policy.best(policy.score(pod(HALF), rows), rows, rows) for _ in range(100)}
    assert chosen == {0, 1, 2}
    assert {policy.device(pod(HALF), 1) for _ in range(100)} == {0, 1, 2, 3}
