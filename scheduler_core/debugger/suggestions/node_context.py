"""A node that rejects a pod, as in the cycle: the input for all functions that offer steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scheduler_core.api.objects import Node
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.suggestions.node_facts import values_of
from scheduler_core.framework.interface import Status
from scheduler_core.framework.runtime import Framework


@dataclass
class NodeContext:
    """A node by its current row, a pod, the pod as JSON data, and its cycle."""

    cluster: Cluster
    framework: Framework
    pod: PodInfo
    document: dict[str, Any]
    trace: CycleTrace
    row: int

    @property
    def name(self) -> str:
        return self.cluster.nodes.names[self.row]

    @property
    def node(self) -> Node:
        return self.cluster.nodes.nodes[self.row]

    @property
    def labels(self) -> dict[str, str]:
        return self.node.metadata.labels

    def ahead(self) -> list[PodInfo]:
        """Return the nominated pods that count on the node."""
        return self.framework.nominated_ahead(self.pod, self.name) if self.cluster.nominator else []

    def pods(self) -> list[PodInfo]:
        """Return the pods on the node, without nominated ones."""
        return list(self.cluster.nodes.pods_of(self.row))

    def values(self, key: str) -> list[str]:
        """Return the values of a label on nodes, the most frequent first."""
        return values_of(self.cluster, key)

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
