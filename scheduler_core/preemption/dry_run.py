"""Selects the victims on many nodes at once, where only resources matter for the pods that may be evicted.

On these nodes, arithmetic gives the same result as running the filters after each removal and each return of a pod.
Source: pkg/scheduler/framework/plugins/defaultpreemption (SelectVictimsOnNode).
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.preemption.pick_one_node import costs_of
from scheduler_core.preemption.victims import (
    Candidate,
    by_importance,
    compile_budgets,
    in_recorded_order,
    no_victims,
)

_KEY = "LowerPods"  # in `Cluster.shared`
_MAX_PRIORITIES = 8
_MAX_NEEDS = 16  # different needs for which candidates are kept

Needs = Sequence[tuple[str, int]]  # (resource, amount) pairs

Rows = npt.NDArray[np.intp]


@dataclass(slots=True, eq=False)
class NodePods:
    """The pods on a node that may be evicted, in the order in which they are put back.

    `violating`: how many of them, which come first, violate a disruption budget. `held`: what each uses, in
    the rows of `NodeTable.used`; int64.
    """

    pods: list[PodInfo]
    violating: int
    held: fwk.Int64


class LowerPods:
    """The pods below a priority on each node, which change only with the pods of the node."""

    def __init__(self, cluster: Cluster, priority: int) -> None:
        self._cluster, self._priority = cluster, priority
        self._known: dict[int, NodePods] = {}
        self._candidates: dict[tuple[tuple[str, int], ...], dict[int, Candidate]] = {}
        self._validity: tuple[int, int] = (-1, -1)
        self._position = -1

    def refresh(self) -> None:
        """Forget the nodes whose pods changed. Call it before the other methods."""
        cluster, known = self._cluster, self._known
        nodes, log = cluster.nodes, cluster.nodes.usage
        validity = nodes.version, cluster.budgets.version
        changed = log.since(self._position) if validity == self._validity else None
        self._validity, self._position = validity, log.position
        if changed is None:
            known.clear()
            self._candidates.clear()
            return
        for row in changed:
            known.pop(row, None)
            for candidates in self._candidates.values():
                candidates.pop(row, None)

    def on(self, rows: Sequence[int]) -> list[NodePods]:
        """Return the pods on each of the rows."""
        found = [self._known.get(row) for row in rows]
        return [one or self._add(row) for one, row in zip(found, rows, strict=True)]

    def candidates(self, needs: Needs) -> dict[int, Candidate]:
        """Return row -> the candidate of a pod with these needs that only resources keep off the node; the caller adds
        those that it finds."""
        if len(self._candidates) >= _MAX_NEEDS and tuple(needs) not in self._candidates:
            self._candidates.clear()
        return self._candidates.setdefault(tuple(needs), {})

    def _add(self, row: int) -> NodePods:
        nodes = self._cluster.nodes
        lower = by_importance(pod for pod in nodes.pods_of(row) if pod.priority < self._priority)
        violating, others = compile_budgets(self._cluster).split(lower)
        pods = violating + others
        held = np.array([nodes.used_by(pod) for pod in pods], np.int64).reshape(-1, len(nodes.used)).T
        found = self._known[row] = NodePods(pods, len(violating), held)
        return found


def lower_pods(cluster: Cluster, priority: int) -> LowerPods:
    """Return the pods of the cluster below a priority."""
    by_priority: dict[int, LowerPods] = cluster.shared.setdefault(_KEY, {})
    found = by_priority.get(priority)
    if found is None:
        if len(by_priority) >= _MAX_PRIORITIES:
            by_priority.clear()
        found = by_priority[priority] = LowerPods(cluster, priority)
    return found


class VictimSelection:
    """The dry run of a pod's preemption on many nodes at once.

    `deciding`: the plugins that may refuse a node, with their `filter_node` if it matters, in order. `verdicts`: those
    of all plugins now.
    """

    def __init__(
        self,
        cluster: Cluster,
        state: fwk.CycleState,
        pod: PodInfo,
        deciding: Sequence[tuple[fwk.FilterPlugin, fwk.FilterNode | None]],
        verdicts: Mapping[str, fwk.Verdict],
    ) -> None:
        self._cluster, self._state, self._pod, self._verdicts = cluster, state, pod, verdicts
        self._deciding = [plugin for plugin, _ in deciding]
        self._fit: fwk.UsageFilter | None = None
        self._needs: Needs | None = None
        self._lower = lower_pods(cluster, pod.priority)
        self._excluded = np.zeros(len(cluster.nodes), np.bool_)
        self._alone = True  # no pod on a node can matter to a plugin other than `_fit`
        for plugin, ask in deciding:
            if ask is None:
                continue
            if self._fit is None and isinstance(plugin, fwk.UsageFilter) and _is_valid(plugin, "additive_needs"):
                self._fit, self._needs = plugin, plugin.additive_needs(pod)
                continue
            affected = plugin.affected_nodes(state, pod) if _is_valid(plugin, "affected_nodes") else None
            self._alone = False
            if affected is None:
                self._excluded[:] = True
            else:
                self._excluded |= affected
        self._refused = np.zeros(len(cluster.nodes), np.bool_)  # by other plugins, on nodes that are not excluded
        for plugin in self._deciding:
            if plugin is not self._fit and (codes := verdicts[plugin.name].codes) is not None:
                self._refused |= codes > 0

    def select(self, rows: Rows) -> dict[int, Candidate | fwk.Status]:
        """Return the result of `select_victims` on those of the rows where arithmetic is sufficient."""
        if self._needs is None:
            return {}
        rows = rows[~self._excluded[rows]]
        ahead = self._nominated()
        if ahead and not self._alone:
            rows = rows[~np.isin(rows, list(ahead))]
        self._lower.refresh()
        candidates = self._lower.candidates(self._needs)
        found: dict[int, Any] = dict(zip(rows.tolist(), map(candidates.get, rows.tolist()), strict=True))
        found.update(dict.fromkeys(rows[self._refused[rows]].tolist()))
        found.update(dict.fromkeys(ahead.keys() & found.keys()))
        rows = np.array([row for row, one in found.items() if one is None], np.intp)
        if not len(rows):
            return found
        names, all_lower = self._cluster.nodes.names, self._lower.on(rows.tolist())
        if not all(lower.pods for lower in all_lower):
            for row, lower in zip(rows.tolist(), all_lower, strict=True):
                if not lower.pods:
                    found[row] = no_victims(self._pod, names[row])
            rows = rows[[bool(lower.pods) for lower in all_lower]]
            all_lower = [lower for lower in all_lower if lower.pods]
        if not len(rows):
            return found
        number = np.array([len(lower.pods) for lower in all_lower], np.intp)
        start = np.cumsum(number) - number
        held = np.concatenate([lower.held for lower in all_lower], axis=1)
        freed = np.add.reduceat(held, start, axis=1)
        for i, row in enumerate(rows.tolist() if ahead else ()):
            for pod in ahead.get(row, ()):
                freed[:, i] -= self._cluster.nodes.used_by(pod)
        refused = self._refusals(rows, freed)
        found.update((int(rows[i]), status) for i, status in refused.items())
        fits = np.array([i for i in range(len(rows)) if i not in refused], np.intp)
        if len(fits):
            victims = self._reprieve(rows[fits], number[fits], start[fits], held, freed[:, fits])
            for i, row, positions in zip(fits.tolist(), rows[fits].tolist(), victims, strict=True):
                found[row] = candidate = self._candidate(names[row], all_lower[i], positions)
                if row not in ahead:
                    candidates[row] = candidate
        return found

    def _nominated(self) -> dict[int, list[PodInfo]]:
        """Return row -> the other pods nominated to it that Filter treats as running there."""
        nominator, table, found = self._cluster.nominator, self._cluster.nodes, dict[int, list[PodInfo]]()
        for name in nominator.nodes() if nominator else ():
            row = table.rows.get(name)
            ahead = [p for p in nominator.on(name) if p.priority >= self._pod.priority and p.key != self._pod.key]
            if row is not None and ahead:
                found[row] = ahead
        return found

    def _refusals(self, rows: Rows, freed: fwk.Int64) -> dict[int, fwk.Status]:
        """Return the first status that refuses a row without its lower pods, by the position of the row.

        `freed`: what these pods use, for each row; int64.
        """
        refused: dict[int, fwk.Status] = {}
        for plugin in reversed(self._deciding):
            if plugin is self._fit:
                verdict = self._fit.verdict(self._pod, self._fit.usage_codes(self._state, self._pod, rows, freed))
                codes = verdict.codes
            else:
                verdict = self._verdicts[plugin.name]
                codes = None if verdict.codes is None else verdict.codes[rows]
            if codes is not None:
                statuses = [status.by(plugin.name) for status in verdict.statuses]
                at = np.flatnonzero(codes)
                refused.update((i, statuses[code - 1]) for i, code in zip(at.tolist(), codes[at].tolist(), strict=True))
        return refused

    def _reprieve(self, rows: Rows, number: Rows, start: Rows, held: fwk.Int64, freed: fwk.Int64) -> list[list[int]]:
        """Return the victims of each row as positions in its lower pods.

        `number`: of the lower pods of each row. `start`: where they begin in the columns of `held`. All rows get their
        first pod back if it fits, then all get their second one, and so on.
        """
        nodes, needs = self._cluster.nodes, [("", 1), *(self._needs or ())]
        places = {"": 0, **nodes.places}
        which = np.array([places[name] for name, _ in needs if name in places], np.intp)
        order = np.argsort(-number, kind="stable")  # the rows that still have pods are always the first ones
        at = np.ix_(which, rows[order])
        left = freed[which][:, order] + nodes.capacity[at] - nodes.used[at]
        left -= np.array([[amount] for name, amount in needs if name in places], np.int64)
        held, begin, sizes = held[which], start[order], number[order].tolist()
        victims = np.zeros(held.shape[1], np.bool_)
        active = len(rows)
        for step in range(sizes[0]):
            while sizes[active - 1] <= step:
                active -= 1
            pods = begin[:active] + step
            after = left[:, :active] - held.take(pods, axis=1)
            stays = after.min(axis=0) >= 0
            np.copyto(left[:, :active], after, where=stays)
            victims[pods] = ~stays
        positions = np.flatnonzero(victims)
        cuts, ends = positions.searchsorted(start).tolist(), positions.searchsorted(start + number).tolist()
        found = positions.tolist()
        return [
            [place - first for place in found[cut:end]]
            for first, cut, end in zip(start.tolist(), cuts, ends, strict=True)
        ]

    def _candidate(self, node: str, lower: NodePods, positions: list[int]) -> Candidate:
        violations = bisect_left(positions, lower.violating)
        victims = [lower.pods[place] for place in positions]
        found = Candidate(node, tuple(in_recorded_order(victims, violations, self._cluster.release)), violations)
        return found._replace(costs=costs_of(found)) if victims else found


def _is_valid(plugin: fwk.FilterPlugin, method: str) -> bool:
    """Return whether a method describes the results of a plugin: no derived class defines other results."""
    for cls in type(plugin).__mro__:
        if method in vars(cls):
            return True
        if any(name in vars(cls) for name in ("filter", "filter_node", "usage_codes", "verdict")):
            break
    return False
