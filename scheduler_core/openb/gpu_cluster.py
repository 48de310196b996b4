"""The nodes of the openb trace as columns, and the placement of pods on single devices.

Source: hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator/plugin/open_gpu_share.go, pkg/type/resource.go.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scheduler_core.metrics.fragmentation import DEVICE, Float64, GPUShape, Int64, TypicalPods, fragments
from scheduler_core.openb.trace import MAX_DEVICES, TraceNode, TracePod

Bool = npt.NDArray[np.bool_]
AFFINITIES = 5  # pods that share a device, and pods with 1, 2, 4 or 8 devices


def affinity(shape: GPUShape) -> int:
    """Return the column of `GPUCluster.affinities` of a pod with GPUs (upstream: GpuAffinity)."""
    return 0 if shape.shares_device else (shape.devices - 1).bit_length() + 1


class GPUCluster:
    """Nodes with GPUs.

    A row per node: `cpu`, `memory` (MiB), `cpu_size`, `memory_size`: int64. `devices`: idle thousandths, node by
    device, 0 where a node has fewer devices. `sizes`: number of devices. `models`: position in `model_names`.
    `affinities`: number of pods by kind of GPU request. `fragments`: fragmentation by the typical
    pods, in thousandths of a GPU.
    """

    def __init__(self, nodes: Sequence[TraceNode], typical: TypicalPods, model_names: Sequence[str]) -> None:
        self.typical = typical
        self.model_names = list(model_names)
        self.cpu_size = np.array([node.cpu for node in nodes], np.int64)
        self.memory_size = np.array([node.memory for node in nodes], np.int64)
        self.cpu, self.memory = self.cpu_size.copy(), self.memory_size.copy()
        self.sizes = np.array([node.devices for node in nodes], np.int64)
        self.models = np.array([self.model_names.index(node.model) for node in nodes], np.intp)
        self.devices = np.where(np.arange(MAX_DEVICES) < self.sizes[:, None], DEVICE, 0).astype(np.int64)
        self.affinities = np.zeros((len(nodes), AFFINITIES), np.int64)
        self.fragments: Float64 = fragments(typical, self.cpu, self.devices, self.models)
        self.capacity = int(self.sizes.sum()) * DEVICE

    def fitting(self, pod: TracePod, rows: Int64) -> Bool:
        """Return which of the rows can take a pod."""
        shape = pod.shape
        fits: Bool = (self.cpu[rows] >= shape.cpu) & (self.memory[rows] >= pod.memory)
        if shape.devices:
            accepted = np.array([shape.accepts(model) for model in self.model_names])
            fits &= accepted[self.models[rows]]
            fits &= (self.devices[rows] >= shape.milli).sum(axis=1) >= shape.devices
        return fits

    def place(self, pod: TracePod, row: int, device: int) -> None:
        """Place a pod. `device`: the device of a pod that shares one; other pods get the first idle devices."""
        shape = pod.shape
        self.cpu[row] -= shape.cpu
        self.memory[row] -= pod.memory
        idle = self.devices[row]
        if shape.shares_device:
            idle[device] -= shape.milli
        elif shape.devices:
            idle[np.flatnonzero(idle == DEVICE)[: shape.devices]] = 0
        if shape.devices:
            self.affinities[row, affinity(shape)] += 1
        one = slice(row, row + 1)
        self.fragments[one] = fragments(self.typical, self.cpu[one], self.devices[one], self.models[one])

    def tightest_device(self, shape: GPUShape, row: int) -> int:
        """Return the device with the least idle share that a pod fits in, the first of several."""
        idle = self.devices[row]
        return int(np.where(idle >= shape.milli, idle, DEVICE + 1).argmin())
