"""Fragmentation of GPUs: how much idle GPU the typical pods of a workload cannot use.

A GPU node is given by its idle CPU and, for each device, the idle thousandths of that device. The idle GPU of a node is
a fragment for a typical pod if the pod does not fit there or requests no GPU; otherwise the devices that are too small
for it are. The fragmentation of a node is the mean over the typical pods, weighted by their popularity.

Source: Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent",
USENIX ATC 2023, section 3; hkust-adsl/kubernetes-scheduler-simulator, pkg/utils/frag.go.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from scheduler_core.metrics.distribution import most_frequent

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

DEVICE = 1000  # thousandths of a GPU


class GPUShape(NamedTuple):
    """What a pod requests: thousandths of a CPU, the number of devices, thousandths of each device, and the GPU models
    that it accepts (empty: any)."""

    cpu: int
    devices: int
    milli: int
    models: tuple[str, ...] = ()

    @property
    def gpu(self) -> int:
        """Thousandths of a GPU in total."""
        return self.devices * self.milli

    @property
    def shares_device(self) -> bool:
        """Whether the pod requests less than one device."""
        return self.devices == 1 and self.milli < DEVICE

    def accepts(self, model: str) -> bool:
        """Return whether the pod may use a GPU of this model."""
        return not self.models or model in self.models


@dataclass(frozen=True, eq=False)
class TypicalPods:
    """The typical pods of a workload. `cpu`, `devices`, `milli`: int64, a row per shape. `popularity`: float64, sums to
    1. `accepts`: bool, shape by model, in the order of the models given to `from_shapes`."""

    cpu: Int64
    devices: Int64
    milli: Int64
    popularity: Float64
    accepts: npt.NDArray[np.bool_]

    @classmethod
    def from_shapes(cls, shapes: Iterable[GPUShape], models: Iterable[str], coverage: float = 0.95) -> Self:
        """Return the distinct shapes, most frequent first, until they are at least `coverage` of all pods."""
        ranked = sorted(Counter(shapes).items(), key=lambda item: (item[1], item[0]), reverse=True)
        chosen, known = most_frequent(ranked, coverage), list(models)
        counts = np.array([count for _, count in chosen])
        return cls(
            np.array([shape.cpu for shape, _ in chosen], np.int64),
            np.array([shape.devices for shape, _ in chosen], np.int64),
            np.array([shape.milli for shape, _ in chosen], np.int64),
            counts / max(counts.sum(), 1),
            np.array([[shape.accepts(model) for model in known] for shape, _ in chosen], bool).reshape(-1, len(known)),
        )


def fragments(typical: TypicalPods, cpu: Int64, devices: Int64, models: Any) -> Float64:
    """Return the fragmentation of nodes in thousandths of a GPU.

    `cpu`: idle thousandths of a CPU, a row per node. `devices`: idle thousandths of each device, node by device; 0
    where a node has fewer devices. `models`: the position of each node's GPU model.
    """
    large_enough = devices[:, None, :] >= typical.milli[None, :, None]
    fits = (
        (large_enough.sum(axis=2) >= typical.devices)
        & (cpu[:, None] >= typical.cpu)
        & typical.accepts.T[models]
        & (typical.milli > 0)
    )
    too_small = np.where(large_enough, 0, devices[:, None, :]).sum(axis=2)
    lost = np.where(fits, too_small, devices.sum(axis=1)[:, None])
    return np.asarray((lost * typical.popularity).sum(axis=1), np.float64)


MAX_DEVICES = 64  # of a node; further ones are not considered
_ROWS = 512  # nodes that are computed at once
_GPU = re.compile(r"(?:^|[./-])gpu(-milli)?$")


def gpu_fragmentation(free: Mapping[str, Int64], pods: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """Map each GPU resource of the nodes (`nvidia.com/gpu`, or `.../gpu-milli` in thousandths) to its fragmentation in
    GPUs, over all nodes and for the typical pods among `pods` (their requests).

    `free`: resource -> int64 over nodes. Resources name no single devices, so at most one device of a node counts as
    partly used, and every pod accepts every GPU model.
    """
    found = {}
    for name, column in free.items():
        match = _GPU.search(name)
        if match is None:
            continue
        unit = 1 if match[1] else DEVICE
        idle = np.minimum(column, MAX_DEVICES * DEVICE // unit) * unit
        typical = TypicalPods.from_shapes(
            (_shape(requests.get("cpu", 0), requests.get(name, 0) * unit) for requests in pods), [""]
        )
        nodes, count = np.unique(
            np.stack((free.get("cpu", np.zeros_like(idle))[idle > 0], idle[idle > 0])), axis=1, return_counts=True
        )
        first = DEVICE * np.arange(-(-int(idle.max(initial=0)) // DEVICE))
        total = 0.0
        for start in range(0, len(count), _ROWS):
            cpu, milli = nodes[:, start : start + _ROWS]
            devices = np.clip(milli[:, None] - first, 0, DEVICE)
            lost = fragments(typical, cpu, devices, np.zeros(len(cpu), np.intp))
            total += float(lost @ count[start : start + _ROWS])
        found[name] = round(total / DEVICE, 6)
    return found


def _shape(cpu: int, gpu: int) -> GPUShape:
    if gpu < DEVICE:
        return GPUShape(cpu, 1 if gpu > 0 else 0, max(gpu, 0))
    return GPUShape(cpu, -(-gpu // DEVICE), DEVICE)
