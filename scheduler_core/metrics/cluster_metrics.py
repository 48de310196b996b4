"""The metrics of a cluster's state, which do not depend on how it came about."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.nodes import ZONE
from scheduler_core.metrics.distribution import figures
from scheduler_core.metrics.fragmentation import gpu_fragmentation
from scheduler_core.metrics.node_resources import (
    NodeResources,
    Requests,
    fullness,
    hole_filling,
    mean_request,
    requested_shares,
    stranded,
    typical_requests,
)
from scheduler_core.metrics.skew import skews

TOPOLOGY_KEYS = (ZONE, "kubernetes.io/hostname")
MAX_RESOURCES = 16
MAX_SKEWS = 20
_ALWAYS = ("cpu", "memory", "pods")


def cluster_metrics(cluster: Cluster, requests: Sequence[Requests], workload_of: Mapping[str, str]) -> dict[str, Any]:
    """Return `metrics` (name -> number), `fullness` (resource -> nodes per interval), `skews` (the largest: workload,
    topology key, skew) and `unit` (of hole filling: resource -> quantity).

    `requests`: of each pod that a run may place, equal for all runs of a scenario; without pods that belong to a node,
    as those of DaemonSets do. `workload_of`: pod -> workload.
    """
    cluster.nodes.refresh()
    resources = _limited(NodeResources.from_nodes(cluster.nodes))
    free = resources.free()
    unit = mean_request(requests)
    metrics: dict[str, float] = {"nodes": len(cluster.nodes)}
    metrics["nodes_used"] = int(np.count_nonzero(cluster.nodes.pod_count))
    for resource, shares in requested_shares(resources).items():
        metrics |= {f"requested_share:{resource}:{figure}": value for figure, value in shares.items()}
    lost = stranded(free, typical_requests(requests))
    metrics |= {f"stranded:{resource}": amount for resource, amount in lost.items()}
    if unit:
        metrics["hole_filling"] = hole_filling(free, unit)
    found = gpu_fragmentation(free, requests)
    metrics |= {f"gpu_fragmentation:{resource}": lost for resource, lost in found.items()}
    largest: list[tuple[str, str, int]] = []
    for key, of in skews(cluster, TOPOLOGY_KEYS, workload_of).items():
        if of:
            values = figures(np.array(list(of.values()), np.float64))
            metrics |= {f"skew:{key}:{figure}": values[figure] for figure in ("mean", "max")}
        largest += [(name, key, skew) for name, skew in of.items()]
    largest.sort(key=lambda one: (-one[2], one[0], one[1]))
    return {
        "metrics": metrics,
        "fullness": fullness(resources),
        "skews": [list(one) for one in largest[:MAX_SKEWS]],
        "unit": unit,
    }


def _limited(resources: NodeResources) -> NodeResources:
    """Return cpu, memory and pods, and of the others those that most nodes have."""
    allocatable = resources.allocatable
    nodes = {name: int(np.count_nonzero(column)) for name, column in allocatable.items()}
    names = sorted(allocatable, key=lambda name: (name not in _ALWAYS, -nodes[name], name))[:MAX_RESOURCES]
    return NodeResources(
        {name: allocatable[name] for name in names}, {name: resources.requested[name] for name in names}
    )
