"""AppGroups and network topologies: which workloads depend on each other, and what the network between nodes costs.

Source: sigs.k8s.io/scheduler-plugins, pkg/networkaware/util.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from scheduler_core.api.objects import Object
from scheduler_core.api.scheduler_plugins import NetworkTopology
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo

APP_GROUP = "appgroup.diktyo.x-k8s.io"
WORKLOAD = "appgroup.diktyo.x-k8s.io.workload"
REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
NETPERF = "NetperfCosts"  # the costs that are measured and that upstream does not sort

_O = TypeVar("_O", bound=Object)
_T = TypeVar("_T")


def found_in(namespaces: Iterable[str], name: str, table: Mapping[str, _O]) -> _O | None:
    """Return the object of that name in the first of the namespaces that has one."""
    return next((table[key] for one in namespaces if (key := f"{one}/{name}") in table), None)


def bisected(listed: Sequence[_T], wanted: str, key: Callable[[_T], str]) -> _T | None:
    """Return what upstream's bisection finds in a list, which may be unsorted; None if it finds nothing."""
    low, high = 0, len(listed) - 1
    while low <= high:
        middle = (low + high) // 2
        if key(listed[middle]) == wanted:
            return listed[middle]
        if key(listed[middle]) < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return None


def costs_from(topology: NetworkTopology, weights_name: str, region: str, zone: str) -> dict[tuple[str, str], int]:
    """Return (origin, destination) -> cost from a region and a zone. Equal names of both collide."""
    found: dict[tuple[str, str], int] = {}
    for weights in topology.spec.weights:
        if weights.name != weights_name:
            continue
        lists = weights.topology_list
        if weights_name != NETPERF:
            lists = sorted(lists, key=lambda one: one.topology_key)
        for topology_key, origin in ((REGION, region), (ZONE, zone)):
            listed = bisected(lists, topology_key, lambda one: one.topology_key) if origin else None
            origins = listed.origin_list if listed is not None else []
            if weights_name != NETPERF:
                origins = sorted(origins, key=lambda one: one.origin)
            costs = bisected(origins, origin, lambda one: one.origin)
            for cost in costs.cost_list if costs is not None else ():
                found[origin, cost.destination] = cost.network_cost
    return found


class GroupMembers:
    """The pods of each AppGroup that have a node, kept up to date with the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._of: dict[str, dict[str, PodInfo]] = {}
        for pod in cluster.pods.values():
            self._count(pod, True)
        cluster.watch_pods(self._count)

    def of_group(self, group: str) -> Iterable[PodInfo]:
        return self._of.get(group, {}).values()

    def _count(self, pod: PodInfo, placed: bool) -> None:
        group = pod.labels.get(APP_GROUP)
        if group and placed:
            self._of.setdefault(group, {})[pod.key] = pod
        elif group:
            self._of.get(group, {}).pop(pod.key, None)
