"""Capacity bars: nodes drawn to one scale by one resource, with the request of a pod at the same scale.

They are in the example of the home page, in present mode and in lessons. All functions are pure.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kubesched_ui.presenters.node_names import shortened
from kubesched_ui.scenarios.cluster_overview import ZONES
from scheduler_core.cluster.formatting import amount
from scheduler_core.cluster.resources import CPU, MEMORY
from scheduler_core.debugger.cluster_state import StateAtTimepoint

NAMED = 12  # bars up to this number are wide enough for text
LABELLED = 60  # up to this number of bars, each has space for a short name in a presentation
LABEL = 9  # characters of a short name
ACROSS = 16  # bars with a name in a row of a 1280 x 720 screen
DRAWN = 600  # maximum number of bars
UNITS = {CPU: "CPU", MEMORY: "memory"}

Amounts = Mapping[str, int]


class Node(NamedTuple):
    """The data of a node to draw. `pods`: (namespace/name, requests) in order of arrival. `nominated`: the same of
    pending pods that are nominated to it."""

    name: str
    zone: str
    taints: Sequence[str]
    cordoned: bool
    allocatable: Amounts
    pods: Sequence[tuple[str, Amounts]]
    nominated: Sequence[tuple[str, Amounts]] = ()


class Block(NamedTuple):
    """A pod in a bar. `height` is in percent of the bar. `goes`: whether it will be removed. `nominated`: whether it is
    not on the node, but nominated to it."""

    pod: str
    height: float
    goes: bool = False
    nominated: bool = False


@dataclass(frozen=True)
class CapacityBar:
    """The bar of a node.

    `tall`: percent of the tallest bar; `free`: text on the free and total quantity. `mark`: the node's state in a step
    (fits, refused, chosen, unseen, or made if preemption frees it; "" for none), `text`: a text about that. `comes`:
    the pod's request in percent of the bar.
    """

    name: str
    zone: str
    taints: Sequence[str]
    cordoned: bool
    tall: float
    blocks: list[Block]
    free: str
    comes: float = 0.0
    mark: str = ""
    text: str = ""


@dataclass(frozen=True)
class BarRow:
    """A row of bars.

    `resource`: its display name. `asks`: the pod's request for it, `tall`: that in percent of the tallest bar, None
    without a pod. `more`: number of nodes not drawn. `spoken`: show names and texts regardless of the number of bars.
    """

    resource: str
    bars: list[CapacityBar]
    more: int = 0
    asks: str = ""
    tall: float | None = None
    spoken: bool = False

    @property
    def named(self) -> bool:
        """Whether names and texts fit."""
        return self.spoken or len(self.bars) <= NAMED

    @property
    def labels(self) -> dict[str, str]:
        """Node -> short name, if the bars have no texts and are few enough for names; otherwise empty."""
        if self.named or len(self.bars) > LABELLED:
            return {}
        names = [bar.name for bar in self.bars]
        return dict(zip(names, shortened(names, LABEL)[0], strict=True))

    @property
    def rows(self) -> int:
        """In how many rows the bars with names, and that of the pod, are."""
        return math.ceil((len(self.bars) + (self.tall is not None)) / ACROSS)

    @property
    def zones(self) -> list[tuple[str, list[CapacityBar]]]:
        """The bars by zone, zones in order of appearance."""
        found: dict[str, list[CapacityBar]] = {}
        for bar in self.bars:
            found.setdefault(bar.zone, []).append(bar)
        return list(found.items())

    def marked(self, marks: Mapping[str, tuple[str, str]]) -> BarRow:
        """Return a copy with these marks: node -> (mark, text). Other nodes lose theirs."""
        pairs = [(bar, marks.get(bar.name, ("", ""))) for bar in self.bars]
        return replace(self, bars=[replace(bar, mark=mark, text=text) for bar, (mark, text) in pairs])

    def leaving(self, pods: Collection[str]) -> BarRow:
        """Return a copy in which these pods, namespace/name, are marked for removal."""
        drawn = [replace(bar, blocks=[b._replace(goes=b.pod in pods) for b in bar.blocks]) for bar in self.bars]
        return replace(self, bars=drawn)


def bar_row(nodes: Sequence[Node], asks: Amounts | None = None) -> BarRow:
    """Draw the nodes in order by the resource that matters most to the pod whose requests are `asks`."""
    resource = resource_of(nodes, asks or {})
    wanted = (asks or {}).get(resource, 0)
    most = max([1, wanted, *(node.allocatable.get(resource, 0) for node in nodes)])
    drawn = [_bar(node, resource, most, wanted) for node in nodes[:DRAWN]]
    made = BarRow(UNITS.get(resource, resource), drawn, max(0, len(nodes) - DRAWN))
    if asks is None:
        return made
    return replace(made, asks=amount(resource, wanted) if wanted else "nothing", tall=100 * wanted / most)


def resource_of(nodes: Sequence[Node], asks: Amounts) -> str:
    """Return the resource by which nodes are drawn.

    It is a requested extended resource, or else memory or cpu. Memory is chosen if the pod requests a larger share of
    it than of cpu.
    """
    if extended := [name for name, number in asks.items() if "/" in name and number]:
        return extended[0]

    def share(resource: str) -> float:
        has = sum(node.allocatable.get(resource, 0) for node in nodes)
        return asks.get(resource, 0) / has if has else 0.0

    return MEMORY if share(MEMORY) > share(CPU) else CPU


def _bar(node: Node, resource: str, most: int, wanted: int) -> CapacityBar:
    has = node.allocatable.get(resource, 0)
    taken = [(key, requests.get(resource, 0)) for key, requests in node.pods]
    free = has - sum(number for _, number in taken)
    blocks = [Block(key, 100 * number / has) for key, number in taken if number and has]
    promised = [(key, requests.get(resource, 0)) for key, requests in node.nominated]
    blocks += [Block(key, 100 * number / has, nominated=True) for key, number in promised if number and has]
    text = f"{amount(resource, max(0, free), like=has)} of {amount(resource, has)} free"
    if promised:
        text += f", {amount(resource, sum(number for _, number in promised), like=has)} nominated"
    comes = 100 * wanted / has if has else 0.0
    return CapacityBar(node.name, node.zone, node.taints, node.cordoned, 100 * has / most, blocks, text, comes)


def nodes_of(state: StateAtTimepoint) -> list[Node]:
    """Return the nodes of a cluster at a timepoint of a recording."""
    tables = state.recording.tables
    requests, kinds = tables["pods"].distinct("requests"), tables["pods"]["requests"]
    keys, texts = tables["pods"]["key"], tables["pods"].texts["key"]
    pods: list[list[tuple[str, Amounts]]] = [[] for _ in range(len(state.rows))]
    for pod, row in zip(state.placed.tolist(), state.of_row.tolist(), strict=True):
        if row >= 0:
            pods[row].append((texts[keys[pod]], requests[kinds[pod]]))
    nominated: dict[str, list[tuple[str, Amounts]]] = {}
    for key, node in state.nominated().items():
        nominated.setdefault(node, []).append((key, requests_at(state, key)))
    table, names = tables["nodes"], state.recording.names
    return [
        Node(
            names[name],
            zone_of(table.at("labels", version)),
            table.at("taints", version),
            bool(table["unschedulable"][version]),
            table.at("allocatable", version),
            pods[row],
            nominated.get(names[name], ()),
        )
        for row, (name, version) in enumerate(zip(state.rows.tolist(), state.versions.tolist(), strict=True))
    ]


def short_of(nodes: Sequence[Node], asks: Amounts) -> dict[str, str]:
    """Return node -> how much of the drawn resource it lacks for the pod, for nodes that lack some."""
    resource = resource_of(nodes, asks)
    wanted = asks.get(resource, 0)
    free = {n.name: n.allocatable.get(resource, 0) - sum(a.get(resource, 0) for _, a in n.pods) for n in nodes}
    return {name: amount(resource, wanted - left, like=wanted) for name, left in free.items() if left < wanted}


def zone_of(labels: Mapping[str, str]) -> str:
    """Return the zone from a node's labels, "" for none."""
    return next((labels[key] for key in ZONES if labels.get(key)), "")


def requests_at(state: StateAtTimepoint, pod: str) -> Amounts:
    """Return a pod's requests at that timepoint; {} for a pod that does not exist then."""
    table = state.recording.tables["pods"]
    if pod not in table.texts["key"]:
        return {}
    number = table.texts["key"].index(pod)
    rows = [row for row in (table["key"] == number).nonzero()[0].tolist() if state.state[row]]
    found: Amounts = table.at("requests", rows[-1]) if rows else {}
    return found
