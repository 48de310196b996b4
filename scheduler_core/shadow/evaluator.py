"""Evaluates a pod on the present state of a mirror, without placing it: feasible nodes, scores, and the message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.api.workloads import PodGroup
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config import Configuration
from scheduler_core.cycle.schedule_one import Scheduler, nodes_to_find
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework.interface import CycleState, Int64, Plugin, ScoreError
from scheduler_core.framework.runtime import Framework
from scheduler_core.framework.score_columns import ClassScores, Score
from scheduler_core.framework.tie_break import Picker
from scheduler_core.legacy.algorithms import ALGORITHMS
from scheduler_core.legacy.framework import LegacyFramework
from scheduler_core.legacy.generic_scheduler import GenericScheduler
from scheduler_core.plugins import PLUGINS
from scheduler_core.plugins.gang_scheduling import is_member
from scheduler_core.shadow.group_messages import group_cycles

Rows = npt.NDArray[np.intp]
ALL = 100  # percentageOfNodesToScore that evaluates every node


class _Scores:
    """The scores of some nodes. `total`: their weighted sum, if it is known."""

    def __init__(self, made: dict[str, Score] | ClassScores, total: Int64 | None) -> None:
        self._made, self._total = made, total

    def total(self, size: int, without: str) -> Int64:
        """Return the weighted sum without a plugin; int64 over the nodes, of which there are `size`."""
        if self._total is not None and not without:
            return self._total
        total = np.zeros(size, np.int64)
        for plugin, score in self.by_plugin().items():
            if plugin != without:
                total += score.normalized * score.weight
        return total

    def by_plugin(self) -> dict[str, Score]:
        if not isinstance(self._made, dict):
            self._made = self._made.by_plugin()
        return self._made


class Evaluation:
    """What a pod can get in one state.

    `trace`: the cycle over all nodes, up to Filter. `rows`: the feasible nodes. `searched`: the nodes of the search.
    `wanted`: how many feasible nodes end the search; 0 if it goes through all nodes. `alone`: only the pod's nominated
    node was tried.
    """

    def __init__(
        self, framework: Framework, state: CycleState, pod: PodInfo, trace: CycleTrace, percentage: int | None
    ) -> None:
        self.framework = framework
        self.pod = pod
        self.trace = trace
        self._state = state
        self._scored: tuple[bytes, _Scores | None] = b"", None  # of the last rows
        self._without = ""
        cluster, release = framework.cluster, framework.cluster.release
        self.searched: Rows = np.arange(trace.nodes) if trace.subset is None else trace.subset
        nominated = cluster.nodes.rows.get(pod.nominated_node, -1) if release.evaluates_nominated_node_first else -1
        self.rows: Rows = np.zeros(0, np.intp)
        self.alone, self.wanted = False, 0
        if trace.error or trace.prefilter is not None or not trace.nodes:
            return
        passing = trace.passing()
        self.alone = nominated >= 0 and (passing is None or bool(passing[nominated]))
        if self.alone:
            self.rows = np.array([nominated], np.intp)
            return
        self.rows = self.searched if passing is None else self.searched[passing[self.searched]]
        scored = framework.score or not release.stops_at_first_feasible
        wanted = nodes_to_find(percentage, len(self.searched)) if scored else 1
        if wanted < len(self.searched) and len(self.rows) > wanted:
            self.wanted = wanted

    def fits(self, row: int) -> bool:
        return bool((self.rows == row).any())

    def total(self, rows: Rows) -> Int64 | None:
        """Return the total scores of these feasible nodes if only they are scored; None if nodes are not scored."""
        scores = self._scores(rows)
        return None if scores is None else scores.total(len(rows), self._without)

    def scores(self, rows: Rows) -> dict[str, Score] | None:
        """Return plugin -> scores over these feasible nodes if only they are scored; None if nodes are not scored."""
        scores = self._scores(rows)
        return None if scores is None else scores.by_plugin()

    def _scores(self, rows: Rows) -> _Scores | None:
        if len(rows) < 2 or not self.framework.score:
            return None
        key = rows.tobytes()
        if self._scored[0] != key:
            self._scored = key, self._score(rows)
        return self._scored[1]

    def _score(self, rows: Rows) -> _Scores | None:
        """Return the scores of these nodes; None if PreScore or Score fails."""
        state = self._state
        state.skip_score, state.ranking = frozenset(), None
        if self.framework.run_pre_score(state, self.pod, rows) is None:
            with suppress(ScoreError):
                made = self.framework.run_score(state, self.pod, rows)
                return _Scores(made, None if state.ranking is None else state.ranking + state.ranking_offset)
        return None

    def without(self, plugin: str) -> Evaluation:
        """Return the evaluation without the scores of a plugin. Both share what they compute."""
        other = copy(self)
        other._without = plugin
        return other

    def best(self, rows: Rows | None = None) -> Rows:
        """Return the feasible nodes with the highest score; `rows`: of these only."""
        rows = self.rows if rows is None else rows
        total = self.total(rows)
        return rows if total is None else rows[total == total.max()]

    def names(self, rows: Rows) -> list[str]:
        names = self.framework.cluster.nodes.names
        return [names[row] for row in rows.tolist()]


class Evaluator:
    """Evaluates pods with a configuration on a cluster.

    `extra_schedulers`: further names of the first profile. `pods`: returns all pods, also those without a node; None
    for those on nodes.
    """

    def __init__(
        self,
        cluster: Cluster,
        configuration: Configuration,
        *,
        registry: Mapping[str, type[Plugin]] = PLUGINS,
        extra_schedulers: tuple[str, ...] = (),
        pods: Callable[[], Iterable[PodInfo]] | None = None,
    ) -> None:
        release = cluster.release
        self.cluster = cluster
        self.configuration = configuration
        percentage = configuration.percentage_of_nodes_to_score
        registry = ALGORITHMS if release.predicates else registry
        make = LegacyFramework if release.predicates else Framework
        profiles = {
            profile.scheduler_name: make(profile, registry, cluster, Picker(None), percentage)
            for profile in configuration.profiles
        }
        self._percentages = {id(framework): framework.percentage for framework in profiles.values()}
        for framework in profiles.values():
            framework.percentage = ALL
            if pods is not None:
                framework.list_pods = pods
        for name in extra_schedulers:
            profiles.setdefault(name, next(iter(profiles.values())))
        self.profiles = profiles
        # (group, state) -> its cycles that are computed, and those that are not: of the last group alone
        self._cycles: dict[tuple[str, int | None], tuple[list[dict[str, CycleTrace]], Iterator[Any]]] = {}
        scheduler = GenericScheduler if release.predicates else Scheduler
        self.scheduler = scheduler(cluster, profiles, timer=lambda: 0)
        self.scheduler.batches = False

    def responsible(self, pod: PodInfo) -> bool:
        """Whether a profile schedules the pod."""
        return pod.pod.spec.scheduler_name in self.profiles

    def evaluate(self, pod: PodInfo) -> Evaluation:
        """Evaluate a pod of one of the profiles."""
        scheduler = self.scheduler
        framework, state = scheduler.framework_of(pod), CycleState()
        trace = scheduler.begin(pod, 1)
        scheduler.collects_rejectors = False
        if trace.nodes:
            scheduler.find_nodes_that_fit(framework, state, pod, trace)
        scheduler.collects_rejectors = True
        return Evaluation(framework, state, pod, trace, self._percentages[id(framework)])

    def message(self, pod: PodInfo, expected: str = "", state: int | None = None) -> CycleTrace:
        """Return the cycle of a pod with its message; without one, the pod can be placed.

        A pod of a group is tried with its group. `expected`: of several possible messages, this one is returned.
        `state`: a number of the present state; the members of a group share what they compute on it.
        """
        scheduler = self.scheduler
        framework, cycle_state = scheduler.framework_of(pod), CycleState()
        trace = scheduler.begin(pod, 1)
        trace.preenqueue = framework.run_pre_enqueue(pod)
        if trace.preenqueue is not None:
            trace.result, trace.message = "gated", trace.preenqueue.message
            return trace
        if (group := self._group_of(pod)) is not None:
            first: CycleTrace | None = None
            for cycles in self._group_cycles(framework, pod, group, state):
                found = cycles.get(pod.key, trace)
                if found.message == expected:
                    return found
                first = first or found
            return first or trace
        if not trace.nodes:
            scheduler.scheduling_cycle(framework, cycle_state, pod, trace)
            return trace
        scheduler.find_nodes_that_fit(framework, cycle_state, pod, trace)
        if trace.error:
            trace.result, trace.message = "error", trace.error
        elif not len(trace.feasible_rows()):
            scheduler.post_filter(framework, cycle_state, pod, trace)
        return trace

    def _group_of(self, pod: PodInfo) -> PodGroup | None:
        """Return the group with which the pod is scheduled; None if it is scheduled alone."""
        cluster = self.cluster
        return cluster.scheduling_groups.get(pod.group) if pod.group and cluster.release.pod_groups else None

    def _group_cycles(
        self, framework: Framework, pod: PodInfo, group: PodGroup, state: int | None
    ) -> Iterator[dict[str, CycleTrace]]:
        """Yield possible cycles of the group."""
        known, cycles = self._cycles.get((group.key, state), ([], None))
        yield from known
        if cycles is None:
            members = [pod, *self._other_members(framework, pod, group)]
            cycles = group_cycles(self.scheduler, framework, group, members)
        if state is not None:
            self._cycles = {(group.key, state): (known, cycles)}
        for one in cycles:
            known.append(one)
            yield one

    def _other_members(self, framework: Framework, pod: PodInfo, group: PodGroup) -> Iterator[PodInfo]:
        """Yield the other pending members of a group that can be tried."""
        for one in framework.list_pods():
            if one.key == pod.key or one.key in self.cluster.pods or one.terminating or not is_member(one, group):
                continue
            if framework.run_pre_enqueue(one) is None:
                yield one


class ReducedEvaluator(Evaluator):
    """Evaluates with the configuration of another evaluator, without the scores of a plugin."""

    def __init__(self, base: Evaluator, plugin: str) -> None:
        self.__dict__.update(base.__dict__)
        self.base = base
        self.plugin = plugin

    def evaluate(self, pod: PodInfo) -> Evaluation:
        """Evaluate a pod of one of the profiles."""
        return self.base.evaluate(pod).without(self.plugin)
