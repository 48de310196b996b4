"""DefaultPreemption: makes room for a pod by evicting pods of lower priority.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption, pkg/scheduler/framework/preemption.
"""

import numpy as np

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import (
    ERROR,
    SUCCESS,
    UNRESOLVABLE,
    Change,
    CycleState,
    PostFilterPlugin,
    PostFilterResult,
    Status,
    error,
    unschedulable,
)
from scheduler_core.preemption import victims
from scheduler_core.preemption.choose import choose
from scheduler_core.preemption.victims import Budgets, Candidate
from scheduler_core.trace import CycleTrace, PostFilterTrace, Rows, fit_error_message

NOT_HELPFUL = "Preemption is not helpful for scheduling"


class DefaultPreemption(PostFilterPlugin):
    name = "DefaultPreemption"

    def post_filter(self, state: CycleState, pod: PodInfo, cycle: CycleTrace) -> tuple[PostFilterResult | None, Status]:
        """Nominates the node where evicting hurts least, or says why preemption does not help."""
        refusal = self._not_eligible(pod, cycle)
        if refusal:
            return None, unschedulable(f"preemption: {refusal}")
        candidates, rejected = self._dry_run(state, pod, cycle)
        if candidates and self.framework.extenders:
            candidates, problem = self.framework.extenders.preempt(pod, candidates)
            if problem is not None:
                return None, problem
        names = self.cluster.nodes.names
        trace = cycle.postfilter = PostFilterTrace(
            candidates={c.node: ([v.key for v in c.victims], c.pdb_violations) for c in candidates},
            rejected=rejected,
        )
        if not candidates:
            reasons: dict[str, int] = {}
            for said, rows in rejected:
                if said.code == ERROR:
                    return None, error(f"preemption: {said.message}")
                for reason in said.reasons:
                    reasons[reason] = reasons.get(reason, 0) + len(rows)
            absent = len(names) - sum(len(rows) for _, rows in rejected)
            if absent:
                reasons[NOT_HELPFUL] = reasons.get(NOT_HELPFUL, 0) + absent
            told = fit_error_message(len(names), reasons)
            return PostFilterResult(""), unschedulable(f"preemption: {told}")
        best, trace.rule = choose(candidates)
        trace.nominated_any_of = best
        node = self.framework.picker.pick(best)
        chosen = next(c for c in candidates if c.node == node)
        return PostFilterResult(node, list(chosen.victims)), Status(SUCCESS)

    def _not_eligible(self, pod: PodInfo, cycle: CycleTrace) -> str:
        """Why the pod may not preempt now; "" if it may."""
        if pod.pod.spec.preemption_policy == "Never":
            return "not eligible due to preemptionPolicy=Never."
        node = pod.nominated_node
        row = self.cluster.nodes.rows.get(node) if node else None
        if row is None:
            return ""
        status = cycle.status_at(row)
        if status is not None and status.code == UNRESOLVABLE:
            return ""
        for other in self.cluster.nodes.pods_of(row):
            if other.priority < pod.priority and other.terminating and _terminating_by_preemption(other):
                return "not eligible due to a terminating pod on the nominated node."
        return ""

    def _dry_run(
        self, state: CycleState, pod: PodInfo, cycle: CycleTrace
    ) -> tuple[list[Candidate], list[tuple[Status, Rows]]]:
        """Candidates, those without budget violations first; and why the other nodes tried do not help."""
        rows = cycle.potential_rows(self.cluster.release.absent_nodes_unresolvable)
        if all(priority >= pod.priority for priority in self.cluster.priorities):
            return [], [(victims.NO_VICTIMS, rows)] if len(rows) else []  # nobody anywhere could be evicted
        budgets = Budgets(list(self.cluster.budgets.values()))
        nodes, framework = self.cluster.nodes, self.framework
        wanted = min(
            len(rows),
            max(len(rows) * self.args.min_candidate_nodes_percentage // 100, self.args.min_candidate_nodes_absolute),
        )
        # When PreFilter refused the pod, the Filter plugins have not been asked yet.
        verdicts = cycle.verdicts or framework.run_filter(state, pod)
        offset = framework.picker.offset(len(rows)) if len(rows) else 0

        def fits(change: Change) -> Status | None:
            return framework.check_node_with_nominated(state, pod, verdicts, change)

        harmless: list[Candidate] = []
        violating: list[Candidate] = []
        rejected: dict[Status, list[int]] = {}
        for row in np.roll(rows, -offset).tolist():
            found = victims.select_victims(pod, nodes.names[row], row, list(nodes.pods_of(row)), budgets, fits)
            if isinstance(found, Status):
                rejected.setdefault(found, []).append(row)
            elif not found.victims:
                problem = error(f'expected at least one victim pod on node "{found.node}"')
                rejected.setdefault(problem, []).append(row)
            else:
                (violating if found.pdb_violations else harmless).append(found)
                if harmless and len(harmless) + len(violating) >= wanted:
                    break
        return harmless + violating, [(said, np.array(alike, np.intp)) for said, alike in rejected.items()]


def _terminating_by_preemption(pod: PodInfo) -> bool:
    return any(
        c.type == "DisruptionTarget" and c.status == "True" and c.reason == "PreemptionByScheduler"
        for c in pod.pod.status.conditions
    )
