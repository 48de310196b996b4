"""Classes of equal pods, and what their cycles have in common.

Equal pods follow each other and little changes between their cycles. A plugin says by `varies_with` on what its results
for a pod depend. Results that depend on objects only are computed once for a class. Results that depend on the usage of
each node are kept as columns over all nodes, and only the rows whose pods changed are computed again. All other plugins
run in each cycle. Results that follow from one property of a pod are shared by all pods that have it in common.

The name is upstream's (pkg/scheduler/core/equivalence, until 1.12), which cached the verdict of one pod on one node.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import repeat
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.nodes import NodeTable, on_rows
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.fixed_results import (
    FixedResults,
    Form,
    PluginGroup,
    ProfilePlugins,
    SharedResults,
    declaration,
)
from scheduler_core.framework.score_columns import (
    SMALL,
    ClassScores,
    Keyframe,
    Score,
    SmallColumn,
    StaticColumn,
    UsageColumn,
    compact,
)

_MAX_CLASSES = 4096
_MAX_CELLS = 1 << 23  # of all sets of columns of a cache, unless it has fewer sets than the following
_MIN_USAGES = 64  # sets of columns, whatever the number of nodes
_MAX_USAGES = 1 << 14  # remembered states of nodes for one set of columns
_MAX_CACHED = 64  # values that plugins cache for a class
_MAX_DICTS = 256  # dicts of verdicts that classes share
_FEW_CHANGED = 16  # rows whose scores are always computed apart, and added to the sum of the scores
_PATCHES = 48  # changed rows after which a column is copied

_ENCODE = msgspec.msgpack.Encoder().encode


def class_key(pod: PodInfo) -> bytes:
    """Return what decides the class of a pod."""
    if pod.keyed is not pod.pod:
        spec, owners = pod.pod.spec, pod.pod.metadata.owner_references
        amounts = pod.requests, pod.nonzero_incoming
        pod.equivalence_key = _ENCODE((pod.namespace, pod.labels, spec, *amounts, pod.terminating, owners))
        pod.keyed = pod.pod
    return pod.equivalence_key


def share_keys(pods: Iterable[PodInfo]) -> None:
    """Make the keys of pods that are tried later, one for equal pods. In a cycle, a key takes three times as long to
    make, because the processor's caches do not hold the pod."""
    keys: dict[bytes, bytes] = {}
    for pod in pods:
        key = class_key(pod)
        pod.equivalence_key = keys.setdefault(key, key)


class UsagePlugins:
    """Plugins whose results depend on the usage of each node. `index`: Score plugin -> its place among `scores`.
    `passing`: the verdicts if every node passes."""

    __slots__ = ("filters", "index", "passing", "scores", "small_weights", "unweighted")

    def __init__(self, filters: Sequence[fwk.UsageFilter], scores: Sequence[tuple[fwk.ScorePlugin, int]]) -> None:
        self.filters, self.scores = filters, scores
        self.index = {plugin.name: i for i, (plugin, _) in enumerate(scores)}
        self.passing = dict.fromkeys([plugin.name for plugin in filters], fwk.PASSES)
        self.small_weights = sum(abs(weight) for _, weight in scores) < 1 << 23  # so that a total is an int32
        self.unweighted = all(weight == 1 for _, weight in scores)


class UsageColumns:
    """The results of plugins that depend on the usage of each node, for pods with equal requests.

    `codes`, `scores` (integers over nodes, in the smallest type that holds them): row i belongs to the i-th Filter or
    Score plugin. `scores` is None if so many rows change between the cycles that each cycle computes those of its
    feasible nodes.
    """

    def __init__(self, nodes: NodeTable, plugins: UsagePlugins) -> None:
        self._nodes, self.plugins = nodes, plugins
        self.codes: npt.NDArray[Any] = np.zeros((0, 0), np.uint8)
        self.scores: npt.NDArray[Any] | None = None
        self._recurs = False  # whether few rows changed before the last update
        # the weighted sums of the scores, as long as updates change few rows
        self._total: npt.NDArray[Any] | None = None
        self._keyframe: Keyframe | None = None
        # usage of a node -> the codes, scores and total of its row
        self._known: dict[bytes, tuple[tuple[int, ...], npt.NDArray[Any], int]] = {}
        self._position = -1
        self._verdicts: dict[str, fwk.Verdict] | None = None

    def update(self, state: fwk.CycleState, pod: PodInfo) -> None:
        """Compute the rows that changed since the last update. Scores that are not kept are computed when needed."""
        log, since = self._nodes.usage, self._position
        if since == log.position:
            return
        self._position = log.position
        if log.position - since == 1 and self.scores is not None and log.last >= 0:
            self._recurs = True
            self._update_row(state, pod, log.last, self.scores)
            return
        size = len(self._nodes.names)
        if since < 0 or log.position - since > _FEW_CHANGED // 2 + size // 8:  # changes, not rows
            self._recurs = False
            if self.scores is not None:
                self._forget_scores()
            before, self.codes = self.codes, self._compute_codes(state, pod, slice(None), size)
            if before.dtype is not self.codes.dtype or before.tobytes() != self.codes.tobytes():
                self._verdicts = None
            return
        rows = log.since(since)
        number = len(rows)
        self._recurs = number <= _FEW_CHANGED or number <= min(size // 64, _PATCHES)
        if not self._recurs and self.scores is not None:
            self._forget_scores()
        if number == 1 and self.scores is not None:
            self._update_row(state, pod, int(rows[0]), self.scores)
            return
        at = np.asarray(rows, np.intp)
        codes = self._compute_codes(state, pod, at, number)
        if self.scores is not None:
            self._update_scores(state, pod, at, self.scores)
        self._update_codes(codes, at)

    def _forget_scores(self) -> None:
        self.scores = self._total = self._keyframe = None
        self._known.clear()  # its values may not fit into the types of later ones

    def _update_codes(self, codes: npt.NDArray[Any], at: npt.NDArray[np.intp]) -> None:
        if codes.dtype.itemsize > self.codes.dtype.itemsize:
            self.codes = self.codes.astype(codes.dtype)
        if self._verdicts is not None and np.count_nonzero(on_rows(self.codes, at) != codes):
            self._verdicts = None
        for column, some in zip(self.codes, codes, strict=True):
            column[at] = some

    def _update_scores(
        self, state: fwk.CycleState, pod: PodInfo, at: npt.NDArray[np.intp], columns: npt.NDArray[Any]
    ) -> None:
        """Compute the kept scores, `columns`, of these rows."""
        scores = self._compute_scores(state, pod, at, len(at))
        keyframe, columns = self._columns_to_change(columns, scores, len(at))
        if len(at) > _FEW_CHANGED:
            self._total = None
        elif self._total is not None:
            self._total[at] = self._sum(scores, len(at))
        for column, some in zip(columns, scores, strict=True):
            column[at] = some
        if self._total is None and len(at) <= _FEW_CHANGED:
            self._total = self._sum(columns, len(self._nodes))
        if keyframe is not None:
            keyframe.patches.extend(zip(at.tolist(), scores.T, strict=True))

    def _update_row(self, state: fwk.CycleState, pod: PodInfo, row: int, columns: npt.NDArray[Any]) -> None:
        """Do the same for one row, and its codes. Equal pods often leave nodes with equal usage."""
        usage, known = self._nodes.usage_of(row), self._known
        values = known.get(usage)
        if values is None:
            if len(known) >= _MAX_USAGES:
                known.clear()
            at = np.array([row], np.intp)
            codes, scores = self._compute_codes(state, pod, at, 1), self._compute_scores(state, pod, at, 1)
            if codes.dtype.itemsize > self.codes.dtype.itemsize:
                self.codes = self.codes.astype(codes.dtype)
            values = known[usage] = tuple(codes[:, 0].tolist()), scores[:, 0], int(self._sum(scores, 1)[0])
        codes_of_row, scores_of_row, total = values
        keyframe, columns = self._columns_to_change(columns, scores_of_row, 1)
        if self._total is None:
            self._total = self._sum(columns, len(self._nodes))
        self._total[row] = total
        for i, code in enumerate(codes_of_row):
            if self.codes.item(i, row) != code:  # faster than an index
                self.codes[i, row] = code
                self._verdicts = None
        columns[:, row] = scores_of_row
        if keyframe is not None:
            keyframe.patches.append((row, scores_of_row))

    def _columns_to_change(
        self, columns: npt.NDArray[Any], scores: npt.NDArray[Any], number: int
    ) -> tuple[Keyframe | None, npt.NDArray[Any]]:
        """Prepare the scores for a change of this number of rows to values of this type. Return the keyframe, if it can
        have more patches, and the columns."""
        keyframe = self._keyframe
        if keyframe is not None:
            if keyframe.columns is columns:
                columns = columns.copy()
            if len(keyframe.patches) + number > _PATCHES:
                keyframe = self._keyframe = None
        if scores.dtype.itemsize > columns.dtype.itemsize:
            columns, self._total = columns.astype(scores.dtype), None
        self.scores = columns
        return keyframe, columns

    def _compute_codes(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows, size: int) -> npt.NDArray[Any]:
        """Return the codes on the rows, of which there are `size`."""
        codes = []
        for plugin in self.plugins.filters:  # a comprehension takes longer
            codes.append(plugin.usage_codes(state, pod, rows))
        return codes[0][np.newaxis] if len(codes) == 1 and codes[0].dtype is SMALL else compact(codes, size)

    def _compute_scores(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows, size: int) -> npt.NDArray[Any]:
        return compact([plugin.score(state, pod, rows) for plugin, _ in self.plugins.scores], size)

    def of_cycle(
        self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows
    ) -> tuple[list[npt.NDArray[Any]] | None, npt.NDArray[Any]]:
        """Return the scores on the feasible rows, None if they are kept, and their weighted sum, which changes with the
        next update. Call it after `update`."""
        if self.scores is None and (self._recurs or isinstance(rows, slice)):
            self.scores = self._compute_scores(state, pod, slice(None), len(self._nodes))
        if self.scores is None:
            apart: list[npt.NDArray[Any]] = []
            for plugin, _ in self.plugins.scores:
                apart.append(plugin.score(state, pod, rows))
            return apart, self._sum(apart, len(rows))  # type: ignore[arg-type]
        if self._total is not None:
            return None, self._total[rows]
        some = on_rows(self.scores, rows)
        return None, self._sum(some, some.shape[1])

    def _sum(self, scores: Sequence[npt.NDArray[Any]] | npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
        """Return the weighted sum of columns of scores of this size."""
        if self.plugins.unweighted and len(scores) == 2:
            one, other = scores
            wide = np.int32 if one.dtype is other.dtype is SMALL else np.int64
            return np.add(one, other, dtype=wide)  # type: ignore[no-any-return]
        small = self.plugins.small_weights and not [one for one in scores if one.dtype is not SMALL]
        wide = np.int32 if small else np.int64
        total: npt.NDArray[Any] = np.zeros(size, wide)
        for (_, weight), column in zip(self.plugins.scores, scores, strict=True):
            total += np.multiply(column, weight, dtype=wide)
        return total

    def verdicts(self, pod: PodInfo) -> dict[str, fwk.Verdict]:
        """Return filter -> its verdict; the same dict as long as no node's code changes."""
        if self._verdicts is None:
            self._verdicts = self.plugins.passing
            if np.count_nonzero(self.codes):
                self._verdicts = {f.name: f.verdict(pod, self.codes[i]) for i, f in enumerate(self.plugins.filters)}
        return self._verdicts

    def snapshot(self) -> tuple[Keyframe, int]:
        """Return a keyframe and the number of its patches that give the kept scores of now."""
        keyframe = self._keyframe
        if keyframe is None:
            assert self.scores is not None
            keyframe = self._keyframe = Keyframe(self.scores)
        return keyframe, len(keyframe.patches)


class ClassPlugins:
    """How the plugins of a profile run for the pods of a class. Many classes have the same.

    `pre_filter`, `filter`, `pre_score`, `reserve`, `pre_bind`: the plugins that have to run in each cycle.
    `filter_names`: those of `filter`.
    `skip_filter`, `skip_score`: the plugins that are skipped. `skipped_filter`, `skipped_score`: the same, sorted.
    `verdicts`: the Filter plugins with verdicts, in order. `settled`: those of a cycle in which none of `filter` runs.
    `scorers`: (name, weight) of the Score plugins that are not skipped. `varying`: (plugin, weight, place) of those
    whose scores or normalized scores do not stay; place is that among those whose results depend on usage, or None.
    `usage`: the plugins whose results depend on usage.
    """

    __slots__ = (
        *("filter", "filter_names", "pre_bind", "pre_filter", "pre_score", "reserve", "scorers", "settled"),
        *("skip_filter", "skip_score"),
        *("skipped_filter", "skipped_score", "usage", "varying", "verdicts"),
    )

    def __init__(self, framework: ProfilePlugins, forms: Sequence[Form]) -> None:
        """`forms`: of all groups of plugins."""
        can_skip = framework.cluster.release.supports_skip_status
        run_filter = {name for form in forms for name in form.run_filter}
        run_score = {name for form in forms for name in form.run_score}
        self.pre_filter = [plugin for plugin in framework.pre_filter if plugin.name in run_filter]
        self.pre_score = [plugin for plugin in framework.pre_score if plugin.name in run_score]
        self.skip_filter = frozenset([name for form in forms for name in form.skip_filter])
        self.skip_score = frozenset([name for form in forms for name in form.skip_score])
        self.reserve = [p for p in framework.reserve if not (_does_nothing(p.reserve) and p.name in self.skip_filter)]
        self.pre_bind = [
            p for p in framework.pre_bind if not (_does_nothing(p.pre_bind) and p.name in self.skip_filter)
        ]
        self.skipped_filter, self.skipped_score = sorted(self.skip_filter), sorted(self.skip_score)
        stay = {name for form in forms for name in form.verdicts}
        by_usage = {name for form in forms for name in form.by_usage}
        self.verdicts = [p.name for p in framework.filter if not (can_skip and p.name in self.skip_filter)]
        rest = [p for p in framework.filter if p.name not in self.skip_filter and p.name not in stay]
        of_usage = [p for p in rest if p.name in by_usage and isinstance(p, fwk.UsageFilter)]
        self.filter = [p for p in rest if p not in of_usage]
        self.filter_names = frozenset([plugin.name for plugin in self.filter])
        self.settled = [name for name in self.verdicts if not (can_skip and name in self.filter_names)]
        active = [(p, framework.weights[p.name]) for p in framework.score if p.name not in self.skip_score]
        self.scorers = [(scorer.name, weight) for scorer, weight in active]
        final = {name for form in forms for name in form.final}
        self.usage = UsagePlugins(of_usage, [one for one in active if one[0].name in by_usage])
        index = self.usage.index
        self.varying = [(p, weight, index.get(p.name)) for p, weight in active if p.name not in final]


def _does_nothing(method: object) -> bool:
    """Return whether a method of a plugin does nothing for a pod for which PreFilter is skipped."""
    return getattr(method, "without_skipped", False)


class EquivalenceClass:
    """Pods whose cycles differ only by what changes in the cluster.

    `first`: the first of these pods, `pod_terms`: their affinity terms. `outcomes`: what follows from equal verdicts;
    their reader fills it, and all classes share it, as they do the dicts of equal verdicts. `cached`: values by key, as
    long as the class is valid. `layouts`: the encoded parts that cycles have in common; the encoder fills it.
    `columns`: Score plugin -> (raw, normalized) over all nodes; normalized is None if it depends on the feasible nodes.
    """

    __slots__ = (
        *("_dicts", "_settled_now", "_usage_verdicts", "_varies", "_verdicts", "_verdicts_now", "cached"),
        *("columns", "constant_total", "filter_state", "first", "layouts", "outcomes", "plugins", "pod_terms"),
        *("score_state", "static_total", "terms", "usage"),
    )

    def __init__(
        self,
        plugins: ClassPlugins,
        results: FixedResults,
        varies: tuple[str, ...],
        pod: PodInfo,
        terms: int,
        usage: UsageColumns,
        outcomes: dict[Hashable, Any],
        dicts: dict[tuple[str | int, ...], dict[str, fwk.Verdict]],
    ) -> None:
        """`results`: of all plugins. `varies`: on what those of the plugins depend that read labels."""
        self.plugins, self.usage = plugins, usage
        self.first, self.pod_terms = pod, pod.terms()
        self.terms = terms  # the number of affinity terms of other pods that match these pods
        self.cached: dict[Hashable, Any] = {}
        self.outcomes, self._dicts = outcomes, dicts
        self.layouts: dict[tuple[Any, ...], bytes] = {}
        self._varies = varies
        self.filter_state, self.score_state = results.filter_state, results.score_state
        self._verdicts = results.verdicts
        self._usage_verdicts: dict[str, fwk.Verdict] | None = None  # those that the following contain
        self._verdicts_now: dict[str, fwk.Verdict] | None = None
        self._settled_now: dict[str, fwk.Verdict] | None = None
        self.columns = results.columns
        self.constant_total = results.constant  # of columns that are the same for all nodes
        self.static_total = results.total  # of the others

    def still_fits(self, group: PluginGroup, pod: PodInfo, terms: int) -> bool:
        """Return whether the class is valid now that other pods have another number of terms that match its pods.
        `group`: the plugins that read labels."""
        fits = self._varies == group.varies_with(pod)
        if fits:
            self.terms = terms
        return fits

    def cache(self, key: Hashable, value: Any) -> Any:
        """Keep a value in `cached`, and return it."""
        if len(self.cached) >= _MAX_CACHED:
            self.cached.clear()
        self.cached[key] = value
        return value

    def verdicts_now(self, pod: PodInfo, complete: bool) -> dict[str, fwk.Verdict]:
        """Return the verdicts of all Filter plugins in order, PASSES for those that run in each cycle; the same dict as
        long as they are the same.

        `complete`: whether plugins run in the cycle. Otherwise they are left out if they can be skipped.
        """
        of_usage = self.usage.verdicts(pod)
        if self._usage_verdicts is not of_usage:
            self._usage_verdicts, self._verdicts_now, self._settled_now = of_usage, None, None
        if complete:
            if self._verdicts_now is None:
                self._verdicts_now = self._with(of_usage, self.plugins.verdicts)
            return self._verdicts_now
        if self._settled_now is None:
            self._settled_now = self._shared(self._with(of_usage, self.plugins.settled))
        return self._settled_now

    def _shared(self, verdicts: dict[str, fwk.Verdict]) -> dict[str, fwk.Verdict]:
        """Return the dict of the same verdicts that another class has, so that they share what follows from it."""
        if len(self._dicts) >= _MAX_DICTS:
            self._dicts.clear()
        return self._dicts.setdefault((*verdicts, *map(id, verdicts.values())), verdicts)

    def _with(self, of_usage: dict[str, fwk.Verdict], names: list[str]) -> dict[str, fwk.Verdict]:
        """Return the verdicts of the plugins with these names."""
        known = {**self._verdicts, **of_usage}
        return dict(zip(names, map(known.get, names, repeat(fwk.PASSES)), strict=False))

    def scores(self, cycle: ClassScores) -> dict[str, Score]:
        """Return the scores of a cycle by plugin."""
        scores: dict[str, Score] = {}
        for name, weight in self.plugins.scorers:
            mine = cycle.varying.get(name)
            if mine is not None:
                if not isinstance(mine, Score):
                    own = SmallColumn(mine) if mine.dtype is SMALL else mine.astype(np.int64, copy=False)
                    mine = Score(weight, own, own)
                scores[name] = mine
            elif (index := self.plugins.usage.index.get(name)) is not None:
                assert cycle.keyframe is not None
                column = UsageColumn(cycle.keyframe, cycle.count, index, cycle.rows)
                scores[name] = Score(weight, column, column)
            elif (found := self.columns.get(name)) is not None:  # else PreScore of the cycle skipped it
                raw, normalized = found
                static = StaticColumn(raw, cycle.rows)
                final = static if normalized is raw or normalized is None else StaticColumn(normalized, cycle.rows)
                scores[name] = Score(weight, static, final)
        return scores


class EquivalenceCache:
    """The classes of a profile's pods."""

    def __init__(self, framework: ProfilePlugins) -> None:
        self._framework = framework
        self._cluster: Cluster = framework.cluster
        self._classes: dict[bytes, EquivalenceClass] = {}
        self._usages: dict[Hashable, UsageColumns] = {}
        self._outcomes: dict[Hashable, Any] = {}
        self._dicts: dict[tuple[str | int, ...], dict[str, fwk.Verdict]] = {}
        self._plugins: dict[tuple[Form, ...], ClassPlugins] = {}
        self._of_usage: dict[Hashable, UsagePlugins] = {}
        self._validity: tuple[int, int] = (-1, -1)
        every = [*framework.pre_filter, *framework.filter, *framework.pre_score, *framework.score]
        plugins = {plugin.name: plugin for plugin in every}.values()
        self._useful = any(declaration(plugin) for plugin in plugins)
        groups: dict[str, list[fwk.Plugin]] = {"": []}
        for plugin in plugins:
            groups.setdefault(declaration(plugin).get("reads", ""), []).append(plugin)
        self._reading = PluginGroup(framework, groups.pop(""))  # plugins that may read all of a pod
        self._shared = SharedResults({reads: PluginGroup(framework, some) for reads, some in groups.items()})

    def find(self, pod: PodInfo) -> EquivalenceClass | None:
        """Return the class of a pod; None if its plugins have to run as for a pod without equals."""
        cluster = self._cluster
        nodes = cluster.nodes
        if nodes.is_bare or not self._useful:
            return None
        validity = cluster.version, nodes.version
        if validity != self._validity:
            self._validity = validity
            self._classes.clear()
            self._usages.clear()
            self._outcomes.clear()
            self._dicts.clear()
            self._shared.forget()
        key = class_key(pod)
        known = self._classes.get(key)
        if known is not None:
            pod.share(known.first, known.pod_terms)
        terms = len(cluster.columns.terms_matching(pod))
        if known is None or (known.terms != terms and not known.still_fits(self._reading, pod, terms)):
            if len(self._classes) >= _MAX_CLASSES:
                self._classes.clear()
            varies = self._reading.varies_with(pod)
            results = FixedResults.compute(self._reading, pod, varies)
            for one in self._shared.find(pod):
                results.add(one)
            plugins = self._plugins.get(results.forms)
            if plugins is None:
                plugins = self._plugins_of(results.forms)
            usage = self._columns(pod, plugins.usage)
            known = EquivalenceClass(plugins, results, varies, pod, terms, usage, self._outcomes, self._dicts)
            self._classes[key] = known
        return known

    def _plugins_of(self, forms: tuple[Form, ...]) -> ClassPlugins:
        if len(self._plugins) >= _MAX_CLASSES:
            self._plugins.clear()
        made = self._plugins[forms] = ClassPlugins(self._framework, forms)
        key = (*[plugin.name for plugin in made.usage.filters], *made.usage.scores)
        made.usage = self._of_usage.setdefault(key, made.usage)
        return made

    def _columns(self, pod: PodInfo, plugins: UsagePlugins) -> UsageColumns:
        """Return the columns for the pod's requests; pods of different classes share them."""
        key = pod.amounts, id(plugins)  # `_of_usage` keeps them
        found = self._usages.get(key)
        if found is None:
            nodes = self._cluster.nodes
            if len(self._usages) >= min(max(_MAX_CELLS // len(nodes), _MIN_USAGES), _MAX_CLASSES):
                self._usages.clear()
                self._classes.clear()  # they keep their columns
            found = self._usages[key] = UsageColumns(nodes, plugins)
        return found
