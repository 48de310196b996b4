"""What suggestions need of all nodes, computed once for the nodes as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from scheduler_core.api.objects import Node
from scheduler_core.cluster.cluster import Cluster

_KEY = "suggestions.node_facts"
T = TypeVar("T")


def of_nodes(cluster: Cluster, key: Hashable, make: Callable[[list[Node]], T]) -> T:
    """Return `make` of the cluster's nodes; results are kept by key while no node changes, for other workloads."""
    nodes = cluster.nodes.nodes
    known: tuple[list[Node], dict[Hashable, Any]] | None = cluster.shared.get(_KEY)
    same = known is not None and len(known[0]) == len(nodes)
    if known is None or not same or any(one is not other for one, other in zip(known[0], nodes, strict=True)):
        known = cluster.shared[_KEY] = (list(nodes), {})
    found: dict[Hashable, Any] = known[1]
    if key not in found:
        found[key] = make(known[0])
    result: T = found[key]
    return result


def values_of(cluster: Cluster, label: str) -> list[str]:
    """Return the values of a label on nodes, the most frequent first."""

    def make(nodes: list[Node]) -> list[str]:
        found = Counter(node.metadata.labels[label] for node in nodes if label in node.metadata.labels)
        return sorted(found, key=lambda value: (-found[value], value))

    return of_nodes(cluster, ("values", label), make)
