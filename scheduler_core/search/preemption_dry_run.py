"""The dry runs of preemption, step by step: all pods that may be evicted are removed, then put back one by one.

A trace has only their results. The dry runs are repeated on request, on the cluster before the cycle.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import PREEMPTION, CycleTrace
from scheduler_core.framework.interface import CycleState, NodePodsChange, Status, error
from scheduler_core.framework.runtime import Framework
from scheduler_core.plugins.default_preemption import NO_VICTIM, DefaultPreemption
from scheduler_core.preemption.victims import Candidate, by_importance, compile_budgets
from scheduler_core.search.provenance import NotDecided, page_of, row_of

PAGE = 100  # nodes per page
REMOVE, REPRIEVE = "remove", "reprieve"
NOT_TRIED = "enough candidates were found before it"
CHANGED = "the cycle recorded another outcome: an extender changed the candidates, or another version made the run"


class DryRunStep(msgspec.Struct, frozen=True):
    """One step of a dry run.

    `do`: REMOVE (all `pods` that may be evicted) or REPRIEVE (put one pod back). `fits`: whether the preempting pod
    fits then. If not, `plugin` and `reasons` say why, and `nominated` says whether only the pods nominated to the node
    prevent it. `violates`: evicting this pod violates a disruption budget; such pods are put back first.
    """

    do: str
    pods: list[str]
    priority: int | None
    violates: bool
    fits: bool
    plugin: str
    reasons: list[str]
    nominated: bool


class DryRun(msgspec.Struct, frozen=True):
    """Result of the dry run on one node.

    `tried`: whether the cycle tried this node. `victims`: most important first; empty if preemption does not help, with
    the reason in `plugin` and `reasons`. `agrees`: whether it matches the recorded result; None if nothing was
    recorded. `note`: further remarks.
    """

    node: str
    tried: bool
    steps: list[DryRunStep]
    victims: list[str]
    violations: int
    plugin: str
    reasons: list[str]
    agrees: bool | None
    note: str


class TriedNode(msgspec.Struct, frozen=True):
    """A node that the cycle tried, with the recorded result."""

    node: str
    candidate: bool
    victims: int
    violations: int
    plugin: str
    reasons: list[str]


class PreemptionDryRuns:
    """The preemption dry runs of a cycle; arguments as for Provenance. Raises NotDecided if preemption did not run."""

    def __init__(self, framework: Framework, pod: PodInfo, trace: CycleTrace) -> None:
        name = PREEMPTION if trace.postfilter is None else trace.postfilter.plugin
        plugin = next((one for one in framework.post_filter if one.name == name), None)
        if trace.postfilter is None or not isinstance(plugin, DefaultPreemption):
            raise NotDecided("point", "", f"{name} did not run in this cycle")
        self._plugin = plugin
        self._framework, self._pod, self._trace, self._postfilter = framework, pod, trace, trace.postfilter
        self._state = CycleState()
        framework.cluster.nodes.refresh()
        framework.run_pre_filter(self._state, pod)
        self._verdicts = framework.run_filter(self._state, pod)
        self._budgets = compile_budgets(framework.cluster)
        self._rejected = {row: status for status, rows in trace.postfilter.rejected for row in rows.tolist()}

    def as_dict(self, node: str = "", page: int = 1) -> dict[str, Any]:
        """Return the dry run on one node, and one page of the nodes, with the keys of docs/debugger.md.

        `node`: "" for the nominated node, or else the first node that was tried. Raises NotDecided, InputError.
        """
        tried = self.nodes()
        listed, pages = page_of(tried, page, PAGE)
        names = [one.node for one in tried]
        wanted = node or self._trace.nominated_node or next(iter(names), "")
        at = names.index(wanted) if wanted in names else -1
        return {
            "pod": self._pod.key,
            "attempt": self._trace.attempt,
            "nominated": self._trace.nominated_node,
            "message": self._message(),
            "nodes": listed,
            **pages,
            "trial": self.dry_run(wanted) if wanted else None,
            "before": names[at - 1] if at > 0 else "",
            "after": names[at + 1] if 0 <= at < len(names) - 1 else "",
        }

    def nodes(self) -> list[TriedNode]:
        """Return the nodes that the cycle tried, in that order."""
        table, postfilter = self._framework.cluster.nodes, self._postfilter
        found = []
        for row in self._order():
            name = table.names[row]
            status = self._rejected.get(row)
            if name in postfilter.candidates:
                victims, violations = postfilter.candidates[name]
                found.append(TriedNode(name, True, len(victims), violations, "", []))
            elif status is not None:
                found.append(TriedNode(name, False, 0, 0, status.plugin, list(status.reasons)))
        return found

    def _order(self) -> list[int]:
        """Return the rows of nodes where preemption may help, in the cycle's order."""
        rows = self._trace.potential_rows(self._framework.cluster.release.absent_nodes_unresolvable)
        picker = self._framework.picker
        picker.begin(self._pod.key, self._trace.attempt)
        order: list[int] = np.roll(rows, -self._plugin.sample(rows)[0] if len(rows) else 0).tolist()
        return order

    def dry_run(self, node: str) -> DryRun:
        """Repeat the dry run on a node, which may be one that the cycle did not try. Raises NotDecided."""
        row = row_of(self._framework, node)
        tried = node in self._postfilter.candidates or row in self._rejected
        if not tried and row not in self._order():
            status = self._trace.status_at(row) or Status("", ("nothing that evictions could change",))
            return DryRun(node, False, [], [], 0, status.plugin, [status.message], None, "evicting cannot help")
        steps, result = self._try(row)
        agrees = self._agrees(node, row, result) if tried else None
        untried = NOT_TRIED if self._postfilter.candidates else self._message()
        note = CHANGED if agrees is False else "" if tried else untried
        if isinstance(result, Status):
            return DryRun(node, tried, steps, [], 0, result.plugin, list(result.reasons), agrees, note)
        victims = [victim.key for victim in result.victims]
        return DryRun(node, tried, steps, victims, result.pdb_violations, "", [], agrees, note)

    def _message(self) -> str:
        return self._postfilter.status.message if self._postfilter.status is not None else ""

    def _agrees(self, node: str, row: int, result: Candidate | Status) -> bool:
        if isinstance(result, Status):
            return self._rejected.get(row) == result
        return self._postfilter.candidates.get(node) == ([v.key for v in result.victims], result.pdb_violations)

    def _try(self, row: int) -> tuple[list[DryRunStep], Candidate | Status]:
        keeps_state = any(one.name == self._plugin.name for one in self._framework.pre_filter)
        if keeps_state and self._plugin.name not in self._state and row in self._rejected:
            return [], self._rejected[row]  # PreFilter ended before it
        steps: list[DryRunStep] = []
        violating: set[str] = set()

        def fits(change: NodePodsChange) -> Status | None:
            status = self._framework.check_node_with_nominated(self._state, self._pod, self._verdicts, change)
            alone = status and self._framework.check_node(self._state, self._pod, self._verdicts, change)
            result = (status.plugin, list(status.reasons), alone is None) if status else ("", [], False)
            if not steps:
                lower = by_importance(change.removed)
                violating.update(pod.key for pod in self._budgets.split(lower)[0])
                steps.append(DryRunStep(REMOVE, [pod.key for pod in lower], None, False, status is None, *result))
            else:
                back = change.history[-1][0]
                violates = back.key in violating
                steps.append(DryRunStep(REPRIEVE, [back.key], back.priority, violates, status is None, *result))
            return status

        found = self._plugin.select_victims(self._state, self._pod, row, self._budgets, fits)
        if not isinstance(found, Status) and not found.victims:
            found = error(NO_VICTIM.format(found.node))
        refusing: dict[str, Any] = {"fits": False, "plugin": self._plugin.name}
        if isinstance(found, Status):
            if steps and steps[-1].fits:
                steps[-1] = msgspec.structs.replace(steps[-1], **refusing, reasons=list(found.reasons))
            return steps, found
        gone = {victim.key for victim in found.victims}
        for i, step in enumerate(steps):
            if step.do == REPRIEVE and step.fits and step.pods[0] in gone:
                steps[i] = msgspec.structs.replace(step, **refusing, reasons=["a quota is exceeded with it"])
        return steps, found
