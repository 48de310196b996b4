"""NUMA zones of a node, and whether and how well requests fit in them. Quantities are exact, in billionths.

Source: sigs.k8s.io/scheduler-plugins, pkg/noderesourcetopology (filter.go, score.go, least_numa.go, nodeconfig).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from scheduler_core.api import quantity
from scheduler_core.api.objects import Container, Node, Pod
from scheduler_core.api.scheduler_plugins import NodeResourceTopology
from scheduler_core.cluster.qos import qos_class
from scheduler_core.cluster.resources import CPU, EPHEMERAL, MEMORY

Nano = dict[str, int]  # resource -> billionths
UNIT = 10**9

GUARANTEED, BEST_EFFORT = "Guaranteed", "BestEffort"
SINGLE_NUMA_NODE = "single-numa-node"
POLICIES = ("none", "best-effort", "restricted", SINGLE_NUMA_NODE)
POD, CONTAINER = "pod", "container"
LEAST, MOST, BALANCED, FEWEST = "LeastAllocated", "MostAllocated", "BalancedAllocation", "LeastNUMANodes"
STRATEGIES = (LEAST, MOST, BALANCED, FEWEST)
MAX_ZONES = 64  # of upstream's table of zones
DEFAULT_MAX_NODES, MOST_MAX_NODES = 8, 1024
UNKNOWN_DISTANCE = 255

CANNOT_ALIGN_POD = "cannot align pod"
CANNOT_ALIGN_CONTAINER = "cannot align container"
CANNOT_ALIGN_INIT = "cannot align init container"
CANNOT_ALIGN_SIDECAR = "cannot align sidecar container"

CRASH = "kube-scheduler would crash here, because "
TOO_HIGH = f"{CRASH}it has a zone node-{MAX_ZONES}"
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_ZONE = re.compile(r"node-\+?([0-9]{1,9})", re.ASCII)
_LEGACY = {
    "SingleNUMANodePodLevel": (SINGLE_NUMA_NODE, POD),
    "SingleNUMANodeContainerLevel": (SINGLE_NUMA_NODE, CONTAINER),
    "BestEffortPodLevel": ("best-effort", POD),
    "BestEffortContainerLevel": ("best-effort", CONTAINER),
    "RestrictedPodLevel": ("restricted", POD),
    "RestrictedContainerLevel": ("restricted", CONTAINER),
}


class InconsistentTopologyError(Exception):
    """A NodeResourceTopology on which kube-scheduler crashes. The text says why."""


class Manager(NamedTuple):
    """The configuration of a node's Topology Manager. `most`: the highest number of zones."""

    policy: str = "none"
    scope: str = CONTAINER
    most: int = DEFAULT_MAX_NODES


@dataclass(frozen=True)
class NumaZone:
    """A zone: its number, what is available and the distances to other zones, as sorted pairs."""

    number: int
    amounts: tuple[tuple[str, int], ...]
    costs: tuple[tuple[int, int], ...] = ()

    @cached_property
    def available(self) -> Nano:
        """What is available. Do not change it."""
        return dict(self.amounts)


@dataclass(frozen=True)
class Shape:
    """What matters of a pod: its quality of service, and the requests of init and other containers with their kind."""

    qos: str
    inits: tuple[tuple[bool, tuple[tuple[str, int], ...]], ...]  # whether it is a sidecar, requests
    containers: tuple[tuple[tuple[str, int], ...], ...]
    overhead: tuple[tuple[str, int], ...]

    @cached_property
    def requests(self) -> Nano:
        """The effective request: the sum of containers, at least each init container, plus overhead. Sidecars count as
        init containers. Do not change it."""
        needed: Nano = {}
        for requests in self.containers:
            for name, nano in requests:
                needed[name] = needed.get(name, 0) + nano
        for _, requests in self.inits:
            for name, nano in requests:
                needed[name] = max(nano, needed.get(name, nano))
        for name, nano in self.overhead:
            needed[name] = needed.get(name, 0) + nano
        return needed


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def is_bound_if_guaranteed(name: str) -> bool:
    """Return whether Kubernetes binds the resource to zones only for Guaranteed pods."""
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def manager_of(topology: NodeResourceTopology) -> Manager:
    """Return the configuration: the first of `topologyPolicies`, overridden by attributes. Invalid values do not
    count."""
    manager = Manager()
    if topology.topology_policies and (legacy := _LEGACY.get(topology.topology_policies[0])):
        manager = Manager(*legacy)
    for attribute in topology.attributes:
        name, value = attribute.name, attribute.value
        if name == "topologyManagerScope" and value in (POD, CONTAINER):
            manager = manager._replace(scope=value)
        elif name == "topologyManagerPolicy" and value in POLICIES:
            manager = manager._replace(policy=value)
        elif name == "topologyManagerMaxNUMANodes" and _NUMBER.fullmatch(value) and int(value) > 1:
            manager = manager._replace(most=min(int(value), MOST_MAX_NODES))
    return manager


def zone_number(name: str) -> int | None:
    """Return N of `node-N`; None for another name, and beyond the table of upstream."""
    match = _ZONE.fullmatch(name)
    return int(match[1]) if match is not None and int(match[1]) <= MAX_ZONES else None


def zones_of(topology: NodeResourceTopology, less: Mapping[str, Nano] | None = None) -> tuple[NumaZone, ...]:
    """Return the zones of a node. `less`: requests that are subtracted from every zone, by pod."""
    zones = []
    for zone in topology.zones:
        number = zone_number(zone.name)
        if zone.type != "Node" or number is None:
            continue
        available = {one.name: quantity.nano_value(one.available) for one in zone.resources}
        for request in (less or {}).values():
            for name, nano in request.items():
                if name in available:
                    available[name] = max(available[name] - nano, 0)
        costs = {other: cost.value for cost in zone.costs if (other := zone_number(cost.name)) is not None}
        zones.append(NumaZone(number, tuple(sorted(available.items())), tuple(sorted(costs.items()))))
    return tuple(zones)


def _nano(container: Container) -> tuple[tuple[str, int], ...]:
    return tuple((name, quantity.nano_value(text)) for name, text in container.resources.requests.items())


def shape_of(pod: Pod) -> Shape:
    """Return what matters of a pod."""
    inits = tuple((one.restart_policy == "Always", _nano(one)) for one in pod.spec.init_containers)
    overhead = tuple((name, quantity.nano_value(text)) for name, text in pod.spec.overhead.items())
    return Shape(qos_class(pod), inits, tuple(map(_nano, pod.spec.containers)), overhead)


def looks(shape: Shape) -> bool:
    """Return whether the plugin looks at the pod: not BestEffort, or it requests resources that are not native."""
    every = [*shape.containers, *(requests for _, requests in shape.inits)]
    return shape.qos != BEST_EFFORT or any(not is_native(name) for requests in every for name, _ in requests)


def parts_of(shape: Shape) -> list[tuple[str, Nano]]:
    """Return the requests of init and other containers, each with the message of a node that cannot align it."""
    parts = [(CANNOT_ALIGN_SIDECAR if sidecar else CANNOT_ALIGN_INIT, dict(wanted)) for sidecar, wanted in shape.inits]
    return parts + [(CANNOT_ALIGN_CONTAINER, dict(wanted)) for wanted in shape.containers]


def offered_by(node: Node) -> frozenset[str]:
    """Return the resources that a node offers, as upstream's NodeInfo lists them."""
    return frozenset((*node.status.allocatable, "cpu", "memory", "pods", "ephemeral-storage"))


# ---- Filter


def _suits(qos: str, name: str, wanted: int, available: int) -> bool:
    return (qos != GUARANTEED and is_bound_if_guaranteed(name)) or available >= wanted


def counts_on_whole_node(name: str) -> bool:
    """Return whether the resource counts as available on the whole node if no zone lists it."""
    return name in (EPHEMERAL, "storage") or not is_native(name)


def is_unlisted(name: str, zones: Sequence[tuple[int, Mapping[str, int]]]) -> bool:
    """Return whether the resource counts as available on the whole node, because no zone lists it."""
    return counts_on_whole_node(name) and not any(name in one for _, one in zones)


def holds(qos: str, name: str, wanted: int, available: Mapping[str, int]) -> bool:
    """Return whether a zone with `available` holds what is wanted of a listed resource."""
    return name in available and _suits(qos, name, wanted, available[name])


def fitting_zone(
    qos: str, requests: Mapping[str, int], zones: Sequence[tuple[int, Mapping[str, int]]], offered: frozenset[str]
) -> int | None:
    """Return the lowest zone that the requests fit in; None if there is none. `offered`: what the node offers."""
    left = (1 << MAX_ZONES) - 1  # a bit for each zone
    for name, wanted in requests.items():
        if not wanted:
            continue
        if name not in offered:
            return None
        if not is_unlisted(name, zones):
            left &= sum({1 << number for number, available in zones if holds(qos, name, wanted, available)})
    return (left & -left).bit_length() - 1 if left else None


class Alignment(NamedTuple):
    """The zone for a part of a pod.

    `part`: the number of the container among init and other containers; -1 is the whole pod. `left`: what the zones
    have before it. `zone`: the number of the zone; None if no zone holds the part, and the node refuses the pod with
    `message`.
    """

    part: int
    message: str
    requests: Nano
    left: Sequence[tuple[int, Nano]]
    zone: int | None


def alignments(
    shape: Shape, manager: Manager, zones: Sequence[NumaZone], offered: frozenset[str]
) -> Iterator[Alignment]:
    """Yield the zones of the parts of a pod, up to the first part that no zone holds; nothing if the policy of the
    node aligns no pods. Raises InconsistentTopologyError."""
    if manager.policy != SINGLE_NUMA_NODE:
        return
    if any(zone.number == MAX_ZONES for zone in zones):
        raise InconsistentTopologyError(TOO_HIGH)
    left = [(zone.number, zone.available) for zone in zones]
    if manager.scope == POD:
        requests = shape.requests
        yield Alignment(-1, CANNOT_ALIGN_POD, requests, left, fitting_zone(shape.qos, requests, left, offered))
        return
    for part, (message, requests) in enumerate(parts_of(shape)):
        zone = fitting_zone(shape.qos, requests, left, offered)
        yield Alignment(part, message, requests, left, zone)
        if zone is None:
            return
        if message == CANNOT_ALIGN_CONTAINER:
            left = [(number, dict(available)) for number, available in left]
            for number, available in left:
                for name in available.keys() & requests.keys() if number == zone else ():
                    if shape.qos == GUARANTEED or not is_bound_if_guaranteed(name):
                        available[name] -= requests[name]
