"""Text of selectors, and the requirements that a node does not meet."""

from collections.abc import Mapping, Sequence

from scheduler_core.api import selectors
from scheduler_core.api.objects import Node, NodeSelectorTerm, Requirement, Taint
from scheduler_core.api.selectors import Selector

NODE_NAME = "metadata.name"


def requirement(req: Requirement) -> str:
    """Return `disktype=ssd`, `zone in (a, b)`, `label gpu`, `cores > 4`."""
    values = ", ".join(req.values)
    match req.operator:
        case "In":
            return f"{req.key}={values}" if len(req.values) == 1 else f"{req.key} in ({values})"
        case "NotIn":
            return f"{req.key} not in ({values})"
        case "Exists":
            return f"label {req.key}"
        case "DoesNotExist":
            return f"no label {req.key}"
    return f"{req.key} {'>' if req.operator == 'Gt' else '<'} {values}"


def taint_text(taint: Taint) -> str:
    """Return a taint as kubectl writes it: `key=value:Effect`, or `key:Effect`."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def selector_text(selector: Selector) -> str:
    """Return a compiled label selector as text."""
    if selector.key is None:
        return "nothing"
    parts = [requirement(Requirement(key, operator, list(values))) for key, operator, values in selector.key]
    return ", ".join(parts) or "any pod"


def missing(node: Node, terms: Sequence[NodeSelectorTerm]) -> list[Requirement]:
    """Return what the node lacks for its closest term; empty if it matches one, or if no term can be matched."""
    best: list[Requirement] | None = None
    for term in terms:
        lacks = [r for r in term.match_expressions if not meets(r, node.metadata.labels)]
        lacks += [r for r in term.match_fields if not meets(r, {NODE_NAME: node.name})]
        if best is None or len(lacks) < len(best):
            best = lacks
    return best or []


def meets(req: Requirement, labels: Mapping[str, str]) -> bool:
    return selectors.requirement_matches(req, labels.get(req.key))


def unmet_text(node: Node, lacks: Sequence[Requirement], who: str) -> str:
    """Return the requirements that the node does not meet, with the labels that it has instead."""
    details = []
    for req in lacks:
        has = node.metadata.labels.get(req.key)
        instead = f" (the node has {req.key}={has})" if has is not None else " (the node has no such label)"
        details.append(f"{who} {requirement(req)}{'' if req.key == NODE_NAME else instead}")
    return "; ".join(details)
