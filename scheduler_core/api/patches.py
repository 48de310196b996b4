"""Edits of objects as kubectl makes them: merge patches, cordons, taints. Each function returns a new object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from scheduler_core.api.objects import Node, Taint


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7386) to a document."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch from `old` to `new`, which have no null; lists are replaced as a whole."""
    patch: dict[str, Any] = dict.fromkeys(key for key in old if key not in new)
    for key, value in new.items():
        before = old.get(key)
        if before != value or key not in old:
            nested = isinstance(before, dict) and isinstance(value, dict)
            patch[key] = difference(before, value) if nested else value  # type: ignore[arg-type]
    return patch


def cordoned(node: Node, unschedulable: bool) -> Node:
    """Return the node, cordoned or uncordoned."""
    return replace(node, spec=replace(node.spec, unschedulable=unschedulable))


def tainted(node: Node, taint: Taint) -> Node:
    """Return the node with a taint, which replaces one with the same key and effect."""
    kept = [t for t in node.spec.taints if (t.key, t.effect) != (taint.key, taint.effect)]
    return replace(node, spec=replace(node.spec, taints=[*kept, taint]))


def untainted(node: Node, key: str, effect: str = "") -> Node:
    """Return the node without the taints with this key and, if given, this effect."""
    kept = [t for t in node.spec.taints if t.key != key or effect not in ("", t.effect)]
    return replace(node, spec=replace(node.spec, taints=kept))
