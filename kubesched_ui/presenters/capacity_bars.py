"""Capacity bars: nodes drawn to one scale by one resource, with the request of a pod at the same scale.

They are in the example of the home page, in live classes and in experiments. All functions are pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kubesched_ui.scenarios.cluster_overview import NodeLine, PodLine
from scheduler_core.cluster.formatting import amount
from scheduler_core.cluster.resources import CPU, MEMORY

NAMED = 12  # bars up to this number are wide enough for text
DRAWN = 600  # maximum number of bars
UNITS = {CPU: "CPU", MEMORY: "memory"}

Amounts = Mapping[str, int]


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


def bar_row(nodes: Sequence[NodeLine], asks: Amounts | None = None) -> BarRow:
    """Draw the nodes in order by the resource that matters most to the pod whose requests are `asks`."""
    resource = resource_of(nodes, asks or {})
    wanted = (asks or {}).get(resource, 0)
    most = max([1, wanted, *(node.allocatable.get(resource, 0) for node in nodes)])
    drawn = [_bar(node, resource, most, wanted) for node in nodes[:DRAWN]]
    made = BarRow(UNITS.get(resource, resource), drawn, max(0, len(nodes) - DRAWN))
    if asks is None:
        return made
    return replace(made, asks=amount(resource, wanted) if wanted else "nothing", tall=100 * wanted / most)


def resource_of(nodes: Sequence[NodeLine], asks: Amounts) -> str:
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


def _bar(node: NodeLine, resource: str, most: int, wanted: int) -> CapacityBar:
    has = node.allocatable.get(resource, 0)
    free = has - node.requested[resource]
    promised = sum(pod.requests.get(resource, 0) for pod in node.nominated)
    blocks = [*_blocks(node.pods, resource, has), *_blocks(node.nominated, resource, has, nominated=True)]
    text = f"{amount(resource, max(0, free), like=has)} of {amount(resource, has)} free"
    if promised:
        text += f", {amount(resource, promised, like=has)} nominated"
    comes = 100 * wanted / has if has else 0.0
    return CapacityBar(node.name, node.zone, node.taints, node.cordoned, 100 * has / most, blocks, text, comes)


def _blocks(pods: Sequence[PodLine], resource: str, has: int, nominated: bool = False) -> list[Block]:
    heights = ((pod.key, pod.requests.get(resource, 0)) for pod in pods)
    return [Block(key, 100 * number / has, nominated=nominated) for key, number in heights if number and has]


def short_of(nodes: Sequence[NodeLine], asks: Amounts) -> dict[str, str]:
    """Return node -> how much of the drawn resource it lacks for the pod, for nodes that lack some."""
    resource = resource_of(nodes, asks)
    wanted = asks.get(resource, 0)
    free = {node.name: node.allocatable.get(resource, 0) - node.requested[resource] for node in nodes}
    return {name: amount(resource, wanted - left, like=wanted) for name, left in free.items() if left < wanted}
