"""Places the arriving pods of the openb trace by a policy, and measures allocation and fragmentation on the way.

Source: hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator/simulator.go (SortClusterPods, tuneUpPods,
tuneDownPods, syncClusterResourceList).
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scheduler_core.metrics.fragmentation import Int64, TypicalPods
from scheduler_core.openb.gpu_cluster import Bool, GPUCluster
from scheduler_core.openb.policies import PlacementPolicy
from scheduler_core.openb.trace import TraceNode, TracePod

ARRIVED = (60, 80, 90, 95, 100, 110, 120, 130)  # percent of the GPU capacity; the last one ends the workload


class Measurement(NamedTuple):
    """The state once pods that request `arrived` percent of all GPUs have arrived.

    `allocated`, `fragmented`: percent of all GPUs. `fragment_ratio`: percent of the idle GPUs.
    """

    arrived: int
    allocated: float
    fragmented: float
    fragment_ratio: float


class _ShapeColumn:
    """What is known of the nodes for equal pods: whether a pod fits, and the score; `seen`: placements included."""

    def __init__(self, nodes: int) -> None:
        self.seen = -1
        self.fits: Bool = np.zeros(nodes, bool)
        self.scores: Int64 = np.zeros(nodes, np.int64)


def workload(pods: Sequence[TracePod], capacity: int, generator: random.Random) -> list[TracePod]:
    """Return the arriving pods: the trace's in random order, then pods drawn from it with replacement, until their
    requests reach the last of ARRIVED. If the trace requests more, random pods are left out."""
    target = ARRIVED[-1] / 100 * capacity
    arriving = list(pods)
    generator.shuffle(arriving)
    total = sum(pod.shape.gpu for pod in arriving)
    while total > target:
        total -= arriving.pop(generator.randrange(len(arriving))).shape.gpu
    while total + (drawn := pods[generator.randrange(len(pods))]).shape.milli <= target:
        total += drawn.shape.gpu
        arriving.append(drawn)
    return arriving


def replay(
    nodes: Sequence[TraceNode], pods: Sequence[TracePod], policy: type[PlacementPolicy], seed: int
) -> list[Measurement]:
    """Place a workload drawn with `seed` and return a measurement for each of ARRIVED.

    Ties are broken by a random order of the nodes. A pod that fits nowhere is not tried again. No pod ends.
    """
    generator = random.Random(seed)
    models = sorted({node.model for node in nodes})
    cluster = GPUCluster(nodes, TypicalPods.from_shapes((pod.shape for pod in pods), models), models)
    arriving = workload(pods, cluster.capacity, generator)
    order = list(range(len(nodes)))
    generator.shuffle(order)
    rank = np.array(order)
    chooser = policy(cluster, generator)
    columns: dict[tuple[object, int], _ShapeColumn] = {}
    placed: list[int] = []
    measured: list[Measurement] = []
    arrived = allocated = 0
    for pod in arriving:
        column = columns.setdefault((pod.shape, pod.memory), _ShapeColumn(len(nodes)))
        _refresh(column, pod, cluster, chooser, placed)
        arrived += pod.shape.gpu
        rows = np.flatnonzero(column.fits)
        if len(rows):
            row = chooser.best(column.scores[rows], rows, rank)
            cluster.place(pod, row, chooser.device(pod, row) if pod.shape.shares_device else -1)
            placed.append(row)
            allocated += pod.shape.gpu
        while len(measured) < len(ARRIVED) and arrived >= ARRIVED[len(measured)] / 100 * cluster.capacity:
            measured.append(_measure(ARRIVED[len(measured)], cluster, allocated))
    # The last pod may end just below the last percentage.
    measured += [_measure(percent, cluster, allocated) for percent in ARRIVED[len(measured) :]]
    return measured


def _refresh(
    column: _ShapeColumn, pod: TracePod, cluster: GPUCluster, policy: PlacementPolicy, placed: list[int]
) -> None:
    """Compute a column anew where nodes changed since equal pods were last placed."""
    nodes = len(column.fits)
    changed = np.arange(nodes) if column.seen < 0 else np.unique(np.array(placed[column.seen :], np.intp))
    column.seen = len(placed)
    fits = cluster.fitting(pod, changed)
    column.fits[changed] = fits
    rows = changed[fits]
    if len(rows):
        column.scores[rows] = policy.score(pod, rows)


def _measure(percent: int, cluster: GPUCluster, allocated: int) -> Measurement:
    lost, idle = float(cluster.fragments.sum()), int(cluster.devices.sum())
    capacity = cluster.capacity
    return Measurement(percent, allocated / capacity * 100, lost / capacity * 100, lost / idle * 100 if idle else 0.0)
