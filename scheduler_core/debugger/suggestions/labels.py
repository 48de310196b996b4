"""Steps for NodeAffinity, TaintToleration and NodeUnschedulable, which change the pod or the node."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import msgspec

from scheduler_core.api import selectors
from scheduler_core.api.objects import NodeSelectorTerm, Requirement, Taint
from scheduler_core.api.selector_text import NODE_NAME, missing, requirement
from scheduler_core.cluster import formatting
from scheduler_core.debugger.mutations import Change
from scheduler_core.debugger.suggestions.node_context import (
    BROKEN,
    CORDONED,
    GIVEN_LABELS,
    NodeContext,
    is_ready,
    likeness,
    nearest,
)
from scheduler_core.debugger.suggestions.steps import POD, Part, Raw, Step, combined, node_step, patch_of
from scheduler_core.virtual_time.object_diff_text import taint_text
from scheduler_core.virtual_time.scenario import NodeTaint

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
    fitted = [_selector_fitted(context, key, value) for key, value in selector.items()]
    fitted += [_requirement_fitted(context, req, term) for req in lacks]
    dropped = [_selector_dropped(context, key, value) for key, value in selector.items()]
    dropped += [_requirement_dropped(context, req, term) for req in lacks]
    if required is not None and not lacks and not _meets(context, required.node_selector_terms):
        dropped.append(("drop the required node affinity, which no node can meet", 4.0, _drop_required))
    found = [combined([part for part in parts if part]) for parts in (fitted, dropped) if parts and all(parts)]
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


def _selector_dropped(context: NodeContext, key: str, value: str) -> Part:
    why = _absent(context, key, [value])
    text = f"do not select {key}={value}"
    return (f"{why}: {text}", 2.0, partial(_unselect, key)) if why else (text, 4.5, partial(_unselect, key))


def _unselect(key: str, document: Raw) -> None:
    document["spec"]["nodeSelector"].pop(key, None)
    if not document["spec"]["nodeSelector"]:
        del document["spec"]["nodeSelector"]


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


def _requirement_dropped(context: NodeContext, req: Requirement, term: int) -> Part:
    why = _absent(context, req.key, req.values) if req.operator == "In" and req.key != NODE_NAME else ""
    text, edit = f"do not require {requirement(req)} in the node affinity", partial(_unrequire, term, req)
    return (f"{why}: {text}", 2.2, edit) if why else (text, 4.5, edit)


def _unrequire(term: int, req: Requirement, document: Raw) -> None:
    for listed, one in _each(document, term, req):
        listed.remove(one)
    now = _terms(document)[term]
    if not now.get("matchExpressions") and not now.get("matchFields"):  # an empty term matches nothing
        _drop_required(document)


def _drop_required(document: Raw) -> None:
    node = document["spec"]["affinity"]["nodeAffinity"]
    node.pop(_REQUIRED, None)
    if not node:
        document["spec"]["affinity"].pop("nodeAffinity")


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


def taints(context: NodeContext) -> list[Step]:
    """TaintToleration: tolerate the taints or remove them, except for taints that mark a broken node."""
    hard = not_tolerated(context)
    if not hard or any(taint.key in BROKEN for taint in hard):
        return []
    text = formatting.listing([taint_text(taint) for taint in hard])
    cost = len(hard) + 4.0 * any(taint.key == CORDONED for taint in hard)
    cost += sum(2.5 for taint in hard if taint.key.startswith("node-role.kubernetes.io/"))
    found = [Step(f"tolerate {text}", POD, cost, partial(tolerate, tuple(hard)))]
    if is_ready(context.node):
        changes = tuple(Change(untaint=_untaint(context.name, t)) for t in hard)
        cost = sum(0.5 if t.key == CORDONED else 1.5 for t in hard)
        found.append(node_step(context.name, f"remove taint {text} from node {context.name}", cost, *changes))
    return found


def _untaint(node: str, taint: Taint) -> NodeTaint:
    return msgspec.convert({"node": node, "key": taint.key, "effect": taint.effect}, NodeTaint)


def tolerate(hard: tuple[Taint, ...], document: Raw) -> None:
    now = list(document["spec"].get("tolerations", []))
    for taint in hard:
        value = {"operator": "Equal", "value": taint.value} if taint.value else {"operator": "Exists"}
        now.append({"key": taint.key, **value, "effect": taint.effect})
    document["spec"]["tolerations"] = now


def cordon(context: NodeContext) -> list[Step]:
    """NodeUnschedulable: uncordon the node if it is ready, or let the pod tolerate the taint."""
    found = []
    if is_ready(context.node):
        found.append(node_step(context.name, f"uncordon node {context.name}", 0.5, Change(uncordon=context.name)))
    edit = partial(tolerate, (Taint(CORDONED, "", "NoSchedule"),))
    return [*found, Step(f"tolerate {CORDONED}:NoSchedule, the taint of cordoned nodes", POD, 5.0, edit)]
