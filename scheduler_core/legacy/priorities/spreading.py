"""SelectorSpreadPriority, ServiceSpreadingPriority and ServiceAntiAffinityPriority: spread the pods of a service or
controller over nodes, zones or label values.

Source: pkg/scheduler/algorithm/priorities (selector_spreading.go), k8s.io/client-go/listers.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from scheduler_core.api.selectors import Selector
from scheduler_core.cluster.nodes import zone_key
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.topology import Topology
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy.priorities.scale import MAX_PRIORITY, max_priority
from scheduler_core.legacy.services import controllers_of, selector_of, services_of
from scheduler_core.provenance.context import View
from scheduler_core.provenance.scores import extreme
from scheduler_core.provenance.tree import (
    Tree,
    constant,
    contains,
    divide,
    either,
    multiply,
    over,
    subtract,
    total_floats,
    truncated,
)

ZONE_WEIGHT = 2.0 / 3.0
_ZONE = "\0zone"  # not a valid label name


class _Counting(fwk.ScorePlugin):
    def owners(self, pod: PodInfo) -> list[Any]:
        """Return the services and controllers whose pods are spread. A pod counts if all their selectors match it."""
        raise NotImplementedError

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        owners = self.owners(pod)
        if not owners:
            return np.zeros(len(self.cluster.nodes), np.int64)[rows]
        requirements = {requirement for owner in owners for requirement in selector_of(owner).key or ()}
        wanted = Selector(tuple(sorted(requirements)))
        column = self.cluster.columns.matching(frozenset((pod.namespace,)), wanted, terminating=False)
        return column.counts[rows].copy()  # copied, because the column is updated later

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        owners = self.owners(view.pod)
        if not owners:
            return constant(0, "no service or controller selects the pod").with_text("0: nothing selects the pod")
        chosen = [selector_of(owner) for owner in owners]
        here = [
            partial(view.holds, pod, "metadata", "labels", label=pod.key)
            for pod in view.pods_on(view.row)
            if pod.namespace == view.pod.namespace
            and not pod.terminating
            and all(selector.matches(pod.labels) for selector in chosen)
        ]
        names = ", ".join(f"{type(owner).__name__} {owner.name}" for owner in owners)
        tree = view.long_count(here, "pods", f"pods on the node that {names} select")
        return tree.with_text(f"{tree.value} = pods on {view.node.name} that {names} select")


class SelectorSpreadPriority(_Counting):
    """Prefers nodes with few pods of the same services and controllers (one third) in zones with few of them (two
    thirds)."""

    name = "SelectorSpreadPriority"

    def owners(self, pod: PodInfo) -> list[Any]:
        return [*services_of(self.cluster, pod), *controllers_of(self.cluster, pod)]

    def zones(self) -> Topology:
        """Return the zone of each node as a column; -1 for a node without one."""
        nodes, stable = self.cluster.nodes, self.cluster.release.stable_zone_labels

        def make() -> Topology:
            return Topology.of_values([zone_key(node, stable) or None for node in nodes.nodes])

        return nodes.memo(_ZONE, make)

    def normalize(self, state: fwk.CycleState, pod: PodInfo, scores: fwk.Int64, rows: fwk.Rows) -> fwk.Int64:
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

    def explain_normalize(self, state: fwk.CycleState, view: View, raw: Tree, scores: fwk.Int64) -> Tree:
        name, most = view.node.name, extreme(view, scores, "max")
        here = _fewer(raw, most).with_label("the fewer on the node the better")
        ids = self.zones().ids[view.rows]
        mine = int(self.zones().ids[view.row])
        if mine < 0:
            tree = truncated(here)
            return tree.with_text(
                f"{tree.value}: {raw.value} of at most {most.value} pods are on {name}, without a zone"
            )
        sums = np.bincount(ids[ids >= 0], weights=scores[ids >= 0]).astype(np.int64)
        around = over("sum", int(sums[mine]), int((ids == mine).sum()), "pods on the feasible nodes of the zone")
        fullest = over("max", int(sums.max()), len(sums), f"the most of {len(sums)} zones")
        share = constant(ZONE_WEIGHT, "zoneWeighting")
        zone = multiply(share, _fewer(around, fullest).with_label("the fewer in the zone the better"))
        tree = truncated(total_floats([multiply(here, subtract(constant(1.0), share)), zone]))
        return tree.with_text(
            f"{tree.value}: {raw.value} of at most {most.value} pods are on {name}, {around.value} of at most "
            f"{fullest.value} in its zone, which counts twice as much"
        )


class ServiceSpreadingPriority(SelectorSpreadPriority):
    """Behaves as SelectorSpreadPriority.

    It is meant to use only services, but the metadata that priorities share includes the controllers.
    """

    name = "ServiceSpreadingPriority"


class ServiceAntiAffinityPriority(_Counting):
    """Prefers label values with few pods of the pod's first service; 0 for nodes without the label."""

    name = "ServiceAntiAffinityPriority"

    def owners(self, pod: PodInfo) -> list[Any]:
        return list(services_of(self.cluster, pod))[:1]

    def normalize(self, state: fwk.CycleState, pod: PodInfo, scores: fwk.Int64, rows: fwk.Rows) -> fwk.Int64:
        topology = self.cluster.nodes.topology(self.args.label)
        ids, everywhere = topology.ids[rows], int(scores.sum())
        labelled = ids >= 0
        result = np.where(labelled, float(MAX_PRIORITY), 0.0)
        if everywhere > 0 and labelled.any():
            counts = np.bincount(ids[labelled], weights=scores[labelled], minlength=len(topology.values))
            shares = float(MAX_PRIORITY) * ((everywhere - counts[ids]) / float(everywhere))
            result = np.where(labelled, shares, 0.0)
        return result.astype(np.int64)

    def explain_normalize(self, state: fwk.CycleState, view: View, raw: Tree, scores: fwk.Int64) -> Tree:
        label, ids = self.args.label, self.cluster.nodes.topology(self.args.label).ids
        mine = int(ids[view.row])
        if mine < 0:
            there = contains(view.field(view.node, "metadata", "labels", missing={}), constant(label))
            return either(there, max_priority(), constant(0)).with_text(f"0: {view.node.name} has no label {label}")
        alike = ids[view.rows] == mine
        around = over("sum", int(scores[alike].sum()), int(alike.sum()), f"pods where {label} is the same")
        everywhere = over("sum", int(scores.sum()), len(scores), "pods of the service on feasible nodes")
        tree = truncated(_fewer(around, everywhere))
        return tree.with_text(f"{tree.value}: {around.value} of {everywhere.value} pods are where {label} is the same")


def _fewer(number: Tree, most: Tree) -> Tree:
    """Return 10 x the share by which the number is below the highest one; 10 if the highest is 0."""
    if not most.value:
        return multiply(constant(float(MAX_PRIORITY), "MaxPriority"), constant(1.0, "there are no pods"))
    return multiply(constant(float(MAX_PRIORITY), "MaxPriority"), divide(subtract(most, number), most))
