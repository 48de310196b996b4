"""What the pods that wait want of the nodes, and which pods of a node could move: for the sentence about a node."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from scheduler_core.api.objects import PodStatus
from scheduler_core.cluster.formatting import agree, count
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.errors import InputError
from scheduler_core.explain.node_summary import Demand, node_summary
from scheduler_core.forks.mutations import Change
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.owner import equality_of
from scheduler_core.suggestions.what_if import WhatIf, changed
from scheduler_core.virtual_time.scenario import Reference

MOST_TRIED = 24
"""Kinds of pods of a node that are tried on other nodes."""
KINDS_TIMES_NODES = 500_000
"""Kinds of pending pods x nodes that are tried, which takes about a second; at least one kind is."""


class Demands(NamedTuple):
    """The pods that wait. `others`: the number of those that were not tried, because there are too many kinds."""

    kinds: list[Demand]
    others: int = 0


def demands_of(simulation: Simulation) -> Demands:
    """Return the pods that wait for the profiles, each kind with a cycle in the cluster as it is.

    The simulation is left unchanged.
    """
    ordered = _kinds(simulation, (pod for pod in simulation.pending if not pod.node and not pod.terminating))
    most = max(KINDS_TIMES_NODES // max(len(simulation.cluster.nodes), 1), 1)
    found = []
    for pods in ordered[:most]:
        what_if = WhatIf(simulation, pods[0].key)
        found.append(Demand(pods[0], len(pods), what_if.run(()), what_if.framework.filter))
    return Demands(found, sum(map(len, ordered[most:])))


def summary_of(simulation: Simulation, node: str, demands: Demands | None = None) -> str:
    """Return one sentence about a node of a cluster at rest.

    `demands`: of the same cluster, if they are known. Raises InputError if the node does not exist.
    """
    if node not in simulation.cluster.nodes.rows:
        raise InputError(f"Node {node[:253]}", "", "does not exist at that timepoint")
    simulation.cluster.nodes.refresh()
    known = demands_of(simulation) if demands is None else demands
    sentence = node_summary(simulation.cluster, node, known.kinds, lambda: movable(simulation, node))
    if not known.others:
        return sentence
    return f"{sentence} {count(known.others, 'other pending pod')} {agree(known.others, 'were')} not tried."


def movable(simulation: Simulation, node: str) -> int:
    """Return how many pods of a node would fit on another one, each alone: those that a controller creates again.

    At most MOST_TRIED kinds of pods are tried, those with most pods first.
    """
    there = simulation.cluster.nodes.pods_of(simulation.cluster.nodes.rows[node])
    most = _kinds(simulation, (pod for pod in there if pod.pod.created_again))[:MOST_TRIED]
    return sum(len(pods) for pods in most if _fits_elsewhere(simulation, pods[0], node))


def _kinds(simulation: Simulation, pods: Iterable[PodInfo]) -> list[list[PodInfo]]:
    """Return the pods of the profiles, equal ones together, the most frequent first."""
    kinds: dict[bytes, list[PodInfo]] = {}
    for pod in pods:
        if pod.pod.spec.scheduler_name in simulation.scheduler.profiles:
            kinds.setdefault(equality_of(pod), []).append(pod)
    return sorted(kinds.values(), key=lambda pods: -len(pods))


def _fits_elsewhere(simulation: Simulation, pod: PodInfo, node: str) -> bool:
    spec = msgspec.structs.replace(pod.pod.spec, node_name="", priority=pod.priority)
    new = PodInfo(msgspec.structs.replace(pod.pod, spec=spec, status=PodStatus()), pod.release)
    scheduler = simulation.scheduler
    removal = Change(delete=Reference(kind="Pod", namespace=pod.namespace, name=pod.name))
    with changed(simulation, [removal]) as trial:
        trial.keep_claims(new)
        framework, state, trace = scheduler.try_pod(new, 1)
        if trace.placed_on:
            scheduler.forget(framework, state, new, trace.node)
        rows = set(trace.feasible_rows().tolist()) - {simulation.cluster.nodes.rows[node]}
    return bool(rows)
