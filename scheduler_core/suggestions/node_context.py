"""A node that rejects a pod, as in the cycle: the input for all functions that offer edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from scheduler_core.api import selectors
from scheduler_core.api.objects import Node, Taint
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework.interface import Status
from scheduler_core.plugins.node_ports import taken_ports
from scheduler_core.suggestions.what_if import WhatIf

_KEY = "suggestions.of_nodes"
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


class NodeContext:
    """A pod and its cycle, and a node by its current row."""

    def __init__(self, what_if: WhatIf, trace: CycleTrace, row: int) -> None:
        self.what_if, self.trace, self.row = what_if, trace, row
        self.cluster, self.pod = what_if.cluster, what_if.pod
        self.node = self.cluster.nodes.nodes[row]
        self.name, self.labels = self.node.name, self.node.metadata.labels

    @property
    def untolerated(self) -> list[Taint]:
        """The taints that keep the pod from the node."""
        return selectors.untolerated(self.node.spec.taints, self.pod.pod.spec.tolerations)

    def taken_ports(self) -> dict[tuple[str, int], list[PodInfo]]:
        """Return the host ports of the pod that are in use on the node, with the pods that use them."""
        return taken_ports(self.pod, [*self.pods(), *self.ahead()])

    def ahead(self) -> list[PodInfo]:
        """Return the nominated pods that count on the node."""
        return self.what_if.framework.nominated_ahead(self.pod, self.name) if self.cluster.nominator else []

    def pods(self) -> list[PodInfo]:
        """Return the pods on the node, without nominated ones."""
        return list(self.cluster.nodes.pods_of(self.row))

    def is_full(self) -> bool:
        """Return whether the node has no free pod slot."""
        return len(self.pods()) + len(self.ahead()) >= int(self.cluster.nodes.allowed_pods[self.row])

    def values(self, label: str) -> list[str]:
        """Return the values of a label on nodes, the most frequent first."""

        def make(nodes: list[Node]) -> list[str]:
            found = Counter(node.metadata.labels[label] for node in nodes if label in node.metadata.labels)
            return sorted(found, key=lambda value: (-found[value], value))

        return of_nodes(self.cluster, ("values", label), make)

    def statuses(self) -> dict[str, Status]:
        """Return plugin -> status of each rejection of the node or of the whole pod; "" for a node left out by
        PreFilter."""
        trace = self.trace
        whole = trace.preenqueue or trace.prefilter
        if whole is not None:
            return {whole.plugin: whole}
        found = {plugin: s for plugin, verdict in trace.verdicts.items() if (s := verdict.at(self.row)) is not None}
        nominated = trace.nominated.get(self.row)
        if nominated is not None:
            found.setdefault(nominated.plugin, nominated)
        if not found and not trace.in_subset(self.row):
            found[""] = trace.subset_status or Status("", ("node(s) were excluded by PreFilter",))
        for denial in (trace.reserve, trace.permit):
            if not found and denial is not None and denial.rejected:
                found[denial.plugin] = denial
        return found
