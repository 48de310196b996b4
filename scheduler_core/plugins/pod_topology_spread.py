"""PodTopologySpread: keeps the numbers of matching pods in topology domains within maxSkew of each other.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread (common.go, filtering.go, scoring.go).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import structs

from scheduler_core.api import objects, selectors
from scheduler_core.api.objects import Node, TopologySpreadConstraint
from scheduler_core.api.plugin_args import Complain, Int32, PluginArgs, Strict, check_choice, check_qualified_name
from scheduler_core.api.selectors import Selector
from scheduler_core.api.syntax import shown
from scheduler_core.cluster import formatting, node_matching
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_counts import SelectorColumn, only
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.topology import Topology
from scheduler_core.framework import causes, events, signers
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins import pod_topology_spread_1_18
from scheduler_core.plugins.default_selector import default_selector, explain_selected
from scheduler_core.plugins.resource_allocation import BELOW_HALF, round_half_away
from scheduler_core.provenance.context import View
from scheduler_core.provenance.matching import Owner, below, label_equals, selected
from scheduler_core.provenance.scores import extreme, max_node_score
from scheduler_core.provenance.tree import (
    Tree,
    constant,
    contains,
    divide_int,
    either,
    every,
    less,
    less_equal,
    logarithm,
    multiply,
    opposite,
    over,
    rounded,
    some,
    subtract,
    total,
    total_floats,
    truncated,
)

HOSTNAME = "kubernetes.io/hostname"
_FEW_DOMAINS = 16  # for which verdicts are cached
_MAX_VERDICTS = 64  # that are cached
_FEW_ROWS = 16  # whose points are computed one by one
_NOTHING: Mapping[int, int] = {}
_MAX_ROWS = 64  # arrays of rows whose domains are cached
SKEWED = fwk.unschedulable("node(s) didn't match pod topology spread constraints")
MISSING_LABEL = fwk.unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")

SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway"),
    TopologySpreadConstraint(
        max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable="ScheduleAnyway"
    ),
)


def _built_in(constraint: TopologySpreadConstraint) -> Owner:
    """Return a function that creates the leaves of a constraint that is hard-coded upstream."""
    fields = {"maxSkew": constraint.max_skew, "topologyKey": constraint.topology_key}
    return lambda name, **_: constant(fields[name], f"systemDefaultConstraints: {name}")


@dataclass(slots=True)
class CompiledConstraint:
    """A compiled constraint of a pod."""

    max_skew: int
    min_domains: int
    topology_key: str
    selector: Selector
    affinity_policy: str
    taints_policy: str
    topology: Topology


@dataclass(slots=True)
class HardConstraint:
    """A DoNotSchedule constraint in a cycle.

    `eligible`: bool over nodes that count (None: all). `counts`: int64 over domains, the number of matching pods.
    `present`: bool over domains that have eligible nodes (None: all). `own`: 1 if the pod itself matches. `minimum`:
    the smallest number of matching pods in an eligible domain, 0 while there are fewer than minDomains.
    """

    constraint: CompiledConstraint
    column: SelectorColumn
    eligible: fwk.Bool | None
    counts: fwk.Int64
    present: fwk.Bool | None
    own: int
    minimum: int


# a constraint, the column of the pods that it counts, and the nodes that count (None: all)
_Counted = tuple[CompiledConstraint, SelectorColumn, fwk.Bool | None]


class _Places:
    """The domains of `rows`, of which there are `size`: intp over them in `domains`, -1 without the label. `present`:
    the domains that have rows, -1 among them for rows without the label. `fewest`: the smallest number of rows of one
    of these. `weight`: of the topology key; upstream counts a missing label as another (empty) value. `topology`: None
    if all rows are one domain."""

    def __init__(self, topology: Topology | None, rows: fwk.Rows, size: int) -> None:
        self._rows = rows  # so that it keeps its id
        self.size = size
        self.domains: npt.NDArray[np.intp] | None = None
        counts = [0, self.size]
        if topology is not None:
            self.domains = topology.ids[rows]
            counts = np.bincount(self.domains + 1, minlength=len(topology.values) + 1).tolist()
        self.counts = [*counts[1:], counts[0]]
        self.present = [domain for domain, count in enumerate(self.counts[:-1]) if count] + [-1] * bool(counts[0])
        self.fewest = min([count for count in counts if count], default=0)
        self.weight = math.log(len(self.present) + 2)


class _Soft:
    """The ScheduleAnyway constraints of a class of equal pods.

    `counted`: each constraint with the column of counted pods and the nodes that count (None: all). `base`: the nodes
    that have every topology key, None for all. `few`: whether at most one constraint counts the pods of each node, all
    of which have a hostname, and at most one those of few domains; these are `host` and `spread`. `least`, `more`: what
    these add to the weighted numbers. `topology`: of `spread`.
    """

    __slots__ = ("_places", "base", "counted", "few", "host", "least", "more", "spread", "topology")

    def __init__(self, counted: list[_Counted], base: fwk.Bool | None, plugin: PodTopologySpread) -> None:
        self.counted, self.base, self.few = counted, base, False
        if not counted:
            return
        hosts: list[_Counted] = []
        others: list[_Counted] = []
        for one in counted:
            (hosts if plugin.counts_by_node(one[0]) else others).append(one)
        self.host, self.spread = hosts[0] if hosts else None, others[0] if others else None
        self.few = base is None and len(hosts) <= 1 and len(others) <= 1
        self.least = self.more = 0.0
        self.topology: Topology | None = None
        key = ""
        if self.host is not None:
            self.least = float(self.host[0].max_skew - 1)
            self.few = self.few and self.host[0].topology.missing is None
        if self.spread is not None:
            key, self.topology = self.spread[0].topology_key, self.spread[0].topology
            self.more = float(self.spread[0].max_skew - 1)
            self.few = self.few and key != HOSTNAME and len(self.topology.values) <= _FEW_DOMAINS
        self._places: dict[int, _Places] = plugin.cluster.nodes.memo((plugin.name, "places", key), dict)

    def places_of(self, rows: fwk.Rows, size: int) -> _Places:
        """Return the domains of `spread` of these rows. Cycles with the same verdicts have the same array of rows."""
        key = 0 if isinstance(rows, slice) else id(rows)
        found = self._places.get(key)
        if found is None:
            if len(self._places) >= _MAX_ROWS:
                self._places.clear()
            found = self._places[key] = _Places(self.topology, rows, size)
        return found


class _ByDomain:
    """Raw scores of rows, int64 once they are read: `values` of their domains in `places`, the last for rows without
    the label, except for `others`, place among the rows -> its score."""

    __slots__ = ("_others", "_places", "_values")

    def __init__(self, values: list[int], places: _Places, others: dict[int, int]) -> None:
        self._values, self._places, self._others = values, places, others

    def read(self) -> fwk.Int64:
        """Return the scores."""
        return self._column(self._values, self._others)

    def _column(self, values: list[int], others: dict[int, int]) -> fwk.Int64:
        domains = self._places.domains
        column = np.full(self._places.size, values[0]) if domains is None else np.array(values).take(domains)
        for place, one in others.items():
            column[place] = one
        return column

    def normalized(self) -> fwk.Int64:
        """Return `PodTopologySpread.normalize` of the scores."""
        values, places, others = self._values, self._places, self._others
        present = places.present if len(others) < places.fewest else self._left()
        scores = [values[domain] for domain in present]
        if others:
            scores += others.values()
        lowest, highest = min(scores, default=0), max(scores, default=0)
        most = fwk.MAX_NODE_SCORE
        if highest <= 0:
            return np.full(places.size, most)
        span = highest + lowest
        if others:
            others = {place: most * (span - one) // highest for place, one in others.items()}
        return self._column([most * (span - one) // highest for one in values], others)

    def _left(self) -> list[int]:
        """Return the domains that have rows besides `others`."""
        left, domains = [*self._places.counts], self._places.domains
        for place in self._others:
            left[0 if domains is None else domains.item(place)] -= 1
        return [domain for domain, count in enumerate(left) if count]


class DefaultConstraint(Strict, frozen=True, kw_only=True):
    """A default constraint. It has no selector, because the selector is deduced for each pod."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: dict[str, Any] | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class PodTopologySpreadArgs(PluginArgs, frozen=True, kw_only=True):
    """`defaulting_type` System selects upstream's built-in constraints, List selects `default_constraints`."""

    default_constraints: tuple[DefaultConstraint, ...] = ()
    defaulting_type: str = ""

    def finish(self, complain: Complain) -> Self:
        defaulting_type = self.defaulting_type or "System"
        check_choice(complain, "defaultingType", defaulting_type, ("System", "List"))
        if defaulting_type == "System" and self.default_constraints:
            complain("defaultingType", "must be List when defaultConstraints are given, got System")
        seen: set[tuple[str, str]] = set()
        for i, constraint in enumerate(self.default_constraints):
            path = f"defaultConstraints[{i}]"
            if constraint.max_skew <= 0:
                complain(f"{path}.maxSkew", f"must be greater than 0, got {constraint.max_skew}")
            check_qualified_name(complain, f"{path}.topologyKey", constraint.topology_key)
            choices = ("DoNotSchedule", "ScheduleAnyway")
            check_choice(complain, f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, choices)
            if constraint.label_selector is not None:
                complain(f"{path}.labelSelector", "must not be given, it is deduced for each pod")
            pair = (constraint.topology_key, constraint.when_unsatisfiable)
            if pair in seen:
                complain(path, f"topologyKey {shown(pair[0])} with whenUnsatisfiable {pair[1]} is given twice")
            seen.add(pair)
        return structs.replace(self, defaulting_type=defaulting_type)


def _skew(context: RejectionContext, row: int, spread: HardConstraint) -> str | None:
    constraint = spread.constraint
    key = constraint.topology_key
    here = context.nodes.nodes[row].metadata.labels.get(key)
    if here is None:
        return f"the node has no label {key}"
    counts = _counts(context, spread)
    few = len(counts) < constraint.min_domains
    fewest = 0 if few else min(counts.values(), default=0)
    skew = counts.get(here, 0) + spread.own - fewest
    if skew <= constraint.max_skew:
        return None
    if few:
        wanted = f"its spread wants at least {constraint.min_domains} values of {key} (minDomains)"
        return f"{wanted}, and there {'is' if len(counts) == 1 else 'are'} {len(counts)}"
    detail = f"{key}={here} has {formatting.count(counts.get(here, 0), 'matching pod')}, "
    least = formatting.some([value for value, number in counts.items() if number == fewest], 3)
    detail += f"the fewest are {fewest} in {least}"
    return f"{detail}: the skew would be {skew}, maxSkew is {constraint.max_skew}"


def _counts(context: RejectionContext, spread: HardConstraint) -> dict[str, int]:
    """Return the number of matching pods of each domain that counts, without the pod itself."""
    constraint, counts = spread.constraint, dict[str, int]()
    for row, node in enumerate(context.nodes.nodes):
        value = node.metadata.labels.get(constraint.topology_key)
        if value is None or not (spread.eligible is None or spread.eligible[row]):
            continue
        here = int(spread.column.counts[row]) - (spread.own and node.name == context.own_node)
        here += sum(map(spread.column.matches, context.further.get(row, ())))
        # since 1.27, upstream counts no pods for an empty selector
        counted = constraint.selector.key != () or context.cluster.release.empty_selectors_match_all
        counts[value] = counts.get(value, 0) + (here if counted else 0)
    return counts


class PodTopologySpread(fwk.PreFilterPlugin, fwk.FilterPlugin, fwk.PreScorePlugin, fwk.ScorePlugin):
    name = "PodTopologySpread"
    cause = causes.TOPOLOGY_SPREAD
    effort = 1.5
    best = "the best for the pod's topology spread"
    args_class = PodTopologySpreadArgs
    pod_fields = ("topologySpreadConstraints",)
    precise_node_updates = "always"
    counts_terminating = False
    phrases = {
        SKEWED.message: "would break its topology spread",
        MISSING_LABEL.message: "lack the label it spreads over",
    }

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        self.system_defaulted = args.defaulting_type == "System" and cluster.release.default_spread_constraints
        self.defaults: tuple[TopologySpreadConstraint, ...] = ()
        if self.system_defaulted:
            self.defaults = SYSTEM_DEFAULTS
        else:
            raw = msgspec.to_builtins(args.default_constraints)
            where = "PodTopologySpreadArgs.defaultConstraints"
            self.defaults = tuple(objects.convert(raw, list[TopologySpreadConstraint], where))

    # ---- constraints

    def _constraints(self, pod: PodInfo, action: str) -> list[CompiledConstraint]:
        """Return the pod's constraints with this whenUnsatisfiable; if it has no constraints, the defaults with the
        default selector."""
        own = pod.pod.spec.topology_spread_constraints
        if own:
            return [self._compile(c, self._selector(c, pod)) for c in own if c.when_unsatisfiable == action]
        defaults = [c for c in self.defaults if c.when_unsatisfiable == action]
        if not defaults:
            return []
        selector = default_selector(self.cluster, pod)
        return [self._compile(c, selector) for c in defaults] if selector.key != () else []

    def _label_keys(self, constraint: TopologySpreadConstraint, pod: PodInfo) -> list[str]:
        """Return the keys of matchLabelKeys that add a label of the pod to the selector."""
        keys = constraint.match_label_keys if self.cluster.release.spread_match_label_keys else ()
        return [key for key in keys if key in pod.labels]

    def _selector(self, constraint: TopologySpreadConstraint, pod: PodInfo) -> Selector:
        selector = selectors.compile_selector(constraint.label_selector)
        labels = {key: pod.labels[key] for key in self._label_keys(constraint, pod)}
        if not labels:
            return selector
        # Merging with a selector that matches nothing leaves only the labels: upstream merges only requirements.
        return selector.and_labels(labels) if selector.key is not None else selectors.from_labels(labels)

    def _compile(self, constraint: TopologySpreadConstraint, selector: Selector) -> CompiledConstraint:
        """Compile a constraint without the fields that the release ignores: API servers drop them there."""
        release = self.cluster.release
        policies = release.spread_inclusion_policies
        return CompiledConstraint(
            max_skew=constraint.max_skew,
            min_domains=(release.spread_min_domains and constraint.min_domains) or 1,
            topology_key=constraint.topology_key,
            selector=selector,
            affinity_policy=(constraint.node_affinity_policy if policies else "") or "Honor",
            taints_policy=(constraint.node_taints_policy if policies else "") or "Ignore",
            topology=self.cluster.nodes.topology(constraint.topology_key),
        )

    def _column(self, constraint: CompiledConstraint, pod: PodInfo) -> SelectorColumn:
        """Return the column of the pods that a constraint of the pod counts."""
        namespaces = only(pod.namespace)
        return self.cluster.columns.matching(namespaces, constraint.selector, terminating=self.counts_terminating)

    def _with_all_keys(self, constraints: list[CompiledConstraint]) -> fwk.Bool | None:
        """Return the nodes that have every topology key; bool over nodes, None for all."""
        nodes = self.cluster.nodes

        def make() -> tuple[fwk.Bool | None]:
            missing = [c.topology.missing for c in constraints if c.topology.missing is not None]
            return (~np.logical_or.reduce(missing) if missing else None,)

        return nodes.memo((self.name, "keys", tuple([c.topology_key for c in constraints])), make)[0]

    def _eligible(self, constraint: CompiledConstraint, pod: PodInfo, base: fwk.Bool | None) -> fwk.Bool | None:
        """Return the nodes that count for a constraint: those of `base` that pass the inclusion policies.
        None for all."""
        nodes = self.cluster.nodes
        mask = base
        if constraint.affinity_policy == "Honor":
            required = node_matching.required_mask(nodes, pod)
            if required is not None:
                mask = required if mask is None else mask & required
        if constraint.taints_policy == "Honor":
            codes, taints = node_matching.untolerated(nodes, pod)
            if taints:
                mask = codes == 0 if mask is None else mask & (codes == 0)
        return mask

    def _counts_no_pods(self, constraint: CompiledConstraint) -> bool:
        """Return whether the constraint counts no pods: its selector is empty, and the release does not match all pods
        with it."""
        return constraint.selector.key == () and not self.cluster.release.empty_selectors_match_all

    def _domain_counts(
        self, constraint: CompiledConstraint, column: SelectorColumn, eligible: fwk.Bool | None
    ) -> fwk.Int64:
        """Return the number of matching pods on eligible nodes of each domain; int64 over domains."""
        if self._counts_no_pods(constraint):
            return np.zeros(len(constraint.topology.values), np.int64)
        return column.sums(constraint.topology_key, constraint.topology, eligible)

    # ---- filter

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Count matching pods in every domain; skip if there are no DoNotSchedule constraints."""
        counted = state.of_class((self.name, "hard"), lambda: self._filtered(pod))
        if not counted and self.cluster.release.prefilter_skips:
            return fwk.SKIPPED
        state[self.name] = [self._spread(*one) for one in counted]
        return None

    def _filtered(
        self, pod: PodInfo
    ) -> Sequence[tuple[CompiledConstraint, SelectorColumn, fwk.Bool | None, fwk.Bool | None, int]]:
        """Return each DoNotSchedule constraint with the column of counted pods, the nodes that count (None: all), the
        domains of these (None: all), and 1 if the pod itself counts."""
        constraints = self._constraints(pod, "DoNotSchedule")
        if not constraints:
            return ()
        base, found = self._with_all_keys(constraints), []
        for one in constraints:
            eligible, present = self._eligible(one, pod, base), None
            if eligible is not None:
                present = np.zeros(len(one.topology.values), np.bool_)
                present[one.topology.ids[eligible]] = True
            found.append((one, self._column(one, pod), eligible, present, int(one.selector.matches(pod.labels))))
        return found

    def varies_with(self, pod: PodInfo) -> str:
        if pod.pod.spec.topology_spread_constraints:
            return fwk.ANYTHING
        defaulted = self.defaults and default_selector(self.cluster, pod).key != ()
        return fwk.ANYTHING if defaulted else fwk.OBJECTS

    def always_skips(self, pod: PodInfo) -> tuple[bool, bool]:
        actions = [one.when_unsatisfiable for one in pod.pod.spec.topology_spread_constraints or self.defaults]
        hard, soft = "DoNotSchedule" in actions, "ScheduleAnyway" in actions
        return not hard and self.cluster.release.prefilter_skips, not soft and self.cluster.release.prescore_skips

    def _spread(
        self,
        constraint: CompiledConstraint,
        column: SelectorColumn,
        eligible: fwk.Bool | None,
        present: fwk.Bool | None,
        own: int,
    ) -> HardConstraint:
        everywhere = self.cluster.release.spread_counts_excluded_nodes
        counts = self._domain_counts(constraint, column, None if everywhere else eligible)
        if present is not None and everywhere:
            counts = np.where(present, counts, 0)
        return HardConstraint(constraint, column, eligible, counts, present, own, _minimum(constraint, counts, present))

    @property
    def _missing_label(self) -> fwk.Status:
        return MISSING_LABEL if self.cluster.release.reports_missing_topology_label else SKEWED

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        spreads: list[HardConstraint] = state.get(self.name, [])
        skewed = [s.counts + (s.own - s.minimum) > s.constraint.max_skew for s in spreads]
        if not all(len(domains) <= _FEW_DOMAINS for domains in skewed):
            return self._verdict(spreads, skewed)
        # Pods with other constraints have the same verdict, so what follows from verdicts is the same for them.
        verdicts: dict[Hashable, fwk.Verdict] = self.cluster.nodes.memo((self.name, "verdicts"), dict)
        key = (*[s.constraint.topology_key for s in spreads], *[domains.tobytes() for domains in skewed])
        verdict = verdicts.get(key)
        if verdict is None:
            if len(verdicts) >= _MAX_VERDICTS:
                verdicts.clear()
            verdict = verdicts[key] = self._verdict(spreads, skewed)
        return verdict

    def _verdict(self, spreads: list[HardConstraint], skewed: list[fwk.Bool]) -> fwk.Verdict:
        """Return the verdict for the domains in which the pod would be too many."""
        choices: list[tuple[fwk.Bool, fwk.Status]] = []
        for spread, domains in zip(spreads, skewed, strict=True):
            topology = spread.constraint.topology
            if topology.missing is not None:
                choices.append((topology.missing, self._missing_label))
            if np.count_nonzero(domains):
                choices.append((topology.mask_over_nodes(domains), SKEWED))
        return fwk.Verdict.choose(*choices) if choices else fwk.PASSES

    def indifferent(self, state: fwk.CycleState, pod: PodInfo) -> bool:
        return not state.get(self.name)

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.NodePodsChange) -> fwk.Status | None:
        row = change.row
        spreads: list[HardConstraint] = state.get(self.name, [])
        labelled = all(s.constraint.topology.ids[row] >= 0 for s in spreads)
        for spread in spreads:
            domain = int(spread.constraint.topology.ids[row])
            if domain < 0:
                return self._missing_label
            count, minimum = int(spread.counts[domain]), spread.minimum
            if labelled and self._counts_on(spread, row):
                step = _matching(spread, pod, change.added) - _matching(spread, pod, change.removed)
                if step:
                    counts = spread.counts.copy()
                    counts[domain] = count = count + step
                    minimum = _minimum(spread.constraint, counts, spread.present)
            if count + spread.own - minimum > spread.constraint.max_skew:
                return SKEWED
        return None

    def affected_nodes(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Bool:
        namespaces, affected = only(pod.namespace), np.zeros(len(self.cluster.nodes), np.bool_)
        for spread in state.get(self.name, []):
            selector = spread.constraint.selector
            affected |= self.cluster.columns.matching(namespaces, selector, terminating=True).counts > 0
        return affected

    def _counts_on(self, spread: HardConstraint, row: int) -> bool:
        """Return whether the pods of a node count."""
        if self.cluster.release.spread_counts_excluded_nodes:
            return spread.present is None or bool(spread.present[spread.constraint.topology.ids[row]])
        return spread.eligible is None or bool(spread.eligible[row])

    # ---- score

    def pre_score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Status | None:
        """Count matching pods for each domain of the feasible nodes; skip if there are no ScheduleAnyway
        constraints."""
        soft = state.of_class((self.name, "soft"), lambda: self._scored(pod))
        if not soft.counted and self.cluster.release.prescore_skips:
            return fwk.SKIPPED
        scored = None if soft.base is None else soft.base[rows]
        shares = self.cluster.release.spread_scores_by_share
        raw = self._matching_around(soft.counted, rows) if shares else self._weighted(soft, rows)
        if scored is not None:
            assert not isinstance(raw, _ByDomain), "without `base`"
            raw[~scored] = 0
        state[f"{self.name}/score"] = (raw, scored)
        return None

    def _scored(self, pod: PodInfo) -> _Soft:
        """Return the pod's ScheduleAnyway constraints."""
        constraints = self._constraints(pod, "ScheduleAnyway")
        # System defaults still spread by hostname over nodes without a zone.
        require_all = bool(pod.pod.spec.topology_spread_constraints) or not self.system_defaulted
        base = self._with_all_keys(constraints) if require_all and constraints else None
        return _Soft([(one, self._column(one, pod), self._eligible(one, pod, base)) for one in constraints], base, self)

    def counts_by_node(self, constraint: CompiledConstraint) -> bool:
        """Return whether a ScheduleAnyway constraint counts the pods of each node."""
        by_host = constraint.topology_key == HOSTNAME
        return by_host and not (self._counts_no_pods(constraint) or self.cluster.nodes.is_bare)

    def _weighted(self, soft: _Soft, rows: fwk.Rows) -> fwk.Int64 | _ByDomain:
        """Return the weighted numbers of matching pods in each feasible node's domains."""
        nodes, base = self.cluster.nodes, soft.base
        size = len(nodes) if isinstance(rows, slice) else len(rows)
        if soft.few:
            numbers = _NOTHING if soft.host is None else soft.host[1].numbers()
            if len(numbers) <= _FEW_ROWS:
                return self._by_domain(soft, soft.places_of(rows, size), rows, numbers)
        total = np.zeros(size, np.float64)
        for constraint, column, eligible in soft.counted:
            topology = constraint.topology
            if constraint.topology_key != HOSTNAME:
                number = _distinct(topology, rows, base)
                counts = topology.on_rows(self._domain_counts(constraint, column, eligible), rows)
            else:
                number = size if base is None else int(np.count_nonzero(base[rows]))
                counts = column.counts[rows] if self.counts_by_node(constraint) else np.zeros(size, np.int64)
            points = counts * math.log(number + 2) + float(constraint.max_skew - 1)
            total += points if topology.missing is None else np.where(topology.ids[rows] >= 0, points, 0.0)
        return round_half_away(total) if self.cluster.release.spread_scores_rounded else total.astype(np.int64)

    def _by_domain(
        self, soft: _Soft, places: _Places, rows: fwk.Rows, numbers: Mapping[int, int]
    ) -> fwk.Int64 | _ByDomain:
        """Return `_weighted` with few domains. `numbers`: the rows with pods that `soft.host` counts, and how many.
        All other rows of a domain have the same score."""
        half = BELOW_HALF if self.cluster.release.spread_scores_rounded else 0.0  # no number is negative
        least, points = soft.least, [0.0]  # by domain; the last without the label
        if soft.spread is not None:
            weight, more = places.weight, soft.more
            points = [count * weight + more for count in self._domain_counts(*soft.spread).tolist()]
            points.append(0.0)
        values = [int(least + one + half) for one in points]
        others: dict[int, int] = {}
        if numbers:  # each apart takes less time than arrays
            size, weight = places.size, math.log(places.size + 2)
            ids = None if soft.topology is None else soft.topology.ids
            found = numbers if isinstance(rows, slice) else rows.searchsorted([*numbers]).tolist()
            for (row, number), place in zip(numbers.items(), found, strict=True):
                if isinstance(rows, slice) or (place < size and rows.item(place) == row):
                    domain = 0 if ids is None else ids.item(row)
                    others[place] = int(number * weight + least + points[domain] + half)
        return _ByDomain(values, places, others)

    def _matching_around(self, counted: list[_Counted], rows: fwk.Rows) -> fwk.Int64:
        """Return the raw scores of 1.18: the numbers of matching pods, without weights and the same for all topology
        keys."""
        counts: fwk.Int64 = np.zeros(len(self.cluster.nodes), np.int64)
        for constraint, column, eligible in counted:
            counts = counts + constraint.topology.over_nodes(self._domain_counts(constraint, column, eligible))
        return counts[rows]

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> Any:
        raw: fwk.Int64 | _ByDomain = state[f"{self.name}/score"][0]
        if isinstance(raw, _ByDomain) and type(self).score is not PodTopologySpread.score:
            return raw.read()  # a plugin outside the tree that extends this one uses numbers
        return raw

    def normalize(self, state: fwk.CycleState, pod: PodInfo, scores: Any, rows: fwk.Rows) -> fwk.Int64:
        """Return 100 x (max + min - score) / max: fewer matching pods in the node's domains give a higher score."""
        if isinstance(scores, _ByDomain):
            return scores.normalized()
        scored = state[f"{self.name}/score"][1]
        if self.cluster.release.spread_scores_by_share:
            constrained = bool(self._constraints(pod, "ScheduleAnyway"))
            return pod_topology_spread_1_18.normalized(scores, scored, constrained, self.max_score)
        counted = scores if scored is None else scores[scored]
        if not len(counted):
            return np.zeros_like(scores)
        lowest, highest = int(np.minimum.reduce(counted)), max(int(np.maximum.reduce(counted)), 0)
        if highest == 0:
            result = np.full_like(scores, fwk.MAX_NODE_SCORE)
        else:
            most, span = fwk.MAX_NODE_SCORE, highest + lowest
            least = lowest if scored is None else int(scores.min())
            result = fwk.for_each_value(scores, least, highest, lambda values: most * (span - values) // highest)
        if scored is not None:
            result[~scored] = 0
        return result  # type: ignore[no-any-return]

    # ---- explanations

    def _sources(self, pod: PodInfo, view: View, action: str) -> list[tuple[TopologySpreadConstraint, Owner]]:
        """Return each constraint of `_constraints` with a function that creates leaves for its fields."""
        own = pod.pod.spec.topology_spread_constraints
        if own:
            place = below(view.field, pod, "spec", "topologySpreadConstraints")
            return [(c, below(place, i)) for i, c in enumerate(own) if c.when_unsatisfiable == action]
        if self.system_defaulted:
            return [(c, _built_in(c)) for c in self.defaults if c.when_unsatisfiable == action]
        place = below(view.argument, self.name, "defaultConstraints")
        return [(c, below(place, i)) for i, c in enumerate(self.defaults) if c.when_unsatisfiable == action]

    def _selects(self, view: View, constraint: TopologySpreadConstraint, owner: Owner, other: PodInfo) -> Tree:
        """Explain whether a constraint counts the other pod, by its labels."""
        pod = view.pod
        if pod.pod.spec.topology_spread_constraints:
            wanted = {k: view.field(pod, "metadata", "labels", k) for k in self._label_keys(constraint, pod)}
            parts = [label_equals(view, other, key, leaf) for key, leaf in wanted.items()]
            if constraint.label_selector is not None or not parts:
                parts.append(selected(view, other, constraint.label_selector, below(owner, "labelSelector")))
        else:
            parts = explain_selected(view, self.cluster, other)
        return parts[0] if len(parts) == 1 else every(parts, f"{other.key} counts")

    def _matching(self, view: View, compiled: CompiledConstraint, rows: Sequence[int]) -> list[PodInfo]:
        """Return the pods on these nodes that a constraint counts."""
        if self._counts_no_pods(compiled):
            return []
        column = self._column(compiled, view.pod)
        return [pod for row in rows for pod in view.pods_on(row) if column.matches(pod)]

    @classmethod
    def obstacle(cls, context: RejectionContext | None, status: fwk.Status) -> Obstacle:
        keys = [one.topology_key for one in cls._hard(context)] if context is not None else []
        found = super().obstacle(context, status)
        if MISSING_LABEL.message in status.reasons:
            phrase = f"do not have the label {formatting.listing(keys, 'or')} over which it spreads"
            return replace(found, effort=2.0, phrase=phrase if keys else found.phrase, objects=tuple(keys))
        return replace(found, objects=tuple(keys), domain=next(iter(keys), ""))

    @staticmethod
    def _hard(context: RejectionContext) -> list[TopologySpreadConstraint]:
        own = context.pod.pod.spec.topology_spread_constraints
        return [one for one in own if one.when_unsatisfiable == "DoNotSchedule"]

    @staticmethod
    def rejection_detail(context: RejectionContext, row: int, status: fwk.Status) -> str:
        """Return the constraint that would be violated, with the numbers it compares."""
        plugin = context.plugin("PodTopologySpread")
        if not isinstance(plugin, PodTopologySpread):
            plugin = PodTopologySpread(PodTopologySpreadArgs(defaulting_type="System"), context.cluster)
        state = fwk.CycleState()
        plugin.pre_filter(state, context.pod)
        spreads: list[HardConstraint] = state.get(plugin.name, [])
        for spread in spreads:
            detail = _skew(context, row, spread)
            if detail is not None:
                return detail
        return ""

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        parts, texts = [], []
        sources = self._sources(view.pod, view, "DoNotSchedule")
        for spread, (constraint, owner) in zip(state.get(self.name, ()), sources, strict=False):
            key, ids = constraint.topology_key, spread.constraint.topology.ids
            if ids[view.row] < 0:
                labels = view.field(view.node, "metadata", "labels", missing={})
                parts.append(opposite(contains(labels, owner("topologyKey")), "lacks the topology label"))
                texts.append(f"lacks the label {key}")
                continue
            domain = ids == ids[view.row]
            rows = [row for row in np.flatnonzero(domain).tolist() if self._counts_on(spread, row)]
            others = self._matching(view, spread.constraint, rows)
            value = spread.constraint.topology.values[int(ids[view.row])]
            counted = [partial(self._selects, view, constraint, owner, other) for other in others]
            here = view.long_count(counted, "pods", f"matching pods with {key} {value}")
            own = either(self._selects(view, constraint, owner, view.pod), constant(1), constant(0), "this pod itself")
            fewest = self._explain_minimum(view, spread, owner, len(others))
            skew = subtract(total([here, own], "with this pod"), fewest, "skew")
            most = owner("maxSkew", missing=1, always=True)
            parts.append(less(most, skew, f"{key}: the skew would be too large"))
            pods = "1 matching pod" if here.value == 1 else f"{here.value} matching pods"
            texts.append(
                f"{key} {value} has {pods}, {here.value + own.value} with this one; "
                f"the fewest anywhere: {fewest.value}; skew {skew.value}, at most {most.value} allowed"
            )
        return some(parts).with_text(f"{view.node.name}: {'; '.join(texts) or 'nothing to spread'}")

    def _explain_minimum(self, view: View, spread: HardConstraint, owner: Owner, here: int) -> Tree:
        """Explain the smallest number of matching pods in a domain; 0 while there are fewer domains than minDomains."""
        topology = spread.constraint.topology
        counts = spread.counts.copy()
        counts[topology.ids[view.row]] = here
        there = np.arange(len(counts)) if spread.present is None else np.flatnonzero(spread.present)
        figures = [(int(counts[i]), topology.values[i]) for i in there.tolist()]
        if not figures:
            return constant(0, "no node counts")
        key = spread.constraint.topology_key
        fewest = view.long_extreme(figures, "min", "matching pods", f"fewest of {len(figures)} values of {key}")
        if spread.constraint.min_domains == 1:
            return fewest
        number = over("count", len(figures), len(figures), f"values of {key}")
        return either(less(number, owner("minDomains")), constant(0, "too few domains"), fewest, "the global minimum")

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        scored: fwk.Bool | None = state[f"{self.name}/score"][1]
        sources = self._sources(view.pod, view, "ScheduleAnyway")
        rows = np.arange(len(self.cluster.nodes))[view.rows]
        keys = [owner("topologyKey") for _, owner in sources]
        if scored is not None and not scored[rows == view.row].all():
            labels = view.field(view.node, "metadata", "labels", missing={})
            has_all = every([contains(labels, key) for key in keys], "has every topology label")
            return either(has_all, constant(1), constant(0)).with_text(f"0: {view.node.name} lacks a topology label")
        compiled = self._constraints(view.pod, "ScheduleAnyway")
        base = None if scored is None else self._with_all_keys(compiled)
        considered = rows if scored is None else rows[scored]
        points = [
            self._explain_points(view, one, constraint, owner, considered, base)
            for one, (constraint, owner) in zip(compiled, sources, strict=False)
        ]
        if self.cluster.release.spread_scores_by_share:
            tree = total(points, "over the constraints")
            return tree.with_text(f"{tree.value} = matching pods in the domains of {view.node.name}")
        whole = rounded if self.cluster.release.spread_scores_rounded else truncated
        tree = whole(total_floats(points, "over the constraints"))
        return tree.with_text(
            f"{tree.value} = matching pods around {view.node.name}, weighted by the number of domains"
        )

    def _explain_points(
        self,
        view: View,
        compiled: CompiledConstraint,
        constraint: TopologySpreadConstraint,
        owner: Owner,
        considered: npt.NDArray[np.intp],
        base: fwk.Bool | None,
    ) -> Tree:
        """Explain what one constraint adds to the raw score."""
        key, ids = compiled.topology_key, compiled.topology.ids
        if ids[view.row] < 0:
            return constant(0, f"has no label {key}")
        shares = self.cluster.release.spread_scores_by_share
        if key == HOSTNAME and not shares:
            rows, domains, what = [view.row], len(considered), "feasible nodes"
        else:
            eligible = self._eligible(compiled, view.pod, base)
            domain = ids == ids[view.row]
            rows = np.flatnonzero(domain if eligible is None else domain & eligible).tolist()
            domains, what = len(np.unique(ids[considered])), f"values of {key} on feasible nodes"
        others = self._matching(view, compiled, rows)
        counted = [partial(self._selects, view, constraint, owner, other) for other in others]
        here = view.long_count(counted, "pods", f"matching pods with the same {key}")
        if shares:
            return here
        weight = logarithm(total([over("count", domains, len(considered), what), constant(2)]), "weight of the key")
        slack = subtract(owner("maxSkew", missing=1, always=True), constant(1), "maxSkew - 1")
        return total_floats([multiply(here, weight), slack], f"around by {key}")

    def explain_normalize(self, state: fwk.CycleState, view: View, raw: Tree, scores: fwk.Int64) -> Tree:
        scored: fwk.Bool | None = state[f"{self.name}/score"][1]
        if self.cluster.release.spread_scores_by_share:
            constrained = bool(self._constraints(view.pod, "ScheduleAnyway"))
            options = (scored, constrained, self.max_score)
            return pod_topology_spread_1_18.explain_normalized(view, raw, scores, *options)
        rows, name = np.arange(len(self.cluster.nodes))[view.rows], view.node.name
        if scored is not None and not scored[rows == view.row].all():
            return multiply(raw, constant(0), "a node that lacks a topology label").with_text(
                f"0: {name} lacks a topology label"
            )
        least, most = extreme(view, scores, "min", scored), extreme(view, scores, "max", scored)
        if most.value <= 0:
            none = less_equal(most, constant(0), "no matching pods anywhere")
            return either(none, max_node_score(), raw).with_text(
                "100: there are no matching pods around any feasible node"
            )
        away = subtract(total([most, least]), raw, "fewer matching pods score higher")
        tree = divide_int(multiply(max_node_score(), away), most)
        around = f"{most.value} + {least.value} less {raw.value}, of {most.value}: highest, lowest and own raw score"
        return tree.with_text(f"{tree.value} = {around}, in hundredths: {name}")

    # ---- events that may make a pod schedulable

    def sign(self, pod: PodInfo) -> signers.Fragments | None:
        """Return None for pods with constraints, own or default: they have no signature, because other pods affect
        them."""
        return None if pod.pod.spec.topology_spread_constraints or self.defaults else {}

    def events_to_register(self) -> list[events.EventHint]:
        pod_actions = [events.ADD, events.UPDATE_POD_LABEL, events.UPDATE_POD_TOLERATION, events.DELETE]
        node_actions = [events.ADD, events.DELETE, events.UPDATE_NODE_LABEL, events.UPDATE_NODE_TAINT]
        return [
            events.registered(events.POD, *pod_actions, hint=self._after_pod_change),
            events.registered(events.NODE, *node_actions, hint=self._after_node_change),
        ]

    def _after_pod_change(self, pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> bool:
        """Return whether a counted pod was added or deleted, started or stopped counting, or this pod's tolerations
        changed."""
        nominated = self.cluster.release.queueing_hint_nominated_neighbors
        for other in (old, new):
            if other is None or other.key == pod.key:
                continue
            if other.namespace != pod.namespace or not (other.node or (nominated and other.nominated_node)):
                return False
        constraints = self._constraints(pod, "DoNotSchedule")
        if old is not None and new is not None:
            tolerates_more = pod.key == new.key and old.pod.spec.tolerations != new.pod.spec.tolerations
            if tolerates_more and any(c.taints_policy == "Honor" for c in constraints):
                return True
            return any(c.selector.matches(old.labels) != c.selector.matches(new.labels) for c in constraints)
        counted = new if new is not None else old
        return counted is not None and all(c.selector.matches(counted.labels) for c in constraints)

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node | None) -> bool:
        """Return whether a node with all topology keys was added or deleted, gained or lost a key, changed its domain
        or its taints."""
        keys = [c.topology_key for c in self._constraints(pod, "DoNotSchedule")]
        had = old is not None and all(key in old.metadata.labels for key in keys)
        has = new is not None and all(key in new.metadata.labels for key in keys)
        if old is None or new is None or had != has:
            return had or has
        moved = any(old.metadata.labels.get(key) != new.metadata.labels.get(key) for key in keys)
        return has and (moved or old.spec.taints != new.spec.taints)


def _distinct(topology: Topology, rows: fwk.Rows, base: fwk.Bool | None) -> int:
    """Return the number of domains of the rows that are in `base` (None: all). As upstream, a missing label counts as
    another (empty) value."""
    seen, ids = np.zeros(len(topology.values) + 1, np.bool_), topology.ids[rows]
    seen[ids if base is None else ids[base[rows]]] = True
    return int(np.count_nonzero(seen))


def _matching(spread: HardConstraint, pod: PodInfo, others: Sequence[PodInfo]) -> int:
    """Return by how many the count changes when these pods are added or removed.

    Unlike in the full count, upstream checks neither whether a pod is terminating nor whether the selector is empty.
    """
    matches = spread.constraint.selector.matches
    return sum(other.namespace == pod.namespace and matches(other.labels) for other in others)


def _minimum(constraint: CompiledConstraint, counts: fwk.Int64, present: fwk.Bool | None) -> int:
    """Return the global minimum that the skew is measured from."""
    if present is not None:
        counts = counts[present]
    return int(counts.min()) if len(counts) >= constraint.min_domains else 0
