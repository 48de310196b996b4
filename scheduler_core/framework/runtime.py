"""The plugins of a profile and the calls of each extension point.

Source: pkg/scheduler/framework/runtime/framework.go.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from scheduler_core.api.profile import Profile
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.nodes import on_rows
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.batching import Batching
from scheduler_core.framework.equivalence import EquivalenceCache, EquivalenceClass
from scheduler_core.framework.repeated_scores import check_repeated, normalizing
from scheduler_core.framework.score_columns import ClassScores, Score, StaticColumn
from scheduler_core.framework.status_merge import merged
from scheduler_core.framework.tie_break import Picker
from scheduler_core.framework.waiting_pods import WaitingPods
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree

_P = TypeVar("_P", bound=fwk.Plugin)

_LISTS = (
    *("pre_enqueue", "pre_filter", "filter", "post_filter", "pre_score", "score"),
    *("reserve", "permit", "pre_bind", "bind", "post_bind"),
)


class Framework:
    """A profile: its plugins per extension point, in the order in which they run."""

    def __init__(
        self,
        profile: Profile,
        registry: Mapping[str, type[fwk.Plugin]],
        cluster: Cluster,
        picker: Picker,
        percentage: int | None,
    ) -> None:
        self.profile = profile
        self.cluster = cluster
        self.picker = picker
        own = profile.percentage_of_nodes_to_score
        self.percentage = own if own is not None else percentage
        self._plugins: dict[str, fwk.Plugin] = {}
        self._registry = registry
        self.pre_enqueue = self._at("preEnqueue", fwk.PreEnqueuePlugin)
        self.queue_sort = self._at("queueSort", fwk.QueueSortPlugin)[0]
        self.pre_filter = self._at("preFilter", fwk.PreFilterPlugin)
        self.filter = self._at("filter", fwk.FilterPlugin)
        self.post_filter = self._at("postFilter", fwk.PostFilterPlugin)
        self.pre_score = self._at("preScore", fwk.PreScorePlugin)
        self.score = self._at("score", fwk.ScorePlugin)
        self.weights = dict(profile.plugins["score"])
        self.reserve = self._at("reserve", fwk.ReservePlugin)
        self.permit = self._at("permit", fwk.PermitPlugin)
        self.pre_bind = self._at("preBind", fwk.PreBindPlugin)
        self.bind = self._at("bind", fwk.BindPlugin)
        self.post_bind = self._at("postBind", fwk.PostBindPlugin)
        self.merges: int = cluster.release.merges_filter_statuses or profile.always_check_all
        self.batching = Batching([*self.pre_filter, *self.filter, *self.pre_score, *self.score])
        self._checks_repeated = bool(profile.repeated) and cluster.release.repeated_scores_weighted_again
        self.equivalence = EquivalenceCache(self)
        self.waiting_pods = WaitingPods()
        self.list_pods: Callable[[], Iterable[PodInfo]] = cluster.pods.values
        self.extenders: fwk.PreemptExtenders | None = None

    def _at(self, point: str, kind: type[_P]) -> list[_P]:
        plugins = []
        for name, _ in self.profile.plugins[point]:
            plugin = self._plugins.get(name)
            if plugin is None:
                make = self._registry[name]
                if name in self.profile.repeated:
                    make = normalizing(make, self.profile.repeated[name].times)
                plugin = make(self.profile.args.get(name), self.cluster)
                plugin.handle = self
                self._plugins[name] = plugin
            assert isinstance(plugin, kind), f"{name} does not implement {point}"
            plugins.append(plugin)
        return plugins

    # ---- changes for a single pod

    @property
    def plugins(self) -> list[fwk.Plugin]:
        """All plugins of the profile."""
        return list(self._plugins.values())

    @property
    def plugin_names(self) -> list[str]:
        """The names of all plugins of the profile."""
        return list(self._plugins)

    def copy(self) -> Framework:
        """Return a framework with copies of the plugins. Some may then be disabled for a single pod."""
        other = copy.copy(self)
        other._plugins = {name: copy.copy(plugin) for name, plugin in self._plugins.items()}
        for plugin in other._plugins.values():
            plugin.handle = other
        for point in _LISTS:
            setattr(other, point, [other._plugins[plugin.name] for plugin in getattr(self, point)])
        other.weights = dict(self.weights)
        other.equivalence = EquivalenceCache(other)
        return other

    def leave_out(self, name: str) -> None:
        """Disable a plugin at all points except QueueSort. The last Bind plugin stays."""
        for point in _LISTS:
            left = [plugin for plugin in getattr(self, point) if plugin.name != name]
            if left or point != "bind":
                setattr(self, point, left)
        self.weights.pop(name, None)
        self.equivalence = EquivalenceCache(self)

    def weigh(self, name: str, weight: int) -> None:
        """Set the weight of a Score plugin; 0 disables its scores."""
        if weight:
            self.weights[name] = weight
        else:
            self.score = [plugin for plugin in self.score if plugin.name != name]
            self.pre_score = [plugin for plugin in self.pre_score if plugin.name != name]
        self.equivalence = EquivalenceCache(self)

    # ---- PreEnqueue, PreFilter

    def run_pre_enqueue(self, pod: PodInfo) -> fwk.Status | None:
        """Return the first status that gates the pod; None if no plugin does."""
        for plugin in self.pre_enqueue:
            status = plugin.pre_enqueue(pod)
            if status is not None:
                return status.by(plugin.name)
        return None

    def run_pre_filter(
        self, state: fwk.CycleState, pod: PodInfo
    ) -> tuple[frozenset[str] | None, fwk.Status | None, list[str]]:
        """Run PreFilter.

        Returns: the remaining nodes (None for all), a rejecting or error status, and the plugins that restricted the
        nodes.
        """
        equivalent = self.equivalence.find(pod)
        if equivalent is None:
            return self._pre_filter(state, pod, self.pre_filter)[0]
        state.equivalent, plugins = equivalent, equivalent.plugins
        if equivalent.filter_state:
            state.update(equivalent.filter_state)
        state.skip_filter = plugins.skip_filter
        outcome, last = self._pre_filter(state, pod, plugins.pre_filter)
        if last is not None:  # plugins after it leave no results
            for name in equivalent.filter_state:
                del state[name]
            state.skip_filter -= plugins.skip_filter
            state.equivalent = None
            before = self.pre_filter[: self.pre_filter.index(last)]
            self._pre_filter(state, pod, [plugin for plugin in before if plugin not in plugins.pre_filter])
        return outcome

    def _pre_filter(
        self, state: fwk.CycleState, pod: PodInfo, plugins: list[fwk.PreFilterPlugin]
    ) -> tuple[tuple[frozenset[str] | None, fwk.Status | None, list[str]], fwk.PreFilterPlugin | None]:
        """Run the plugins in order. Return the result of PreFilter, and the plugin that ended it before the others."""
        names: frozenset[str] | None = None
        rejected: fwk.Status | None = None
        narrowing: list[str] = []
        for plugin in plugins:
            outcome = plugin.pre_filter(state, pod)
            if outcome is None:
                continue
            if isinstance(outcome, fwk.Status):
                if outcome.code == fwk.SKIP:
                    state.skip_filter |= {plugin.name}
                    continue
                rejected = outcome.by(plugin.name if self.cluster.release.reports_unschedulable_plugins else "")
                if outcome.code == fwk.UNSCHEDULABLE and self.cluster.release.prefilter_continues_after_rejection:
                    continue
                state.last_pre_filter = plugin.name
                return (None, rejected, []), plugin
            if outcome.node_names is not None:
                narrowing.append(plugin.name)
                names = outcome.node_names if names is None else names & outcome.node_names
            if names is not None and not names:
                text = f"node(s) didn't satisfy plugin(s) [{' '.join(narrowing)}] simultaneously"
                if len(narrowing) == 1:
                    text = f"node(s) didn't satisfy plugin {narrowing[0]}"
                newer = self.cluster.release.prefilter_continues_after_rejection
                status = fwk.unresolvable(text) if newer else fwk.unschedulable(text)
                state.last_pre_filter = plugin.name
                return (names, status, narrowing), plugin
        return (names, rejected, narrowing), None

    # ---- Filter

    def run_filter(self, state: fwk.CycleState, pod: PodInfo) -> dict[str, fwk.Verdict]:
        """Return the verdict of each active Filter plugin on all nodes, in running order."""
        skipped, can_skip = state.skip_filter, self.cluster.release.supports_skip_status
        equivalent: EquivalenceClass | None = state.equivalent
        if equivalent is None:
            if not can_skip:
                return {p.name: fwk.PASSES if p.name in skipped else p.filter(state, pod) for p in self.filter}
            return {plugin.name: plugin.filter(state, pod) for plugin in self.filter if plugin.name not in skipped}
        equivalent.usage.update(state, pod)
        if equivalent.plugins.filter_names <= skipped:
            return equivalent.verdicts_now(pod, complete=False)
        verdicts = equivalent.verdicts_now(pod, complete=True).copy()
        for plugin in equivalent.plugins.filter:
            if plugin.name not in skipped:
                verdicts[plugin.name] = plugin.filter(state, pod)
            elif can_skip:
                del verdicts[plugin.name]
        return verdicts

    def check_node(
        self, state: fwk.CycleState, pod: PodInfo, verdicts: Mapping[str, fwk.Verdict], change: fwk.NodePodsChange
    ) -> fwk.Status | None:
        """Return the status of the first Filter plugin that refuses one node under a change; None if the pod fits.

        With `merges` set, the refusals of all plugins are merged into one status.
        """
        changed = change.added or change.removed
        statuses: list[fwk.Status] = []
        for plugin, ask in self.deciding(state, pod, verdicts):
            if changed and ask is not None:
                status = ask(state, pod, change)
            else:
                status = verdicts[plugin.name].at(change.row)
            if status is None:
                continue
            if not self.merges:
                return status.by(plugin.name)
            statuses.append(status.by(plugin.name))
        return merged(statuses) if statuses else None

    def deciding(
        self, state: fwk.CycleState, pod: PodInfo, verdicts: Mapping[str, fwk.Verdict]
    ) -> list[tuple[fwk.FilterPlugin, fwk.FilterNode | None]]:
        """Return the plugins that may refuse some node, with their `filter_node` if a Change matters to it."""
        if state.deciding is None:
            taking_part = [plugin for plugin in self.filter if plugin.name not in state.skip_filter]
            taken = [(p, None if p.filter_node and p.indifferent(state, pod) else p.filter_node) for p in taking_part]
            state.deciding = [(p, ask) for p, ask in taken if ask or verdicts[p.name].codes is not None]
        return state.deciding

    def nominated_ahead(self, pod: PodInfo, node: str) -> list[PodInfo]:
        """Return the other pods nominated to the node that have equal or higher priority than this pod."""
        return [p for p in self.cluster.nominator.on(node) if p.priority >= pod.priority and p.key != pod.key]

    def check_node_with_nominated(
        self, state: fwk.CycleState, pod: PodInfo, verdicts: Mapping[str, fwk.Verdict], change: fwk.NodePodsChange
    ) -> fwk.Status | None:
        """Run `check_node` twice: with the nominated pods on the node, and without them.

        Nominated pods may never arrive, so rules that need them (affinity) must not rely on them.
        """
        ahead = self.nominated_ahead(pod, self.cluster.nodes.names[change.row]) if self.cluster.nominator else []
        if ahead:
            status = self.check_node(state, pod, verdicts, change.with_pods(ahead))
            if status is not None:
                return status
        return self.check_node(state, pod, verdicts, change)

    def explain_filter(self, plugin: str, state: fwk.CycleState, view: View) -> Tree | None:
        """Explain a Filter plugin's verdict; None if the plugin has no explanation."""
        return next((one.explain_filter(state, view) for one in self.filter if one.name == plugin), None)

    # ---- PostFilter

    def run_post_filter(
        self, state: fwk.CycleState, pod: PodInfo, filtered: fwk.Filtered
    ) -> tuple[fwk.PostFilterResult | None, fwk.Status]:
        """Return the first success, else the last result with the messages of all plugins."""
        result: fwk.PostFilterResult | None = None
        reasons: list[str] = []
        preemptors = 0
        for plugin in self.post_filter:
            outcome, status = plugin.post_filter(state, pod, filtered)
            if outcome is not None and (outcome.candidates or outcome.rejected):
                outcome.preemptors = preemptors = preemptors + 1
                outcome.plugin = plugin.name
            if status.code == fwk.SUCCESS:
                return outcome, status
            if status.code == fwk.UNRESOLVABLE or not status.rejected:
                return outcome, status.by("" if self.cluster.release.postfilter_status_without_plugin else plugin.name)
            if outcome is not None and (result is None or outcome.nominated_node is not None):
                result = outcome
            reasons.extend(status.reasons)
        name = "" if self.cluster.release.postfilter_status_without_plugin else self.post_filter[0].name
        return result, fwk.Status(fwk.UNSCHEDULABLE, tuple(reasons), name)

    # ---- Score

    def run_pre_score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Status | None:
        """Return an error status, or None."""
        equivalent = None if self.cluster.nodes.is_bare else state.equivalent
        plugins = self.pre_score
        if equivalent is not None:
            plugins = equivalent.plugins.pre_score
            if equivalent.score_state:
                state.update(equivalent.score_state)
            state.skip_score = equivalent.plugins.skip_score
        for plugin in plugins:
            status = plugin.pre_score(state, pod, rows)
            if status is None:
                continue
            if status.code != fwk.SKIP:
                return status.by(plugin.name)
            state.skip_score |= {plugin.name}
        return None

    def run_score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> dict[str, Score] | ClassScores:
        """Return the scores of the feasible nodes by plugin; for a class of equal pods they are made when read.

        Raises ScoreError.
        """
        if self.cluster.release.skipped_scores_crash and self._skips_too_many(state):
            raise fwk.ScoreError("runtime error: makeslice: cap out of range")  # upstream panics here
        equivalent = None if self.cluster.nodes.is_bare else state.equivalent
        if equivalent is not None and not self._checks_repeated:
            return self._score_equivalent(state, pod, rows, equivalent)
        scores = {p.name: self._score(p, state, pod, rows)[0] for p in self.score if p.name not in state.skip_score}
        if self._checks_repeated:
            check_repeated(self.profile.repeated, scores)
        return scores

    def _skips_too_many(self, state: fwk.CycleState) -> bool:
        """Return whether more plugins skip Score than are enabled there."""
        enabled = len(self.score) + sum(one.times - 1 for one in self.profile.repeated.values())
        return bool(enabled or self.extenders) and len(state.skip_score) > enabled

    def _score(
        self, plugin: fwk.ScorePlugin, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows
    ) -> tuple[Score, fwk.Int64]:
        """Return the scores of a plugin, and the normalized ones."""
        raw: Any = plugin.score(state, pod, rows)
        if isinstance(raw, np.ndarray):
            raw = raw.astype(np.int64, copy=False)
        normalized = raw if plugin.normalize is None else plugin.normalize(state, pod, raw, rows)
        return Score(self.weights[plugin.name], raw, normalized), normalized

    def _score_equivalent(
        self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows, equivalent: EquivalenceClass
    ) -> dict[str, Score] | ClassScores:
        usage, skipped = equivalent.usage, state.skip_score
        usage.update(state, pod)
        own, total = usage.of_cycle(state, pod, rows)
        if equivalent.static_total is not None:
            total = total + on_rows(equivalent.static_total, rows)
        varying: dict[str, Score | fwk.Integers] = {}
        for plugin, weight, place in equivalent.plugins.varying:
            name = plugin.name
            if place is not None:
                if own is not None:
                    varying[name] = own[place]
                continue
            if name in skipped:
                continue
            if name not in equivalent.columns:
                score, normalized = self._score(plugin, state, pod, rows)
            else:
                assert plugin.normalize is not None
                raw = equivalent.columns[name][0]
                mine = on_rows(raw, rows).astype(np.int64, copy=False)
                normalized = plugin.normalize(state, pod, mine, rows)
                score = Score(weight, StaticColumn(raw, rows), normalized)
            varying[name] = score
            total = total + normalized * weight
        by_usage = usage.plugins.scores
        if not (by_usage or equivalent.columns or varying):
            return {}
        state.ranking, state.ranking_offset = total, equivalent.constant_total
        keyframe, count = usage.snapshot() if own is None and by_usage else (None, 0)
        return ClassScores(equivalent.scores, varying, rows, keyframe, count)

    # ---- Reserve to PostBind

    def run_reserve(self, state: fwk.CycleState, pod: PodInfo, node: str) -> fwk.Status | None:
        for plugin in self.reserve if state.equivalent is None else state.equivalent.plugins.reserve:
            status = plugin.reserve(state, pod, node)
            if status is not None:
                return status.by(plugin.name)
        return None

    def run_unreserve(self, state: fwk.CycleState, pod: PodInfo, node: str) -> None:
        """Run Unreserve in reverse order. Plugins must accept that Reserve never ran."""
        for plugin in reversed(self.reserve):
            plugin.unreserve(state, pod, node)

    def run_permit(self, state: fwk.CycleState, pod: PodInfo, node: str) -> tuple[fwk.Status | None, dict[str, float]]:
        """Return (a rejecting status, WAITING or None; plugin -> the longest wait in seconds, if it waits)."""
        waits: dict[str, float] = {}
        for plugin in self.permit:
            status, timeout = plugin.permit(state, pod, node)
            if status is None:
                continue
            if status.code != fwk.WAIT:
                return status.by(plugin.name), {}
            waits[plugin.name] = timeout
        return (fwk.WAITING if waits else None), waits

    def run_pre_bind(self, state: fwk.CycleState, pod: PodInfo, node: str) -> fwk.Status | None:
        for plugin in self.pre_bind if state.equivalent is None else state.equivalent.plugins.pre_bind:
            status = plugin.pre_bind(state, pod, node)
            if status is not None:
                return status.by(plugin.name)
        return None

    def run_bind(self, state: fwk.CycleState, pod: PodInfo, node: str) -> fwk.Status | None:
        for plugin in self.bind:
            status = plugin.bind(state, pod, node)
            if status is None:
                return None
            if status.code != fwk.SKIP:
                return status.by(plugin.name)
        return fwk.error("no bind plugin took the pod")

    def run_post_bind(self, state: fwk.CycleState, pod: PodInfo, node: str) -> None:
        for plugin in self.post_bind:
            plugin.post_bind(state, pod, node)
