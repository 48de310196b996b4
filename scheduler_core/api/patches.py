"""Edits to objects as kubectl makes them: merge patches, cordons, taints. Each returns a new object."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from scheduler_core.api.objects import Node, Taint


def merge_patch(target: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7386) laid over a document."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def cordoned(node: Node, unschedulable: bool) -> Node:
    """The node, cordoned or not."""
    return replace(node, spec=replace(node.spec, unschedulable=unschedulable))


def tainted(node: Node, taint: Taint) -> Node:
    """The node with a taint, instead of one of the same key and effect."""
    kept = [t for t in node.spec.taints if (t.key, t.effect) != (taint.key, taint.effect)]
    return replace(node, spec=replace(node.spec, taints=[*kept, taint]))


def untainted(node: Node, key: str, effect: str = "") -> Node:
    """The node without the taints of a key; of one effect alone if that is said."""
    kept = [t for t in node.spec.taints if t.key != key or effect not in ("", t.effect)]
    return replace(node, spec=replace(node.spec, taints=kept))
