"""Suggested fixes that place a pod on a given node: pass its filters, then outscore the other nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from scheduler_core.cluster import formatting
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.mutations import Change, Weight
from scheduler_core.debugger.suggestions import requests
from scheduler_core.debugger.suggestions.cause_fixes import TemplateEdit, obstacles_at
from scheduler_core.debugger.suggestions.evict_pods import free_resources
from scheduler_core.debugger.suggestions.never import forbidden
from scheduler_core.debugger.suggestions.node_context import NodeContext
from scheduler_core.debugger.suggestions.steps import CONFIG, NODE, POD, Combination, Raw, Remedy, Step, node_step
from scheduler_core.debugger.suggestions.what_if import WhatIf
from scheduler_core.errors import InputError
from scheduler_core.explain import NodeAnswer, explain_node
from scheduler_core.simulation import Simulation

HOSTNAME = "kubernetes.io/hostname"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
MAX_WEIGHT = 10_000
PER_KIND = 3
ROUNDS = 3  # for obstacles that appear after the previous steps
RESOURCES = ("NodeResourcesFit", "PodFitsResources", "GeneralPredicates")
FEW = 12  # maximum number of nodes cordoned for one pod


def gap(trace: CycleTrace, row: int) -> list[dict[str, Any]]:
    """Return the scores of a node and of the winner, the winner's largest lead first; [] if the node was not scored."""
    rows = trace.feasible_rows()
    mine = np.flatnonzero(rows == row)
    best = np.flatnonzero(rows == trace.selected_row)
    if not trace.scores or not len(mine) or not len(best):
        return []
    found = []
    for plugin, score in trace.scores.items():
        here, there = (int(score.normalized[i[0]]) * score.weight for i in (mine, best))
        found.append({"plugin": plugin, "node": here, "winner": there, "difference": there - here})
    return sorted(found, key=lambda entry: -entry["difference"])


class PreferNode(msgspec.Struct):
    """The result for one node.

    `goes_there`: whether the pod goes to the node without changes. `tied`: the other nodes with the same score, if that
    is the highest. `answer`: why it goes there or not. `gap`: see `gap`.
    """

    goes_there: bool
    answer: NodeAnswer
    tied: list[str]
    gap: list[dict[str, Any]]
    remedies: list[Remedy]


def prefer_node(simulation: Simulation, pod: str, node: str, most: int = 8, attempt: int = 1) -> PreferNode:
    """Return fixes that place the pod on this node as the only best one: the smallest first, verified and minimal.

    There are none if that is the case already. `simulation`: the cluster before the cycle (`restore_run`). Raises
    InputError if the node or pod does not exist.
    """
    if node not in simulation.cluster.nodes.rows:
        raise InputError(f"Node {node[:253]}", "", "does not exist at that timepoint")
    search = _PreferNodeSearch(WhatIf(simulation, pod, attempt), node)
    found = search.run(most)
    for remedy in found:
        remedy.gap, remedy.tied = search.gap, search.tied
    what_if = search.what_if
    answer = explain_node(search.trace, node, simulation, what_if.pod)
    return PreferNode(search.trace.placed_on == node, answer, search.tied, search.gap, found)


def _tied(trace: CycleTrace, row: int, names: list[str]) -> list[str]:
    """Return the other nodes that share the highest total with this one; [] if this node does not have it."""
    if not trace.scores:
        return []
    total, rows = trace.total(), trace.feasible_rows()
    best = rows[total == total.max()].tolist()
    return [names[other] for other in best if other != row] if row in best else []


class _PreferNodeSearch:
    """The search for one pod and node: past the filters first, then past the scores of other nodes."""

    def __init__(self, what_if: WhatIf, node: str) -> None:
        self.what_if = what_if
        self.node = node
        self.found: dict[bytes, Remedy] = {}
        self.trace: CycleTrace = what_if.run(())
        self.gap = gap(self.trace, self.row)
        self.tied = _tied(self.trace, self.row, what_if.cluster.nodes.names)

    @property
    def row(self) -> int:
        """The node's current row."""
        return self.what_if.cluster.nodes.rows[self.node]

    def run(self, most: int) -> list[Remedy]:
        """Return at most `most` fixes, the smallest first, a few per kind."""
        if not self._only_best(self.trace):
            self._solve(Combination(), ROUNDS)
        counts: Counter[str] = Counter()
        shown = []
        for remedy in sorted(self.found.values(), key=lambda one: (one.cost, len(one.changes), one.text)):
            counts[remedy.kind] += 1
            if counts[remedy.kind] <= PER_KIND:
                shown.append(remedy)
        return shown[:most]

    def _only_best(self, trace: CycleTrace) -> bool:
        """Return whether the pod goes to the node and no other node scores as high."""
        if trace.placed_on != self.node:
            return False
        total = trace.total() if trace.scores else np.zeros(1, np.int64)
        return int((total == total.max()).sum()) == 1

    def _solve(self, plan: Combination, rounds: int) -> None:
        """Continue a plan with what removes the obstacles that are left."""
        alternatives: list[list[Step]] = []

        def look(trace: CycleTrace, pod: PodInfo) -> None:
            cluster, framework = self.what_if.cluster, self.what_if.framework
            alternatives.extend(_past(NodeContext(cluster, framework, pod, self.what_if.document, trace, self.row)))

        try:
            trace = self.what_if.run(plan.changes(self.what_if.document), look)
        except InputError:  # the steps cannot be applied together
            return
        if self._only_best(trace):
            self._show(plan)
        elif self._feasible(trace) or self._not_evaluated(trace):
            self._outscore(plan, trace)
        elif rounds:
            for steps in alternatives:
                more = plan.and_(steps)
                if len(more.steps) > len(plan.steps):
                    self._solve(more, rounds - 1)

    def _show(self, plan: Combination) -> None:
        """Remove unnecessary steps from a plan and store it."""
        for step in sorted(plan.steps, key=lambda step: -step.cost):
            fewer = plan.without(step)
            if fewer.steps and self._wins(fewer):
                plan = fewer
        changes = plan.changes(self.what_if.document)
        deleted = [change for change in changes if change.delete is not None]
        if forbidden(self.what_if.cluster, [self.what_if.pod], deleted):
            return
        if len(changes) > 1 and any(self._run([*changes[:i], *changes[i + 1 :]]) for i in range(len(changes))):
            return
        remedy = plan.remedy(self.what_if.document, self.node)
        self.found.setdefault(msgspec.json.encode(remedy.changes), remedy)

    def _wins(self, plan: Combination) -> bool:
        try:
            return self._run(plan.changes(self.what_if.document))
        except InputError:  # its steps conflict
            return False

    def _run(self, changes: Sequence[Change]) -> bool:
        try:
            return self._only_best(self.what_if.run(changes))
        except InputError:
            return False

    def _feasible(self, trace: CycleTrace) -> bool:
        return self.row in trace.feasible_rows()

    def _not_evaluated(self, trace: CycleTrace) -> bool:
        """Return whether the node is feasible but was not evaluated, since enough other nodes were found before."""
        if trace.looked is None or trace.looked[self.row]:
            return False
        return all(verdict.at(self.row) is None for verdict in trace.verdicts.values())

    def _outscore(self, plan: Combination, trace: CycleTrace) -> None:
        preferred = False
        for step in self._selected() if self._not_evaluated(trace) else self._steps(trace):
            weighed = step.kind == POD and step.text.startswith("prefer ")
            more = plan.and_((step,))
            if (preferred and weighed) or not self._wins(more):
                continue
            preferred |= weighed  # the smallest sufficient weight
            self._show(more)

    def _host(self) -> str | None:
        return self.what_if.cluster.nodes.nodes[self.row].metadata.labels.get(HOSTNAME)

    def _selected(self) -> Iterator[Step]:
        host = self._host()
        if host is not None:
            yield Step(f"select {HOSTNAME}={host}", POD, 2.5, partial(_select, host))

    def _steps(self, trace: CycleTrace) -> Iterator[Step]:
        nodes, host = self.what_if.cluster.nodes, self._host()
        wanted = {"key": "metadata.name" if host is None else HOSTNAME, "operator": "In", "values": [host or self.node]}
        term = {"matchFields" if host is None else "matchExpressions": [wanted]}
        for weight in (1, 10, 100):
            text = f"prefer {self.node} in the node affinity (weight {weight})"
            yield Step(text, POD, 1.0 + weight / 100, partial(_prefer, term, weight))
        yield from self._selected()
        yield from self._weights(trace)
        rows = trace.feasible_rows()
        total = trace.total()
        mine = int(total[np.flatnonzero(rows == self.row)[0]]) if trace.scores else 0
        ahead = [nodes.names[row] for row, points in zip(rows.tolist(), total.tolist(), strict=True) if points >= mine]
        ahead = [name for name in ahead if name != self.node]
        if 0 < len(ahead) <= FEW:
            verb = "scores" if len(ahead) == 1 else "score"
            text = f"cordon {formatting.some(ahead, 6)}, which {verb} as high or higher"
            changes = tuple(Change(cordon=name) for name in ahead)
            yield Step(text, NODE, 3.0, None, changes, nodes=frozenset(ahead))

    def _weights(self, trace: CycleTrace) -> Iterator[Step]:
        """Yield, for each plugin, the nearest weight with which the node outscores all others."""
        if not trace.scores:
            return
        rows = trace.feasible_rows()
        mine = int(np.flatnonzero(rows == self.row)[0])
        others = np.arange(len(rows)) != mine
        total = trace.total()
        lead = (total[mine] - total)[others]
        for plugin, score in trace.scores.items():
            slope = (score.normalized[mine] - score.normalized)[others]
            for weight in _nearest(lead, slope, score.weight):
                text = f"set the weight of {plugin} to {weight} instead of {score.weight}"
                cost = 2.0 + abs(weight - score.weight) / max(score.weight, 1) / 10
                yield Step(text, CONFIG, cost, None, (Change(weight=Weight(plugin=plugin, weight=weight)),))


def _past(context: NodeContext) -> Iterator[list[Step]]:
    """Yield the steps that remove all obstacles at the node, in alternatives; none if one of them cannot be removed."""
    found = obstacles_at(context, but=RESOURCES)
    if found is None:
        return
    steps = []
    for one in found:
        if isinstance(one, TemplateEdit):
            steps.append(Step(one.text, POD, 2.0, one.edit))
        else:
            steps.append(node_step(context.name, one.text, 0.5, *one.changes))
    if not context.statuses().keys() & {*RESOURCES}:
        yield steps
        return
    for step in (*requests.steps(context)[:1], *free_resources(context)):
        yield [*steps, step]


def _nearest(lead: Any, slope: Any, weight: int) -> list[int]:
    """Return the weight nearest to `weight` for which lead + (w - weight) x slope is positive for all nodes, if any."""
    if ((slope == 0) & (lead <= 0)).any():
        return []
    low, high = -weight, MAX_WEIGHT
    up, down = slope > 0, slope < 0
    if up.any():
        low = max(low, int((-lead[up] // slope[up] + 1).max()))
    if down.any():
        high = min(high, int((-(-lead[down] // -slope[down]) - 1).min()))
    found = [step for step in (low, high) if step and low <= high and abs(step) <= MAX_WEIGHT]
    return [weight + step for step in sorted(found, key=abs)[:1]]


def _prefer(term: Raw, weight: int, document: Raw) -> None:
    affinity = document["spec"].get("affinity") or {}
    node = affinity.get("nodeAffinity") or {}
    terms = [*(node.get(PREFERRED) or []), {"weight": weight, "preference": term}]
    document["spec"]["affinity"] = affinity | {"nodeAffinity": node | {PREFERRED: terms}}


def _select(host: str, document: Raw) -> None:
    document["spec"]["nodeSelector"] = (document["spec"].get("nodeSelector") or {}) | {HOSTNAME: host}
