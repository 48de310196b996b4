"""Nodes like existing ones, to add to a cluster."""

from collections.abc import Container, Iterable, Iterator
from typing import Any

import msgspec

from scheduler_core.api import quantity
from scheduler_core.api.objects import Node
from scheduler_core.cluster.system_taints import LEAVING, NOT_READY, UNSCHEDULABLE

TRANSIENT = {*NOT_READY, *LEAVING, UNSCHEDULABLE}  # taints that a new node does not have
PLACES = ("zone", "region")  # names of labels, with any prefix: each CSI driver has its own


def kinds(nodes: Iterable[Node]) -> list[Node]:
    """Return one ready node for each set of allocatable resources, taints and labels except for the hostname."""
    found: dict[object, Node] = {}
    for node in nodes:
        if node.ready:
            found.setdefault(_kind(node), node)
    return list(found.values())


def shape(node: Node) -> object:
    """Return a key that is equal for nodes that differ only in zone, region and hostname, or by less than a tenth in a
    resource: machines of one type rarely report the same memory."""
    resources, labels, taints = _kind(node)
    rounded = frozenset((name, f"{quantity.milli_value(amount):.2g}") for name, amount in resources)
    return rounded, frozenset((k, v) for k, v in labels if k.rpartition("/")[2] not in PLACES), taints


def _kind(node: Node) -> tuple[frozenset[Any], frozenset[tuple[str, str]], frozenset[Any]]:
    labels = frozenset((k, v) for k, v in node.metadata.labels.items() if v != node.name)
    taints = frozenset((t.key, t.value, t.effect) for t in _lasting(node))
    return frozenset(node.status.allocatable.items()), labels, taints


def _lasting(node: Node) -> Iterator[Any]:
    return (taint for taint in node.spec.taints if taint.key not in TRANSIENT)


def another(taken: Container[str], like: Node, number: int = 1) -> dict[str, Any]:
    """Return a new, empty and schedulable node like the given one, as JSON data. `number` distinguishes several of
    them; `taken`: the names of other nodes."""
    name = f"{like.name}-new"
    while name in taken:
        name += "x"
    name = f"{name}-{number}" if number > 1 else name
    raw: dict[str, Any] = msgspec.to_builtins(like)
    labels = {k: (name if v == like.name else v) for k, v in like.metadata.labels.items()}
    taints = [msgspec.to_builtins(taint) for taint in _lasting(like)]
    status = {key: raw["status"][key] for key in ("allocatable", "capacity", "conditions") if key in raw["status"]}
    spec = {"taints": taints} if taints else {}
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}
