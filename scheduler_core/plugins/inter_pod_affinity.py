"""InterPodAffinity: places pods near, or away from, other pods.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity (filtering.go, scoring.go).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from scheduler_core.api.objects import Node, PodAffinityTerm
from scheduler_core.api.plugin_args import Complain, Int32, PluginArgs, check_range
from scheduler_core.api.selector_text import selector_text
from scheduler_core.api.selectors import NOTHING, Selector
from scheduler_core.cluster import formatting
from scheduler_core.cluster.pod_columns import (
    PREFERRED_AFFINITY,
    PREFERRED_ANTI_AFFINITY,
    REQUIRED_AFFINITY,
    REQUIRED_ANTI_AFFINITY,
)
from scheduler_core.cluster.pod_counts import PodCounts, SelectorColumn, Term, TermColumn
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.topology import Topology
from scheduler_core.framework import causes, events, signers
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.provenance.context import Step, View
from scheduler_core.provenance.matching import PREFERRED, REQUIRED, below, term_selects
from scheduler_core.provenance.scores import extreme, max_node_score, parts
from scheduler_core.provenance.tree import (
    Tree,
    constant,
    contains,
    divide,
    either,
    equal,
    every,
    highest,
    less,
    lowest,
    multiply,
    opposite,
    over,
    some,
    subtract,
    total,
    truncated,
)

NO_AFFINITY = fwk.unresolvable("node(s) didn't match pod affinity rules")
ANTI_AFFINITY = fwk.unschedulable("node(s) didn't match pod anti-affinity rules")
EXISTING_ANTI_AFFINITY = fwk.unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")

_AFFINITY = ("spec", "affinity")
_SCORE = "InterPodAffinity/score"  # the weights of domains
_FEW = 16  # domains that are normalized faster one by one than in arrays
NEAR, ANTI = "podAffinity", "podAntiAffinity"


def _term_at(pod: PodInfo, place: tuple[Step, ...]) -> PodAffinityTerm:
    """Return a term of the pod's affinity. `place`: its path below `spec.affinity`, without the `podAffinityTerm` of
    preferred terms."""
    side, strength, index = place
    affinity = pod.pod.spec.affinity
    assert affinity is not None
    terms = affinity.pod_affinity if side == NEAR else affinity.pod_anti_affinity
    assert terms is not None
    assert isinstance(index, int)
    return terms.required[index] if strength == REQUIRED else terms.preferred[index].pod_affinity_term


class Domains:
    """The number of some pods in each domain of a topology."""

    __slots__ = ("_column", "_counts", "_key", "topology")

    def __init__(self, key: str, topology: Topology, column: PodCounts) -> None:
        """`key`: that of the topology. `column`: of the pods."""
        self._key, self.topology, self._column = key, topology, column
        self._counts: fwk.Int64 | None = None

    @property
    def counts(self) -> fwk.Int64:
        """Int64 over the values of the topology, made when it is read."""
        if self._counts is None:
            self._counts = self._column.sums(self._key, self.topology)
        return self._counts


@dataclass(slots=True)
class FilterState:
    """Result of PreFilter.

    `affinity`: a Domains for each required affinity term, with the number of pods that match all terms
    (`affinity_column`). `anti`: (column of matching pods, Domains) for each required anti-affinity term. `existing`:
    (column of pods that have the term, Domains) for each required anti-affinity term of running pods that matches this
    pod. `selfish`: the pod matches its own affinity terms. `anyone`: some pod matches them.
    """

    affinity: list[Domains]
    affinity_column: SelectorColumn | None
    anti: list[tuple[SelectorColumn, Domains]]
    existing: list[tuple[TermColumn, Domains]]
    selfish: bool
    anyone: bool


class InterPodAffinityArgs(PluginArgs, frozen=True, kw_only=True):
    not_in = dict.fromkeys(("v1beta1", "v1alpha2"), ("ignorePreferredTermsOfExistingPods",))

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False

    def finish(self, complain: Complain) -> Self:
        check_range(complain, "hardPodAffinityWeight", self.hard_pod_affinity_weight, 0, 100)
        return self


def _domain(context: RejectionContext, row: int, topology_key: str) -> str | None:
    """Return the domain of a node, such as `zone=a`; None if it lacks the label."""
    value = context.nodes.nodes[row].metadata.labels.get(topology_key)
    return None if value is None else f"{topology_key}={value}"


def _pods_in(context: RejectionContext, row: int, topology_key: str) -> Iterator[PodInfo]:
    value = context.nodes.nodes[row].metadata.labels.get(topology_key)
    for other, node in enumerate(context.nodes.nodes):
        if value is not None and node.metadata.labels.get(topology_key) == value:
            yield from context.pods_on(other)


def _matches(context: RejectionContext, term: Term, pod: PodInfo) -> bool:
    return term.matches(pod.namespace, context.cluster.namespaces.get(pod.namespace, {}), pod.labels)


def _unattracted(context: RejectionContext, row: int) -> str:
    terms = context.pod.required_affinity
    for term in terms:
        where = _domain(context, row, term.topology_key)
        if where is None:
            return f"the node has no label {term.topology_key}"
        # the count of every term covers the pods that match all terms
        if not any(all(_matches(context, t, p) for t in terms) for p in _pods_in(context, row, term.topology_key)):
            wanted = " and ".join(selector_text(t.selector) for t in terms)
            return f"no pod with {wanted} runs in {where}"
    return ""


def _repelled(context: RejectionContext, row: int) -> str:
    for term in context.pod.required_anti_affinity:
        found = [p.key for p in _pods_in(context, row, term.topology_key) if _matches(context, term, p)]
        if found:
            where = _domain(context, row, term.topology_key)
            verb, wanted = "matches" if len(found) == 1 else "match", selector_text(term.selector)
            return f"{formatting.some(found, 3)} in {where} {verb} its anti-affinity to {wanted}"
    return ""


def _unwelcome(context: RejectionContext, row: int) -> str:
    keys = {c.term.topology_key for c in context.cluster.columns.terms_matching(context.pod)}
    further = [pod for pods in context.further.values() for pod in pods]  # such as nominated pods
    keys |= {term.topology_key for pod in further for term in pod.required_anti_affinity}
    for topology_key in sorted(keys):
        found = [p.key for p in _pods_in(context, row, topology_key) if _refuses(context, p, topology_key)]
        if found:
            where = _domain(context, row, topology_key)
            verb = formatting.agree(len(found), "keep")
            return f"{formatting.some(found, 3)} in {where} {verb} it away by anti-affinity"
    return ""


def _refuses(context: RejectionContext, other: PodInfo, topology_key: str) -> bool:
    terms = (t for t in other.required_anti_affinity if t.topology_key == topology_key)
    return any(_matches(context, term, context.pod) for term in terms)


class InterPodAffinity(fwk.PreFilterPlugin, fwk.FilterPlugin, fwk.PreScorePlugin, fwk.ScorePlugin):
    name = "InterPodAffinity"
    cause = causes.POD_ANTI_AFFINITY
    effort = 1.5
    best = "the one that affinity between pods prefers"
    args_class = InterPodAffinityArgs
    pod_fields = ("podAffinity", "podAntiAffinity")
    precise_node_updates = "always"
    phrases = {
        NO_AFFINITY.message: "have no pod that it wants to be near",
        ANTI_AFFINITY.message: "have a pod that it wants to be away from",
        EXISTING_ANTI_AFFINITY.message: "have a pod that wants to be away from it",
    }

    # ---- helpers

    def _domains(self, topology_key: str, counts: PodCounts) -> Domains:
        return Domains(topology_key, self.cluster.nodes.topology(topology_key), counts)

    def _resolve(self, term: Term) -> frozenset[str] | None:
        """Return the namespaces that a term of the incoming pod covers, listed and selected; None for all."""
        key = term.namespace_selector.key
        if key is None:
            return term.namespaces
        if key == ():
            return None
        chosen = (name for name, labels in self.cluster.namespaces.items() if term.namespace_selector.matches(labels))
        return term.namespaces.union(chosen)

    def _column(self, term: Term) -> SelectorColumn:
        return self.cluster.columns.matching(self._resolve(term), term.selector, terminating=True)

    def _all_terms_column(self, terms: tuple[Term, ...]) -> SelectorColumn:
        """Return the column of pods that match every term."""
        namespaces: frozenset[str] | None = None
        requirements: set[Any] = set()
        selector: Selector | None = None
        for term in terms:
            resolved = self._resolve(term)
            if resolved is not None:
                namespaces = resolved if namespaces is None else namespaces & resolved
            if term.selector.key is None:
                selector = NOTHING
            else:
                requirements.update(term.selector.key)
        if selector is None:
            selector = terms[0].selector if len(terms) == 1 else Selector(tuple(sorted(requirements)))
        return self.cluster.columns.matching(namespaces, selector, terminating=True)

    # ---- filter

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Count, for each topology domain, the pods that attract or repel the pod; skip if no term applies."""
        existing = []
        for carried in self.cluster.columns.terms_matching(pod):
            if carried.role == REQUIRED_ANTI_AFFINITY and carried.total:
                domains = self._domains(carried.term.topology_key, carried)
                if domains.topology.missing is None or np.count_nonzero(domains.counts):
                    existing.append((carried, domains))
        concerned = existing or pod.required_affinity or pod.required_anti_affinity
        if not concerned and self.cluster.release.supports_skip_status:
            return fwk.SKIPPED
        affinity: list[Domains] = []
        column: SelectorColumn | None = None
        if pod.required_affinity:
            column = state.of_class((self.name, "near"), lambda: self._all_terms_column(pod.required_affinity))
            affinity = [self._domains(term.topology_key, column) for term in pod.required_affinity]
        anti = []
        if pod.required_anti_affinity:
            repelled = state.of_class(
                (self.name, "anti"), lambda: [self._column(t) for t in pod.required_anti_affinity]
            )
            for term, matching in zip(pod.required_anti_affinity, repelled, strict=True):
                anti.append((matching, self._domains(term.topology_key, matching)))
        state[self.name] = FilterState(
            affinity,
            column,
            anti,
            existing,
            selfish=column is not None and column.matches(pod),
            anyone=any(np.count_nonzero(domains.counts) for domains in affinity),
        )
        return None

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        now: FilterState | None = state.get(self.name)
        if now is None:
            return fwk.PASSES
        if not now.affinity and all(domains.topology.unique for _, domains in (*now.anti, *now.existing)):
            return self._repelled_rows(now)
        choices: list[tuple[fwk.Bool, fwk.Status]] = []
        if now.affinity:
            choices.append((~self._attracted(now), self._with_prefix(NO_AFFINITY)))
        for pairs, status in ((now.anti, ANTI_AFFINITY), (now.existing, EXISTING_ANTI_AFFINITY)):
            repelled: fwk.Bool | None = None
            for _, domains in pairs:
                if np.count_nonzero(domains.counts):
                    mask = domains.topology.mask_over_nodes(domains.counts > 0)
                    repelled = mask if repelled is None else repelled | mask
            if repelled is not None:
                first = status is EXISTING_ANTI_AFFINITY and self._existing_first
                choices.insert(0 if first else len(choices), (repelled, self._with_prefix(status)))
        return fwk.Verdict.choose(*choices) if choices else fwk.PASSES

    def varies_with(self, pod: PodInfo) -> str:
        concerned = any(pod.terms()) or self.cluster.columns.terms_matching(pod)
        return fwk.ANYTHING if concerned else fwk.OBJECTS

    def indifferent(self, state: fwk.CycleState, pod: PodInfo) -> bool:
        now: FilterState | None = state.get(self.name)
        concerned = now is not None and (now.affinity or now.anti or now.existing)
        return not concerned and not self.cluster.nominator  # the anti-affinity of nominated pods counts

    def _repelled_rows(self, now: FilterState) -> fwk.Verdict:
        """Return the verdict if every node is a domain and the pod has no required affinity."""
        sides = (now.anti, ANTI_AFFINITY), (now.existing, EXISTING_ANTI_AFFINITY)
        repelled = []
        for pairs, status in sides[::-1] if self._existing_first else sides:
            found = [rows for counts, _ in pairs if (rows := counts.rows())]
            if found:
                rows = found[0] if len(found) == 1 else set().union(*found)
                repelled.append((rows, self._with_prefix(status)))
        return fwk.Verdict.of_rows(len(self.cluster.nodes), *repelled)

    @property
    def _existing_first(self) -> bool:
        """Whether the release checks running pods' anti-affinity first.

        In these releases, the first pod of a group may go to any node, even one without the topology label.
        """
        return self.cluster.release.existing_anti_affinity_first

    def _attracted(self, now: FilterState) -> fwk.Bool:
        """Return the nodes that satisfy the pod's own required affinity; bool over nodes."""
        if self._existing_first and not now.anyone and now.selfish:
            return np.ones(len(now.affinity[0].topology.ids), np.bool_)
        labelled = np.ones(len(now.affinity[0].topology.ids), np.bool_)
        near = labelled.copy()
        for domains in now.affinity:
            if domains.topology.missing is not None:
                labelled &= ~domains.topology.missing
            near &= domains.topology.mask_over_nodes(domains.counts > 0)
        # The first pod of a group with affinity to itself may go to any node that has the labels.
        return labelled if not now.anyone and now.selfish else labelled & near

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.NodePodsChange) -> fwk.Status | None:
        now: FilterState | None = state.get(self.name)
        if now is None:
            return None
        if self._existing_first and self._repelled_by_existing(now, pod, change):
            return self._with_prefix(EXISTING_ANTI_AFFINITY)
        own = change
        if self.cluster.release.own_terms_ignore_nominated_pods:
            own = fwk.NodePodsChange(change.row, [], change.removed)
        if now.affinity and not self._attracted_node(now, own):
            return self._with_prefix(NO_AFFINITY)
        if self._repelled_node(now, pod, own):
            return self._with_prefix(ANTI_AFFINITY)
        if not self._existing_first and self._repelled_by_existing(now, pod, change):
            return self._with_prefix(EXISTING_ANTI_AFFINITY)
        return None

    def affected_nodes(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Bool | None:
        if self.cluster.release.changed_pods_terms_use_pod_namespace:
            return None  # terms that do not match the pod may count
        now: FilterState | None = state.get(self.name)
        affected = np.zeros(len(self.cluster.nodes), np.bool_)
        if now is not None:
            near = [now.affinity_column] if now.affinity_column is not None else []
            for column in (*near, *[column for column, _ in now.anti], *[column for column, _ in now.existing]):
                affected |= column.counts > 0
        return affected

    def _repelled_node(self, now: FilterState, pod: PodInfo, change: fwk.NodePodsChange) -> bool:
        """Return whether the pod's own anti-affinity repels it after the change."""
        for column, domains in now.anti:
            domain = int(domains.topology.ids[change.row])
            if domain >= 0:
                step = sum(map(column.matches, change.added)) - sum(map(column.matches, change.removed))
                if domains.counts[domain] + step > 0:
                    return True
        return self.cluster.release.returned_pod_violates_all_terms and self._repelled_by_returned(now, pod, change)

    def _repelled_by_returned(self, now: FilterState, pod: PodInfo, change: fwk.NodePodsChange) -> bool:
        """Return whether a pod that preemption put back matches any anti-affinity term: it counts for all of them.

        Source: pkg/scheduler/algorithm/predicates/metadata.go (addPod, targetPodMatchesAntiAffinityOfPod).
        """
        if not change.removed or all(domains.topology.ids[change.row] < 0 for _, domains in now.anti):
            return False
        gone = {other.key for other in change.removed}
        there = self.cluster.nodes.pods_of(change.row)
        back = [other for other in there if other.priority < pod.priority and other.key not in gone]
        return any(column.matches(other) for column, _ in now.anti for other in back)

    def _repelled_by_existing(self, now: FilterState, pod: PodInfo, change: fwk.NodePodsChange) -> bool:
        """Return whether the anti-affinity of a running pod repels this pod after the change."""
        row = change.row
        labels = self.cluster.nodes.nodes[row].metadata.labels
        counts: dict[tuple[str, str], int] = {}
        for carried, domains in now.existing:
            domain = int(domains.topology.ids[row])
            if domain >= 0:
                pair = (carried.term.topology_key, labels[carried.term.topology_key])
                counts[pair] = counts.get(pair, 0) + int(domains.counts[domain])
        for others, step in ((change.added, 1), (change.removed, -1)):
            for other in others:
                for i, term in enumerate(other.required_anti_affinity):
                    value = labels.get(term.topology_key)
                    if value is not None and self._keeps_away(other, i, term, pod):
                        pair = (term.topology_key, value)
                        counts[pair] = counts.get(pair, 0) + step
        return any(count > 0 for count in counts.values())

    def _keeps_away(self, other: PodInfo, index: int, term: Term, pod: PodInfo) -> bool:
        """Return whether a required anti-affinity term of a changed pod matches this pod."""
        if not self.cluster.release.changed_pods_terms_use_pod_namespace:
            namespace_labels = self.cluster.namespaces.get(pod.namespace, {})
            return term.matches(pod.namespace, namespace_labels, pod.labels)
        listed = _term_at(other, (ANTI, REQUIRED, index)).namespaces
        return (not listed or pod.namespace in listed) and term.selector.matches(pod.labels)

    def _with_prefix(self, status: fwk.Status) -> fwk.Status:
        """Return the status with the reasons of the release: old releases prepend a common reason."""
        first = self.cluster.release.inter_pod_affinity_reason_prefix
        if self.cluster.release.one_reason_per_node:  # the prefix alone is not unresolvable
            return status if status.code == fwk.UNRESOLVABLE else fwk.Status(status.code, (first,))
        return fwk.Status(status.code, (first, *status.reasons)) if first else status

    def _attracted_node(self, now: FilterState, change: fwk.NodePodsChange) -> bool:
        column = now.affinity_column
        if column is None:
            return True
        step = sum(map(column.matches, change.added)) - sum(map(column.matches, change.removed))
        near, anyone = True, False
        for domains in now.affinity:
            domain = int(domains.topology.ids[change.row])
            if domain < 0 and not self._existing_first:
                return False
            count = int(domains.counts[domain]) + step if domain >= 0 else 0
            before = domain >= 0 and bool(domains.counts[domain])
            near = near and count > 0
            anyone = anyone or count > 0 or int(np.count_nonzero(domains.counts)) > before
        return near or (not anyone and now.selfish)

    # ---- score

    def pre_score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Status | None:
        """Sum, for each topology domain, the weights of preferred terms of the pod and of running pods; skip if there
        are none."""
        preferred = pod.preferred_affinity or pod.preferred_anti_affinity
        if self.args.ignore_preferred_terms_of_existing_pods and not preferred:
            weights: dict[Topology, fwk.Int64] = {}
        else:
            weights = self._weights(state, pod)
        if not weights and self.cluster.release.prescore_skips:
            return fwk.SKIPPED
        state[_SCORE] = weights
        return None

    def _weights(self, state: fwk.CycleState, pod: PodInfo) -> dict[Topology, fwk.Int64]:
        """Return the weight of each domain by topology; int64 over its values."""
        carried = self.cluster.columns.terms_matching(pod)
        weights: dict[Topology, fwk.Int64] = {}
        terms = state.of_class((self.name, "score", len(carried)), lambda: self._weighted(pod, carried))
        for key, topology, counts, weight in terms:
            if not counts.total:
                continue
            sums = counts.sums(key, topology)
            if topology.missing is None or np.count_nonzero(sums):
                weights[topology] = weights[topology] + sums * weight if topology in weights else sums * weight
        return weights

    def _weighted(self, pod: PodInfo, carried: Iterable[TermColumn]) -> list[tuple[str, Topology, PodCounts, int]]:
        """Return the topology key, its column, the column of pods and the weight of the pod's preferred terms and of
        `carried`."""
        weighted: list[tuple[str, PodCounts, int]] = []
        for terms, sign in ((pod.preferred_affinity, 1), (pod.preferred_anti_affinity, -1)):
            weighted += [(term.topology_key, self._column(term), sign * term.weight) for term in terms]
        hard = self.args.hard_pod_affinity_weight
        factors = {REQUIRED_AFFINITY: hard, PREFERRED_AFFINITY: 1, PREFERRED_ANTI_AFFINITY: -1}
        for column in carried:
            if factor := factors.get(column.role, 0):
                weight = factor if column.role == REQUIRED_AFFINITY else factor * column.term.weight
                weighted.append((column.term.topology_key, column, weight))
        topology = self.cluster.nodes.topology
        return [(key, topology(key), counts, weight) for key, counts, weight in weighted]

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return the sum of the weights of the node's domains."""
        total = None
        for topology, sums in state[_SCORE].items():
            mine = topology.over_nodes(sums)
            total = mine if total is None else total + mine
        return np.zeros(len(self.cluster.nodes), np.int64)[rows] if total is None else total[rows]

    def normalize(self, state: fwk.CycleState, pod: PodInfo, scores: fwk.Int64, rows: fwk.Rows) -> fwk.Int64:
        """Scale lowest..highest to 0..100, in float64."""
        weights: dict[Topology, fwk.Int64] = state[_SCORE]
        if not weights or not len(scores):
            return scores
        topology, sums = next(iter(weights.items()))
        # A plugin outside the tree that extends this one may have other scores.
        every = isinstance(rows, slice) and type(self).score is InterPodAffinity.score
        few = every and len(sums) <= _FEW and len(weights) == 1 and topology.missing is None
        if few:
            numbers = sums.tolist()
            lowest, highest = min(numbers), max(numbers)
        else:
            lowest, highest = scores.item(scores.argmin()), scores.item(scores.argmax())
        if self.cluster.release.affinity_scores_start_at_zero:
            lowest, highest = min(lowest, 0), max(highest, 0)
        if highest == lowest:
            return np.zeros_like(scores)
        most, span = float(self.max_score), float(highest - lowest)
        if few:
            return topology.over_nodes(np.array([int(most * ((number - lowest) / span)) for number in numbers]))
        return (most * ((scores - lowest) / span)).astype(np.int64)  # type: ignore[no-any-return]

    # ---- explanations

    def _near(self, view: View, topology_key: str) -> Iterator[PodInfo]:
        """Yield the pods in the node's domain; none if the node lacks the label."""
        ids = self.cluster.nodes.topology(topology_key).ids
        for row in np.flatnonzero(ids == ids[view.row]).tolist() if ids[view.row] >= 0 else ():
            yield from view.pods_on(row)

    def _carried(self, view: View, roles: Mapping[str, str]) -> Iterator[tuple[PodInfo, str, int]]:
        """Yield (pod, role, index of the term in that role) for each term in the node's domain that matches this pod.

        `roles`: role -> the attribute of PodInfo that has its terms.
        """
        labels, nodes = self.cluster.namespaces.get(view.pod.namespace, {}), self.cluster.nodes
        for row in range(len(nodes)):
            for pod in view.pods_on(row):
                for role, attribute in roles.items():
                    for i, term in enumerate(getattr(pod, attribute)):
                        ids = nodes.topology(term.topology_key).ids
                        if ids[row] == ids[view.row] >= 0 and term.matches(view.pod.namespace, labels, view.pod.labels):
                            yield pod, role, i

    def _meant(self, view: View, carrier: PodInfo, place: tuple[Step, ...], other: PodInfo) -> Tree:
        """Explain whether the term at `place` in the carrier's affinity matches the other pod."""
        inner = ("podAffinityTerm",) if place[1] == PREFERRED else ()
        owner = below(view.field, carrier, *_AFFINITY, *place, *inner)
        return term_selects(view, _term_at(carrier, place), owner, other, carrier)

    @classmethod
    def obstacle(cls, context: RejectionContext | None, status: fwk.Status) -> Obstacle:
        near = status.reasons[-1:] == NO_AFFINITY.reasons
        terms: Sequence[Term] = ()
        if context is not None:
            pod = context.pod
            terms = pod.required_affinity if near else pod.required_anti_affinity
        phrase = cls.phrases.get(status.reasons[-1] if status.reasons else "", "break its affinity to other pods")
        kind = causes.POD_AFFINITY if near else causes.POD_ANTI_AFFINITY
        names = tuple(selector_text(term.selector) for term in terms)
        return Obstacle(kind, cls.effort, phrase, names, terms[0].topology_key if terms else "")

    @staticmethod
    def rejection_detail(context: RejectionContext, row: int, status: fwk.Status) -> str:
        """Return the term that is not met and its domain, or the conflicting pods."""
        if status.reasons[-1:] == NO_AFFINITY.reasons:
            return _unattracted(context, row)
        if status.reasons[-1:] == ANTI_AFFINITY.reasons:
            return _repelled(context, row)
        return _unwelcome(context, row)

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        pod, name = view.pod, view.node.name
        parts, texts = [], []
        if pod.required_affinity:
            attracted = self._explain_attraction(view)
            parts.append(opposite(attracted, "the pod's required affinity is not met"))
            texts += [] if attracted.value else ["lacks a pod that this one wants to be near"]
        for i, term in enumerate(pod.required_anti_affinity):
            column, place = self._column(term), (ANTI, REQUIRED, i)
            others = [other for other in self._near(view, term.topology_key) if column.matches(other)]
            meant = [partial(self._meant, view, pod, place, other) for other in others]
            here = view.long_count(meant, "pods", f"pods in its {term.topology_key} that its anti-affinity excludes")
            parts.append(less(constant(0), here, f"anti-affinity term {i}"))
            texts += [f"{term.topology_key} has {others[0].key}, which its anti-affinity excludes"] if others else []
        carried = list(self._carried(view, {REQUIRED_ANTI_AFFINITY: "required_anti_affinity"}))
        meant = [partial(self._meant, view, other, (ANTI, REQUIRED, i), pod) for other, _, i in carried]
        here = view.long_count(meant, "pods", "pods in a common domain whose anti-affinity excludes this one")
        parts.append(less(constant(0), here, "anti-affinity of pods that run"))
        texts += [f"the anti-affinity of {carried[0][0].key} excludes this pod"] if carried else []
        return some(parts).with_text(f"{name}: {'; '.join(texts) or 'no affinity prevents it'}")

    def _explain_attraction(self, view: View) -> Tree:
        """True if the node's domains have pods that match every term, or if no pod anywhere matches and this pod is the
        first of its group."""
        pod, node = view.pod, view.node
        column = self._all_terms_column(pod.required_affinity)
        labelled, near, anywhere = [], [], []
        for i, term in enumerate(pod.required_affinity):
            key = view.field(pod, *_AFFINITY, NEAR, REQUIRED, i, "topologyKey")
            labelled.append(contains(view.field(node, "metadata", "labels", missing={}), key, "has the topology label"))
            matching = [other for other in self._near(view, term.topology_key) if column.matches(other)]
            meant = [partial(self._meant_by_all, view, other) for other in matching]
            here = view.long_count(meant, "pods", f"pods in its {term.topology_key} that match every term")
            near.append(less(constant(0), here, f"affinity term {i}"))
            topology = self.cluster.nodes.topology(term.topology_key)
            there = len(matching) if topology.ids[view.row] >= 0 else 0
            others = np.flatnonzero((topology.ids >= 0) & (topology.ids != topology.ids[view.row]))
            there += int(column.counts[others].sum())
            anywhere.append(over("count", there, len(topology.ids), f"pods with any {term.topology_key} that match"))
        together = every([*labelled, *near], "pods that match its affinity are there")
        if together.value:
            return together
        none_matches = equal(total(anywhere), constant(0), "no pod anywhere matches")
        where = [] if self._existing_first else labelled
        first = every([*where, none_matches, self._meant_by_all(view, pod)], "the first of a group may go anywhere")
        return some([together, first], "required affinity")

    def _meant_by_all(self, view: View, other: PodInfo) -> Tree:
        pod = view.pod
        terms = [self._meant(view, pod, (NEAR, REQUIRED, i), other) for i in range(len(pod.required_affinity))]
        return terms[0] if len(terms) == 1 else every(terms, f"{other.key} matches every term")

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        pod = view.pod
        parts: dict[int, list[Tree]] = {1: [], -1: []}
        for sign, side, terms in ((1, NEAR, pod.preferred_affinity), (-1, ANTI, pod.preferred_anti_affinity)):
            for i, term in enumerate(terms):
                column, place = self._column(term), (side, PREFERRED, i)
                others = [other for other in self._near(view, term.topology_key) if column.matches(other)]
                meant = [partial(self._meant, view, pod, place, other) for other in others]
                here = view.long_count(meant, "pods", f"pods in its {term.topology_key} that match")
                weight = view.field(pod, *_AFFINITY, *place, "weight", label="weight of the term")
                parts[sign].append(multiply(here, weight, f"{'affinity' if sign > 0 else 'anti-affinity'} term {i}"))
        preferred = pod.preferred_affinity or pod.preferred_anti_affinity
        if preferred or not self.args.ignore_preferred_terms_of_existing_pods:
            hard = {REQUIRED_AFFINITY: "required_affinity"} if self.args.hard_pod_affinity_weight else {}
            parts[1].append(self._explain_carried(view, hard | {PREFERRED_AFFINITY: "preferred_affinity"}))
            parts[-1].append(self._explain_carried(view, {PREFERRED_ANTI_AFFINITY: "preferred_anti_affinity"}))
        near, far = total(parts[1], "weights in favour of the node"), total(parts[-1], "weights against the node")
        tree = subtract(near, far)
        return tree.with_text(
            f"{tree.value} = {near.value} for pods to be near, less {far.value} for pods to be away from"
        )

    def _explain_carried(self, view: View, roles: Mapping[str, str]) -> Tree:
        """Explain the sum of the weights of running pods' terms that match this pod."""
        terms = []
        for other, role, i in self._carried(view, roles):
            hard = role == REQUIRED_AFFINITY
            weight = self.args.hard_pod_affinity_weight if hard else getattr(other, roles[role])[i].weight
            terms.append((weight, partial(self._explain_weight, view, other, role, i)))
        return view.long_sum(terms, "terms", f"weights of {' and '.join(roles)} terms of pods that match this one")

    def _explain_weight(self, view: View, other: PodInfo, role: str, i: int) -> Tree:
        side = ANTI if role == PREFERRED_ANTI_AFFINITY else NEAR
        place: tuple[Step, ...] = (side, REQUIRED if role == REQUIRED_AFFINITY else PREFERRED, i)
        weight = view.argument(self.name, "hardPodAffinityWeight")
        if role != REQUIRED_AFFINITY:
            weight = view.field(other, *_AFFINITY, *place, "weight")
        return either(self._meant(view, other, place, view.pod), weight, constant(0), f"{role} of {other.key}")

    def explain_normalize(self, state: fwk.CycleState, view: View, raw: Tree, scores: fwk.Int64) -> Tree:
        if not state.get(_SCORE):
            return raw
        least, most = extreme(view, scores, "min"), extreme(view, scores, "max")
        if self.cluster.release.affinity_scores_start_at_zero:
            none = constant(0, "not above 0"), constant(0, "not below 0")
            least, most = lowest([least, none[0]]), highest([most, none[1]])
        if least.value == most.value:
            tree = either(equal(most, least, "all alike"), constant(0), raw)
            return tree.with_text(f"0: all feasible nodes have the raw score {raw.value}")
        share = divide(subtract(raw, least), subtract(most, least), "position between lowest and highest")
        tree = truncated(multiply(max_node_score(self.max_score), share))
        between = f"{raw.value} lies between {least.value} and {most.value}, the lowest and highest raw score"
        return tree.with_text(f"{tree.value} = how far {between}, in {parts(self.max_score)}: {view.node.name}")

    # ---- events that may make a pod schedulable

    def sign(self, pod: PodInfo) -> signers.Fragments | None:
        """Return None for a pod with affinity terms: it has no signature. Otherwise its labels count, because preferred
        terms of other pods may match them."""
        affinity = pod.pod.spec.affinity
        if affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None):
            return None
        return {} if self.args.ignore_preferred_terms_of_existing_pods else {"labels": pod.labels}

    def events_to_register(self) -> list[events.EventHint]:
        pod_actions = [events.ADD, events.UPDATE_POD_LABEL, events.DELETE]
        return [
            events.registered(events.POD, *pod_actions, hint=self._after_pod_change),
            events.registered(events.NODE, events.ADD, events.UPDATE_NODE_LABEL, hint=self._after_node_change),
        ]

    def _after_pod_change(self, pod: PodInfo, old: PodInfo | None, new: PodInfo | None) -> bool:
        """Return whether a running pod now matches all affinity terms, or no longer matches all anti-affinity terms;
        from 1.37 on, any of them.

        From 1.36 on, nominated pods count as running, and also whether the pod's own labels changed or a deleted pod
        had anti-affinity to it.
        """
        release = self.cluster.release
        if release.queueing_hint_own_labels and old is not None and new is not None and new.key == pod.key:
            return True
        for other in (old, new):
            nominated = release.queueing_hint_nominated_neighbors and other is not None and other.nominated_node
            if other is not None and not other.node and not nominated:
                return False
        near, far = pod.required_affinity, pod.required_anti_affinity
        if new is not None and self._meets(near, new) and (old is None or not self._meets(near, old)):
            return True
        if old is None:
            return False
        violates = self._meets_any if release.queueing_hint_any_anti_affinity else self._meets
        if violates(far, old) and (new is None or not violates(far, new)):
            return True
        return release.queueing_hint_deleted_anti_affinity and new is None and violates(old.required_anti_affinity, pod)

    @staticmethod
    def _meets(terms: tuple[Term, ...], pod: PodInfo) -> bool:
        """Return whether the pod matches all terms; False if there are none. Upstream ignores namespace labels here."""
        return bool(terms) and all(term.matches(pod.namespace, {}, pod.labels) for term in terms)

    @staticmethod
    def _meets_any(terms: tuple[Term, ...], pod: PodInfo) -> bool:
        return any(term.matches(pod.namespace, {}, pod.labels) for term in terms)

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> bool:
        """Return whether a node joined or changed a domain of an affinity term, or left one of an
        anti-affinity term."""
        now = new.metadata.labels
        if old is None:
            return bool(pod.required_anti_affinity) or any(t.topology_key in now for t in pod.required_affinity)
        was = old.metadata.labels
        return any(
            term.topology_key in now and was.get(term.topology_key) != now[term.topology_key]
            for term in pod.required_affinity
        ) or any(
            term.topology_key in was and now.get(term.topology_key) != was[term.topology_key]
            for term in pod.required_anti_affinity
        )
