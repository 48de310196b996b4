"""Labels that a node lacks for node selectors and node affinity, of pods and of volumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scheduler_core.api import selectors
from scheduler_core.api.objects import Node, NodeSelectorTerm, Requirement
from scheduler_core.api.selectors import Selector
from scheduler_core.explain.context import Scene
from scheduler_core.framework.interface import Status

NAME = "metadata.name"


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
        lacks = [r for r in term.match_expressions if not _met(r, node.metadata.labels)]
        lacks += [r for r in term.match_fields if not _met(r, {NAME: node.name})]
        if best is None or len(lacks) < len(best):
            best = lacks
    return best or []


def _met(req: Requirement, labels: Mapping[str, str]) -> bool:
    return selectors.requirement_matches(req, labels.get(req.key))


def told(node: Node, lacks: Sequence[Requirement], who: str) -> str:
    """Return the requirements that the node does not meet, with the labels that it has instead."""
    details = []
    for req in lacks:
        has = node.metadata.labels.get(req.key)
        instead = f" (the node has {req.key}={has})" if has is not None else " (the node has no such label)"
        details.append(f"{who} {requirement(req)}{'' if req.key == NAME else instead}")
    return "; ".join(details)


def node_affinity(scene: Scene, row: int, status: Status) -> str:
    """NodeAffinity: the labels of the node selector, and the closest term of the required affinity."""
    node, spec = scene.nodes.nodes[row], scene.pod.pod.spec
    wanted = [Requirement(key, "In", [value]) for key, value in (spec.node_selector or {}).items()]
    lacks = [r for r in wanted if not _met(r, node.metadata.labels)]
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    if required is not None:
        lacks += [r for r in missing(node, required.node_selector_terms) if r not in lacks]
    if lacks:
        return told(node, lacks, "the pod wants")
    added = getattr(scene.plugin("NodeAffinity"), "added", None)
    if added is None or added.required is None:
        return ""
    return told(node, missing(node, added.required.node_selector_terms), "the profile wants")
