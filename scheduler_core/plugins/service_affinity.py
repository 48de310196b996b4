"""ServiceAffinity: places the pods of a service on nodes with equal values of certain labels, or spreads them over the
values.

Upstream (until 1.22): pkg/scheduler/framework/plugins/serviceaffinity.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from scheduler_core.api import selectors
from scheduler_core.api.plugin_args import PluginArgs
from scheduler_core.cluster.pod_counts import SelectorColumn
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins.default_selector import services_of
from scheduler_core.provenance.context import View
from scheduler_core.provenance.matching import label_equals
from scheduler_core.provenance.scores import max_node_score
from scheduler_core.provenance.tree import (
    Tree,
    constant,
    contains,
    divide,
    equal,
    every,
    multiply,
    opposite,
    over,
    some,
    subtract,
    total_floats,
    truncated,
)

NOT_MATCHED = fwk.unschedulable("node(s) didn't match service affinity")


@dataclass(frozen=True, slots=True)
class _Peers:
    """Result of PreFilter.

    `wanted`: the affinity labels in the pod's nodeSelector. `column`: the pods that have all labels of this pod, None
    if they are not needed. `first`: the row of the node with the first of them, -1 for none.
    """

    wanted: dict[str, str]
    column: SelectorColumn | None
    first: int


class ServiceAffinityArgs(PluginArgs, frozen=True, kw_only=True):
    affinity_labels: tuple[str, ...] = ()
    anti_affinity_labels_preference: tuple[str, ...] = ()


class ServiceAffinity(fwk.PreFilterPlugin, fwk.FilterPlugin, fwk.ScorePlugin):
    name = "ServiceAffinity"
    best = "the one with the fewest pods of the same service around"
    args_class = ServiceAffinityArgs
    opt_in = True
    phrases = {NOT_MATCHED.message: "have other labels than the nodes of its service's pods"}
    no_node = fwk.error("node not found")

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Find the pods that have all labels of this pod, if a service selects it."""
        chosen = pod.pod.spec.node_selector or {}
        wanted = {label: chosen[label] for label in self.args.affinity_labels if label in chosen}
        column, first = None, -1
        if len(wanted) < len(self.args.affinity_labels) and services_of(self.cluster, pod):
            selector = selectors.from_labels(pod.labels)
            column = self.cluster.columns.matching(frozenset((pod.namespace,)), selector, terminating=True)
            rows = np.flatnonzero(column.counts)
            first = int(rows[0]) if len(rows) else -1
        state[self.name] = _Peers(wanted, column, first)
        return None

    def _matching(self, wanted: dict[str, str], peer: int) -> fwk.Bool:
        """Return the nodes with the wanted labels and, for other affinity labels, the values of the peer's node; bool
        over nodes."""
        nodes = self.cluster.nodes
        values = dict(wanted)
        if peer >= 0:
            labels = nodes.nodes[peer].metadata.labels
            values = {label: labels[label] for label in self.args.affinity_labels if label in labels} | wanted
        mask = np.ones(len(nodes), np.bool_)
        for label, value in values.items():
            topology = nodes.topology(label)
            mask &= topology.ids == topology.values.index(value) if value in topology.values else np.False_
        return mask

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        """Reject nodes whose values of `affinityLabels` differ from those of the service's first pod."""
        if not self.args.affinity_labels:
            return fwk.PASSES
        peers: _Peers = state[self.name]
        return fwk.Verdict.reject(~self._matching(peers.wanted, peers.first), NOT_MATCHED)

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.NodePodsChange) -> fwk.Status | None:
        if not self.args.affinity_labels:
            return None
        peers: _Peers = state[self.name]
        first = peers.first
        if peers.column is not None:
            matches = peers.column.matches
            left = peers.column.counts.copy()
            left[change.row] -= sum(map(matches, change.removed))
            rows = np.flatnonzero(left > 0)
            # pods that were added or put back on the node are last in the list
            added = [other for other in change.added if matches(other)]
            here = {other.key for other in (*change.removed, *change.added)}
            returned = {other.key for other, step in change.history if step > 0 and matches(other)} - here
            first = int(rows[0]) if len(rows) else -1
            if first == change.row and left[change.row] == len(returned):
                first = int(rows[1]) if len(rows) > 1 else first
            if first < 0 and added:
                if not added[0].node:
                    return self.no_node  # a nominated pod is on no node yet
                first = change.row
        return None if self._matching(peers.wanted, first)[change.row] else NOT_MATCHED

    # ---- score

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return the number of pods on the node that the first of the pod's services selects."""
        column = self._of_service(pod)
        return column.counts[rows].copy() if column is not None else np.zeros(len(self.cluster.nodes), np.int64)[rows]

    def _of_service(self, pod: PodInfo) -> SelectorColumn | None:
        services = services_of(self.cluster, pod)
        if not services:
            return None
        selector = selectors.from_labels(services[0].spec.selector)
        return self.cluster.columns.matching(frozenset((pod.namespace,)), selector, terminating=False)

    def normalize(self, state: fwk.CycleState, pod: PodInfo, scores: fwk.Int64, rows: fwk.Rows) -> fwk.Int64:
        """Prefer, for each of `antiAffinityLabelsPreference`, nodes whose label value has fewer of the pods."""
        labels = self.args.anti_affinity_labels_preference
        points = np.zeros(len(scores), np.float64)
        pods = int(scores.sum())
        for label in labels:
            topology = self.cluster.nodes.topology(label)
            ids = topology.ids[rows]
            has = ids >= 0
            share = np.full(len(scores), float(self.max_score))
            if pods > 0:
                sums = np.bincount(ids[has], weights=scores[has], minlength=len(topology.values)).astype(np.int64)
                share = float(self.max_score) * ((pods - np.append(sums, 0)[ids]) / float(pods))
            points += np.where(has, share / float(len(labels)), 0.0)
        return points.astype(np.int64)

    # ---- explanations

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        peers: _Peers = state[self.name]
        held = view.field(view.node, "metadata", "labels", missing={})
        first, parts = self._first_peer(view, peers), []
        theirs = self.cluster.nodes.nodes[first].metadata.labels if first >= 0 else {}
        for i, label in enumerate(self.args.affinity_labels):
            if label in peers.wanted:
                value = view.field(view.pod, "spec", "nodeSelector", label)
            elif label in theirs:
                value = view.field(self.cluster.nodes.nodes[first], "metadata", "labels", label)
            else:
                continue
            if label in view.node.metadata.labels:
                mine = view.field(view.node, "metadata", "labels", label)
                parts.append(opposite(equal(mine, value), f"{label} is not {value.value}"))
            else:
                parts.append(opposite(contains(held, view.argument(self.name, "affinityLabels", i)), f"lacks {label}"))
        text = next((part.label for part in parts if part.value), "has the values of the service's first pod")
        return some(parts, "a label differs").with_text(f"{view.node.name}: {text}")

    def _first_peer(self, view: View, peers: _Peers) -> int:
        """Return the row of the service's first pod, with the changes of the view applied."""
        if peers.column is None or not (view.added or view.removed):
            return peers.first
        rows = range(len(self.cluster.nodes))
        return next((row for row in rows if any(map(peers.column.matches, view.pods_on(row)))), -1)

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        services = services_of(self.cluster, view.pod)
        if not services:
            return constant(0, "no service selects the pod").with_text("0: the pod is of no service")
        column = self._of_service(view.pod)
        members = [pod for pod in view.pods_on(view.row) if column is not None and column.matches(pod)]
        counted = [partial(self._explain_member, view, pod) for pod in members]
        tree = view.long_count(counted, "pods", "pods of the service on the node")
        return tree.with_text(f"{tree.value} = pods of the service {services[0].name} on {view.node.name}")

    def _explain_member(self, view: View, other: PodInfo) -> Tree:
        service = services_of(self.cluster, view.pod)[0]
        parts = [
            label_equals(view, other, key, view.field(service, "spec", "selector", key))
            for key in service.spec.selector
        ]
        return parts[0] if len(parts) == 1 else every(parts, f"{other.key} counts")

    def explain_normalize(self, state: fwk.CycleState, view: View, raw: Tree, scores: fwk.Int64) -> Tree:
        labels = self.args.anti_affinity_labels_preference
        pods = over("sum", int(scores.sum()), len(scores), "pods of the service on feasible nodes")
        many, parts = constant(float(len(labels)), "labels"), []
        for label in labels:
            ids = self.cluster.nodes.topology(label).ids
            mine = int(ids[view.row])
            if mine < 0:
                continue
            here = ids[view.rows] == mine
            if pods.value > 0:
                value = self.cluster.nodes.topology(label).values[mine]
                same = over("sum", int(scores[here].sum()), int(here.sum()), f"of them where {label} is {value}")
                share = multiply(max_node_score(self.max_score), divide(subtract(pods, same), pods))
            else:
                share = multiply(constant(1.0, "there is none"), max_node_score(self.max_score))
            parts.append(divide(share, many, f"fewer pods with the same {label} score higher"))
        tree = truncated(total_floats(parts) if parts else constant(0.0, "has none of the labels"))
        return tree.with_text(f"{tree.value} = how few of the {pods.value} pods are where {view.node.name} is")

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered(events.POD, events.ADD, events.UPDATE_POD_LABEL, events.DELETE),
            events.registered(events.NODE, events.ADD, events.UPDATE_NODE_LABEL),
            events.registered("Service", events.ADD, events.UPDATE, events.DELETE),
        ]
