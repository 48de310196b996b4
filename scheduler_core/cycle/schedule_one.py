"""The scheduling of one pod, from the queue to its node. START HERE.

    schedule_one -> scheduling_cycle -> find_nodes_that_fit (PreFilter, Filter) -> post_filter
                                     -> prioritize (PreScore, Score) -> select_host
                                     -> assume_and_reserve (Reserve, Permit)
                 -> binding_cycle (PreBind, Bind, PostBind)

`framework/runtime.py` runs the plugins of each point, and `plugins/` has a file for each plugin. The `CycleTrace`
records every plugin result; plugins do not know about it.

Source: pkg/scheduler/schedule_one.go.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.resources import crashes
from scheduler_core.cycle.extenders import Extenders
from scheduler_core.cycle.trace import CycleTrace, PostFilterTrace, Rows
from scheduler_core.errors import InputError
from scheduler_core.framework.batching import left_over
from scheduler_core.framework.fit_error import fit_error_message
from scheduler_core.framework.interface import (
    ERROR,
    EXTENDER,
    WAIT,
    CycleState,
    NodePodsChange,
    ScoreError,
    Status,
    unresolvable,
)
from scheduler_core.framework.runtime import Framework
from scheduler_core.framework.score_columns import ClassScores, Score
from scheduler_core.framework.tie_break import place_of

MIN_FEASIBLE_NODES = 100  # upstream always looks for at least this number
MIN_FEASIBLE_PERCENTAGE = 5
ADAPTIVE_PERCENTAGE = 50
NODES_PER_PERCENT = 125  # of the cluster, for each of which the adaptive percentage is one lower

NIL_MAP = "assignment to entry in nil map"
NO_NODES = "no nodes available to schedule pods"
# message for a pod that is being deleted; the caller that pops pods skips it
SKIPPED = "skip schedule deleting pod: {pod}"


@dataclass(eq=False)
class Scheduler:
    """Schedules the pods of a cluster, one cycle at a time. `profiles`: scheduler name -> its framework."""

    cluster: Cluster
    profiles: Mapping[str, Framework]
    preemption: bool = True
    timer: Callable[[], int] = time.perf_counter_ns
    extenders: Extenders | None = None
    own_frameworks: dict[str, Framework] = field(default_factory=dict)  # pod -> the framework to use for it
    places: dict[str, str] = field(default_factory=dict)  # pod -> the node to choose, whatever plugins decide
    cycles: int = 0
    next_start_index: int = 0
    attempts: int = 0  # cycles of pods that PreEnqueue did not gate
    collects_rejectors: bool = True  # False: do not collect the plugins that refused nodes if other nodes fit

    def __post_init__(self) -> None:
        self.batches = self.cluster.release.opportunistic_batching
        self._ranked: CycleTrace | None = None  # the last trace with a ranking

    def use_extenders(self, extenders: Extenders | None) -> None:
        """Set the extenders to call from now on."""
        self.extenders = extenders
        for framework in self.profiles.values():
            framework.extenders = extenders

    def schedule_one(self, pod: PodInfo, attempt: int = 1) -> CycleTrace:
        """Try to place a pod once. On success it is assumed on its node and, unless Permit waits, bound."""
        framework, state, trace = self.try_pod(pod, attempt)
        if trace.result == "scheduled":
            self.binding_cycle(framework, state, pod, trace)
        return trace

    def try_pod(self, pod: PodInfo, attempt: int = 1) -> tuple[Framework, CycleState, CycleTrace]:
        """Run the scheduling cycle only, for a caller that delays the binding cycle."""
        framework = self.framework_of(pod)
        framework.picker.begin(pod.key, attempt)
        trace = self.begin(pod, attempt)
        state = CycleState()
        trace.preenqueue = framework.run_pre_enqueue(pod)
        if trace.preenqueue is not None:
            trace.result, trace.message = "gated", ""
        else:
            self.attempts += self.batches
            self.scheduling_cycle(framework, state, pod, trace)
        return framework, state, trace

    def framework_of(self, pod: PodInfo) -> Framework:
        framework = self.profiles.get(pod.pod.spec.scheduler_name)
        if self.own_frameworks:
            framework = self.own_frameworks.get(pod.key, framework)
        if framework is None:
            problem = f"no profile of that name; there are {', '.join(self.profiles)}"
            raise InputError(f"Pod {pod.key}", "spec.schedulerName", problem)
        return framework

    def begin(self, pod: PodInfo, attempt: int) -> CycleTrace:
        self.cluster.nodes.refresh()
        self.cycles += 1
        if self._ranked is not None:
            self._ranked.unrank()
            self._ranked = None
        return CycleTrace(
            pod.key,
            number=self.cycles,
            attempt=attempt,
            nodes=len(self.cluster.nodes.names),
            profile=pod.pod.spec.scheduler_name,
            start_index=self.next_start_index,
        )

    # ---- the scheduling cycle

    def scheduling_cycle(self, framework: Framework, state: CycleState, pod: PodInfo, trace: CycleTrace) -> None:
        """Run PreFilter to Permit; the outcome is in `trace.result`."""
        release = self.cluster.release
        if not trace.nodes:
            trace.result, trace.error, trace.message = "error", NO_NODES, NO_NODES
            return
        if release.status_without_request_crashes and (self.cluster.crashing or crashes(pod.pod, release)):
            trace.result, trace.error = "error", NIL_MAP  # upstream panics here
            return
        self.find_nodes_that_fit(framework, state, pod, trace)
        if trace.error:
            trace.result = "error"
            return
        feasible = trace.feasible
        fits = feasible is None or len(feasible) > 0
        place = self.cluster.nodes.rows.get(self.places.get(pod.key, "")) if self.places else None
        if not fits and place is None:
            self.post_filter(framework, state, pod, trace)
            return
        if fits:
            self.prioritize(framework, state, pod, trace)
        if trace.error:
            trace.result = "error"
            return
        if place is None:
            self.select_host(framework, state, trace)
            if self.batches:
                self._store_batch_result(framework, state, trace)
        else:
            trace.selected_row, trace.node = place, self.cluster.nodes.names[place]
        self.assume_and_reserve(framework, state, pod, trace)

    def find_nodes_that_fit(self, framework: Framework, state: CycleState, pod: PodInfo, trace: CycleTrace) -> None:
        """Run PreFilter, then Filter over all nodes. Mark the nodes that upstream would have evaluated."""
        if self.cluster.release.checks_claims_first:
            trace.error = unusable_claim(self.cluster, pod)
        if not trace.error and self._pre_filter(framework, state, pod, trace):
            self._filter(framework, state, pod, trace)

    def _pre_filter(self, framework: Framework, state: CycleState, pod: PodInfo, trace: CycleTrace) -> bool:
        """Run PreFilter. Return whether the cycle continues with Filter."""
        release = self.cluster.release
        start = self.timer()
        names, status, narrowing = framework.run_pre_filter(state, pod)
        trace.durations["prefilter"] = self.timer() - start
        if release.supports_skip_status and (status is None or release.skips_kept_after_rejection):
            trace.skipped_filter = state.skipped_filter()
        if status is None and names is None:
            return True
        if not release.prefilter_reports_narrowing_plugins:
            narrowing = []
        trace.unschedulable_plugins = sorted(narrowing)
        if status is not None and status.code == ERROR:
            trace.error = status.message
        elif status is not None:
            trace.prefilter = status
            if status.plugin:
                trace.unschedulable_plugins = sorted({*narrowing, status.plugin})
        elif names is not None:
            self._apply_prefilter_result(names, narrowing, trace)
        return status is None and not trace.error

    def _filter(self, framework: Framework, state: CycleState, pod: PodInfo, trace: CycleTrace) -> None:
        """Run Filter over all nodes, find the feasible ones, and collect the plugins that rejected nodes."""
        release = self.cluster.release
        if trace.placement is not None:
            trace.subset = trace.placement if trace.subset is None else np.intersect1d(trace.subset, trace.placement)
        start = self.timer()
        trace.verdicts = framework.run_filter(state, pod)
        if framework.merges:
            trace.merges = framework.merges
        elif state.equivalent is not None:
            trace.share(state.equivalent)
        if self.batches and not self.extenders:
            state.signature = state.of_class("signature", lambda: (framework.batching.sign(pod),))[0]
            bypasses = pod.nominated_node and release.nominated_pods_bypass_batching
            if state.signature is not None and not bypasses:
                nodes = self.cluster.nodes
                trace.batch_hint = framework.batching.hint(state.signature, self.attempts, trace.verdicts, nodes)
        if self.cluster.nominator:
            self._filter_with_nominated_pods(framework, state, pod, trace)
        self._evaluate_nodes(framework, state, pod, trace)
        trace.durations["filter"] = self.timer() - start
        if not self.collects_rejectors and len(trace.feasible_rows()) and not trace.has_filter_error():
            return
        found = trace.rejectors()
        rejectors = found or frozenset()
        for status, _ in trace.decisive_statuses() if found is None else ():
            if status.code == ERROR:
                of_pod = f' for pod "{pod.name}"' if release.filter_errors_name_pod else ""
                begin = "running" if release.filter_error_reworded else "error while running"
                trace.error = f'{begin} "{status.plugin}" filter plugin{of_pod}: {status.message}'
            if status.rejected:
                rejectors |= {status.plugin}
        if not release.extender_rejections_requeue and EXTENDER in rejectors:
            rejectors -= {EXTENDER}
        if trace.error or not release.reports_unschedulable_plugins:
            trace.unschedulable_plugins = []
        elif rejectors:
            trace.unschedulable_plugins = sorted(rejectors.union(trace.unschedulable_plugins))

    def _apply_prefilter_result(self, names: frozenset[str], narrowing: list[str], trace: CycleTrace) -> None:
        """Restrict the cycle to the nodes that PreFilter left.

        In older releases the name of a missing node is an error, or crashes the scheduler.
        """
        rows = self.cluster.nodes.rows
        missing = sorted(name for name in names if name not in rows)
        if self.cluster.release.prefilter_excluded_node_message:
            message = self.cluster.release.prefilter_excluded_node_message.format(plugins=" ".join(sorted(narrowing)))
            trace.subset_status = unresolvable(message)
        if missing and self.cluster.release.prefilter_missing_node_fails:
            trace.error = f'nodeinfo not found for node name "{missing[0]}"'
            trace.skipped_filter = []
        elif missing and len(missing) == len(names) and self.cluster.release.start_index_wraps_at_filtered_nodes:
            trace.error = "runtime error: integer divide by zero"  # upstream panics here
        trace.subset = np.array(sorted(rows[name] for name in names if name in rows), np.intp)

    @staticmethod
    def _filter_with_nominated_pods(framework: Framework, state: CycleState, pod: PodInfo, trace: CycleTrace) -> None:
        """Run the filters again on nodes with nominated pods, as if those pods ran there."""
        nodes = framework.cluster.nodes
        for name in framework.cluster.nominator.nodes():
            row = nodes.rows.get(name)
            if row is not None and framework.nominated_ahead(pod, name):
                change = NodePodsChange(row)
                trace.nominated[row] = framework.check_node_with_nominated(state, pod, trace.verdicts, change)

    def _evaluate_nodes(self, framework: Framework, state: CycleState, pod: PodInfo, trace: CycleTrace) -> None:
        """Mark the nodes that upstream evaluates until it has enough, starting at `next_start_index`.

        Then call the extenders with the feasible nodes.
        """
        again = 0
        nominated_node = pod.nominated_node if self.cluster.release.evaluates_nominated_node_first else ""
        first = nominated_node or trace.batch_hint
        nominated = self.cluster.nodes.rows.get(first, -1) if first else -1
        if nominated >= 0 and ((passing := trace.passing()) is None or passing[nominated]):
            # The pod's nominated node, or the one that batching proposes, is tried first, alone.
            trace.looked = np.zeros(trace.nodes, np.bool_)
            trace.looked[nominated] = True
            trace.feasible = np.array([nominated], np.intp)
            state.rebuilt = self.extenders is not None and self.extenders.filter(pod, trace)
            if len(trace.feasible) and not trace.error:
                return
            # The extenders refuse it: all nodes are tried, this one a second time.
            trace.forget(EXTENDER)
            trace.looked, trace.error, again = None, "", 1
        count = trace.nodes if trace.subset is None else len(trace.subset)
        scored = framework.score or (self.extenders and self.extenders.choose_nodes)
        choosy = scored or not self.cluster.release.stops_at_first_feasible
        wanted = nodes_to_find(framework.percentage, count) if choosy else 1
        if wanted >= count:
            processed = self._find_all_feasible(trace)
        else:
            processed = self._find_enough_feasible(trace, wanted, count)
            if nominated >= 0 and not trace.has_looked(nominated):
                trace.looked = trace.looked_mask()
                trace.looked[nominated] = True
                processed += 1
        whole = trace.nodes
        if self.cluster.release.start_index_wraps_at_filtered_nodes:
            whole = count
            processed += trace.nodes - count if trace.subset_status is not None else 0  # they count as evaluated
        self.next_start_index = (self.next_start_index + processed + again) % whole
        if self.extenders:
            state.rebuilt = self.extenders.filter(pod, trace)

    @staticmethod
    def _find_all_feasible(trace: CycleTrace) -> int:
        if trace.subset is None:
            trace.feasible = trace.passing_rows()
            return trace.nodes
        passing = trace.passing()
        trace.feasible = trace.subset if passing is None else trace.subset[passing[trace.subset]]
        return len(trace.subset)

    def _find_enough_feasible(self, trace: CycleTrace, wanted: int, count: int) -> int:
        """Find the first `wanted` feasible nodes from `next_start_index` on, in a ring. Return how many nodes the
        search evaluated: it ends at the first feasible node beyond those wanted, which is not counted."""
        first = self.next_start_index % count
        if trace.subset is None:
            found = trace.passing_rows()
        else:
            passing = trace.passing()
            found = None if passing is None else np.flatnonzero(passing[trace.subset])
        if found is None:  # all fit
            begin, feasible, processed = first, count, wanted
        elif len(found) <= wanted:
            return self._find_all_feasible(trace)
        else:
            begin, feasible = int(found.searchsorted(first)), len(found)
            processed = (int(found[(begin + wanted) % feasible]) - first) % count
        looked = trace.looked = np.zeros(trace.nodes, np.bool_)
        for part in _ring(first, processed, count):
            looked[part if trace.subset is None else trace.subset[part]] = True
        parts = _ring(begin, wanted, feasible)[::-1]  # ascending
        chosen = [np.arange(part.start, part.stop) if found is None else found[part] for part in parts]
        positions = chosen[0] if len(chosen) == 1 else np.concatenate(chosen)
        trace.feasible = positions if trace.subset is None else trace.subset[positions]
        return processed

    # ---- no feasible node

    def post_filter(self, framework: Framework, state: CycleState, pod: PodInfo, trace: CycleTrace) -> None:
        """Run preemption, then build the message of the FailedScheduling event."""
        trace.result = "unschedulable"
        postfilter = ""
        if self.preemption and framework.post_filter:
            start = self.timer()
            result, status = framework.run_post_filter(state, pod, trace)
            trace.durations["postfilter"] = self.timer() - start
            trace.postfilter = PostFilterTrace.from_result(result, status)
            trace.nominated_node = trace.postfilter.nominated_node
            trace.victims = [victim.key for victim in result.victims] if result is not None else []
            if self.cluster.release.reports_postfilter_message:
                postfilter = status.message and status.message + self.cluster.release.postfilter_message_suffix
        prefilter = trace.prefilter.message if trace.prefilter is not None else ""
        reasons = {} if prefilter else trace.reasons()
        if trace.prefilter is not None and self.cluster.release.prefilter_rejection_counts_all_nodes:
            prefilter, reasons = "", dict.fromkeys(trace.prefilter.reasons, trace.there)
        trace.message = fit_error_message(trace.there, reasons, prefilter, postfilter)

    # ---- feasible nodes

    def prioritize(self, framework: Framework, state: CycleState, pod: PodInfo, trace: CycleTrace) -> None:
        """Run PreScore, Score and normalization. A single feasible node is not scored."""
        feasible = trace.feasible
        if (trace.nodes if feasible is None else len(feasible)) == 1:
            return
        rows: Any = slice(None) if feasible is None else feasible
        start = self.timer()
        bare = state.rebuilt and self.cluster.release.extender_nodes_scored_without_pods
        try:
            if bare:
                with self.cluster.nodes.bare():
                    trace.made_scores = self._score(framework, state, pod, rows)
            else:
                trace.made_scores = self._score(framework, state, pod, rows)
        except ScoreError as error:
            trace.error = str(error)
            return
        trace.skipped_score = state.skipped_score()
        if self.extenders:
            state.ranking = None
            self.extenders.prioritize(pod, trace)
        trace.durations["score"] = self.timer() - start

    @staticmethod
    def _score(framework: Framework, state: CycleState, pod: PodInfo, rows: Any) -> dict[str, Score] | ClassScores:
        status = framework.run_pre_score(state, pod, rows)
        if status is not None:
            raise ScoreError(f'running PreScore plugin "{status.plugin}": {status.message}')
        return framework.run_score(state, pod, rows)

    def select_host(self, framework: Framework, state: CycleState, trace: CycleTrace) -> None:
        """Choose the node with the highest total score. The seed or the name decides among several."""
        if not trace.made_scores:
            only_first = not framework.score and self.cluster.release.stops_at_first_feasible
            self.select_of_equals(framework, trace, 1 if only_first else None)
            return
        ranking = state.ranking  # numbers over the feasible nodes in the order of the total scores
        total = trace.total() if ranking is None else ranking
        first = int(total.argmax())
        tied = total == total[first]
        ties = int(np.count_nonzero(tied))
        rows: Rows | None = trace.feasible
        place = other = first
        if ties > 1:
            index = framework.picker.pick_index(ties)
            if index is None:
                index = self._first_by_name(tied.nonzero()[0] if rows is None else rows[tied])
            if index:
                place = place_of(tied, index)
            else:
                other = first + 1 + int(tied[first + 1 :].argmax())
        if ranking is not None:
            trace.rank(ranking, state.ranking_offset, first, ties, other)
            self._ranked = trace
        trace.selected_row = place if rows is None else int(rows[place])
        trace.node = self.cluster.nodes.names[trace.selected_row]

    def select_of_equals(self, framework: Framework, trace: CycleTrace, size: int | None = None) -> None:
        """Choose one of the first `size` feasible nodes; None: of all."""
        equals = trace.feasible_rows()[:size]
        index = framework.picker.pick_index(len(equals)) if len(equals) > 1 else 0
        trace.selected_row = int(equals[self._first_by_name(equals) if index is None else index])
        trace.node = self.cluster.nodes.names[trace.selected_row]

    def _first_by_name(self, rows: Rows) -> int:
        """Return the index of the row whose node's name is the first."""
        return int(self.cluster.nodes.name_rank()[rows].argmin())

    def _store_batch_result(self, framework: Framework, state: CycleState, trace: CycleTrace) -> None:
        """Keep the other feasible nodes for the next pod, which may have the same signature."""
        others = None
        if state.signature is not None and trace.made_scores and trace.batch_hint != trace.node:
            rows, chosen, nodes = trace.feasible_rows(), trace.selected_row, self.cluster.nodes
            # the next cycle changes the ranking
            total = trace.total() if state.ranking is None else state.ranking.copy()
            others = partial(left_over, rows, total, chosen, nodes.name_rank(), nodes.names)
        framework.batching.store(state.signature, self.attempts, trace.batch_hint, trace.node, others)

    def assume_and_reserve(self, framework: Framework, state: CycleState, pod: PodInfo, trace: CycleTrace) -> None:
        """Assume the pod on its node, then run Reserve and Permit. If one of them refuses, the pod is forgotten."""
        self.cluster.add_pod(pod, trace.node)
        self.cluster.nominator.forget(pod)
        status = framework.run_reserve(state, pod, trace.node)
        if status is not None:
            trace.reserve = status
        else:
            status, waits = framework.run_permit(state, pod, trace.node)
            if status is None:
                trace.result = "scheduled"
                return
            trace.permit, trace.permit_waits = status, waits
            if status.code == WAIT:
                trace.result = "waiting"
                return
        self.forget(framework, state, pod, trace.node)
        self.record_rejection(status, trace)

    def forget(self, framework: Framework, state: CycleState, pod: PodInfo, node: str) -> None:
        """Undo `assume_and_reserve`: run Unreserve and remove the pod from its node."""
        framework.run_unreserve(state, pod, node)
        self.cluster.remove_pod(pod)

    def reject_waiting(
        self, framework: Framework, state: CycleState, pod: PodInfo, trace: CycleTrace, status: Status
    ) -> None:
        """Remove a pod held by Permit from its node, because it was rejected."""
        trace.permit = status
        self.forget(framework, state, pod, trace.node)
        self.record_rejection(status, trace)

    @staticmethod
    def record_rejection(status: Status, trace: CycleTrace) -> None:
        """Record that Reserve or Permit refused the chosen node."""
        trace.selected_row = -1
        if status.rejected:
            trace.result = "unschedulable"
            trace.message = fit_error_message(1, dict.fromkeys(status.reasons, 1))
            trace.unschedulable_plugins = [status.plugin]
        else:
            trace.result, trace.error, trace.message = "error", status.message, status.message

    # ---- the binding cycle

    def binding_cycle(self, framework: Framework, state: CycleState, pod: PodInfo, trace: CycleTrace) -> None:
        """Run PreBind, Bind and PostBind. On failure the pod is forgotten and tried again; the result is an error."""
        status = framework.run_pre_bind(state, pod, trace.node)
        if status is not None:
            trace.prebind = status
        else:
            taken, status = self.extenders.bind(pod, trace.node) if self.extenders else (False, None)
            if not taken:
                status = framework.run_bind(state, pod, trace.node)
            if status is not None:
                trace.bind = status
        if status is not None:
            self.forget(framework, state, pod, trace.node)
            trace.result, trace.error, trace.message = "error", status.message, status.message
            return
        framework.run_post_bind(state, pod, trace.node)


def nodes_to_find(percentage: int | None, nodes: int) -> int:
    """Return how many feasible nodes are enough (upstream numFeasibleNodesToFind).

    `percentage` 0 or None is adaptive: 50 minus one per 125 nodes, at least 5. The result is at least 100, or all nodes
    if there are fewer.
    """
    if nodes < MIN_FEASIBLE_NODES:
        return nodes
    share = percentage or max(ADAPTIVE_PERCENTAGE - nodes // NODES_PER_PERCENT, MIN_FEASIBLE_PERCENTAGE)
    return max(nodes * share // 100, MIN_FEASIBLE_NODES)


def _ring(first: int, length: int, size: int) -> list[slice]:
    """Return the slices of `length` positions from `first` on in a ring of `size`, at most two."""
    end = first + length
    return [slice(first, end)] if end <= size else [slice(first, size), slice(0, end - size)]


def unusable_claim(cluster: Cluster, pod: PodInfo) -> str:
    """Return the error of the pod's first claim that is missing or being deleted; "" if there is none.

    Source: pkg/scheduler/core/generic_scheduler.go (podPassesBasicChecks, until 1.18).
    """
    for volume in pod.pod.spec.volumes:
        if volume.persistent_volume_claim is None:
            continue
        name = volume.persistent_volume_claim.claim_name
        claim = cluster.claims.get(f"{pod.namespace}/{name}")
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.metadata.deletion_timestamp:
            return f'persistentvolumeclaim "{name}" is being deleted'
    return ""
