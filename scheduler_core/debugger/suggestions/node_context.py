"""A node that rejects a pod, as in the cycle: the input for all functions that offer steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from scheduler_core.api.objects import NOT_READY_TAINTS, Node
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_counts import Term
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.suggestions.node_facts import values_of
from scheduler_core.framework.interface import Status
from scheduler_core.framework.runtime import Framework

# Taints of broken nodes. A pod that tolerates them would be placed where it cannot run.
BROKEN = (
    *NOT_READY_TAINTS,
    *("node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure", "node.kubernetes.io/pid-pressure"),
    *("node.kubernetes.io/network-unavailable", "node.cloudprovider.kubernetes.io/uninitialized"),
    *("node.cloudprovider.kubernetes.io/shutdown", "ToBeDeletedByClusterAutoscaler"),
)
CORDONED = "node.kubernetes.io/unschedulable"
# Labels that describe what a node is. Changing them does not change the node.
GIVEN_LABELS = (
    *("kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os", "beta.kubernetes.io/arch"),
    *("beta.kubernetes.io/os", "node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"),
    *("topology.kubernetes.io/zone", "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone"),
    "failure-domain.beta.kubernetes.io/region",
)
SIMILAR = 0.6  # minimum likeness of a word that the user may have meant
MOST_WORDS = 500  # maximum number of compared words


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

    def domain(self, key: str) -> Iterator[PodInfo]:
        """Yield the pods on all nodes with this node's value of a label."""
        value = self.labels.get(key)
        for row, node in enumerate(self.cluster.nodes.nodes if value is not None else ()):
            if node.metadata.labels.get(key) == value:
                yield from self.cluster.nodes.pods_of(row)

    def matches(self, term: Term, namespace: str, labels: dict[str, str]) -> bool:
        """Return whether a pod affinity term selects a pod of this namespace with these labels."""
        return term.matches(namespace, self.cluster.namespaces.get(namespace, {}), labels)

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


def is_ready(node: Node) -> bool:
    """Return `node.ready`."""
    return node.ready


def likeness(one: str, other: str) -> float:
    """Return the similarity of two words: 0 for nothing in common, 1 for equal words ignoring case."""
    return SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Return similar known words, the most similar first."""
    words = [other for other, _ in zip(dict.fromkeys(known), range(MOST_WORDS), strict=False) if other != word]
    rated = [(likeness(word, other), other) for other in words if other]
    return [other for rate, other in sorted(rated, key=lambda pair: (-pair[0], pair[1])) if rate >= SIMILAR]
