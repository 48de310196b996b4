"""Scheduling cycles with predicates and priorities. `cycle/schedule_one.py` has the steps; these are the differences:

* claims that are missing or being deleted fail the cycle before any node is checked (podPassesBasicChecks)
* predicates check each node in their order; an error on one node fails the cycle
* nodes are checked in turn, starting where the last search ended; the first node beyond those wanted is counted
* preemption is part of the scheduler and does not appear in events

Source: pkg/scheduler/core/generic_scheduler.go, pkg/scheduler/scheduler.go.
"""

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.schedule_one import Scheduler, nodes_to_find, unusable_claim
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.fit_error import fit_error_message
from scheduler_core.framework.runtime import Framework
from scheduler_core.framework.status_merge import merged
from scheduler_core.legacy.framework import LegacyFramework
from scheduler_core.legacy.preemption import PreemptionAttempt


class GenericScheduler(Scheduler):
    """Schedules pods as kube-scheduler did before the scheduling framework."""

    def find_nodes_that_fit(self, framework: Framework, state: fwk.CycleState, pod: PodInfo, trace: CycleTrace) -> None:
        """Run the basic checks and the predicates over all nodes; record which nodes upstream would have checked."""
        assert isinstance(framework, LegacyFramework)
        trace.error = unusable_claim(self.cluster, pod)
        if trace.error:
            return
        start = self.timer()
        framework.run_pre_filter(state, pod)
        trace.durations["prefilter"] = self.timer() - start
        start = self.timer()
        trace.verdicts, trace.merges = framework.run_filter(state, pod), framework.merges
        if self.cluster.nominator:
            self._filter_with_nominated_pods(framework, state, pod, trace)
        self._evaluate_nodes(framework, state, pod, trace)
        trace.durations["filter"] = self.timer() - start
        trace.error = trace.error or merged_errors(trace)
        if not trace.error:
            blamed = {status.plugin for status, _ in trace.decisive_statuses()}
            trace.unschedulable_plugins = sorted(blamed)

    @staticmethod
    def _filter_with_nominated_pods(
        framework: Framework, state: fwk.CycleState, pod: PodInfo, trace: CycleTrace
    ) -> None:
        """Update the verdicts for nodes to which other pods are nominated.

        They are evaluated as if these pods were running there; the node must also pass without them.
        """
        assert isinstance(framework, LegacyFramework)
        nodes, columns = framework.cluster.nodes, {name: _Column(verdict) for name, verdict in trace.verdicts.items()}
        for name in framework.cluster.nominator.nodes():
            row = nodes.rows.get(name)
            ahead = framework.nominated_ahead(pod, name) if row is not None else []
            if row is None or not ahead:
                continue
            without = {plugin: status for plugin, v in trace.verdicts.items() if (status := v.at(row)) is not None}
            refused = framework.refusals(state, pod, trace.verdicts, fwk.NodePodsChange(row).with_pods(ahead))
            texts = [status.by(plugin) for plugin, status in (refused or without).items()]
            trace.nominated[row] = merged(texts, first=True) if trace.merges else next(iter(texts), None)
            for plugin, column in columns.items():
                column.put(row, refused.get(plugin), len(nodes))
        trace.verdicts = {name: column.verdict() for name, column in columns.items()}

    def _evaluate_nodes(self, framework: Framework, state: fwk.CycleState, pod: PodInfo, trace: CycleTrace) -> None:
        """Determine the nodes that upstream would check until it has enough and finds one more. Then call extenders."""
        passing, count = trace.passing(), trace.nodes
        wanted = nodes_to_find(framework.percentage, count)
        if wanted >= count:
            self.next_start_index = (self.next_start_index + self._find_all_feasible(trace)) % count
        else:
            processed = self._find_enough_feasible(trace, wanted, count)
            one_more = int(passing is None or np.count_nonzero(passing) > wanted)
            self.next_start_index = (self.next_start_index + processed + one_more) % count
        if self.extenders and not merged_errors(trace):
            self.extenders.filter(pod, trace)

    def post_filter(self, framework: Framework, state: fwk.CycleState, pod: PodInfo, trace: CycleTrace) -> None:
        """Run preemption. The message of the FailedScheduling event does not mention it."""
        trace.result = "unschedulable"
        trace.message = fit_error_message(trace.there, trace.reasons())
        if not self.preemption:
            return
        assert isinstance(framework, LegacyFramework)
        start = self.timer()
        trace.postfilter = PreemptionAttempt(framework, state, pod, trace).run()
        trace.durations["postfilter"] = self.timer() - start
        trace.nominated_node = trace.postfilter.nominated_node
        if trace.nominated_node:
            trace.victims = list(trace.postfilter.candidates[trace.nominated_node][0])

    def select_host(self, framework: Framework, state: fwk.CycleState, trace: CycleTrace) -> None:
        """Select the node with the highest total. Without priorities all nodes are equal."""
        if trace.scores:
            super().select_host(framework, state, trace)
            return
        self.select_of_equals(framework, trace)


def merged_errors(trace: CycleTrace) -> str:
    """Return the errors of predicates in one message, each with its number of occurrences; "" if there are none."""
    counts: dict[str, int] = {}
    for status, rows in trace.decisive_statuses():
        if status.code == fwk.ERROR and status.plugin != fwk.EXTENDER:
            counts[status.message] = counts.get(status.message, 0) + len(rows)
    texts = [f"{message} (repeated {n} times)" if n > 1 else message for message, n in sorted(counts.items())]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""


class _Column:
    """A verdict that can be changed on some rows. The given verdict stays unchanged, because it may be cached."""

    def __init__(self, verdict: fwk.Verdict) -> None:
        self._verdict = verdict
        self._codes: npt.NDArray[np.uint16] | None = None
        self._statuses = list(verdict.statuses)

    def put(self, row: int, status: fwk.Status | None, size: int) -> None:
        """Set the status of a row."""
        if self._verdict.at(row) == status:
            return
        if self._codes is None:
            codes = self._verdict.codes
            self._codes = np.zeros(size, np.uint16) if codes is None else codes.copy()
        if status is not None and status not in self._statuses:
            self._statuses.append(status)
        self._codes[row] = 0 if status is None else self._statuses.index(status) + 1

    def verdict(self) -> fwk.Verdict:
        if self._codes is None:
            return self._verdict
        return fwk.Verdict(self._codes, tuple(self._statuses)) if self._codes.any() else fwk.Verdict()
