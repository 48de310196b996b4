"""The NUMA zones of a node, what they have of each resource, and where the parts of a pod would go.

The rules are those of NodeResourceTopologyMatch.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scheduler_core.api import quantity
from scheduler_core.api.objects import Node, Pod
from scheduler_core.api.scheduler_plugins import NodeResourceTopology, ZoneResource
from scheduler_core.cluster import formatting
from scheduler_core.plugins.contrib import numa_zones
from scheduler_core.plugins.contrib.numa_zones import Alignment, InconsistentTopologyError, Nano, offered_by

MAX_ZONES = 16  # shown
MAX_RESOURCES = 12  # shown of a zone


class ZoneUse(NamedTuple):
    """A resource of a zone.

    `used`, `comes`, `wanted`: what is not available, what the parts of the pod take here, and what the part requests
    that no zone holds, one after the other; `edge`: what the zone has. In percent of the longest of both. `fits`:
    False if the zone refuses that part because of this resource.
    """

    resource: str
    used: float
    comes: float
    wanted: float
    edge: float
    fits: bool
    text: str


class ZoneView(NamedTuple):
    name: str
    takes: list[str]  # parts of the pod
    resources: list[ZoneUse]


class PartView(NamedTuple):
    """A part of a pod: the whole pod, or a container. `zone`: "" if none holds it."""

    name: str
    requests: str
    zone: str


class NodeZones(NamedTuple):
    """`sentence`: about the pod, or about the policy. `more`: zones that are not shown. `tone`: ok, bad or ""."""

    policy: str
    scope: str
    zones: list[ZoneView]
    more: int
    parts: list[PartView]
    sentence: str
    tone: str


def zones_of_node(
    topology: NodeResourceTopology, node: Node, pod: Pod | None = None, assumed: Iterable[Pod] = ()
) -> NodeZones:
    """Return the zones of a node, and where they hold a pod. `assumed`: pods that are subtracted from every zone."""
    manager = numa_zones.manager_of(topology)
    less = {one.metadata.name: numa_zones.shape_of(one).requests for one in assumed}
    zones = numa_zones.zones_of(topology, less)
    listed = [zone for zone in topology.zones if zone.type == "Node" and numa_zones.zone_number(zone.name) is not None]
    left = [(zone.number, dict(zone.available)) for zone in zones]
    parts: list[Alignment] = []
    sentence, tone = "", ""
    if pod is not None:
        sentence, tone, parts = _placed(topology, node, pod, manager, zones)
    elif manager.policy != numa_zones.SINGLE_NUMA_NODE:
        sentence = f"The policy of the Topology Manager is {manager.policy}: NodeResourceTopologyMatch refuses no pod."
    qos = numa_zones.shape_of(pod).qos if pod is not None else ""
    shown = []
    for at, zone in enumerate(listed[:MAX_ZONES]):
        here = [part for part in parts if part.zone is not None and part.zone == left[at][0]]
        uses = [_use(one, at, left[at][1], parts, qos) for one in zone.resources[:MAX_RESOURCES]]
        shown.append(ZoneView(zone.name, [_name(pod, one.part) for one in here], [*uses, *_unlisted(parts, at)]))
    views = [
        PartView(_name(pod, part.part), _requests(part.requests), "" if part.zone is None else f"node-{part.zone}")
        for part in parts
        if pod is not None
    ]
    return NodeZones(manager.policy, manager.scope, shown, max(0, len(listed) - MAX_ZONES), views, sentence, tone)


def _placed(
    topology: NodeResourceTopology,
    node: Node,
    pod: Pod,
    manager: numa_zones.Manager,
    zones: tuple[numa_zones.NumaZone, ...],
) -> tuple[str, str, list[Alignment]]:
    """Return a sentence, its tone, and the alignments of the parts."""
    shape = numa_zones.shape_of(pod)
    if manager.policy != numa_zones.SINGLE_NUMA_NODE:
        text = f"The policy of the Topology Manager is {manager.policy}: no zone has to hold {pod.key}."
        return text, "", []
    if not numa_zones.looks(shape):
        return f"{pod.key} requests nothing that zones hold.", "ok", []
    try:
        parts = list(numa_zones.alignments(shape, manager, zones, offered_by(node)))
    except InconsistentTopologyError as problem:
        return f"NodeResourceTopology {topology.name} is not consistent: {problem}.", "bad", []
    failed = next((part for part in parts if part.zone is None), None)
    if failed is None:
        where = formatting.listing(list(dict.fromkeys(f"node-{part.zone}" for part in parts)))
        text = f"{pod.key} fits in {where}."
        if shape.qos != numa_zones.GUARANTEED:
            text += f" It is {shape.qos}: a zone only has to list cpu and memory."
        return text, "ok", parts
    missing = [name for name, nano in failed.requests.items() if nano and name not in offered_by(node)]
    if missing:
        return f"The node does not offer {missing[0]}, which {pod.key} requests.", "bad", parts
    part = pod.key if failed.part < 0 else f"{_name(pod, failed.part)} of {pod.key}"
    return f"No zone holds {part}, which requests {_requests(failed.requests)}.", "bad", parts


def _use(one: ZoneResource, at: int, available: Mapping[str, int], parts: Sequence[Alignment], qos: str) -> ZoneUse:
    """Return a resource of the zone `at` with what is available there before the pod."""
    name, number = one.name, parts[0].left[at][0] if parts else -1
    free = available.get(name, 0)
    given = one.allocatable if one.allocatable is not None else one.capacity
    total = max(quantity.nano_value(given) if given is not None else 0, free)
    text = f"{_amount(name, free, down=True)} of {_amount(name, total)} available"
    comes = sum(part.requests.get(name, 0) for part in parts if part.zone is not None and part.zone == number)
    if comes:
        text += f", {_amount(name, comes)} for the pod"
    failed = parts[-1] if parts and parts[-1].zone is None else None
    wanted = failed.requests.get(name, 0) if failed is not None else 0
    fits = failed is None or not wanted or numa_zones.holds(qos, name, wanted, failed.left[at][1])
    if wanted:
        text += f"; requests {_amount(name, wanted)}{'' if fits else ', does not fit'}"
    used = total - free
    share = 100 / (max(total, used + comes + wanted) or 1)
    return ZoneUse(name, used * share, comes * share, wanted * share, total * share, fits, text)


def _unlisted(parts: Sequence[Alignment], at: int) -> Iterator[ZoneUse]:
    """Yield the resources that the pod lacks in the zone `at`, and that only other zones list."""
    if not parts or parts[-1].zone is not None:
        return
    failed = parts[-1]
    for name, wanted in failed.requests.items():
        if wanted and name not in failed.left[at][1] and not numa_zones.is_unlisted(name, failed.left):
            yield ZoneUse(name, 0, 0, 100, 0, False, f"not in this zone; requests {_amount(name, wanted)}")


def _name(pod: Pod | None, part: int) -> str:
    if pod is None or part < 0:
        return "the pod"
    return f"container {[*pod.spec.init_containers, *pod.spec.containers][part].name}"


def _requests(requests: Nano) -> str:
    return formatting.listing([f"{_amount(name, nano)} of {name}" for name, nano in requests.items() if nano])


def _amount(name: str, nano: int, down: bool = False) -> str:
    scale = 10**6 if name == "cpu" else 10**9
    if down:
        return formatting.free_amount(name, nano // scale)
    return formatting.amount(name, -(-nano // scale))
