"""The results of plugins for a pod that stay the same until an object other than a pod changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Protocol

import numpy as np

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk

_MAX_RESULTS = 1024  # that are kept of a group of plugins, and of all groups together
_NONE: dict[str, Any] = {}  # the results of plugins without results, empty forever
_RUNS, _FINAL, _RAW = "runs", "final", "raw"  # outcomes of a plugin, besides SKIP and None
_DIFFERING = ("images", "amounts")  # properties that pods of different templates rarely have in common
# The methods whose results `varies_with` describes.
_METHODS = ("pre_filter", "filter", "usage_codes", "verdict", "pre_score", "score", "normalize")


def declaration(plugin: fwk.Plugin) -> Mapping[str, Any]:
    """Return the attributes of the class that says on what the plugin's results depend; none if the class that defines
    the results does not say it.

    A plugin outside the tree that extends an in-tree plugin does not inherit this.
    """
    for cls in type(plugin).__mro__:
        own = vars(cls)
        if "varies_with" in own:
            return own
        if any(method in own for method in _METHODS):
            break
    return {}


class ProfilePlugins(Protocol):
    """The plugins of a profile, as its framework has them."""

    cluster: Cluster
    pre_filter: list[fwk.PreFilterPlugin]
    filter: list[fwk.FilterPlugin]
    pre_score: list[fwk.PreScorePlugin]
    score: list[fwk.ScorePlugin]
    weights: dict[str, int]
    reserve: list[fwk.ReservePlugin]
    pre_bind: list[fwk.PreBindPlugin]


class PluginGroup:
    """Some plugins of a profile, by the extension points whose results may stay."""

    def __init__(self, framework: ProfilePlugins, plugins: Iterable[fwk.Plugin]) -> None:
        self._plugins = [(plugin, bool(declaration(plugin))) for plugin in plugins]
        self.can_skip = {plugin.name for plugin, _ in self._plugins if "always_skips" in declaration(plugin)}
        self.names = [plugin.name for plugin, _ in self._plugins]
        self.pre_filter = [plugin for plugin in framework.pre_filter if plugin.name in self.names]
        self.filter = [plugin for plugin in framework.filter if plugin.name in self.names]
        self.pre_score = [plugin for plugin in framework.pre_score if plugin.name in self.names]
        self.score = [plugin for plugin in framework.score if plugin.name in self.names]
        self.weights = dict(framework.weights)  # a trial that skips a plugin changes them in place
        self._plans: dict[tuple[str, ...], Plan] = {}

    def varies_with(self, pod: PodInfo) -> tuple[str, ...]:
        """Return on what the results of each plugin depend."""
        return tuple([p.varies_with(pod) if declared else fwk.ANYTHING for p, declared in self._plugins])

    def plan(self, varies: tuple[str, ...]) -> Plan:
        """Return what is computed once for pods with this result of `varies_with`. Raises TypeError for a plugin that
        states what cannot be."""
        found = self._plans.get(varies)
        if found is None:
            found = self._plans[varies] = Plan(self, dict(zip(self.names, varies, strict=True)))
        return found


class Plan:
    """Which plugins of a group run once for pods whose results depend on the same, by extension point.

    `by_usage`: the plugins whose results depend on usage. `run_filter`, `run_score`: those whose PreFilter or PreScore
    has to run in each cycle in any case. `can_skip`: the plugins of which one or both may be skipped nevertheless.
    `score`: with their weights.
    """

    __slots__ = (
        *("_forms", "by_usage", "can_skip", "filter", "pre_filter", "pre_score", "run_filter", "run_score"),
        "score",
    )

    def __init__(self, group: PluginGroup, varies: dict[str, str]) -> None:
        self.by_usage = tuple([name for name, one in varies.items() if one == fwk.USAGE])
        if any(p.name in self.by_usage and p.normalize is not None for p in group.score):
            raise TypeError("a score that depends on usage is final")
        stays = {name for name, one in varies.items() if one != fwk.ANYTHING}
        self.pre_filter = [plugin for plugin in group.pre_filter if plugin.name in stays]
        self.run_filter = [plugin.name for plugin in group.pre_filter if plugin.name not in stays]
        once = [plugin for plugin in group.filter if plugin.name in stays]
        self.filter = [p for p in once if p.name not in self.by_usage or not isinstance(p, fwk.UsageFilter)]
        self.pre_score = [plugin for plugin in group.pre_score if plugin.name in stays]
        self.run_score = [plugin.name for plugin in group.pre_score if plugin.name not in stays]
        self.score = [(p, group.weights[p.name]) for p in group.score if varies[p.name] == fwk.OBJECTS]
        names = group.can_skip - stays
        both: dict[str, fwk.Plugin] = {p.name: p for p in (*group.pre_filter, *group.pre_score) if p.name in names}
        self.can_skip = list(both.values())
        self._forms: dict[tuple[str | None, ...], tuple[Form]] = {}

    def forms_of(self, outcomes: tuple[str | None, ...]) -> tuple[Form]:
        """Return a tuple of the form for these outcomes of the plugins in `can_skip`, `pre_filter`, `pre_score` and
        `score`, in order; equal ones are the same."""
        found = self._forms.get(outcomes)
        if found is None:
            found = self._forms[outcomes] = (self._form(iter(outcomes)),)
        return found

    def _form(self, outcomes: Iterator[str | None]) -> Form:
        before_filter: dict[str, str | None] = dict.fromkeys(self.run_filter, _RUNS)
        before_score: dict[str, str | None] = dict.fromkeys(self.run_score, _RUNS)
        for plugin in self.can_skip:
            for before in (before_filter, before_score):
                outcome = next(outcomes)
                if plugin.name in before:
                    before[plugin.name] = outcome
        before_filter.update([(preparing.name, next(outcomes)) for preparing in self.pre_filter])
        before_score.update([(scoring.name, next(outcomes)) for scoring in self.pre_score])
        scores = {scorer.name: next(outcomes) for scorer, _ in self.score}
        return Form(
            self.by_usage,
            _having(before_filter, _RUNS),
            _having(before_filter, fwk.SKIP),
            tuple([plugin.name for plugin in self.filter if before_filter.get(plugin.name) != fwk.SKIP]),
            _having(before_score, _RUNS),
            _having(before_score, fwk.SKIP),
            _having(scores, _FINAL),
            _having(scores, _RAW),
        )


@dataclass(slots=True, eq=False, frozen=True)
class Form:
    """Which plugins of a group leave which results. Many pods have the same.

    `by_usage`: the plugins whose results depend on usage. `run_filter`, `run_score`: those whose PreFilter or PreScore
    has to run in each cycle. `skip_filter`, `skip_score`: those that are skipped. `verdicts`: those with a verdict that
    stays. `final`, `raw`: those with scores that stay, normalized or not.
    """

    by_usage: tuple[str, ...]
    run_filter: tuple[str, ...]
    skip_filter: tuple[str, ...]
    verdicts: tuple[str, ...]
    run_score: tuple[str, ...]
    skip_score: tuple[str, ...]
    final: tuple[str, ...]
    raw: tuple[str, ...]


class FixedResults:
    """The results of some plugins for a pod that stay until an object other than a pod changes.

    `forms`: of the groups of these plugins. `filter_state`, `score_state`: what PreFilter and PreScore of those left
    that do not run in each cycle. `verdicts`: plugin -> its verdict. `columns`: plugin -> its (raw, normalized) scores
    over all nodes; normalized is None if it depends on the feasible nodes. `total`, `constant`: the weighted sums of
    the normalized scores, apart for those that are the same for all nodes.
    """

    __slots__ = ("columns", "constant", "filter_state", "forms", "score_state", "total", "verdicts")

    def __init__(self) -> None:
        self.forms: tuple[Form, ...] = ()
        # other results may have the same dicts, so they are replaced instead of changed
        self.filter_state: dict[str, Any] = _NONE
        self.score_state: dict[str, Any] = _NONE
        self.verdicts: dict[str, fwk.Verdict] = _NONE
        self.columns: dict[str, tuple[fwk.Integers, fwk.Integers | None]] = _NONE
        self.total: fwk.Integers | None = None
        self.constant = 0

    @staticmethod
    def compute(group: PluginGroup, pod: PodInfo, varies: tuple[str, ...]) -> FixedResults:
        """Return the results of a group. `varies`: those of `PluginGroup.varies_with`. Raises TypeError as
        `PluginGroup.plan`."""
        made, plan = FixedResults(), group.plan(varies)
        state, every = fwk.CycleState(), slice(None)
        outcomes: list[str | None] = []  # of each plugin
        skipped: list[str] = []
        for one in plan.can_skip:
            outcomes += [fwk.SKIP if always else _RUNS for always in one.always_skips(pod)]
        for preparing in plan.pre_filter:
            outcome = preparing.pre_filter(state, pod)
            outcomes.append(None if outcome is None else _outcome(preparing, outcome, skipped))
        if plan.filter:
            made.verdicts = {p.name: p.filter(state, pod) for p in plan.filter if p.name not in skipped}
        if state:
            made.filter_state = dict(state)
        skipped = []
        for scoring in plan.pre_score:
            status = scoring.pre_score(state, pod, every)
            outcomes.append(None if status is None else _outcome(scoring, status, skipped))
        if len(state) > len(made.filter_state):
            made.score_state = {name: value for name, value in state.items() if name not in made.filter_state}
        if plan.score:
            made.columns = {}
        for scorer, weight in plan.score:
            outcomes.append(None if scorer.name in skipped else made._add_scores(scorer, weight, state, pod))
        made.forms = plan.forms_of(tuple(outcomes))
        return made

    def add(self, other: FixedResults) -> None:
        """Add the results of other plugins."""
        self.forms += other.forms
        if other.filter_state:
            self.filter_state = _union(self.filter_state, other.filter_state)
        if other.score_state:
            self.score_state = _union(self.score_state, other.score_state)
        if other.verdicts:
            self.verdicts = _union(self.verdicts, other.verdicts)
        if other.columns:
            self.columns = _union(self.columns, other.columns)
        self.constant += other.constant
        if other.total is not None:
            self._add_total(other.total)

    def _add_scores(self, scorer: fwk.ScorePlugin, weight: int, state: fwk.CycleState, pod: PodInfo) -> str:
        """Add the scores of a plugin. Return whether they are _FINAL."""
        every = slice(None)
        raw = scorer.score(state, pod, every)
        if not len(raw) or not np.count_nonzero(raw != raw[0]):  # faster than `all`
            same = _uniform(raw)
            after = same if scorer.normalize is None else scorer.normalize(state, pod, same, every)
            normalized = same if after is same else _uniform(after)
            self.columns[scorer.name] = same, normalized
            self.constant += int(normalized[0]) * weight if len(normalized) else 0
        elif scorer.normalize is not None:
            self.columns[scorer.name] = raw, None
            return _RAW
        else:
            self.columns[scorer.name] = raw, raw
            small = raw.dtype == np.uint8 and 0 <= weight < 128
            self._add_total(np.multiply(raw, weight, dtype=np.int16 if small else np.int64))
        return _FINAL

    def _add_total(self, more: fwk.Integers) -> None:
        total = more if self.total is None else np.add(self.total, more, dtype=np.int64)
        self.total = total if total.dtype == np.int16 else _narrowed(total)


class SharedResults:
    """The results of plugins that read one property of a pod: pods that have it in common share them. `groups`: the
    attribute of PodInfo (`Plugin.reads`) -> its plugins."""

    def __init__(self, groups: Mapping[str, PluginGroup]) -> None:
        common = [reads for reads in groups if reads not in _DIFFERING]
        self._groups = [groups[reads] for reads in common]
        self._read = _tuple_of(common)
        self._of_groups: list[dict[Hashable, FixedResults]] = [{} for _ in common]
        self._of_all: dict[tuple[Hashable, ...], FixedResults] = {}  # by the properties in `common`
        apart = [reads for reads in _DIFFERING if reads in groups]
        self._apart = [(groups[reads], attrgetter(reads), dict[Hashable, FixedResults]()) for reads in apart]

    def find(self, pod: PodInfo) -> list[FixedResults]:
        """Return the results of all these plugins. Do not change them."""
        properties = self._read(pod)
        found = self._of_all.get(properties)
        if found is None:
            if len(self._of_all) >= _MAX_RESULTS:
                self._of_all.clear()
            found = self._of_all[properties] = FixedResults()
            for group, known, read in zip(self._groups, self._of_groups, properties, strict=True):
                found.add(_known_results(group, known, read, pod))
        return [found, *[_known_results(group, known, read(pod), pod) for group, read, known in self._apart]]

    def forget(self) -> None:
        """Discard all results, after a change of an object."""
        self._of_all.clear()
        for known in (*self._of_groups, *[known for _, _, known in self._apart]):
            known.clear()


def _tuple_of(names: Sequence[str]) -> Callable[[PodInfo], tuple[Hashable, ...]]:
    """Return a function that reads these attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda pod: tuple([attrgetter(name)(pod) for name in names])


def _known_results(
    group: PluginGroup, known: dict[Hashable, FixedResults], read: Hashable, pod: PodInfo
) -> FixedResults:
    """Return the results of a group for pods with this property; `known` has those of other pods."""
    results = known.get(read)
    if results is None:
        if len(known) >= _MAX_RESULTS:
            known.clear()
        results = known[read] = FixedResults.compute(group, pod, group.varies_with(pod))
    return results


def _outcome(plugin: fwk.Plugin, result: object, skipped: list[str]) -> str:
    """Return what a result of PreFilter or PreScore requires, and add the plugin to those that are skipped."""
    if isinstance(result, fwk.Status) and result.code == fwk.SKIP:
        skipped.append(plugin.name)
        return fwk.SKIP
    return _RUNS


def _union(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return what is in either dict, as one of them if the other is empty. Do not change it."""
    return {**one, **other} if one and other else one or other


def _having(outcomes: Mapping[str, str | None], outcome: str) -> tuple[str, ...]:
    """Return the plugins with this outcome."""
    return tuple([name for name, one in outcomes.items() if one == outcome])


def _uniform(column: fwk.Integers) -> fwk.Int64:
    """Return a column with one value as a view of that value: thousands of classes keep such columns."""
    first = column[:1].astype(np.int64)
    first.flags.writeable = False
    return np.ndarray(column.shape, np.int64, first, 0, (0,)) if len(column) else first  # faster than `broadcast_to`


def _narrowed(column: fwk.Integers) -> fwk.Integers:
    """Return a column, which is not empty, as int16 if that holds it."""
    small = np.iinfo(np.int16)
    return column.astype(np.int16) if small.min <= column.min() and column.max() <= small.max else column
