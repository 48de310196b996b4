"""SelectorSpreadPriority, ServiceSpreadingPriority and ServiceAntiAffinity's: pods of the same service or controller go
to different nodes, zones, label values.

Source: pkg/scheduler/algorithm/priorities (selector_spreading.go), k8s.io/client-go/listers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scheduler_core.api.selectors import Selector
from scheduler_core.cluster.nodes import zone_key
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.topology import Topology
from scheduler_core.framework.interface import CycleState, Int64, Rows, ScorePlugin
from scheduler_core.legacy.priorities.scale import MAX_PRIORITY
from scheduler_core.legacy.services import controllers_of, selector_of, services_of

ZONE_WEIGHT = 2.0 / 3.0
_ZONE = "\0zone"  # no label has this name


class _Counting(ScorePlugin):
    def owners(self, pod: PodInfo) -> list[Any]:
        """Those of whose pods there should be few on a node: all of their selectors must match one."""
        raise NotImplementedError

    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        owners = self.owners(pod)
        if not owners:
            return np.zeros(len(self.cluster.nodes), np.int64)[rows]
        requirements = {requirement for owner in owners for requirement in selector_of(owner).key or ()}
        wanted = Selector(tuple(sorted(requirements)))
        column = self.cluster.columns.matching(frozenset((pod.namespace,)), wanted, terminating=False)
        return column.counts[rows].copy()  # the column goes on counting


class SelectorSpreadPriority(_Counting):
    """Few pods of the pod's services and controllers on the node count a third, few in its zone two thirds."""

    name = "SelectorSpreadPriority"

    def owners(self, pod: PodInfo) -> list[Any]:
        return [*services_of(self.cluster, pod), *controllers_of(self.cluster, pod)]

    def zones(self) -> Topology:
        """The zone of each node as a column; -1 for a node of none."""
        nodes, stable = self.cluster.nodes, self.cluster.release.zone_labels_stable

        def make() -> Topology:
            return Topology.of_values([zone_key(node, stable) or None for node in nodes.nodes])

        return nodes.memo(_ZONE, make)

    def normalize(self, state: CycleState, pod: PodInfo, scores: Int64, rows: Rows) -> Int64:
        zones, ids = self.zones(), self.zones().ids[rows]
        most = int(scores.max()) if len(scores) else 0
        result = np.full(len(scores), float(MAX_PRIORITY))
        if most > 0:
            result = float(MAX_PRIORITY) * ((most - scores) / float(most))
        zoned = ids >= 0
        if zoned.any():
            counts = np.bincount(ids[zoned], weights=scores[zoned], minlength=len(zones.values))
            fullest = float(counts.max())
            of_zone = np.full(len(scores), float(MAX_PRIORITY))
            if fullest > 0:
                of_zone = float(MAX_PRIORITY) * ((fullest - counts[ids]) / fullest)
            result = np.where(zoned, result * (1.0 - ZONE_WEIGHT) + ZONE_WEIGHT * of_zone, result)
        return result.astype(np.int64)


class ServiceSpreadingPriority(SelectorSpreadPriority):
    """Meant to look at services alone; but what priorities share names the controllers, too, so it does the same."""

    name = "ServiceSpreadingPriority"


class ServiceAntiAffinityPriority(_Counting):
    """Few pods of the pod's first service where a label has the node's value; 0 for nodes without the label."""

    name = "ServiceAntiAffinityPriority"

    def owners(self, pod: PodInfo) -> list[Any]:
        return list(services_of(self.cluster, pod))[:1]

    def normalize(self, state: CycleState, pod: PodInfo, scores: Int64, rows: Rows) -> Int64:
        topology = self.cluster.nodes.topology(self.args.label)
        ids, everywhere = topology.ids[rows], int(scores.sum())
        labelled = ids >= 0
        result = np.where(labelled, float(MAX_PRIORITY), 0.0)
        if everywhere > 0 and labelled.any():
            counts = np.bincount(ids[labelled], weights=scores[labelled], minlength=len(topology.values))
            shares = float(MAX_PRIORITY) * ((everywhere - counts[ids]) / float(everywhere))
            result = np.where(labelled, shares, 0.0)
        return result.astype(np.int64)
