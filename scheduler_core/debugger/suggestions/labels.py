"""Steps for NodeAffinity and TaintToleration, which change the pod or the node."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from scheduler_core.api import selectors
from scheduler_core.api.objects import NodeSelectorTerm, Requirement, Taint
from scheduler_core.api.selector_text import NODE_NAME, missing
from scheduler_core.cluster import formatting
from scheduler_core.cluster.node_labels import GIVEN_LABELS
from scheduler_core.cluster.spelling import likeness, nearest
from scheduler_core.debugger.suggestions.node_context import NodeContext
from scheduler_core.debugger.suggestions.steps import Part, Raw, Step, combined, node_step, patch_of

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def affinity(context: NodeContext) -> list[Step]:
    """NodeAffinity: change the unmet part of the node selector or affinity, or label the node."""
    spec = context.pod.pod.spec
    selector = {k: v for k, v in (spec.node_selector or {}).items() if context.labels.get(k) != v}
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    lacks: list[Requirement] = []
    term = 0
    if required is not None and not _meets(context, required.node_selector_terms):
        lacks, term = _closest(context, required.node_selector_terms)
    controller = context.pod.pod.metadata.controller_ref
    if controller is not None and controller.kind == "DaemonSet" and any(req.key == NODE_NAME for req in lacks):
        return []  # the DaemonSet controller made the pod for another node
    parts = [_selector_fitted(context, key, value) for key, value in selector.items()]
    parts += [_requirement_fitted(context, req, term) for req in lacks]
    found = [combined([part for part in parts if part])] if parts and all(parts) else []
    labels = [Requirement(key, "In", [value]) for key, value in selector.items()] + lacks
    return [*found, *_labelled(context, labels)]


def _meets(context: NodeContext, terms: Iterable[NodeSelectorTerm]) -> bool:
    return any((t.match_expressions or t.match_fields) and not missing(context.node, [t]) for t in terms)


def _closest(context: NodeContext, terms: list[NodeSelectorTerm]) -> tuple[list[Requirement], int]:
    """Return (the requirements that the node does not meet in its closest term, the number of that term)."""
    named = ((i, term) for i, term in enumerate(terms) if term.match_expressions + term.match_fields)
    lacks = [(missing(context.node, [term]), i) for i, term in named]
    return min(lacks, key=lambda pair: len(pair[0]), default=([], 0))


def _absent(context: NodeContext, key: str, wanted: Iterable[str]) -> str:
    """Return a text such as `no node has zone=ITBG-4; zones are az1, az2`; "" if a node has the label value."""
    values = context.values(key)
    wanted = list(wanted)
    if any(value in values for value in wanted):
        return ""
    short = key.rpartition("/")[2]
    if not values:
        return f"no node has a label {key}"
    what = f"{key}={formatting.listing(wanted, 'or')}" if wanted else f"a label {key}"
    return f"no node has {what}; {short}s are {formatting.some(values, 5)}"


def _selector_fitted(context: NodeContext, key: str, value: str) -> Part | None:
    has, why = context.labels.get(key), _absent(context, key, [value])
    if has is not None:
        cost = 1.0 - likeness(value, has) if why else 4.0
        text = f"{why}: select {key}={has}" if why else f"select {key}={has} instead of {key}={value}"
        return text, cost, partial(_select, key, key, has)
    if context.values(key) or not (similar := nearest(key, context.labels)):
        return None
    other, has = similar[0], context.labels[similar[0]]
    return f"{why}: select {other}={has}", 0.2 if has == value else 1.0, partial(_select, key, other, has)


def _select(key: str, other: str, value: str, document: Raw) -> None:
    selector = document["spec"].setdefault("nodeSelector", {})
    selector.pop(key, None)
    selector[other] = value


def _terms(document: Raw) -> list[Raw]:
    terms: list[Raw] = document["spec"]["affinity"]["nodeAffinity"][_REQUIRED]["nodeSelectorTerms"]
    return terms


def _requirement_fitted(context: NodeContext, req: Requirement, term: int) -> Part | None:
    has = context.labels.get(req.key)
    if req.key == NODE_NAME:
        if req.operator != "In":
            return None
        gone = req.values[0] not in context.cluster.nodes.rows
        cost = 1.0 - likeness(req.values[0], context.name) if gone else 4.5
        why = f"node {req.values[0]} does not exist: " if gone else ""
        put = partial(_put, term, req, "values", [context.name])
        return f"{why}name {context.name} in the node affinity", cost, put
    if req.operator == "In" and has is not None:
        why = _absent(context, req.key, req.values)
        if why:
            cost = 1.0 - max(likeness(value, has) for value in req.values)
            return f"{why}: require {req.key}={has}", cost, partial(_put, term, req, "values", [has])
        cost = 6.0 if req.key.endswith(("/arch", "/os")) else 3.5
        return f"allow {req.key}={has} as well", cost, partial(_put, term, req, "values", [*req.values, has])
    if req.operator == "NotIn" and has is not None and len(req.values) > 1:
        left = [value for value in req.values if value != has]
        return f"allow {req.key}={has} as well", 3.5, partial(_put, term, req, "values", left)
    known = context.labels if not context.values(req.key) and req.operator in ("In", "Exists") else ()
    for other in nearest(req.key, known):
        if req.operator == "Exists" or context.labels[other] in req.values:
            text = f"label {req.key} is on no node: require {other}"
            return text, 0.3, partial(_put, term, req, "key", other)
    return None


def _each(document: Raw, term: int, req: Requirement) -> Iterable[tuple[list[Raw], Raw]]:
    for part in ("matchExpressions", "matchFields"):
        listed = _terms(document)[term].get(part, [])
        for one in list(listed):
            if (one["key"], one["operator"], one.get("values", [])) == (req.key, req.operator, list(req.values)):
                yield listed, one


def _put(term: int, req: Requirement, field: str, value: str | list[str], document: Raw) -> None:
    for _, one in _each(document, term, req):
        one[field] = value


def _labelled(context: NodeContext, wanted: list[Requirement]) -> list[Step]:
    labels: dict[str, str | None] = {}
    for req in wanted:
        if req.key in GIVEN_LABELS or req.key == NODE_NAME:
            return []
        match req.operator:
            case "In":
                labels[req.key] = req.values[0]
            case "Exists":
                labels[req.key] = ""
            case "NotIn" | "DoesNotExist":
                labels[req.key] = None
            case "Gt" | "Lt":
                labels[req.key] = str(int(req.values[0]) + (1 if req.operator == "Gt" else -1))
    if not labels:
        return []
    put = formatting.listing([f"{key}={value}" if value else key for key, value in labels.items() if value is not None])
    off = formatting.listing([key for key, value in labels.items() if value is None])
    parts = [f"label node {context.name} {put}"] * bool(put) + [f"remove label {off} from node {context.name}"] * bool(
        off
    )
    change = patch_of("Node", "", context.name, {"metadata": {"labels": labels}})
    return [node_step(context.name, formatting.listing(parts), 2.0, change)]


def not_tolerated(context: NodeContext) -> list[Taint]:
    tolerations = context.pod.pod.spec.tolerations
    taints = (t for t in context.node.spec.taints if t.effect in ("NoSchedule", "NoExecute"))
    return [t for t in taints if selectors.first_untolerated([t], tolerations, selectors.NO_SCHEDULE) is not None]


def tolerate(hard: tuple[Taint, ...], document: Raw) -> None:
    now = list(document["spec"].get("tolerations", []))
    for taint in hard:
        value = {"operator": "Equal", "value": taint.value} if taint.value else {"operator": "Exists"}
        now.append({"key": taint.key, **value, "effect": taint.effect})
    document["spec"]["tolerations"] = now
