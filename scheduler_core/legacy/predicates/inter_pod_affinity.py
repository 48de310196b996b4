"""MatchInterPodAffinity: required (anti-)affinity of the pod, and required anti-affinity of running pods.

Source: pkg/scheduler/algorithm/predicates/predicates.go (InterPodAffinityMatches), metadata.go.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy import reasons
from scheduler_core.plugins import inter_pod_affinity
from scheduler_core.plugins.inter_pod_affinity import FilterState, InterPodAffinity

NO_AFFINITY = reasons.refusal(reasons.AFFINITY, reasons.AFFINITY_RULES)
ANTI_AFFINITY = reasons.refusal(reasons.AFFINITY, reasons.ANTI_AFFINITY_RULES)
EXISTING_ANTI_AFFINITY = reasons.refusal(reasons.AFFINITY, reasons.EXISTING_ANTI_AFFINITY)

_OLD = {
    inter_pod_affinity.NO_AFFINITY: NO_AFFINITY,
    inter_pod_affinity.ANTI_AFFINITY: ANTI_AFFINITY,
    inter_pod_affinity.EXISTING_ANTI_AFFINITY: EXISTING_ANTI_AFFINITY,
}


class MatchInterPodAffinity(InterPodAffinity):
    """Checks the anti-affinity of running pods first.

    If the pod is the first that matches its own affinity terms, it may go to any node, even one without the topology
    label.
    """

    name = "MatchInterPodAffinity"

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(
            SimpleNamespace(hard_pod_affinity_weight=1, ignore_preferred_terms_of_existing_pods=False), cluster
        )

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        now: FilterState | None = state.get(self.name)
        if now is None:
            return fwk.PASSES
        choices: list[tuple[fwk.Bool, fwk.Status]] = []
        for domains, status in self._repelling(now):
            if domains.counts.any():
                choices.append((domains.topology.mask_over_nodes(domains.counts > 0), status))
        near = [(~self._attracted(now), NO_AFFINITY)] if now.affinity else []
        existing = [choice for choice in choices if choice[1] is EXISTING_ANTI_AFFINITY]
        own = [choice for choice in choices if choice[1] is ANTI_AFFINITY]
        return fwk.Verdict.choose(*existing, *near, *own)

    @staticmethod
    def _repelling(now: FilterState) -> list[tuple[inter_pod_affinity.Domains, fwk.Status]]:
        existing = [(domains, EXISTING_ANTI_AFFINITY) for _, domains in now.existing]
        return existing + [(domains, ANTI_AFFINITY) for _, domains in now.anti]

    def _attracted(self, now: FilterState) -> fwk.Bool:
        if not now.anyone and now.selfish:
            return np.ones(len(now.affinity[0].topology.ids), np.bool_)
        return super()._attracted(now)

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.Change) -> fwk.Status | None:
        now: FilterState | None = state.get(self.name)
        if now is None:
            now = FilterState([], None, [], [], selfish=False, anyone=False)
            state = fwk.CycleState()
            state[self.name] = now
        # The first part that rejects the node decides; the anti-affinity of running pods comes first.
        parts = (
            FilterState([], None, [], now.existing, selfish=False, anyone=False),
            FilterState(now.affinity, now.affinity_column, [], [], now.selfish, now.anyone),
            FilterState([], None, now.anti, [], selfish=False, anyone=False),
        )
        for part in parts:
            alone = fwk.CycleState()
            alone[self.name] = part
            status = self._first(alone, pod, change, part is parts[0])
            if status is not None:
                return _OLD[status]
        return None

    def _first(self, state: fwk.CycleState, pod: PodInfo, change: fwk.Change, existing: bool) -> fwk.Status | None:
        status = super().filter_node(state, pod, change)
        return status if existing or status is not inter_pod_affinity.EXISTING_ANTI_AFFINITY else None

    def _attracted_node(self, now: FilterState, change: fwk.Change) -> bool:
        """Return as the plugin does, except that the first pod of its group may go to any node."""
        column = now.affinity_column
        if column is None:
            return True
        step = sum(map(column.matches, change.added)) - sum(map(column.matches, change.removed))
        near, anyone = True, False
        for domains in now.affinity:
            domain = int(domains.topology.ids[change.row])
            here = int(domains.counts[domain]) + step if domain >= 0 else 0
            before = domain >= 0 and int(domains.counts[domain]) != 0
            near = near and here > 0
            anyone = anyone or here > 0 or int(np.count_nonzero(domains.counts)) > before
        return near or (not anyone and now.selfish)
