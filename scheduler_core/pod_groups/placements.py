"""Placements: the topology domains in which a group may be placed, and their scores.

Source: pkg/scheduler/framework/plugins/topologyaware, .../podgrouppodscount, .../noderesources (placement scoring).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler_core.api.workloads import PodGroup
from scheduler_core.cluster import resources
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import Rows
from scheduler_core.framework.interface import MAX_NODE_SCORE
from scheduler_core.framework.runtime import Framework
from scheduler_core.plugins.gang_scheduling import is_member
from scheduler_core.plugins.resource_allocation import most_allocated

FIT = "NodeResourcesFit"
Assignments = Sequence[tuple[PodInfo, str]]


@dataclass(frozen=True, slots=True)
class Placement:
    """Nodes that are tried together. `rows`: None for the whole cluster."""

    name: str
    rows: Rows | None


def placements(cluster: Cluster, group: PodGroup) -> list[Placement]:
    """Return one placement for each value of the group's topology key; if members run already, only those of their
    domains."""
    key = group.spec.topology_key
    if not key:
        return [Placement("", None)]
    nodes = cluster.nodes
    there = {nodes.nodes[nodes.rows[pod.node]].metadata.labels.get(key, "") for pod in running(cluster, group)}
    found: dict[str, list[int]] = {}
    for row, node in enumerate(nodes.nodes):
        domain = node.metadata.labels.get(key)
        if domain is not None and (not there or domain in there):
            found.setdefault(domain, []).append(row)
    return [Placement(name, np.array(rows, np.intp)) for name, rows in sorted(found.items())]


def running(cluster: Cluster, group: PodGroup) -> list[PodInfo]:
    """Return the members that are on nodes."""
    return [pod for pod in cluster.pods.values() if is_member(pod, group) and pod.node in cluster.nodes.rows]


def scores_of(
    cluster: Cluster,
    framework: Framework,
    group: PodGroup,
    where: Sequence[Placement],
    assignments: Sequence[Assignments],
) -> list[int]:
    """Return the score of each placement. The highest is chosen, and the first by name if scores are equal."""
    counts = [len(running(cluster, group)) + len(pods) for pods in assignments]
    scores = []
    for placement, pods, count in zip(where, assignments, counts, strict=True):
        full = _fullness(cluster, framework, placement, pods) * framework.weights.get(FIT, 1)
        scores.append(full + count * MAX_NODE_SCORE // max(max(counts), 1))
    return scores


def _fullness(cluster: Cluster, framework: Framework, placement: Placement, pods: Assignments) -> int:
    """Return the utilization of the domain with the group, 0..100, over the resources that NodeResourcesFit scores."""
    nodes = cluster.nodes
    rows: Any = slice(None) if placement.rows is None else placement.rows
    args: Any = framework.profile.args.get(FIT)
    total = weights = 0
    for spec in args.scoring_strategy.resources if args is not None else ():
        own = sum(_requested(pod, spec.name) for pod, _ in pods)
        allocatable = nodes.allocatable.get(spec.name)
        if allocatable is None or (spec.name not in (resources.CPU, resources.MEMORY) and not own):
            continue
        has = int(allocatable[rows].sum())
        if not has:
            continue
        used = {resources.CPU: nodes.nonzero_cpu, resources.MEMORY: nodes.nonzero_memory}.get(spec.name)
        in_use = int((nodes.requested[spec.name] if used is None else used)[rows].sum())
        points = most_allocated(np.array([in_use + own], np.int64), np.array([has], np.int64))
        total += int(points[0]) * int(spec.weight)
        weights += int(spec.weight)
    return total // weights if weights else 0


def _requested(pod: PodInfo, resource: str) -> int:
    if resource == resources.CPU:
        return pod.nonzero_incoming[0]
    return pod.nonzero_incoming[1] if resource == resources.MEMORY else pod.requests.get(resource, 0)
