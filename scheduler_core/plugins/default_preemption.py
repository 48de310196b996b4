"""DefaultPreemption: makes room for a pod by evicting pods of lower priority.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption, pkg/scheduler/framework/preemption.
"""

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.fit_error import fit_error_message
from scheduler_core.framework.interface import (
    ERROR,
    SUCCESS,
    UNRESOLVABLE,
    Change,
    CycleState,
    Filtered,
    PostFilterPlugin,
    PostFilterResult,
    Status,
    error,
    unschedulable,
)
from scheduler_core.preemption import victims
from scheduler_core.preemption.choose import choose
from scheduler_core.preemption.victims import Budgets, Candidate

NOT_HELPFUL = "Preemption is not helpful for scheduling"


class DefaultPreemption(PostFilterPlugin):
    name = "DefaultPreemption"

    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: Filtered
    ) -> tuple[PostFilterResult | None, Status]:
        """Nominates the node where evicting hurts least, or says why preemption does not help."""
        refusal = self._not_eligible(pod, filtered)
        if refusal:
            return None, unschedulable(f"preemption: {refusal}")
        candidates, rejected = self._dry_run(state, pod, filtered)
        if candidates and self.handle.extenders:
            candidates, problem = self.handle.extenders.preempt(pod, candidates)
            if problem is not None:
                return None, problem
        names = self.cluster.nodes.names
        found = PostFilterResult(
            candidates={c.node: ([v.key for v in c.victims], c.pdb_violations) for c in candidates},
            rejected=rejected,
        )
        if not candidates:
            reasons: dict[str, int] = {}
            for said, rows in rejected:
                if said.code == ERROR:
                    return found, error(f"preemption: {said.message}")
                for reason in said.reasons:
                    reasons[reason] = reasons.get(reason, 0) + len(rows)
            absent = len(names) - sum(len(rows) for _, rows in rejected)
            if absent:
                reasons[NOT_HELPFUL] = reasons.get(NOT_HELPFUL, 0) + absent
            told = fit_error_message(len(names), reasons)
            found.nominated_node = ""
            return found, unschedulable(f"preemption: {told}")
        best, found.rule = choose(candidates)
        found.nominated_any_of = best
        found.nominated_node = self.handle.picker.pick(best)
        found.victims = list(next(c for c in candidates if c.node == found.nominated_node).victims)
        return found, Status(SUCCESS)

    def _not_eligible(self, pod: PodInfo, filtered: Filtered) -> str:
        """Why the pod may not preempt now; "" if it may."""
        if pod.pod.spec.preemption_policy == "Never":
            return "not eligible due to preemptionPolicy=Never."
        node = pod.nominated_node
        row = self.cluster.nodes.rows.get(node) if node else None
        if row is None:
            return ""
        status = filtered.status_at(row)
        if status is not None and status.code == UNRESOLVABLE:
            return ""
        for other in self.cluster.nodes.pods_of(row):
            if other.priority < pod.priority and other.terminating and _terminating_by_preemption(other):
                return "not eligible due to a terminating pod on the nominated node."
        return ""

    def _dry_run(
        self, state: CycleState, pod: PodInfo, filtered: Filtered
    ) -> tuple[list[Candidate], list[tuple[Status, npt.NDArray[np.intp]]]]:
        """Candidates, those without budget violations first; and why the other nodes tried do not help."""
        rows = filtered.potential_rows(self.cluster.release.absent_nodes_unresolvable)
        if all(priority >= pod.priority for priority in self.cluster.priorities):
            return [], [(victims.NO_VICTIMS, rows)] if len(rows) else []  # nobody anywhere could be evicted
        budgets = Budgets(list(self.cluster.budgets.values()))
        nodes, handle = self.cluster.nodes, self.handle
        wanted = min(
            len(rows),
            max(len(rows) * self.args.min_candidate_nodes_percentage // 100, self.args.min_candidate_nodes_absolute),
        )
        # When PreFilter refused the pod, the Filter plugins have not been asked yet.
        verdicts = filtered.verdicts or handle.run_filter(state, pod)
        offset = handle.picker.offset(len(rows)) if len(rows) else 0

        def fits(change: Change) -> Status | None:
            return handle.check_node_with_nominated(state, pod, verdicts, change)

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
