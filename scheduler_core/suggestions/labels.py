"""Edits for NodeAffinity and TaintToleration, and labels that a node lacks."""

from collections.abc import Iterable
from functools import partial

from scheduler_core.api.objects import Requirement, Taint
from scheduler_core.api.selector_text import NODE_NAME, missing, taint_text
from scheduler_core.cluster import formatting
from scheduler_core.cluster.spelling import likeness, nearest
from scheduler_core.forks.template_patch import Edit, Raw, TemplateEdit, all_of
from scheduler_core.suggestions.node_context import NodeContext

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
KIND = "node-selector"


def affinity(context: NodeContext) -> TemplateEdit | None:
    """Return the edit of the unmet part of the node selector and affinity; None if no edit of values is enough."""
    selector, lacks, term = _unmet(context)
    controller = context.pod.pod.metadata.controller_ref
    if controller is not None and controller.kind == "DaemonSet" and any(req.key == NODE_NAME for req in lacks):
        return None  # the DaemonSet controller made the pod for another node
    parts = [_selector_fitted(context, key, value) for key, value in selector.items()]
    parts += [_requirement_fitted(context, req, term) for req in lacks]
    found = [part for part in parts if part is not None]
    return all_of(KIND, found, "; and ") if found and len(found) == len(parts) else None


def wanted_labels(context: NodeContext) -> dict[str, str]:
    """Return the labels that the pod requires and the node has not, or has with another value."""
    selector, lacks, _ = _unmet(context)
    found = {}
    for req in [*(Requirement(key, "In", [value]) for key, value in selector.items()), *lacks]:
        match req.operator:
            case "In":
                found[req.key] = req.values[0]
            case "Exists":
                found[req.key] = ""
            case "Gt" | "Lt":
                found[req.key] = str(int(req.values[0]) + (1 if req.operator == "Gt" else -1))
    return found


def _unmet(context: NodeContext) -> tuple[dict[str, str], list[Requirement], int]:
    """Return (labels of the selector, requirements of the closest term, the number of this term) that do not match."""
    spec = context.pod.pod.spec
    selector = {k: v for k, v in (spec.node_selector or {}).items() if context.labels.get(k) != v}
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    terms = required.node_selector_terms if required is not None else []
    named = ((i, t) for i, t in enumerate(terms) if t.match_expressions + t.match_fields)
    lacks = [(missing(context.node, [term]), i) for i, term in named]
    return selector, *min(lacks, key=lambda pair: len(pair[0]), default=([], 0))


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


def _edit(text: str, why: str, cost: float, edit: Edit) -> TemplateEdit:
    return TemplateEdit(KIND, f"{text} ({why})" if why else text, edit, cost)


def _selector_fitted(context: NodeContext, key: str, value: str) -> TemplateEdit | None:
    has, why = context.labels.get(key), _absent(context, key, [value])
    if has is not None:
        cost = 1.0 - likeness(value, has) if why else 4.0
        text = f"select {key}={has}" + ("" if why else f" instead of {key}={value}")
        return _edit(text, why, cost, partial(_select, key, key, has))
    if context.values(key) or not (similar := nearest(key, context.labels)):
        return None
    other, has = similar[0], context.labels[similar[0]]
    return _edit(f"select {other}={has}", why, 0.2 if has == value else 1.0, partial(_select, key, other, has))


def _select(key: str, other: str, value: str, document: Raw) -> None:
    selector = document["spec"].setdefault("nodeSelector", {})
    selector.pop(key, None)
    selector[other] = value


def _requirement_fitted(context: NodeContext, req: Requirement, term: int) -> TemplateEdit | None:
    has = context.labels.get(req.key)
    if req.key == NODE_NAME:
        if req.operator != "In":
            return None
        gone = req.values[0] not in context.cluster.nodes.rows
        cost = 1.0 - likeness(req.values[0], context.name) if gone else 4.5
        why = f"node {req.values[0]} does not exist" if gone else ""
        put = partial(_put, term, req, "values", [context.name])
        return _edit(f"name {context.name} in the node affinity", why, cost, put)
    if req.operator == "In" and has is not None:
        why = _absent(context, req.key, req.values)
        if why:
            cost = 1.0 - max(likeness(value, has) for value in req.values)
            return _edit(f"require {req.key}={has}", why, cost, partial(_put, term, req, "values", [has]))
        cost = 6.0 if req.key.endswith(("/arch", "/os")) else 3.5
        put = partial(_put, term, req, "values", [*req.values, has])
        return _edit(f"allow {req.key}={has} as well", "", cost, put)
    if req.operator == "NotIn" and has is not None and len(req.values) > 1:
        left = [value for value in req.values if value != has]
        return _edit(f"allow {req.key}={has} as well", "", 3.5, partial(_put, term, req, "values", left))
    known = context.labels if not context.values(req.key) and req.operator in ("In", "Exists") else ()
    for other in nearest(req.key, known):
        if req.operator == "Exists" or context.labels[other] in req.values:
            why = f"label {req.key} is on no node"
            return _edit(f"require {other}", why, 0.3, partial(_put, term, req, "key", other))
    return None


def _put(term: int, req: Requirement, field: str, value: str | list[str], document: Raw) -> None:
    mine = document["spec"]["affinity"]["nodeAffinity"][_REQUIRED]["nodeSelectorTerms"][term]
    for part in ("matchExpressions", "matchFields"):
        for one in mine.get(part, []):
            if (one["key"], one["operator"], one.get("values", [])) == (req.key, req.operator, list(req.values)):
                one[field] = value


def toleration(taints: list[Taint]) -> TemplateEdit:
    """Return the edit that tolerates exactly these taints."""

    def edit(document: Raw) -> None:
        now = list(document["spec"].get("tolerations", []))
        for taint in taints:
            value = {"operator": "Equal", "value": taint.value} if taint.value else {"operator": "Exists"}
            now.append({"key": taint.key, **value, "effect": taint.effect})
        document["spec"]["tolerations"] = now

    return TemplateEdit("toleration", f"tolerate taint {formatting.listing(list(map(taint_text, taints)))}", edit)
