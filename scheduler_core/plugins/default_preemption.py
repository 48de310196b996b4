"""DefaultPreemption: evicts pods of lower priority so that the pod fits on a node.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption, pkg/scheduler/framework/preemption.
"""

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from scheduler_core.api.plugin_args import Complain, Int32, PluginArgs, check_range
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.fit_error import fit_error_message
from scheduler_core.preemption import victims
from scheduler_core.preemption.dry_run import VictimSelection
from scheduler_core.preemption.pick_one_node import (
    FEWEST_VICTIMS,
    FEWEST_VIOLATIONS,
    HIGHEST_PRIORITY,
    LATEST_START,
    PRIORITY_OFFSET,
    RULES,
    SUM_OF_PRIORITIES,
    choose,
)
from scheduler_core.preemption.victims import Budgets, Candidate, Fits, compile_budgets
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, equal, every, less, opposite, over, total

_KEY_OF = attrgetter("key")
NOT_HELPFUL = "Preemption is not helpful for scheduling"
_UNREAD = {
    "VolumeRestrictions": 'cannot read "PreFilterVolumeRestrictions" from cycleState',
    "PodTopologySpread": 'reading "PreFilterPodTopologySpread" from cycleState: not found',
    "InterPodAffinity": 'error reading "PreFilterInterPodAffinity" from cycleState: not found',
}
NO_CANDIDATE = "no candidate node for preemption"  # extenders removed all candidates


NO_VICTIM = 'expected at least one victim pod on node "{}"'


class DefaultPreemptionArgs(PluginArgs, frozen=True, kw_only=True):
    """The number of candidate nodes of the preemption dry run: max(nodes x percentage / 100, absolute)."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100

    def finish(self, complain: Complain) -> Self:
        percentage, absolute = self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        check_range(complain, "minCandidateNodesPercentage", percentage, 0, 100)
        if absolute < 0:
            complain("minCandidateNodesAbsolute", f"must not be negative, got {absolute}")
        if percentage == absolute == 0:
            complain("minCandidateNodesPercentage", "cannot be zero at the same time as minCandidateNodesAbsolute")
        return self


class DefaultPreemption(fwk.PostFilterPlugin):
    name = "DefaultPreemption"
    args_class: ClassVar[type[PluginArgs] | None] = DefaultPreemptionArgs
    pod_fields = ("priority", "priorityClassName", "preemptionPolicy")
    # How its messages begin; whether it waits for victims of preemption only; and whether the pods of lower priority
    # are those that it may evict. Plugins that preempt by other rules replace them.
    prefix: ClassVar[str] = "preemption: "
    waits_for_victims_only: ClassVar[bool] = True
    evicts_lower_priority: ClassVar[bool] = True

    def post_filter(
        self, state: fwk.CycleState, pod: PodInfo, filtered: fwk.Filtered
    ) -> tuple[fwk.PostFilterResult | None, fwk.Status]:
        """Nominate the best candidate node, or return the reason why preemption does not help."""
        refusal = self._not_eligible(pod, filtered, state)
        if refusal:
            return None, self._unschedulable(refusal)
        candidates, rejected = self._dry_run(state, pod, filtered)
        names = self.cluster.nodes.names
        found = fwk.PostFilterResult(
            candidates={c.node: ([*map(_KEY_OF, c.victims)], c.pdb_violations) for c in candidates},
            rejected=rejected if self.cluster.release.preemption_reports_nodes else [],
        )
        if not candidates:
            if errors := [status.message for status, _ in rejected if status.code == fwk.ERROR]:
                text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
                return found, fwk.error(f"{self.prefix}{text}")
            reasons: dict[str, int] = {}
            for status, rows in rejected:
                for reason in status.reasons:
                    reasons[reason] = reasons.get(reason, 0) + len(rows)
            absent = len(names) - sum(len(rows) for _, rows in rejected)
            if absent:
                reasons[NOT_HELPFUL] = reasons.get(NOT_HELPFUL, 0) + absent
            text = fit_error_message(len(names), reasons)
            if self.cluster.release.failed_preemption_clears_nomination:
                found.nominated_node = ""
            if not self.cluster.release.preemption_reports_nodes:
                return None, fwk.unschedulable()
            if not self.cluster.release.reports_postfilter_message:
                return found, fwk.unschedulable(text)
            return found, self._unschedulable(text)
        if self.handle.extenders:
            candidates, problem = self.handle.extenders.preempt(pod, candidates)
            if problem is not None:
                return found, fwk.error(f"{self.prefix}{problem.message}")
            if not candidates:
                return found, fwk.unschedulable(f"{self.prefix}{NO_CANDIDATE}")
        best, found.rule = choose(candidates)
        found.nominated_any_of = best
        found.nominated_node = self.handle.picker.pick(best)
        found.victims = list(next(c for c in candidates if c.node == found.nominated_node).victims)
        return found, fwk.Status(fwk.SUCCESS)

    def _unschedulable(self, why: str) -> fwk.Status:
        """Return the status for a pod that preemption does not help. Old releases omit why the pod may not preempt."""
        return (
            fwk.unschedulable(f"{self.prefix}{why}")
            if self.cluster.release.reports_postfilter_message
            else fwk.unschedulable()
        )

    def _not_eligible(self, pod: PodInfo, filtered: fwk.Filtered, state: fwk.CycleState) -> str:
        """Return why the pod may not preempt now; "" if it may."""
        if self.cluster.release.group_preemption and pod.pod.spec.scheduling_group is not None:
            return "not eligible due to workload aware preemption enabled"
        release = self.cluster.release
        if pod.pod.spec.preemption_policy == "Never" and release.preemption_policy_never:
            return "not eligible due to preemptionPolicy=Never."
        node = pod.nominated_node
        row = self.cluster.nodes.rows.get(node) if node else None
        if row is None:
            return ""
        status = filtered.status_at(row)
        if (
            status is not None
            and status.code == fwk.UNRESOLVABLE
            and release.preempts_again_if_nominated_node_unresolvable
        ):
            return ""
        for other in self.cluster.nodes.pods_of(row):
            any_counts = not (self.waits_for_victims_only and release.waits_only_for_preempted_pods)
            by_whom = any_counts or terminates_by_preemption(other)
            if other.priority < pod.priority and other.terminating and by_whom:
                return "not eligible due to a terminating pod on the nominated node."
        return ""

    def victims_of(self, pod: PodInfo, terminating: Sequence[PodInfo]) -> list[PodInfo]:
        """Return the terminating pods of its nominated node that the pod may have evicted."""
        return [other for other in terminating if other.priority < pod.priority]

    def _dry_run(
        self, state: fwk.CycleState, pod: PodInfo, filtered: fwk.Filtered
    ) -> tuple[list[Candidate], list[tuple[fwk.Status, npt.NDArray[np.intp]]]]:
        """Return the candidates, those without budget violations first, and why the other nodes that were tried do not
        help."""
        rejection, always = filtered.prefilter, self.cluster.release.unresolvable_prefilter_preempts
        tried = rejection is not None and (always or rejection.code == fwk.UNSCHEDULABLE)
        if tried and (unread := self._unread(state)):
            return [], self._after_rejection(pod, unread)
        rows = filtered.potential_rows(self.cluster.release.absent_nodes_unresolvable)
        if not len(rows) or not self.may_evict(pod):
            return [], self._without_victims(pod, rows)
        budgets = compile_budgets(self.cluster)
        handle = self.handle
        # When PreFilter rejects the pod, the Filter plugins have not run yet.
        verdicts = filtered.verdicts or handle.run_filter(state, pod)
        offset, wanted = self.sample(rows)

        def fits(change: fwk.NodePodsChange) -> fwk.Status | None:
            return handle.check_node_with_nominated(state, pod, verdicts, change)

        dry_run = None
        if not handle.merges and self.evicts_lower_priority:
            dry_run = VictimSelection(self.cluster, state, pod, handle.deciding(state, pod, verdicts), verdicts)
        harmless: list[Candidate] = []
        violating: list[Candidate] = []
        rejected: dict[fwk.Status, list[int]] = {}
        order, begin, number = np.roll(rows, -offset), 0, 0
        while begin < len(order) and not (harmless and number >= wanted):
            some = order[begin : begin + max(wanted, begin, 1)]  # the first nodes are often enough
            known = {} if dry_run is None else dry_run.select(some)
            for row in some.tolist():
                found = known.get(row)
                if found is None:
                    found = self.select_victims(state, pod, row, budgets, fits)
                if isinstance(found, fwk.Status):
                    rejected.setdefault(found, []).append(row)
                elif not found.victims:
                    rejected.setdefault(fwk.error(NO_VICTIM.format(found.node)), []).append(row)
                else:
                    (violating if found.pdb_violations else harmless).append(found)
                    number += 1
                    if number >= wanted and harmless:
                        break
            begin += len(some)
        return harmless + violating, [(status, np.array(alike, np.intp)) for status, alike in rejected.items()]

    def sample(self, rows: npt.NDArray[np.intp]) -> tuple[int, int]:
        """Return the place of the first node to try, and how many candidates are enough."""
        percentage, absolute = self.args.min_candidate_nodes_percentage, self.args.min_candidate_nodes_absolute
        wanted = min(len(rows), max(len(rows) * percentage // 100, absolute))
        if not self.cluster.release.preemption_samples_nodes:
            wanted = len(rows)
        return self.handle.picker.offset(len(rows)), wanted

    def may_evict(self, pod: PodInfo) -> bool:
        """Return whether the cluster has any pod that may be evicted for this one."""
        return any(priority < pod.priority for priority in self.cluster.priorities)

    def select_victims(
        self, state: fwk.CycleState, pod: PodInfo, row: int, budgets: Budgets, fits: Fits
    ) -> Candidate | fwk.Status:
        """Return the candidate for a node, or why evicting pods does not help. `fits`: see
        `preemption.victims.select_victims`."""
        nodes = self.cluster.nodes
        return victims.select_victims(pod, nodes.names[row], row, nodes.pods_of(row), budgets, fits)

    def _unread(self, state: fwk.CycleState) -> str:
        """Return the first plugin without the state that evicting a pod changes: it returned Skip, or PreFilter ended
        before it."""
        release, names = self.cluster.release, [plugin.name for plugin in self.handle.pre_filter]
        last = state.last_pre_filter
        later = names[names.index(last) :] if last in names else []
        lost = release.supports_skip_status and not release.skips_kept_after_rejection
        skipped = state.skip_filter if lost else ()
        return next((name for name in names if name in _UNREAD and (name in later or name in skipped)), "")

    def _after_rejection(self, pod: PodInfo, unread: str) -> list[tuple[fwk.Status, npt.NDArray[np.intp]]]:
        """Return why no node helps after PreFilter has rejected the pod. `unread`: the plugin that fails."""
        nodes = self.cluster.nodes
        lower = [any(other.priority < pod.priority for other in nodes.pods_of(row)) for row in range(len(nodes))]
        found = self._without_victims(pod, np.flatnonzero(~np.array(lower, np.bool_)))
        if any(lower):
            text = f'running RemovePod on PreFilter plugin "{unread}": {_UNREAD[unread]}'
            found.append((fwk.error(text), np.flatnonzero(lower)))
        return found

    def _without_victims(
        self, pod: PodInfo, rows: npt.NDArray[np.intp]
    ) -> list[tuple[fwk.Status, npt.NDArray[np.intp]]]:
        """Return the rejections when no pod on any node can be evicted."""
        if self.in_tree and self.cluster.release.no_victims_message_reworded:
            return [(victims.NO_VICTIMS, rows)] if len(rows) else []
        names = self.cluster.nodes.names
        return [(victims.old_no_victims(pod, names[row]), np.array([row], np.intp)) for row in rows.tolist()]

    # ---- explanations

    def explain_post_filter(
        self, state: fwk.CycleState, view: View, filtered: fwk.Filtered, found: fwk.PostFilterResult
    ) -> Tree:
        name = view.node.name
        if name in found.candidates:
            return self._explain_choice(state, view, filtered, found)
        if self._not_eligible(view.pod, filtered, state):
            never = constant("Never", "PreemptNever")
            policy = equal(view.field(view.pod, "spec", "preemptionPolicy"), never, "the pod may not preempt")
            stuck = constant(False, "a pod that it preempted is still leaving the nominated node")
            return (opposite(policy) if policy.value else stuck).with_text("The pod may not preempt")
        refused = next((status for status, rows in found.rejected if view.row in rows), None)
        if refused is None:
            status = filtered.status_at(view.row)
            text = status.message if status is not None else "enough candidates were found before it"
            return constant(False, f"evicting was not tried: {text}").with_text(
                f"{name}: evicting was not tried: {text}"
            )
        lower = [pod for pod in view.pods_on(view.row) if pod.priority < view.pod.priority]
        less_important = [partial(self._explain_lower, view, pod) for pod in lower]
        parts = [less(constant(0), view.long_count(less_important, "pods", "pods of lower priority"))]
        if lower:
            emptied = self._explain_refusal(state, view, refused, frozenset(pod.key for pod in lower))
            parts.append(opposite(emptied, "it fits after they are evicted"))
        return every(parts).with_text(f"{name}: evicting does not help: {refused.message}")

    def _explain_refusal(self, state: fwk.CycleState, view: View, status: fwk.Status, removed: frozenset[str]) -> Tree:
        """Explain why the pod does not fit without the removed pods: the tree of the plugin that rejects the node."""
        ahead = self._ahead(view)
        for added in ([], ahead) if ahead else ([],):
            tree = self.handle.explain_filter(status.plugin, state, view.changed(added, removed))
            if tree is not None and tree.value:
                return tree.with_label(f"{status.plugin}: {tree.text}").with_text("")
        return constant(True, f"{status.plugin}: {status.message}")

    def _ahead(self, view: View) -> list[PodInfo]:
        """Return the pods nominated to the node that Filter treats as running there."""
        on = self.cluster.nominator.on(view.node.name)
        return [pod for pod in on if pod.priority >= view.pod.priority and pod.key != view.pod.key]

    @staticmethod
    def _explain_lower(view: View, pod: PodInfo) -> Tree:
        theirs, ours = (view.field(p, "spec", "priority", missing=0) for p in (pod, view.pod))
        return less(theirs, ours, f"{pod.key} is of lower priority")

    def _explain_choice(
        self, state: fwk.CycleState, view: View, filtered: fwk.Filtered, found: fwk.PostFilterResult
    ) -> Tree:
        """Explain the choice: each rule among the remaining candidates, the victims, and why no victim could stay."""
        name, pods = view.node.name, self.cluster.pods
        left = [
            Candidate(node, tuple(pods[key] for key in keys), violations)
            for node, (keys, violations) in found.candidates.items()
        ]
        mine = next(candidate for candidate in left if candidate.node == name)
        parts, lost = [self._explain_victims(state, view, filtered, mine)], ""
        for rule, cost in RULES:
            if len(left) == 1 or lost:
                break
            costs = {candidate.node: cost(candidate) for candidate in left}
            best = min(left, key=lambda candidate: costs[candidate.node])
            kept = [candidate for candidate in left if costs[candidate.node] == costs[best.node]]
            here, there = self._explain_cost(view, rule, mine), self._explain_cost(view, rule, best)
            latest = rule == LATEST_START
            figure = over("max" if latest else "min", there.value, len(left), f"best of {len(left)} nodes", best.node)
            parts.append(equal(here, figure, rule))
            lost = rule if not parts[-1].value else ""
            left = kept
        if not lost and len(left) > 1:
            picked = constant(
                found.nominated_node, f"picked of {len(left)} equals: {', '.join(found.nominated_any_of)[:200]}"
            )
            parts.append(equal(view.field(view.node, "metadata", "name"), picked, "picked among equals"))
        tree = every(parts, "preemption on this node")
        victims = ", ".join(victim.key for victim in mine.victims[:5])
        why = (
            f"decided by: {found.rule}"
            if found.rule
            else "the only node"
            if len(found.candidates) == 1
            else "of equals"
        )
        text = f"chosen ({why})" if tree.value else f"not chosen: {lost or 'equal, but another was picked'}"
        return tree.with_text(f"{name} is {text}; victims: {victims}" + (" and more" if len(mine.victims) > 5 else ""))

    def _explain_victims(self, state: fwk.CycleState, view: View, filtered: fwk.Filtered, mine: Candidate) -> Tree:
        """Explain the victims, and for each of them why it could not stay."""
        verdicts = filtered.verdicts or self.handle.run_filter(state, view.pod)
        refusals: dict[str, tuple[fwk.Status, frozenset[str]]] = {}

        def fits(change: fwk.NodePodsChange) -> fwk.Status | None:
            status = self.handle.check_node_with_nominated(state, view.pod, verdicts, change)
            if status is not None and change.history:
                refusals[change.history[-1][0].key] = status, frozenset(pod.key for pod in change.removed)
            return status

        budgets = compile_budgets(self.cluster)
        victims.select_victims(view.pod, mine.node, view.row, view.pods_on(view.row), budgets, fits)

        def stays_not(victim: PodInfo) -> Tree:
            if victim.key not in refusals:
                return view.holds(victim, "spec", "priority", label=f"{victim.key} must be evicted")
            tree = self._explain_refusal(state, view, *refusals[victim.key])
            return every([self._explain_lower(view, victim), tree], f"{victim.key} cannot stay: {tree.label}")

        evicted = view.long_count([partial(stays_not, victim) for victim in mine.victims], "victims", "victims")
        return less(constant(0), evicted, "pods of lower priority that must be evicted")

    def _explain_cost(self, view: View, rule: str, candidate: Candidate) -> Tree:
        """Return the value of a candidate that a rule compares."""
        gone = candidate.victims
        if rule == FEWEST_VIOLATIONS:
            row = self.cluster.nodes.rows[candidate.node]
            lower = victims.by_importance(p for p in view.pods_on(row) if p.priority < view.pod.priority)
            violating = {p.key for p in compile_budgets(self.cluster).split(lower)[0]}
            broken = [
                partial(view.holds, victim, "metadata", "labels", label=f"{victim.key} breaks a disruption budget")
                for victim in gone
                if victim.key in violating
            ]
            return view.long_count(broken, "victims", "budget violations")
        priorities = [(victim.priority, partial(view.field, victim, "spec", "priority", missing=0)) for victim in gone]
        if rule == HIGHEST_PRIORITY:
            return priorities[0][1]().with_label("highest priority of the victims")
        if rule == SUM_OF_PRIORITIES:
            offset = partial(constant, PRIORITY_OFFSET, "MaxInt32 + 1")
            terms = [(n + PRIORITY_OFFSET, partial(_with_offset, leaf, offset)) for n, leaf in priorities]
            return view.long_sum(terms, "victims", "sum of the victims' priorities")
        if rule == FEWEST_VICTIMS:
            leaves = [partial(view.holds, victim, "spec", "priority", label=victim.key) for victim in gone]
            return view.long_count(leaves, "victims", "victims")
        first = min(
            (victim for victim in gone if victim.priority == gone[0].priority),
            key=victims.start_of,
        )
        leaf = view.holds(first, "status", "startTime", label=f"start of {first.key}, the first of the most important")
        leaf.value = min(victims.start_of(first), _NOW)
        leaf.unit = "s"
        return leaf


_NOW = float(1 << 52)  # a pod without a start time counts as started now


def _with_offset(leaf: Callable[[], Tree], offset: Callable[[], Tree]) -> Tree:
    return total([leaf(), offset()], "priority, made positive")


def terminates_by_preemption(pod: PodInfo) -> bool:
    return any(
        c.type == "DisruptionTarget" and c.status == "True" and c.reason == "PreemptionByScheduler"
        for c in pod.pod.status.conditions
    )
