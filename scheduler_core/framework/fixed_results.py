"""The results of plugins for a pod that stay the same until an object other than a pod changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk

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


class PluginGroup:
    """Some plugins of a profile, by the extension points whose results may stay."""

    def __init__(self, framework: ProfilePlugins, plugins: Iterable[fwk.Plugin]) -> None:
        self._plugins = {plugin.name: (plugin, bool(declaration(plugin))) for plugin in plugins}
        self.pre_filter = [plugin for plugin in framework.pre_filter if plugin.name in self._plugins]
        self.filter = [plugin for plugin in framework.filter if plugin.name in self._plugins]
        self.pre_score = [plugin for plugin in framework.pre_score if plugin.name in self._plugins]
        self.score = [plugin for plugin in framework.score if plugin.name in self._plugins]
        self.weights = framework.weights

    def varies_with(self, pod: PodInfo) -> dict[str, str]:
        """Return plugin -> on what its results depend."""
        return {name: p.varies_with(pod) if declared else fwk.ANYTHING for name, (p, declared) in self._plugins.items()}


class FixedResults:
    """The results of a group of plugins for a pod that stay until an object other than a pod changes.

    `varies`: plugin -> on what its results depend. `run_filter`, `run_score`: the plugins whose PreFilter or PreScore
    has to run in each cycle. `skip_filter`, `skip_score`: those that are skipped. `filter_state`, `score_state`: what
    PreFilter and PreScore of the others left. `verdicts`: plugin -> its verdict. `columns`: plugin -> its (raw,
    normalized) scores over all nodes; normalized is None if it depends on the feasible nodes. `total`, `constant`: the
    weighted sums of the normalized scores, apart for those that are the same for all nodes.
    """

    def __init__(self, group: PluginGroup, pod: PodInfo) -> None:
        varies = self.varies = group.varies_with(pod)
        every = slice(None)
        self.filter_state, self.score_state = fwk.CycleState(), fwk.CycleState()
        self.run_filter, self.skip_filter = set[str](), set[str]()
        for preparing in group.pre_filter:
            outcome = True if varies[preparing.name] == fwk.ANYTHING else preparing.pre_filter(self.filter_state, pod)
            _note_outcome(preparing, outcome, self.run_filter, self.skip_filter)
        self.verdicts: dict[str, fwk.Verdict] = {}
        for plugin in group.filter:
            by_usage = varies[plugin.name] == fwk.USAGE and isinstance(plugin, fwk.UsageFilter)
            if plugin.name not in self.skip_filter and varies[plugin.name] != fwk.ANYTHING and not by_usage:
                self.verdicts[plugin.name] = plugin.filter(self.filter_state, pod)
        state = fwk.CycleState()
        state.update(self.filter_state)
        self.run_score, self.skip_score = set[str](), set[str]()
        for scoring in group.pre_score:
            outcome = True if varies[scoring.name] == fwk.ANYTHING else scoring.pre_score(state, pod, every)
            _note_outcome(scoring, outcome, self.run_score, self.skip_score)
        self.score_state.update({name: value for name, value in state.items() if name not in self.filter_state})
        self.columns: dict[str, tuple[fwk.Int64, fwk.Int64 | None]] = {}
        self.total: fwk.Int64 | None = None
        self.constant = 0
        for scorer in group.score:
            if varies[scorer.name] == fwk.USAGE and scorer.normalize is not None:
                raise TypeError("a score that depends on usage is final")
            if varies[scorer.name] == fwk.OBJECTS and scorer.name not in self.skip_score:
                self._add_scores(scorer, group.weights[scorer.name], state, pod)

    def _add_scores(self, scorer: fwk.ScorePlugin, weight: int, state: fwk.CycleState, pod: PodInfo) -> None:
        every = slice(None)
        raw = scorer.score(state, pod, every)
        alike = not len(raw) or bool((raw == raw[0]).all())
        normalized: fwk.Int64 | None = raw
        if alike:
            raw = normalized = _uniform(raw)
        if scorer.normalize is not None:
            after = scorer.normalize(state, pod, raw, every) if alike else None
            normalized = after if after is None or after is raw else _uniform(after)
        self.columns[scorer.name] = raw, normalized
        if normalized is None:
            return
        if alike:
            self.constant += int(normalized[0]) * weight if len(normalized) else 0
        else:
            self.total = normalized * weight if self.total is None else self.total + normalized * weight


def _note_outcome(plugin: fwk.Plugin, outcome: object, run: set[str], skipped: set[str]) -> None:
    """Add a plugin to those that run or are skipped, if its result of PreFilter or PreScore requires this."""
    if isinstance(outcome, fwk.Status) and outcome.code == fwk.SKIP:
        skipped.add(plugin.name)
    elif outcome is not None:
        run.add(plugin.name)


def _uniform(column: fwk.Int64) -> fwk.Int64:
    """Return a column with one value as a view of that value: thousands of classes keep such columns."""
    return np.broadcast_to(column[:1].copy(), column.shape) if len(column) else column
