"""CheckServiceAffinity: the pods of a service run on nodes with equal values of some labels.

Source: pkg/scheduler/algorithm/predicates/predicates.go (checkServiceAffinity), metadata.go.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scheduler_core.api import selectors
from scheduler_core.cluster.pod_counts import SelectorColumn
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy import reasons
from scheduler_core.legacy.services import services_of
from scheduler_core.provenance.context import View
from scheduler_core.provenance.matching import label_equals
from scheduler_core.provenance.tree import Tree, constant, every, opposite


@dataclass(slots=True)
class _Like:
    """Result of PreFilter. `served`: a service selects the pod. `column`: pods of its namespace that have all its
    labels."""

    served: bool
    column: SelectorColumn


class CheckServiceAffinity(fwk.PreFilterPlugin, fwk.FilterPlugin):
    """Requires the label values of a similar pod's node, for labels that the pod's nodeSelector does not name.

    If there are several such pods, upstream uses list order, which is random. Here it is the first in node order.
    """

    name = "CheckServiceAffinity"

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        like = selectors.from_labels(pod.labels)
        column = self.cluster.columns.matching(frozenset((pod.namespace,)), like, terminating=True)
        served = next(services_of(self.cluster, pod), None) is not None
        state[self.name] = _Like(served, column)
        return None

    def _wanted(self, pod: PodInfo, like: _Like, row: int) -> dict[str, str]:
        """Return label -> required value. `row`: the node of a similar pod; -1 for none."""
        selector = pod.pod.spec.node_selector or {}
        wanted = {label: selector[label] for label in self.args.labels if label in selector}
        if len(wanted) < len(self.args.labels) and like.served and row >= 0:
            there = self.cluster.nodes.nodes[row].metadata.labels
            wanted |= {n: there[n] for n in self.args.labels if n not in wanted and n in there}
        return wanted

    def _first(self, like: _Like) -> int:
        rows = np.flatnonzero(like.column.counts)
        return int(rows[0]) if len(rows) else -1

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        like: _Like = state[self.name]
        wanted = self._wanted(pod, like, self._first(like))
        if not wanted:
            return fwk.PASSES
        nodes = self.cluster.nodes
        refused = np.zeros(len(nodes), np.bool_)
        for label, value in wanted.items():
            topology = nodes.topology(label)
            number = topology.values.index(value) if value in topology.values else -2
            refused |= topology.ids != number
        return fwk.Verdict.reject(refused, reasons.refusal(reasons.SERVICE_AFFINITY))

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.Change) -> fwk.Status | None:
        like: _Like = state[self.name]
        counts = like.column.counts
        left = counts[change.row] - sum(map(like.column.matches, change.removed))
        others = np.flatnonzero(counts)
        row = next((r for r in others.tolist() if r != change.row or left > 0), -1)
        if row < 0 and like.served and any(map(like.column.matches, change.added)):
            return fwk.error('node "" not found')  # a nominated pod has no node yet
        labels = self.cluster.nodes.nodes[change.row].metadata.labels
        fits = all(labels.get(label) == value for label, value in self._wanted(pod, like, row).items())
        return None if fits else reasons.refusal(reasons.SERVICE_AFFINITY)

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        like: _Like = state[self.name]
        row, pod = self._first(like), view.pod
        selector, parts = pod.pod.spec.node_selector or {}, []
        for label, _ in self._wanted(pod, like, row).items():
            if label in selector:
                leaf = view.field(pod, "spec", "nodeSelector", label)
            else:
                leaf = view.field(self.cluster.nodes.nodes[row], "metadata", "labels", label)
            parts.append(label_equals(view, view.node, label, leaf))
        if not parts:
            return constant(False, "no pod of the service tells where").with_text("No pod of the service runs yet")
        refused = opposite(every(parts), "its labels are not those of the service's pods")
        text = "is not where the pods of the service are" if refused.value else "is where the pods of the service are"
        return refused.with_text(f"{view.node.name} {text}")
