"""Classes of equal pods, and what their cycles have in common.

Equal pods follow each other and little changes between their cycles. A plugin says by `varies_with` on what its results
for a pod depend. Results that depend on objects only are computed once for a class. Results that depend on the usage of
each node are kept as columns over all nodes, and only the rows whose pods changed are computed again. All other plugins
run in each cycle. Results that do not depend on a pod's labels are also shared by pods that differ in them.

The name is upstream's (pkg/scheduler/core/equivalence, until 1.12), which cached the verdict of one pod on one node.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import structs

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.nodes import NodeTable
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.fixed_results import FixedResults, PluginGroup, ProfilePlugins, declaration
from scheduler_core.framework.score_columns import (
    ClassScores,
    Keyframe,
    Score,
    StaticColumn,
    UsageColumn,
    compact,
    holds,
)

_MAX_CLASSES = 4096
_MAX_CELLS = 1 << 23  # of all sets of columns of a cache, unless it has fewer sets than the following
_MIN_USAGES = 64  # sets of columns, whatever the number of nodes
_MAX_USAGES = 1 << 14  # remembered states of nodes for one set of columns
_MAX_CACHED = 64  # values that plugins cache for a class, and dicts of verdicts that classes share
_PATCHES = 48  # changed rows after which a column is copied

_ENCODE = msgspec.msgpack.Encoder().encode

_Values = tuple[fwk.Int64, fwk.Int64, fwk.Int64]  # codes, scores, total


def class_key(pod: PodInfo) -> bytes:
    """Return what decides the class of a pod."""
    if pod.equivalence_key is None or pod.equivalence_key[0] is not pod.pod:
        spec, owners = pod.pod.spec, pod.pod.metadata.owner_references
        amounts = pod.requests, pod.nonzero_incoming
        pod.equivalence_key = pod.pod, _ENCODE((pod.namespace, pod.labels, spec, *amounts, pod.terminating, owners))
    return pod.equivalence_key[1]


def share_keys(pods: Iterable[PodInfo]) -> None:
    """Make the keys of pods that are tried later, one for equal pods. In a cycle, a key takes three times as long to
    make, because the processor's caches do not hold the pod."""
    keys: dict[bytes, bytes] = {}
    for pod in pods:
        key = class_key(pod)
        pod.equivalence_key = pod.pod, keys.setdefault(key, key)


class UsageColumns:
    """The results of plugins that depend on the usage of each node, for pods with equal requests.

    `codes` and `scores` (integers over nodes, in the smallest type that holds them): row i belongs to the i-th Filter
    or Score plugin. `total`: the weighted sum of the scores, int64 over nodes; it changes with the next update.
    `index`: Score plugin -> its row. `outcomes`: of equal verdicts. `more`: what a plugin caches for these requests, by
    its name.
    """

    def __init__(
        self, nodes: NodeTable, filters: Sequence[fwk.UsageFilter], scores: Sequence[tuple[fwk.ScorePlugin, int]]
    ) -> None:
        self._nodes = nodes
        self._filters, self._scores = filters, scores
        self.index = {plugin.name: i for i, (plugin, _) in enumerate(scores)}
        self.codes: npt.NDArray[Any] = np.zeros((0, 0), np.uint8)
        self.scores: npt.NDArray[Any] = np.zeros((0, 0), np.uint8)
        self.total = np.zeros(0, np.int64)
        self._keyframe: Keyframe | None = None
        self._known: dict[
            bytes, tuple[tuple[int, ...], fwk.Int64, int]
        ] = {}  # usage of a node -> the values of its row
        self._position = -1
        self._verdicts: dict[str, fwk.Verdict] | None = None
        self._merged: dict[tuple[tuple[str, int], ...], dict[str, fwk.Verdict]] = {}
        self.more: dict[str, Any] = {}
        self.outcomes: dict[tuple[str | int, ...], Any] = {}

    def update(self, state: fwk.CycleState, pod: PodInfo) -> None:
        """Compute the rows that changed since the last update."""
        log = self._nodes.usage
        if self._position == log.position:
            return
        changed = log.since(self._position) if self._position >= 0 else None
        self._position = log.position
        rows = list(set(changed)) if changed is not None else None
        if rows is None or len(rows) > 16 + len(self._nodes) // 8:
            codes, scores, self.total = self._compute(state, pod, slice(None))
            self.codes, self.scores = compact(codes), compact(scores)
            self._known.clear()  # its values may not fit into the types of now
            self._keyframe = None
            self._verdicts = None
        elif len(rows) == 1:
            self._update_row(state, pod, rows[0])
        else:
            self._update_rows(state, pod, rows)

    def _update_rows(self, state: fwk.CycleState, pod: PodInfo, rows: list[int]) -> None:
        codes, scores, total = self._compute(state, pod, np.array(rows, np.intp))
        self._widen(codes, scores)
        if self._verdicts is not None and (self.codes[:, rows] != codes).any():
            self._verdicts = None
        self.codes[:, rows], self.scores[:, rows], self.total[rows] = codes, scores, total
        if self._keyframe is not None and len(self._keyframe.patches) + len(rows) > _PATCHES:
            self._keyframe = None
        if self._keyframe is not None:
            self._keyframe.patches.extend(zip(rows, scores.T, strict=True))

    def _update_row(self, state: fwk.CycleState, pod: PodInfo, row: int) -> None:
        """Do the same for one row. Equal pods often leave nodes with equal usage."""
        usage, known = self._nodes.usage_of(row), self._known
        values = known.get(usage)
        if values is None:
            if len(known) >= _MAX_USAGES:
                known.clear()
            computed = self._compute(state, pod, np.array([row], np.intp))
            self._widen(*computed[:2])
            values = known[usage] = tuple(computed[0][:, 0].tolist()), computed[1][:, 0], int(computed[2][0])
        codes, scores, self.total[row] = values
        for i, code in enumerate(codes):
            if self.codes[i, row] != code:
                self.codes[i, row] = code
                self._verdicts = None
        self.scores[:, row] = scores
        if self._keyframe is not None:
            if len(self._keyframe.patches) < _PATCHES:
                self._keyframe.patches.append((row, scores))
            else:
                self._keyframe = None

    def _widen(self, codes: fwk.Int64, scores: fwk.Int64) -> None:
        """Use int64 if the present types do not hold the values."""
        if not holds(self.codes.dtype, codes):
            self.codes = self.codes.astype(np.int64)
        if not holds(self.scores.dtype, scores):
            self.scores = self.scores.astype(np.int64)

    def _compute(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> _Values:
        """Return all columns on the rows."""
        size = len(self._nodes.pod_count[rows])
        codes = np.array([plugin.usage_codes(state, pod, rows) for plugin in self._filters], np.int64)
        scores = np.array([plugin.score(state, pod, rows) for plugin, _ in self._scores], np.int64)
        total = np.zeros(size, np.int64)
        for (_, weight), column in zip(self._scores, scores, strict=True):
            total += column * weight
        return codes.reshape(-1, size), scores.reshape(-1, size), total

    def verdicts(self, pod: PodInfo) -> dict[str, fwk.Verdict]:
        """Return filter -> its verdict; the same dict as long as no node's code changes."""
        if self._verdicts is None:
            self._verdicts = {f.name: f.verdict(pod, self.codes[i]) for i, f in enumerate(self._filters)}
            self._merged.clear()
        return self._verdicts

    def merged(self, verdicts: dict[str, fwk.Verdict]) -> dict[str, fwk.Verdict]:
        """Return the dict of the same verdicts that another class has, so that they share what follows from it."""
        if len(self._merged) >= _MAX_CACHED:
            self._merged.clear()
        return self._merged.setdefault(tuple([(name, id(one)) for name, one in verdicts.items()]), verdicts)

    def snapshot(self) -> tuple[Keyframe, int]:
        """Return a keyframe and the number of its patches that give the scores of now."""
        keyframe = self._keyframe
        if keyframe is None:
            keyframe = self._keyframe = Keyframe(self.scores.copy())
        return keyframe, len(keyframe.patches)


class EquivalenceClass:
    """Pods whose cycles differ only by what changes in the cluster.

    `first`: the first of these pods, `pod_terms`: their affinity terms. `pre_filter`, `filter`, `pre_score`: the
    plugins that still have to run in each cycle. `verdicts`: all Filter plugins in order, with the results that stay.
    `outcomes`: what follows from equal verdicts, and `latest` the last of them; their reader fills both. `scorers`:
    (name, weight) of the Score plugins that are not skipped. `varying_scorers`: those whose scores or normalized scores
    do not stay, with the raw scores over all nodes that do. `skipped_filter`, `skipped_score`: the plugins that are
    skipped, sorted. `layouts`: the encoded parts that cycles have in common; the encoder fills it.
    """

    __slots__ = (
        *(
            "_cache",
            "_varies",
            "constant_total",
            "columns",
            "filter",
            "filter_names",
            "filter_state",
            "first",
            "latest",
            "layouts",
            "outcomes",
            "pod_terms",
            "pre_filter",
            "pre_score",
            "score_state",
            "scorers",
            "skip_filter",
            "skipped_filter",
        ),
        *("skip_score", "skipped_score", "static_total", "terms", "usage", "varying_scorers"),
        *("_can_skip", "_settled_now", "_usage_filters", "_usage_verdicts", "_verdicts_now", "verdicts"),
    )

    def __init__(
        self,
        framework: ProfilePlugins,
        shared: FixedResults,
        own: FixedResults,
        pod: PodInfo,
        terms: int,
        usages: Callable[..., UsageColumns],
    ) -> None:
        """`shared`: the results that pods with other labels also have. `own`: those of the other plugins."""
        self.first, self.pod_terms = pod, pod.terms()
        self.terms = terms  # the number of affinity terms of other pods that match these pods
        self.latest: Any = None
        self._cache: dict[Hashable, Any] = {}
        self.layouts: dict[tuple[tuple[str, ...], ...], bytes] = {}
        self._varies = own.varies
        self.filter_state = {**shared.filter_state, **own.filter_state}
        self.score_state = {**shared.score_state, **own.score_state}
        run_filter, run_score = shared.run_filter | own.run_filter, shared.run_score | own.run_score
        self.pre_filter = [plugin for plugin in framework.pre_filter if plugin.name in run_filter]
        self.pre_score = [plugin for plugin in framework.pre_score if plugin.name in run_score]
        self.skip_filter = frozenset(shared.skip_filter | own.skip_filter)
        self.skip_score = frozenset(shared.skip_score | own.skip_score)
        self.skipped_filter, self.skipped_score = sorted(self.skip_filter), sorted(self.skip_score)
        self._merge_verdicts(framework, shared, own)
        self._usage_verdicts: dict[str, fwk.Verdict] | None = None  # those that the following contain
        self._verdicts_now = self.verdicts
        self._settled_now: dict[str, fwk.Verdict] | None = None
        # Score plugin -> (raw, normalized) over all nodes; normalized is None if it depends on the feasible nodes.
        self.columns = {**shared.columns, **own.columns}
        self.constant_total = shared.constant + own.constant  # of columns that are the same for all nodes
        self.static_total = shared.total  # of the others
        if own.total is not None:
            self.static_total = own.total if shared.total is None else shared.total + own.total
        self._merge_scores(framework, {**shared.varies, **own.varies}, pod, usages)

    def still_fits(self, group: PluginGroup, pod: PodInfo, terms: int) -> bool:
        """Return whether the class is valid now that other pods have this number of terms that match its pods.
        `group`: the plugins whose results pods with other labels do not share."""
        if self.terms != terms and self._varies == group.varies_with(pod):
            self.terms = terms
        return self.terms == terms

    def cached(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return `make()`, cached under `key` as long as the class is valid."""
        found = self._cache.get(key)
        if found is None:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            found = self._cache[key] = make()
        return found

    def verdicts_now(self, pod: PodInfo, complete: bool) -> dict[str, fwk.Verdict]:
        """Return `verdicts` with those that depend on usage; the same dict as long as they are the same.

        `complete`: whether plugins of `filter` run in the cycle. Otherwise they are left out if they can be skipped.
        """
        verdicts = self.usage.verdicts(pod)
        if self._usage_verdicts is not verdicts:
            self._usage_verdicts, self._verdicts_now, self._settled_now = verdicts, {**self.verdicts, **verdicts}, None
        if complete:
            return self._verdicts_now
        if self._settled_now is None:
            skipped = self.filter_names if self._can_skip else ()
            settled = {name: one for name, one in self._verdicts_now.items() if name not in skipped}
            self._settled_now = self.usage.merged(settled)
        return self._settled_now

    def _merge_verdicts(self, framework: ProfilePlugins, shared: FixedResults, own: FixedResults) -> None:
        self._can_skip = framework.cluster.release.supports_skip_status
        self.verdicts: dict[str, fwk.Verdict] = {}
        self.filter: list[fwk.FilterPlugin] = []
        self._usage_filters: list[fwk.UsageFilter] = []
        for plugin in framework.filter:
            name = plugin.name
            if name in self.skip_filter:
                if not self._can_skip:
                    self.verdicts[name] = fwk.PASSES
                continue
            verdict = shared.verdicts.get(name) or own.verdicts.get(name)
            self.verdicts[name] = verdict or fwk.PASSES
            if verdict is not None:
                continue
            if (shared.varies.get(name) or own.varies[name]) == fwk.USAGE and isinstance(plugin, fwk.UsageFilter):
                self._usage_filters.append(plugin)
            else:
                self.filter.append(plugin)
        self.filter_names = frozenset([plugin.name for plugin in self.filter])

    def _merge_scores(
        self, framework: ProfilePlugins, varies: dict[str, str], pod: PodInfo, usages: Callable[..., UsageColumns]
    ) -> None:
        self.scorers: list[tuple[str, int]] = []
        self.varying_scorers: list[tuple[fwk.ScorePlugin, int, fwk.Int64 | None]] = []
        by_usage: list[tuple[fwk.ScorePlugin, int]] = []
        for scorer in framework.score:
            name, weight = scorer.name, framework.weights[scorer.name]
            if name in self.skip_score:
                continue
            self.scorers.append((name, weight))
            raw, normalized = self.columns.get(name, (None, None))
            if varies[name] == fwk.USAGE:
                by_usage.append((scorer, weight))
            elif normalized is None:
                self.varying_scorers.append((scorer, weight, raw))
        self.usage = usages(pod, self._usage_filters, by_usage)
        self.outcomes = self.usage.outcomes

    def scores(self, cycle: ClassScores) -> dict[str, Score]:
        """Return the scores of a cycle by plugin."""
        scores: dict[str, Score] = {}
        for name, weight in self.scorers:
            if (index := self.usage.index.get(name)) is not None:
                column = UsageColumn(cycle.keyframe, cycle.count, index, cycle.rows)
                scores[name] = Score(weight, column, column)
            elif name in cycle.varying:
                scores[name] = cycle.varying[name]
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
        self._classes: dict[bytes, EquivalenceClass | None] = {}
        self._usages: dict[Hashable, UsageColumns] = {}
        self._known_requests: set[bytes] = set()  # those of pods since then
        self._shared: dict[bytes, FixedResults] = {}  # those of pods that may differ in labels
        self._validity: tuple[int, int] = (-1, -1)
        every = [*framework.pre_filter, *framework.filter, *framework.pre_score, *framework.score]
        plugins = {plugin.name: plugin for plugin in every}.values()
        self._useful = any(declaration(plugin) for plugin in plugins)
        groups = [[p for p in plugins if declaration(p).get("ignores_labels", False) == i] for i in (True, False)]
        self._ignoring, self._reading = (PluginGroup(framework, group) for group in groups)

    def find(self, pod: PodInfo) -> EquivalenceClass | None:
        """Return the class of a pod; None if its plugins have to run as for a pod without equals.

        After a change of objects, the first pod with certain requests has no class yet, so that changes before each
        cycle cost nothing.
        """
        cluster = self._cluster
        nodes = cluster.nodes
        if nodes.is_bare or not self._useful:
            return None
        validity = cluster.version, nodes.version
        if validity != self._validity:
            self._validity = validity
            self._classes.clear()
            self._usages.clear()
            self._known_requests.clear()
            self._shared.clear()
        key = class_key(pod)
        known = self._classes.get(key)
        if known is None and key not in self._classes:
            if len(self._classes) >= _MAX_CLASSES:
                self._classes.clear()
            self._classes[key] = None
            requests = self._requests(pod)
            if requests not in self._known_requests:
                self._known_requests.add(requests)
                return None
        if known is not None:
            pod.share(known.first, known.pod_terms)
        terms = len(cluster.columns.terms_matching(pod))
        if known is None or not known.still_fits(self._reading, pod, terms):
            results = self._shared_results(pod), FixedResults(self._reading, pod)
            known = self._classes[key] = EquivalenceClass(self._framework, *results, pod, terms, self._columns)
        return known

    def _shared_results(self, pod: PodInfo) -> FixedResults:
        """Return the results of the plugins that ignore labels."""
        spec, owners = pod.pod.spec, pod.pod.metadata.owner_references
        near_nodes = spec.affinity.node_affinity if spec.affinity is not None else None
        spec = structs.replace(spec, affinity=None, topology_spread_constraints=[])
        key = _ENCODE((pod.namespace, spec, near_nodes, pod.requests, pod.nonzero_incoming, pod.terminating, owners))
        found = self._shared.get(key)
        if found is None:
            if len(self._shared) >= _MAX_CLASSES:
                self._shared.clear()
            found = self._shared[key] = FixedResults(self._ignoring, pod)
        return found

    @staticmethod
    def _requests(pod: PodInfo) -> bytes:
        """Return all that usage columns depend on, as a cache key."""
        return _ENCODE((pod.requests, pod.held, pod.nonzero_incoming, pod.slip, pod.pod.spec.overhead))

    def _columns(
        self, pod: PodInfo, filters: list[fwk.UsageFilter], scores: list[tuple[fwk.ScorePlugin, int]]
    ) -> UsageColumns:
        """Return the columns for the pod's requests; pods of different classes share them."""
        requests = self._requests(pod)
        names = [plugin.name for plugin in filters], [plugin.name for plugin, _ in scores]
        key = _ENCODE((requests, names, [weight for _, weight in scores]))
        found = self._usages.get(key)
        if found is None:
            nodes = self._cluster.nodes
            if len(self._usages) >= min(max(_MAX_CELLS // len(nodes), _MIN_USAGES), _MAX_CLASSES):
                self._usages.clear()
                self._classes.clear()  # they keep their columns
            found = self._usages[key] = UsageColumns(nodes, filters, scores)
        return found
