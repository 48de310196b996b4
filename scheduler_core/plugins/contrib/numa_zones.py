"""NUMA zones of a node, and whether and how well requests fit in them. Quantities are exact, in billionths.

Source: sigs.k8s.io/scheduler-plugins, pkg/noderesourcetopology (filter.go, score.go, least_numa.go, nodeconfig).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from scheduler_core.api import quantity
from scheduler_core.api.objects import Container, Pod
from scheduler_core.api.scheduler_plugins import NodeResourceTopology
from scheduler_core.cluster.qos import qos_class
from scheduler_core.cluster.resources import CPU, EPHEMERAL, MEMORY
from scheduler_core.framework.interface import MAX_NODE_SCORE
from scheduler_core.provenance.tree import quotient

Nano = dict[str, int]  # resource -> billionths
UNIT = 10**9

GUARANTEED, BEST_EFFORT = "Guaranteed", "BestEffort"
SINGLE_NUMA_NODE = "single-numa-node"
POLICIES = ("none", "best-effort", "restricted", SINGLE_NUMA_NODE)
POD, CONTAINER = "pod", "container"
LEAST, MOST, BALANCED, FEWEST = "LeastAllocated", "MostAllocated", "BalancedAllocation", "LeastNUMANodes"
STRATEGIES = (LEAST, MOST, BALANCED, FEWEST)
MAX_ZONES = 64  # of upstream's table of zones
MOST_COMBINED = 12  # zones whose combinations are tried
DEFAULT_MAX_NODES, MOST_MAX_NODES = 8, 1024
UNKNOWN_DISTANCE = 255

CANNOT_ALIGN_POD = "cannot align pod"
CANNOT_ALIGN_CONTAINER = "cannot align container"
CANNOT_ALIGN_INIT = "cannot align init container"
CANNOT_ALIGN_SIDECAR = "cannot align sidecar container"

_BEYOND = "kube-scheduler would crash here, because it has a zone node-{}, but only {} zones"
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
class NodeKind:
    """What matters of a node. `offered`: the resources that it offers."""

    manager: Manager
    zones: tuple[NumaZone, ...]
    offered: frozenset[str]

    @cached_property
    def numbered(self) -> list[tuple[int, Nano]]:
        """The zones' numbers and what is available, not to be changed. Raises InconsistentTopologyError."""
        return _numbered(self.zones)


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


def _numbered(zones: Sequence[NumaZone]) -> list[tuple[int, Nano]]:
    if any(zone.number == MAX_ZONES for zone in zones):
        raise InconsistentTopologyError(f"kube-scheduler would crash here, because it has a zone node-{MAX_ZONES}")
    return [(zone.number, zone.available) for zone in zones]


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


# ---- Filter


def _suits(qos: str, name: str, wanted: int, available: int) -> bool:
    return (qos != GUARANTEED and is_bound_if_guaranteed(name)) or available >= wanted


def is_unlisted(name: str, zones: Sequence[tuple[int, Mapping[str, int]]]) -> bool:
    """Return whether the resource counts as available on the whole node, because no zone lists it."""
    return (name in (EPHEMERAL, "storage") or not is_native(name)) and not any(name in one for _, one in zones)


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
        shared = qos != GUARANTEED and is_bound_if_guaranteed(name)
        listed, fitting = False, 0
        for number, available in zones:  # as `holds`, in a third of the time
            has = available.get(name)
            if has is not None:
                listed = True
                if shared or has >= wanted:
                    fitting |= 1 << number
        if not listed and is_unlisted(name, zones):
            continue
        left &= fitting
        if not left:
            return None
    return (left & -left).bit_length() - 1


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
    left = _numbered(zones)
    if manager.scope == POD:
        requests = shape.requests
        yield Alignment(-1, CANNOT_ALIGN_POD, requests, left, fitting_zone(shape.qos, requests, left, offered))
        return
    parts = [(CANNOT_ALIGN_SIDECAR if sidecar else CANNOT_ALIGN_INIT, dict(wanted)) for sidecar, wanted in shape.inits]
    parts += [(CANNOT_ALIGN_CONTAINER, dict(wanted)) for wanted in shape.containers]
    for part, (message, requests) in enumerate(parts):
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


def misfit(shape: Shape, kind: NodeKind) -> str:
    """Return why a node refuses the pod; "" if it does not. Raises InconsistentTopologyError."""
    manager, offered = kind.manager, kind.offered
    if manager.policy == SINGLE_NUMA_NODE and manager.scope == POD:  # as below, in half of the time
        fits = fitting_zone(shape.qos, shape.requests, kind.numbered, offered) is not None
        return "" if fits else CANNOT_ALIGN_POD
    return next((one.message for one in alignments(shape, manager, kind.zones, offered) if one.zone is None), "")


# ---- Score


def _units(nano: int) -> int:
    """Return whole units, rounded up."""
    return -(-nano // UNIT)


def zone_score(strategy: str, requests: Mapping[str, int], available: Mapping[str, int], weights: Nano) -> int:
    """Return the score of one zone. Raises InconsistentTopologyError if nothing is requested."""
    if strategy == BALANCED:
        return _balanced(requests, available)
    if not requests:
        raise InconsistentTopologyError("kube-scheduler would crash here, because a container requests nothing")
    points = sum_of_weights = 0
    for name, wanted in requests.items():
        weight = max(weights.get(name, 1), 1)
        sum_of_weights += weight
        capacity = available.get(name, 0)
        if not capacity or wanted > capacity:
            continue
        units, taken = -(-capacity // UNIT), -(-wanted // UNIT)  # as `_units`, without its calls
        if strategy != MOST:
            taken = units - taken
        points += quotient(taken * MAX_NODE_SCORE, units) * weight
    return quotient(points, sum_of_weights)


def _balanced(requests: Mapping[str, int], available: Mapping[str, int]) -> int:
    fractions = []
    for name, wanted in requests.items():
        capacity = _units(available.get(name, 0))
        fraction = float(_units(wanted)) / float(capacity) if capacity else 1.0
        if fraction > 1:
            return 0
        fractions.append(fraction)
    if len(fractions) < 2:
        return -(1 << 63)  # the variance is not a number, which Go converts to this
    mean = sum(fractions) / len(fractions)
    squares = sum((one - mean) ** 2 for one in fractions)
    compensation = sum(one - mean for one in fractions)
    variance = (squares - compensation * compensation / len(fractions)) / (len(fractions) - 1)
    return math.trunc((1 - variance) * MAX_NODE_SCORE)


def _lowest(strategy: str, requests: Mapping[str, int], zones: Sequence[tuple[int, Nano]], weights: Nano) -> int:
    """Return the lowest score of a zone that is not 0."""
    lowest = score = 0
    before: Nano | None = None
    for number, available in zones:
        if available != before:  # the requests of a placed pod are subtracted from every zone
            before, score = available, zone_score(strategy, requests, available, weights)
        if lowest == 0 or (score != 0 and score < lowest):
            lowest = score
        if number >= len(zones):
            raise InconsistentTopologyError(_BEYOND.format(number, len(zones)))
    return lowest


def node_score(strategy: str, shape: Shape, kind: NodeKind, weights: Nano) -> int:
    """Return the score of a node for a Guaranteed pod. Raises InconsistentTopologyError."""
    if strategy != FEWEST and kind.manager.policy != SINGLE_NUMA_NODE:
        return 0
    zones = kind.numbered
    if strategy == FEWEST:
        return _fewest(shape, kind.manager, kind.zones)
    if kind.manager.scope == POD:
        return _lowest(strategy, shape.requests, zones, weights)
    every = [*(requests for _, requests in shape.inits), *shape.containers]
    scores = [float(_lowest(strategy, dict(requests), zones, weights)) for requests in every]
    return math.trunc(sum(scores) / len(scores))


def _fewest(shape: Shape, manager: Manager, zones: Sequence[NumaZone]) -> int:
    """Return the score for the smallest number of zones that hold the requests together."""
    left = [dict(zone.available) for zone in zones]
    if manager.scope == POD:
        every: Iterator[Nano] = iter([shape.requests])
    else:
        every = map(dict, (*(requests for _, requests in shape.inits), *shape.containers))
    most, nearest = 0, True
    for requests in every:
        if not any(name in available for name in requests for available in left):
            continue
        found = _combination(requests, zones, left)
        if found is None:
            return 0
        chosen, near = found
        nearest = nearest and near
        numbers = sorted({zones[place].number for place in chosen})
        most = max(most, len(numbers))
        if manager.scope == CONTAINER:
            _take(requests, left, numbers)
    if not most:
        return MAX_NODE_SCORE
    part = MAX_NODE_SCORE // manager.most
    return MAX_NODE_SCORE - most * part + (part // 2 if nearest else 0)


def _distance(zones: Sequence[NumaZone], chosen: Sequence[int]) -> np.float32:
    costs = [dict(zones[place].costs) for place in chosen]
    apart = sum(one.get(zones[other].number, UNKNOWN_DISTANCE) for one in costs for other in chosen)
    return np.float32(np.float32(apart) / np.float32(len(chosen) * len(chosen)))


def _combination(
    requests: Mapping[str, int], zones: Sequence[NumaZone], left: Sequence[Mapping[str, int]]
) -> tuple[Sequence[int], bool] | None:
    """Return the fewest zones that hold the requests, the nearest of them, and whether no others are nearer."""
    if len(zones) > MOST_COMBINED:
        raise InconsistentTopologyError(f"it has {len(zones)} zones, and no more than {MOST_COMBINED} are combined")
    for size in range(1, len(zones) + 1):
        every = list(combinations(range(len(zones)), size))
        nearest = min([np.float32(UNKNOWN_DISTANCE), *(_distance(zones, one) for one in every)])
        best, shortest = None, np.float32(256)
        for one in every:
            if any(name not in left[place] for place in one for name in requests):
                continue
            if any(sum(left[place][name] for place in one) < wanted for name, wanted in requests.items() if wanted):
                continue
            distance = _distance(zones, one)
            if distance == nearest:
                return one, True
            if distance < shortest:
                best, shortest = one, distance
        if best is not None:
            return best, False
    return None


def _take(requests: Mapping[str, int], left: Sequence[Nano], numbers: Sequence[int]) -> None:
    """Subtract the requests from the zones. As upstream, a zone's number is its place in the list."""
    for name, wanted in requests.items():
        for number in numbers:
            if not wanted:
                break
            if number >= len(left):
                raise InconsistentTopologyError(_BEYOND.format(number, len(left)))
            if name in left[number]:
                taken = min(wanted, left[number][name])
                left[number][name] -= taken
                wanted -= taken
