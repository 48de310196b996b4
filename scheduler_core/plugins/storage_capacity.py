"""The largest volume that CSI drivers can provision for each node, as reported in CSIStorageCapacity objects.

Upstream: pkg/scheduler/framework/plugins/volumebinding (binder.go: hasEnoughCapacity, capacitySufficient).
"""

from typing import NamedTuple

import numpy as np

from scheduler_core.api import quantity
from scheduler_core.api.objects import CSIStorageCapacity, LabelSelector, NodeSelectorTerm, Requirement
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins.volumes import Rows, admitted_rows

_NOTHING = -quantity.MAX_INT64


def largest_volume(capacity: CSIStorageCapacity) -> int | None:
    """Return the largest possible volume in bytes: the maximum volume size if it is set, otherwise the capacity."""
    amount = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    return None if amount is None else quantity.value(amount)


class StorageOffer(NamedTuple):
    """What a storage class offers on each node, in bytes; int64 over nodes. Of several CSIStorageCapacity objects, the
    one with the largest volume counts; upstream takes any of those that suffice.

    `largest`: the largest volume. `capacity`: the capacity, negative where it is not given.
    """

    largest: fwk.Int64
    capacity: fwk.Int64


class AvailableStorage:
    """Columns of one cluster, computed again when a capacity or a node has changed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._offers: dict[str, StorageOffer] = {}
        self._versions = (-1, -1)

    def offer(self, storage_class: str) -> StorageOffer:
        """Return what the storage class offers on each node."""
        versions = self._cluster.nodes.version, self._cluster.capacities.version
        if self._versions != versions:
            self._offers.clear()
            self._versions = versions
        if storage_class not in self._offers:
            self._offers[storage_class] = self._offer(storage_class)
        return self._offers[storage_class]

    def _offer(self, storage_class: str) -> StorageOffer:
        largest: fwk.Int64 = np.full(len(self._cluster.nodes), _NOTHING, np.int64)
        total = largest.copy()
        for capacity in self._cluster.capacities.values():
            size = largest_volume(capacity)
            if capacity.storage_class_name == storage_class and size is not None and capacity.node_topology is not None:
                whole = _NOTHING if capacity.capacity is None else quantity.value(capacity.capacity)
                rows = self._rows(capacity.node_topology)
                total[rows] = np.where(size > largest[rows], whole, total[rows])
                largest[rows] = np.maximum(largest[rows], size)
        return StorageOffer(largest, total)

    def _rows(self, topology: LabelSelector) -> Rows | slice:
        wanted = [Requirement(key, "In", [value]) for key, value in topology.match_labels.items()]
        wanted += topology.match_expressions
        found = admitted_rows(self._cluster.nodes, [NodeSelectorTerm(wanted)]) if wanted else None
        return slice(None) if found is None else found
