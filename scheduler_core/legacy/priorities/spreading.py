"""SelectorSpreadPriority, ServiceSpreadingPriority and ServiceAntiAffinity's: pods of the same service or controller go
to different nodes, zones, label values.

Source: pkg/scheduler/algorithm/priorities (selector_spreading.go), k8s.io/client-go/listers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from scheduler_core.api import selectors
from scheduler_core.api.objects import Service
from scheduler_core.api.selectors import Selector
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.nodes import zone_key
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.topology import Topology
from scheduler_core.framework.interface import CycleState, Int64, Rows, ScorePlugin
from scheduler_core.legacy.priorities.scale import MAX_PRIORITY

ZONE_WEIGHT = 2.0 / 3.0
_ZONE = "\0zone"  # no label has this name


def services_of(cluster: Cluster, pod: PodInfo) -> Iterator[Service]:
    """The services that select the pod; one without a selector selects nobody."""
    for service in cluster.services.values():
        wanted = service.spec.selector
        if wanted and service.namespace == pod.namespace and wanted.items() <= pod.labels.items():
            yield service


def controllers_of(cluster: Cluster, pod: PodInfo) -> Iterator[Any]:
    """Replication controllers, replica sets and stateful sets whose selectors match the pod, whoever made it."""
    for controller in cluster.replication_controllers.values():
        wanted = controller.spec.selector
        if wanted and controller.namespace == pod.namespace and wanted.items() <= pod.labels.items():
            yield controller
    for table in (cluster.replica_sets, cluster.stateful_sets):
        for workload in table.values():
            if pod.labels and workload.namespace == pod.namespace:
                selector = selectors.compile_selector(workload.spec.selector)
                if selector.key and selector.matches(pod.labels):
                    yield workload


def selector_of(owner: Any) -> Selector:
    """What a service or controller selects by."""
    wanted = owner.spec.selector
    return selectors.from_labels(wanted) if isinstance(wanted, dict) else selectors.compile_selector(wanted)


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
        return self.cluster.columns.matching(frozenset((pod.namespace,)), wanted, terminating=False).counts[rows]


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
    """The same by services alone."""

    name = "ServiceSpreadingPriority"

    def owners(self, pod: PodInfo) -> list[Any]:
        return list(services_of(self.cluster, pod))


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
