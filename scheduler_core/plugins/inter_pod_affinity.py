"""InterPodAffinity: pods that want to be near, or far from, other pods.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity (filtering.go, scoring.go).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler_core.api.objects import Node
from scheduler_core.api.selectors import NOTHING, Selector
from scheduler_core.cluster.counted import SelectorColumn, Term, TermColumn
from scheduler_core.cluster.pod_columns import (
    PREFERRED_AFFINITY,
    PREFERRED_ANTI_AFFINITY,
    REQUIRED_AFFINITY,
    REQUIRED_ANTI_AFFINITY,
)
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.topology import Topology
from scheduler_core.framework import events
from scheduler_core.framework.interface import (
    PASSES,
    SKIPPED,
    Bool,
    Change,
    CycleState,
    FilterPlugin,
    Int64,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Rows,
    ScorePlugin,
    Status,
    Verdict,
    unresolvable,
    unschedulable,
)

NO_AFFINITY = unresolvable("node(s) didn't match pod affinity rules")
ANTI_AFFINITY = unschedulable("node(s) didn't match pod anti-affinity rules")
EXISTING_ANTI_AFFINITY = unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")


@dataclass(slots=True)
class Domains:
    """A number per topology domain. `counts`: int64 over the values of the topology."""

    topology: Topology
    counts: Int64


@dataclass(slots=True)
class FilterState:
    """`affinity`: a Domains per required term, all counting the pods that match every term (`affinity_column`).
    `anti`: (column of matching pods, Domains) per required anti-affinity term. `existing`: (column of pods that carry
    the term, Domains) per term of running pods that matches this pod. `selfish`: the pod matches its own terms."""

    affinity: list[Domains]
    affinity_column: SelectorColumn | None
    anti: list[tuple[SelectorColumn, Domains]]
    existing: list[tuple[TermColumn, Domains]]
    selfish: bool
    anyone: bool


class InterPodAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    name = "InterPodAffinity"

    # ---- helpers

    def _domains(self, topology_key: str, counts: Int64) -> Domains:
        topology = self.cluster.nodes.topology(topology_key)
        return Domains(topology, topology.sums(counts))

    def _resolve(self, term: Term) -> frozenset[str] | None:
        """The namespaces a term of the incoming pod looks at: those listed and those selected; None for all."""
        key = term.namespace_selector.key
        if key is None:
            return term.namespaces
        if key == ():
            return None
        chosen = (name for name, labels in self.cluster.namespaces.items() if term.namespace_selector.matches(labels))
        return term.namespaces.union(chosen)

    def _column(self, term: Term) -> SelectorColumn:
        return self.cluster.columns.matching(self._resolve(term), term.selector, terminating=True)

    def _all_terms_column(self, terms: tuple[Term, ...]) -> SelectorColumn:
        """Pods that match every one of the terms."""
        namespaces: frozenset[str] | None = None
        requirements: set[Any] = set()
        selector: Selector | None = None
        for term in terms:
            resolved = self._resolve(term)
            if resolved is not None:
                namespaces = resolved if namespaces is None else namespaces & resolved
            if term.selector.key is None:
                selector = NOTHING
            else:
                requirements.update(term.selector.key)
        if selector is None:
            selector = terms[0].selector if len(terms) == 1 else Selector(tuple(sorted(requirements)))
        return self.cluster.columns.matching(namespaces, selector, terminating=True)

    # ---- filter

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | PreFilterResult | None:
        """Counts, per topology domain, what attracts or repels the pod; skips when nothing can."""
        existing = []
        for carried in self.cluster.columns.terms_matching(pod):
            if carried.role == REQUIRED_ANTI_AFFINITY and carried.total:
                domains = self._domains(carried.term.topology_key, carried.counts)
                if domains.counts.any():
                    existing.append((carried, domains))
        if not existing and not pod.required_affinity and not pod.required_anti_affinity:
            return SKIPPED
        affinity: list[Domains] = []
        column: SelectorColumn | None = None
        if pod.required_affinity:
            column = self._all_terms_column(pod.required_affinity)
            affinity = [self._domains(term.topology_key, column.counts) for term in pod.required_affinity]
        anti = []
        for term in pod.required_anti_affinity:
            repelled = self._column(term)
            anti.append((repelled, self._domains(term.topology_key, repelled.counts)))
        state[self.name] = FilterState(
            affinity,
            column,
            anti,
            existing,
            selfish=column is not None and column.matches(pod),
            anyone=any(domains.counts.any() for domains in affinity),
        )
        return None

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        now: FilterState | None = state.get(self.name)
        if now is None:
            return PASSES
        choices: list[tuple[Bool, Status]] = []
        if now.affinity:
            choices.append((~self._attracted(now), NO_AFFINITY))
        for pairs, status in ((now.anti, ANTI_AFFINITY), (now.existing, EXISTING_ANTI_AFFINITY)):
            repelled: Bool | None = None
            for _, domains in pairs:
                if domains.counts.any():
                    mask = domains.topology.mask_over_nodes(domains.counts > 0)
                    repelled = mask if repelled is None else repelled | mask
            if repelled is not None:
                choices.append((repelled, status))
        return Verdict.choose(*choices) if choices else PASSES

    @staticmethod
    def _attracted(now: FilterState) -> Bool:
        """Nodes that satisfy the pod's own required affinity. bool over nodes."""
        labelled = np.ones(len(now.affinity[0].topology.ids), np.bool_)
        near = labelled.copy()
        for domains in now.affinity:
            if domains.topology.missing is not None:
                labelled &= ~domains.topology.missing
            near &= domains.topology.mask_over_nodes(domains.counts > 0)
        # The first pod of a group that wants to be together may go anywhere.
        return labelled if not now.anyone and now.selfish else labelled & near

    def filter_node(self, state: CycleState, pod: PodInfo, change: Change) -> Status | None:
        now: FilterState | None = state.get(self.name)
        if now is None:
            return None
        row = change.row
        if now.affinity and not self._attracted_node(now, pod, change):
            return NO_AFFINITY
        for column, domains in now.anti:
            domain = int(domains.topology.ids[row])
            if domain >= 0:
                step = sum(map(column.matches, change.added)) - sum(map(column.matches, change.removed))
                if domains.counts[domain] + step > 0:
                    return ANTI_AFFINITY
        labels = self.cluster.nodes.nodes[row].metadata.labels
        counts: dict[tuple[str, str], int] = {}
        for carried, domains in now.existing:
            domain = int(domains.topology.ids[row])
            if domain >= 0:
                pair = (carried.term.topology_key, labels[carried.term.topology_key])
                counts[pair] = counts.get(pair, 0) + int(domains.counts[domain])
        namespace_labels = self.cluster.namespaces.get(pod.namespace, {})
        for others, step in ((change.added, 1), (change.removed, -1)):
            for other in others:
                for term in other.required_anti_affinity:
                    value = labels.get(term.topology_key)
                    if value is not None and term.matches(pod.namespace, namespace_labels, pod.labels):
                        pair = (term.topology_key, value)
                        counts[pair] = counts.get(pair, 0) + step
        return EXISTING_ANTI_AFFINITY if any(count > 0 for count in counts.values()) else None

    @staticmethod
    def _attracted_node(now: FilterState, pod: PodInfo, change: Change) -> bool:
        column = now.affinity_column
        if column is None:
            return True
        step = sum(map(column.matches, change.added)) - sum(map(column.matches, change.removed))
        near, anyone = True, False
        for domains in now.affinity:
            domain = int(domains.topology.ids[change.row])
            if domain < 0:
                return False
            count = int(domains.counts[domain]) + step
            near = near and count > 0
            anyone = anyone or count > 0 or int(np.count_nonzero(domains.counts)) > (domains.counts[domain] != 0)
        return near or (not anyone and now.selfish)

    # ---- score

    def pre_score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Status | None:
        """Sums, per topology domain, the weights of preferred terms of the pod and of running pods; skips if none."""
        preferred = pod.preferred_affinity or pod.preferred_anti_affinity
        if self.args.ignore_preferred_terms_of_existing_pods and not preferred:
            weights: dict[str, Int64] = {}
        else:
            weights = self._weights(pod)
        if not weights and self.cluster.release.prescore_skips:
            return SKIPPED
        state[f"{self.name}/score"] = weights
        return None

    def _weights(self, pod: PodInfo) -> dict[str, Int64]:
        """topology key -> the weight that each node adds to its domain; int64 over nodes."""
        hard = self.args.hard_pod_affinity_weight
        factors = {REQUIRED_AFFINITY: hard, PREFERRED_AFFINITY: 1, PREFERRED_ANTI_AFFINITY: -1}
        pairs: list[tuple[str, Int64, int]] = []
        for term in pod.preferred_affinity:
            pairs.append((term.topology_key, self._column(term).counts, term.weight))
        for term in pod.preferred_anti_affinity:
            pairs.append((term.topology_key, self._column(term).counts, -term.weight))
        for carried in self.cluster.columns.terms_matching(pod):
            factor = factors.get(carried.role, 0)
            if factor and carried.total:
                weight = factor if carried.role == REQUIRED_AFFINITY else factor * carried.term.weight
                pairs.append((carried.term.topology_key, carried.counts, weight))
        weights: dict[str, Int64] = {}
        for topology_key, counts, weight in pairs:
            missing = self.cluster.nodes.topology(topology_key).missing
            if not (counts if missing is None else counts[~missing]).any():
                continue
            sums = counts * weight
            weights[topology_key] = weights[topology_key] + sums if topology_key in weights else sums
        return weights

    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        """The weights of the node's domains, added up."""
        total = np.zeros(len(self.cluster.nodes), np.int64)
        for topology_key, sums in state[f"{self.name}/score"].items():
            topology = self.cluster.nodes.topology(topology_key)
            total += topology.over_nodes(topology.sums(sums))
        return total[rows]

    def normalize(self, state: CycleState, pod: PodInfo, scores: Int64, rows: Rows) -> Int64:
        """Scales lowest..highest to 0..100, as float64."""
        if not state[f"{self.name}/score"] or not len(scores):
            return scores
        lowest, highest = int(scores.min()), int(scores.max())
        if highest == lowest:
            return np.zeros_like(scores)
        result: Int64 = (100.0 * ((scores - lowest) / float(highest - lowest))).astype(np.int64)
        return result

    # ---- what wakes a pod

    def events_to_register(self) -> list[events.EventHint]:
        pod_actions = [events.ADD, events.UPDATE_POD_LABEL, events.DELETE]
        return [
            events.registered(events.POD, *pod_actions, hint=self._after_pod_change),
            events.registered(events.NODE, events.ADD, events.UPDATE_NODE_LABEL, hint=self._after_node_change),
        ]

    def _after_pod_change(self, pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> bool:
        """A running pod now meets all affinity terms, or no longer all anti-affinity terms."""
        if (old is not None and not old.node) or (new is not None and not new.node):
            return False
        near, far = pod.required_affinity, pod.required_anti_affinity
        if new is not None and self._meets(near, new) and (old is None or not self._meets(near, old)):
            return True
        return old is not None and self._meets(far, old) and (new is None or not self._meets(far, new))

    @staticmethod
    def _meets(terms: tuple[Term, ...], pod: PodInfo) -> bool:
        """Whether a pod matches all of the terms, of which there are some. Upstream has no namespace labels here."""
        return bool(terms) and all(term.matches(pod.namespace, {}, pod.labels) for term in terms)

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> bool:
        """A node came into, or moved between, the domains of a term; or left one of an anti-affinity term."""
        now = new.metadata.labels
        if old is None:
            return bool(pod.required_anti_affinity) or any(t.topology_key in now for t in pod.required_affinity)
        was = old.metadata.labels
        return any(
            term.topology_key in now and was.get(term.topology_key) != now[term.topology_key]
            for term in pod.required_affinity
        ) or any(
            term.topology_key in was and now.get(term.topology_key) != was[term.topology_key]
            for term in pod.required_anti_affinity
        )
