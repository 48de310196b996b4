"""NodeAffinity: nodeSelector and node affinity, and the affinity that the profile adds to every pod.

Upstream: pkg/scheduler/framework/plugins/nodeaffinity.
"""

from typing import Any

import msgspec
import numpy as np

from scheduler_core.api import objects, selectors
from scheduler_core.cluster import node_matching
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.framework.interface import (
    PASSES,
    SKIPPED,
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
    default_normalize,
    unresolvable,
)

NOT_MATCHED = unresolvable("node(s) didn't match Pod's node affinity/selector")
NOT_ENFORCED = unresolvable("node(s) didn't match scheduler-enforced node affinity")
CONFLICT = unresolvable("pod affinity terms conflict")


class NodeAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    name = "NodeAffinity"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        added = getattr(args, "added_affinity", None)
        where = "NodeAffinityArgs.addedAffinity"
        self.added = objects.convert(msgspec.to_builtins(added), objects.NodeAffinity, where) if added else None
        if self.added is not None and self.added.required is not None:
            objects.check_node_terms(self.added.required.node_selector_terms, where, "required")

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | PreFilterResult | None:
        """Skips where there is nothing to match; narrows to the nodes that every term names by metadata.name."""
        affinity = pod.pod.spec.affinity
        required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
        enforced = self.added is not None and self.added.required is not None
        if required is None and not enforced and pod.pod.spec.node_selector is None:
            return SKIPPED
        if required is None or not required.node_selector_terms:
            return None
        names: set[str] = set()
        for term in required.node_selector_terms:
            lists = [req.values for req in term.match_fields if req.key == "metadata.name" and req.operator == "In"]
            if not lists:
                return None
            names |= set.intersection(*map(set, lists))
        return PreFilterResult(frozenset(names)) if names else CONFLICT

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        nodes = self.cluster.nodes
        if self.added is None or self.added.required is None:
            if pod.node_selection is None:
                return PASSES
            return nodes.memo((self.name, pod.node_selection), lambda: self._verdict(pod))
        return self._verdict(pod)

    def _verdict(self, pod: PodInfo) -> Verdict:
        nodes = self.cluster.nodes
        mask = node_matching.required_mask(nodes, pod)
        wanted = np.ones(len(nodes), np.bool_) if mask is None else mask
        if self.added is None or self.added.required is None:
            return Verdict.reject(~wanted, NOT_MATCHED)
        terms = self.added.required.node_selector_terms
        enforced = nodes.memo((self.name, "added"), lambda: node_matching.terms_mask(nodes, terms))
        return Verdict.choose((~enforced, NOT_ENFORCED), (~wanted, NOT_MATCHED))

    def pre_score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Status | None:
        added = bool(self.added and self.added.preferred)
        if self.cluster.release.prescore_skips and not added and not self._preferred(pod):
            return SKIPPED
        return None

    @staticmethod
    def _preferred(pod: PodInfo) -> list[objects.PreferredSchedulingTerm]:
        affinity = pod.pod.spec.affinity
        return affinity.node_affinity.preferred if affinity and affinity.node_affinity else []

    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        """The sum of the weights of the preferred terms that a node meets."""
        nodes = self.cluster.nodes
        terms = [*(self.added.preferred if self.added else ()), *self._preferred(pod)]
        key = (self.name, "score", msgspec.json.encode(terms))

        def make() -> Int64:
            total = np.zeros(len(nodes), np.int64)
            for term in terms:
                total[node_matching.term_mask(nodes, term.preference)] += term.weight
            return total

        return nodes.memo(key, make)[rows]

    def normalize(self, state: CycleState, pod: PodInfo, scores: Int64, rows: Rows) -> Int64:
        return default_normalize(scores, reverse=False)

    def events_to_register(self) -> list[events.EventHint]:
        return [events.registered(events.NODE, events.ADD, events.UPDATE_NODE_LABEL, hint=self._after_node_change)]

    def _after_node_change(self, pod: PodInfo, old: objects.Node | None, new: objects.Node) -> bool:
        """The node matches now; for an update, it did not before."""
        added = self.added.required.node_selector_terms if self.added and self.added.required else None
        if added is not None and not selectors.any_term_matches(added, new):
            return False
        matched = old is not None and node_matching.required_matches(pod, old)
        return not matched and node_matching.required_matches(pod, new)
