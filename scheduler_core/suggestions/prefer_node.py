"""Suggested fixes that place a pod on a given node: pass its filters, then outscore the other nodes."""

from collections.abc import Iterator

import msgspec

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain import NodeAnswer, explain_node
from scheduler_core.explain.answer import Answer, Cause, Fix
from scheduler_core.explain.scores import ties
from scheduler_core.forks.actions import PREFERRED
from scheduler_core.forks.template_patch import Raw, TemplateEdit
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions import requests
from scheduler_core.suggestions.candidates import FixCandidate, Situation
from scheduler_core.suggestions.cause_fixes import RESOURCES, obstacles_at, together
from scheduler_core.suggestions.fixes import simulated
from scheduler_core.suggestions.node_fixes import to_free
from scheduler_core.suggestions.owner import owner_of
from scheduler_core.suggestions.what_if import WhatIf

HOSTNAME = "kubernetes.io/hostname"


class PreferNode(msgspec.Struct):
    """The result for one node.

    `goes_there`: whether the pod goes to the node without changes. `tied`: the other nodes with the same score, if that
    is the highest. `answer`: why it goes there or not.
    """

    goes_there: bool
    answer: NodeAnswer
    tied: list[str]
    fixes: list[Fix]


def prefer_node(simulation: Simulation, pod: str, node: str, attempt: int = 1) -> PreferNode:
    """Return fixes of the pod's workload that make this node the only best one for the pod: with the smallest weight of
    a preference, or with the selection of the node. If other pods keep it away, the fix says what they have to free.

    There are none if that is the case already. `simulation`: the cluster before the cycle (`restore_run`). Raises
    InputError if the node or pod does not exist.
    """
    rows = simulation.cluster.nodes.rows
    if node not in rows:
        raise InputError(f"Node {node[:253]}", "", "does not exist at that timepoint")
    answer = Answer(pod, "", "", cause=Cause("", nodes=[node]))
    mine = WhatIf(simulation, pod).pod
    owner, waiting = owner_of(simulation.cluster, mine), (one for one in simulation.pending if not one.node)
    siblings = [one for one in waiting if one is not mine and owner_of(simulation.cluster, one) == owner]
    situation = Situation(simulation, answer, [mine, *siblings], attempt)
    trace = situation.trace
    explained = explain_node(trace, node, simulation, situation.pod)
    tied = _tied(trace, node, simulation.cluster.nodes.names)
    goes_there = trace.placed_on == node
    found = [] if goes_there and not tied else list(_fixes(situation, node))
    return PreferNode(goes_there, explained, tied, found)


def _tied(trace: CycleTrace, node: str, names: list[str]) -> list[str]:
    """Return the other nodes that share the highest total with this one; [] if this node does not have it."""
    best = ties(trace, names)
    return [other for other in best if other != node] if node in best else []


def _fixes(situation: Situation, node: str) -> Iterator[Fix]:
    """Yield the first candidate of each list with which the pod goes to the node and no other node scores as high."""
    context = situation.near[0]
    found = obstacles_at(context)
    if found is not None and context.statuses().keys() & {*RESOURCES}:
        less, candidate = requests.less(context), to_free(situation, context)
        found = [*found, less] if less is not None else None
        if found is None and candidate is not None and (fix := simulated(situation, candidate)):
            yield fix
    if found is None:
        return
    host = context.labels.get(HOSTNAME)
    preferred = [_prefer(node, host, weight) for weight in (1, 10, 100)]
    for edits in ([None, *preferred], [_select(host)] if host is not None else []):
        for edit in edits:
            candidate = together(situation, [*found, *([edit] if edit is not None else [])])
            wins = candidate is not None and _wins(situation, candidate, node)
            if candidate is not None and wins and (fix := simulated(situation, candidate)) is not None:
                yield fix
                if edit is None:
                    return
                break


def _wins(situation: Situation, candidate: FixCandidate, node: str) -> bool:
    try:
        trace = situation.what_if.run(candidate.changes)
    except InputError:
        return False
    return trace.placed_on == node and not _tied(trace, node, situation.cluster.nodes.names)


def _prefer(node: str, host: str | None, weight: int) -> TemplateEdit:
    wanted = {"key": "metadata.name" if host is None else HOSTNAME, "operator": "In", "values": [host or node]}
    term = {"weight": weight, "preference": {"matchFields" if host is None else "matchExpressions": [wanted]}}

    def edit(document: Raw) -> None:
        affinity = document["spec"].get("affinity") or {}
        own = affinity.get("nodeAffinity") or {}
        terms = [*(own.get(PREFERRED) or []), term]
        document["spec"]["affinity"] = affinity | {"nodeAffinity": own | {PREFERRED: terms}}

    return TemplateEdit("node-selector", f"prefer {node} in the node affinity (weight {weight})", edit)


def _select(host: str) -> TemplateEdit:
    def edit(document: Raw) -> None:
        document["spec"]["nodeSelector"] = (document["spec"].get("nodeSelector") or {}) | {HOSTNAME: host}

    return TemplateEdit("node-selector", f"select {HOSTNAME}={host}", edit)
