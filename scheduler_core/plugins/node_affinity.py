"""NodeAffinity: checks nodeSelector, node affinity and the affinity that the profile adds to every pod.

Upstream: pkg/scheduler/framework/plugins/nodeaffinity.
"""

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import msgspec
import numpy as np

from scheduler_core.api import objects, selectors
from scheduler_core.api.objects import Requirement
from scheduler_core.api.plugin_args import (
    Complain,
    Int32,
    PluginArgs,
    Strict,
    check_choice,
    check_qualified_name,
    convert_problem,
)
from scheduler_core.api.selector_text import NODE_NAME, meets, missing, requirement, unmet_text
from scheduler_core.api.syntax import label_value_problem, shown
from scheduler_core.cluster import formatting, node_matching
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.node_labels import FIXED_LABELS, TOPOLOGY_LABELS
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.spelling import alike
from scheduler_core.framework import causes, events, signers
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.provenance.context import View
from scheduler_core.provenance.matching import PREFERRED, REQUIRED, any_term, below, node_term, required_nodes
from scheduler_core.provenance.tree import Tree, constant, contains, either, every, opposite, some, total

NOT_MATCHED = fwk.unresolvable("node(s) didn't match Pod's node affinity/selector")
OLD_NOT_MATCHED = fwk.unresolvable("node(s) didn't match Pod's node affinity")
OLDEST_NOT_MATCHED = fwk.unresolvable("node(s) didn't match node selector")
NOT_ENFORCED = fwk.unresolvable("node(s) didn't match scheduler-enforced node affinity")
CONFLICT = fwk.unresolvable("pod affinity terms conflict")

_NODE_AFFINITY = ("spec", "affinity", "nodeAffinity")


class _Requirement(Strict, frozen=True, kw_only=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class _Term(Strict, frozen=True, kw_only=True):
    match_expressions: tuple[_Requirement, ...] = ()
    match_fields: tuple[_Requirement, ...] = ()


class _NodeSelector(Strict, frozen=True, kw_only=True):
    node_selector_terms: tuple[_Term, ...] = ()


class _PreferredTerm(Strict, frozen=True, kw_only=True):
    weight: Int32 = 0
    preference: _Term = _Term()


class _NodeAffinity(Strict, frozen=True, kw_only=True):
    required: _NodeSelector | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: tuple[_PreferredTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class NodeAffinityArgs(PluginArgs, frozen=True, kw_only=True):
    """Arguments of NodeAffinity.

    `added_affinity` is a v1 NodeAffinity (validated, not decoded) that every pod must also satisfy.
    """

    nested_types: ClassVar[dict[str, type]] = {"addedAffinity": _NodeAffinity}

    added_affinity: dict[str, Any] | None = None

    def finish(self, complain: Complain) -> Self:
        if self.added_affinity is not None:
            check_node_affinity(complain, self.added_affinity)
        return self


def check_node_affinity(complain: Complain, affinity: dict[str, Any]) -> None:
    """Validate as upstream's nodeaffinity.NewNodeSelector and NewPreferredSchedulingTerms.

    Terms of weight 0 are skipped, as upstream does.
    """
    try:
        parsed = msgspec.convert(affinity, _NodeAffinity)
    except msgspec.ValidationError as error:
        problem, field = convert_problem(error)
        complain(f"addedAffinity.{field}".rstrip("."), problem)
    path = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    for i, term in enumerate(parsed.required.node_selector_terms if parsed.required else ()):
        check_term(complain, f"{path}[{i}]", term)
    path = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    for i, preferred in enumerate(parsed.preferred):
        if preferred.weight:
            check_term(complain, f"{path}[{i}].preference", preferred.preference)


def check_term(complain: Complain, path: str, term: _Term) -> None:
    for i, expression in enumerate(term.match_expressions):
        check_expression(complain, f"{path}.matchExpressions[{i}]", expression)
    for i, field in enumerate(term.match_fields):
        at = f"{path}.matchFields[{i}]"
        check_choice(complain, f"{at}.operator", field.operator, ("In", "NotIn"))
        if len(field.values) != 1:
            complain(f"{at}.values", f"must have one element, got {len(field.values)}")


def check_expression(complain: Complain, path: str, expression: _Requirement) -> None:
    """Validate as upstream's labels.NewRequirement."""
    check_choice(
        complain, f"{path}.operator", expression.operator, ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
    )
    check_qualified_name(complain, f"{path}.key", expression.key)
    values, at = expression.values, f"{path}.values"
    match expression.operator:
        case "In" | "NotIn" if not values:
            complain(at, f"must not be empty for {expression.operator}")
        case "Exists" | "DoesNotExist" if values:
            complain(at, f"must be empty for {expression.operator}")
        case "Gt" | "Lt" if len(values) != 1 or not re.fullmatch(r"[+-]?\d{1,19}", values[0]):
            complain(at, f"must be one integer for {expression.operator}, got {list(values)}")
    for i, value in enumerate(values):
        if problem := label_value_problem(value):
            complain(f"{at}[{i}]", f"{problem}, got {shown(value)}")


def lacked(pod: PodInfo, node: objects.Node) -> list[Requirement]:
    """Return the requirements of the pod's node selector, and of its closest term of required node affinity, that the
    node does not meet."""
    spec = pod.pod.spec
    wanted = [Requirement(key, "In", [value]) for key, value in (spec.node_selector or {}).items()]
    lacks = [r for r in wanted if not meets(r, node.metadata.labels)]
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    if required is not None:
        lacks += [r for r in missing(node, required.node_selector_terms) if r not in lacks]
    return lacks


def _selected_keys(pod: PodInfo) -> tuple[list[str], frozenset[str]]:
    """Return the labels by which the pod selects nodes, and the nodes that it names."""
    spec = pod.pod.spec
    keys, names = dict.fromkeys(spec.node_selector or {}), set[str]()
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    for term in required.node_selector_terms if required is not None else ():
        keys |= dict.fromkeys(r.key for r in term.match_expressions)
        names |= {value for r in term.match_fields for value in r.values}
    return list(keys), frozenset(names)


def _not_selected(context: RejectionContext, node: objects.Node, lacks: Sequence[Requirement]) -> Obstacle:
    texts = [requirement(r) for r in lacks]
    excluded = [text for text, r in zip(texts, lacks, strict=True) if r.operator in ("NotIn", "DoesNotExist")]
    named = [r for r in lacks if r.key in (NODE_NAME, "kubernetes.io/hostname")]
    effort = sum(_effort(context, node, r) for r in lacks)
    if named:
        others = [text for text, r in zip(texts, lacks, strict=True) if r not in named]
        phrase = f"are not {formatting.listing([v for r in named for v in r.values][:3], 'or')}"
        phrase = f"{phrase} and do not have {formatting.listing(others)}" if others else phrase
    else:
        required = [text for text in texts if text not in excluded]
        parts = [f"do not have {formatting.listing(required)}"] if required else []
        parts += [f"are excluded by {formatting.listing(excluded)}"] if excluded else []
        phrase = formatting.listing(parts)
    domain = lacks[0].key if len(lacks) == 1 and lacks[0].key in TOPOLOGY_LABELS else ""
    return Obstacle(causes.NODE_SELECTOR, effort, phrase, tuple(texts), domain)


def _effort(context: RejectionContext, node: objects.Node, wanted: Requirement) -> float:
    """Return the effort to change a requirement: small for what looks like a typing error, none is sensible if a
    controller made the pod for another node."""
    key = ("requirement", wanted.key, wanted.operator, tuple(wanted.values))
    exists = context.nodes.memo(key, lambda: _is_met(context, wanted))
    if wanted.key == NODE_NAME and exists:
        return causes.NEVER
    if wanted.key in FIXED_LABELS or wanted.key == NODE_NAME:
        return 3.0
    if not exists and wanted.operator == "In" and wanted.key != "kubernetes.io/hostname":
        labels = node.metadata.labels
        if any(alike(value, labels.get(wanted.key, "")) for value in wanted.values):
            return causes.TYPING_ERROR
        if any(value in wanted.values and alike(key, wanted.key) for key, value in labels.items()):
            return causes.TYPING_ERROR
    return 2.0


def _is_met(context: RejectionContext, wanted: Requirement) -> bool:
    if wanted.key == NODE_NAME:
        return any(name in context.nodes.rows for name in wanted.values)
    return any(meets(wanted, node.metadata.labels) for node in context.nodes.nodes)


class NodeAffinity(fwk.PreFilterPlugin, fwk.FilterPlugin, fwk.PreScorePlugin, fwk.HighestNormalized):
    name = "NodeAffinity"
    cause = causes.NODE_SELECTOR
    best = "the one that the pod's node affinity prefers"
    args_class = NodeAffinityArgs
    pod_fields = ("nodeSelector", "nodeAffinity")
    precise_node_updates = "once"
    kubelet_admits = True
    reads = "node_constraints"
    narrows_nodes = True
    phrases = {
        NOT_MATCHED.message: "do not match its node selector or affinity",
        OLD_NOT_MATCHED.message: "do not match its node selector or affinity",
        OLDEST_NOT_MATCHED.message: "do not match its node selector or affinity",
        NOT_ENFORCED.message: "do not match the affinity that the profile adds",
    }

    def __init__(self, args: Any, cluster: Cluster) -> None:
        super().__init__(args, cluster)
        added = getattr(args, "added_affinity", None)
        where = "NodeAffinityArgs.addedAffinity"
        self.added = objects.convert(msgspec.to_builtins(added), objects.NodeAffinity, where) if added else None
        if self.added is not None and self.added.required is not None:
            objects.check_node_terms(self.added.required.node_selector_terms, where, "required")

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Skip if the pod has no constraints; otherwise restrict the nodes to those that all terms name by
        metadata.name."""
        affinity = pod.pod.spec.affinity
        required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
        enforced = self.added is not None and self.added.required is not None
        if required is None and not enforced and pod.pod.spec.node_selector is None:
            return fwk.SKIPPED
        if (
            required is None
            or not required.node_selector_terms
            or not self.cluster.release.node_affinity_prefilters_nodes
        ):
            return None
        names: set[str] = set()
        for term in required.node_selector_terms:
            lists = [req.values for req in term.match_fields if req.key == "metadata.name" and req.operator == "In"]
            if not lists:
                return None
            names |= set.intersection(*map(set, lists))
        return fwk.PreFilterResult(frozenset(names)) if names else CONFLICT

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        nodes = self.cluster.nodes
        if self.added is None or self.added.required is None:
            if pod.node_selection is None:
                return fwk.PASSES
            return nodes.memo((self.name, pod.node_selection), lambda: self._verdict(pod))
        return self._verdict(pod)

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.OBJECTS

    def _verdict(self, pod: PodInfo) -> fwk.Verdict:
        nodes = self.cluster.nodes
        mask = node_matching.required_mask(nodes, pod)
        wanted = np.ones(len(nodes), np.bool_) if mask is None else mask
        not_matched = NOT_MATCHED if self.cluster.release.node_affinity_reason_reworded else OLD_NOT_MATCHED
        not_matched = not_matched if self.cluster.release.node_affinity_reason_names_affinity else OLDEST_NOT_MATCHED
        if self.added is None or self.added.required is None:
            return fwk.Verdict.reject(~wanted, not_matched)
        terms = self.added.required.node_selector_terms
        enforced = nodes.memo((self.name, "added"), lambda: node_matching.terms_mask(nodes, terms))
        return fwk.Verdict.choose((~enforced, NOT_ENFORCED), (~wanted, not_matched))

    def pre_score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Status | None:
        added = bool(self.added and self.added.preferred)
        if self.cluster.release.affinity_prescore_skips and not added and not self._preferred(pod):
            return fwk.SKIPPED
        return None

    def _preferred(self, pod: PodInfo) -> list[objects.PreferredSchedulingTerm]:
        affinity = pod.pod.spec.affinity
        terms = affinity.node_affinity.preferred if affinity and affinity.node_affinity else []
        if not self.cluster.release.preferred_affinity_ignores_fields:
            return terms
        preferences = [objects.NodeSelectorTerm(term.preference.match_expressions) for term in terms]
        pairs = zip(terms, preferences, strict=True)
        return [objects.PreferredSchedulingTerm(term.weight, preference) for term, preference in pairs]

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Return the sum of the weights of the preferred terms that a node matches."""
        nodes = self.cluster.nodes
        terms = [*(self.added.preferred if self.added else ()), *self._preferred(pod)]
        key = (self.name, "score", msgspec.json.encode(terms))

        def make() -> fwk.Int64:
            total = np.zeros(len(nodes), np.int64)
            for term in terms:
                total[node_matching.term_mask(nodes, term.preference)] += term.weight
            return total

        return nodes.memo(key, make)[rows]

    # ---- explanations

    def explain_pre_filter(self, state: fwk.CycleState, view: View) -> Tree:
        """True if no single node has all names that the terms require by metadata.name."""
        affinity = view.pod.pod.spec.affinity
        required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
        wanted = []
        for i, term in enumerate(required.node_selector_terms if required else ()):
            mine = below(view.field, view.pod, *_NODE_AFFINITY, REQUIRED, "nodeSelectorTerms", i)
            lists = [mine("matchFields", j, "values") for j in range(len(term.match_fields))]
            names = {name for leaf in lists for name in leaf.value}
            common = [every([contains(leaf, constant(name, "name")) for leaf in lists], name) for name in sorted(names)]
            wanted.append(some(common, f"term {i} names a node"))
        return opposite(some(wanted)).with_text("The pod's terms name nodes that no single node can be")

    @classmethod
    def pod_obstacle(cls, context: RejectionContext | None, status: fwk.Status) -> Obstacle:
        text = "Its terms of required node affinity name nodes that no single node can be."
        return Obstacle(cls.cause, cls.effort, text)

    @classmethod
    def obstacles(
        cls, context: RejectionContext | None, rows: Sequence[int], status: fwk.Status
    ) -> list[tuple[Obstacle, ...]]:
        usual = (cls.obstacle(context, status),)
        if context is None or status.reasons == NOT_ENFORCED.reasons:
            return [usual] * len(rows)
        keys, names = _selected_keys(context.pod)
        known: dict[tuple[str | None, ...], tuple[Obstacle, ...]] = {}
        found = []
        for row in rows:
            node = context.nodes.nodes[row]
            values = tuple(map(node.metadata.labels.get, keys)) + ((node.name,) if node.name in names else ())
            if values not in known:
                lacks = lacked(context.pod, node)
                known[values] = (_not_selected(context, node, lacks),) if lacks else usual
            found.append(known[values])
        return found

    @staticmethod
    def rejection_detail(context: RejectionContext, row: int, status: fwk.Status) -> str:
        """Return the labels of the node selector, and the closest term of the required affinity."""
        node = context.nodes.nodes[row]
        lacks = lacked(context.pod, node)
        if lacks:
            return unmet_text(node, lacks, "the pod wants")
        added = getattr(context.plugin("NodeAffinity"), "added", None)
        if added is None or added.required is None:
            return ""
        return unmet_text(node, missing(node, added.required.node_selector_terms), "the profile wants")

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        wanted, name = required_nodes(view, view.pod), view.node.name
        text = (
            "meets the pod's node constraints" if wanted.value else "does not match the pod's node selector or affinity"
        )
        parts = [opposite(wanted, "does not match")]
        if self.added is not None and self.added.required is not None:
            owner = below(view.argument, self.name, "addedAffinity", REQUIRED, "nodeSelectorTerms")
            enforced = any_term(view, view.node, self.added.required.node_selector_terms, owner)
            parts.insert(0, opposite(enforced, "does not match what the profile adds"))
            text = text if enforced.value else "does not match the affinity that the profile adds"
        return some(parts).with_text(f"{name} {text}")

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        parts = []
        places = [
            below(view.argument, self.name, "addedAffinity", PREFERRED),
            below(view.field, view.pod, *_NODE_AFFINITY, PREFERRED),
        ]
        for terms, owner in zip(
            (self.added.preferred if self.added else (), self._preferred(view.pod)), places, strict=True
        ):
            for i, term in enumerate(terms):
                met = node_term(view, view.node, term.preference, below(owner, i, "preference"))
                parts.append(either(met, owner(i, "weight"), constant(0), f"preferred term {i}"))
        met_count = sum(part.value > 0 for part in parts)
        tree = total(parts, "weights of the preferred terms that the node meets")
        return tree.with_text(
            f"{tree.value} = the weights of {met_count} of {len(parts)} preferred terms that {view.node.name} meets"
        )

    sign = staticmethod(signers.node_affinity)

    def events_to_register(self) -> list[events.EventHint]:
        return [events.registered(events.NODE, events.ADD, events.UPDATE_NODE_LABEL, hint=self._after_node_change)]

    def _after_node_change(self, pod: PodInfo, old: objects.Node | None, new: objects.Node) -> bool:
        """Return whether the node matches now and, if it was updated, did not match before."""
        added = self.added.required.node_selector_terms if self.added and self.added.required else None
        if added is not None and not selectors.any_term_matches(added, new):
            return False
        matched = old is not None and node_matching.required_matches(pod, old)
        return not matched and node_matching.required_matches(pod, new)
