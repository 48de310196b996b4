"""Preemption as a part of the scheduler.

It tries all potential nodes. Upstream does not report why it does not help on a node, but the reasons are recorded
here. Source: pkg/scheduler/core/generic_scheduler.go (Preempt, selectVictimsOnNode, filterPodsWithPDBViolation).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace, PostFilterTrace
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy.framework import LegacyFramework
from scheduler_core.legacy.victim_fast_path import PreemptionNodes, victims_by_numbers
from scheduler_core.preemption.pick_one_node import choose
from scheduler_core.preemption.victims import Budgets, Candidate, by_importance, compile_budgets, select_victims

NOT_ELIGIBLE = "a pod that it preempted is still leaving its nominated node"
NOT_ENOUGH = fwk.unschedulable("too little would be free, even after all possible evictions")
NO_NODES = "evicting pods would not help on any node"


class PreemptionAttempt:
    """One preemption attempt of a pod."""

    def __init__(self, framework: LegacyFramework, state: fwk.CycleState, pod: PodInfo, trace: CycleTrace) -> None:
        self.framework, self.state, self.pod, self.trace = framework, state, pod, trace
        self.cluster = framework.cluster

    def run(self) -> PostFilterTrace:
        """Return the result. `cleared`: pods that lose their nomination."""
        pod, names = self.pod, self.cluster.nodes.names
        if self._waits():
            return PostFilterTrace(fwk.unschedulable(NOT_ELIGIBLE))
        rows = self.trace.potential_rows(False)
        if not len(rows):
            return PostFilterTrace(fwk.unschedulable(NO_NODES), cleared=[pod.key])
        candidates: list[Candidate] = []
        rejected: dict[fwk.Status, list[int]] = {}
        budgets = compile_budgets(self.cluster)
        verdicts = self._without_nominated()
        targets = PreemptionNodes(self.framework.filter, self.state, pod, verdicts, rows)
        for row, found in self._tried(targets, budgets, verdicts):
            if isinstance(found, fwk.Status):
                rejected.setdefault(found, []).append(row)
            else:
                candidates.append(found)
        result = PostFilterTrace(
            candidates={c.node: ([victim.key for victim in c.victims], c.pdb_violations) for c in candidates},
            rejected=targets.hopeless + [(status, np.array(alike, np.intp)) for status, alike in rejected.items()],
        )
        if candidates and self.framework.extenders:
            candidates, problem = self.framework.extenders.preempt(pod, candidates)
            if problem is not None:
                result.status = problem
                return result
        if not candidates:
            return result
        free = [candidate.node for candidate in candidates if not candidate.victims]
        result.nominated_any_of, result.rule = (free, "") if free else choose(candidates)
        result.nominated_node = self.framework.picker.pick(result.nominated_any_of)
        result.decides = True
        victims = next(c.victims for c in candidates if c.node == result.nominated_node)
        result.ending = [victim.key for victim in victims if victim.terminating]
        on = self.cluster.nominator.on(result.nominated_node)
        result.cleared = [other.key for other in on if other.priority < pod.priority]
        assert result.nominated_node in names
        return result

    def _waits(self) -> bool:
        """Return whether pods of lower priority are terminating on the node to which the pod is nominated."""
        row = self.cluster.nodes.rows.get(self.pod.nominated_node) if self.pod.nominated_node else None
        if row is None:
            return False
        return any(
            other.terminating and other.priority < self.pod.priority for other in self.cluster.nodes.pods_of(row)
        )

    def _without_nominated(self) -> Mapping[str, fwk.Verdict]:
        return self.framework.run_filter(self.state, self.pod) if self.trace.nominated else self.trace.verdicts

    def _tried(
        self, targets: PreemptionNodes, budgets: Budgets, verdicts: Mapping[str, fwk.Verdict]
    ) -> Iterator[tuple[int, Candidate | fwk.Status]]:
        """Yield each potential row with its victims, or with the reason why preemption does not help."""
        if not targets.by_numbers:
            yield from ((row, self._select(row, budgets, verdicts)) for row in targets.rows.tolist())
            return
        nodes, nominator, priority = self.cluster.nodes, self.cluster.nominator, self.pod.priority
        wanted, free, places = targets.free(self.cluster)
        request = (wanted, priority, self.cluster.budgets.version)
        for i, row in enumerate(targets.rows.tolist()):
            name = nodes.names[row]
            if nominator and self.framework.nominated_ahead(self.pod, name):
                yield row, self._select(row, budgets, verdicts)
                continue
            pods = tuple(nodes.pods_of(row))
            key = (pods, free[i], places[i], request)
            known = self.framework.tried.get(name)
            if known is None or known[0] != key:
                lower = by_importance(p for p in pods if p.priority < priority)
                found = victims_by_numbers(wanted, free[i], places[i], budgets.split(lower))
                result = NOT_ENOUGH if found is None else Candidate(name, tuple(found[0]), found[1][0])
                known = self.framework.tried[name] = (key, result)
            yield row, known[1]

    def _select(self, row: int, budgets: Budgets, verdicts: Mapping[str, fwk.Verdict]) -> Candidate | fwk.Status:
        """Return the victims on a node, or why preemption does not help.

        Pods are put back if possible: first those with budget violations, in each group the most important first.
        """

        def fits(change: fwk.NodePodsChange) -> fwk.Status | None:
            return self.framework.check_node_with_nominated(self.state, self.pod, verdicts, change)

        nodes = self.cluster.nodes
        pods = list(nodes.pods_of(row))
        if all(pod.priority >= self.pod.priority for pod in pods):
            return fits(fwk.NodePodsChange(row)) or Candidate(nodes.names[row], (), 0)
        return select_victims(self.pod, nodes.names[row], row, pods, budgets, fits)
