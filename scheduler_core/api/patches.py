"""Edits of objects as kubectl makes them: merge patches, cordons, taints. Each function returns a new object."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from scheduler_core.api.objects import Node, Taint


def merge_patch(target: Any, patch: Any, keys: Mapping[str, str] = MappingProxyType({})) -> Any:
    """Apply a JSON merge patch (RFC 7386) to a document.

    `keys`: list -> the field by which a strategic merge patch finds its items; other lists are replaced as a whole.
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif key in keys and isinstance(value, list) and isinstance(merged.get(key), list):
            changes = {one[keys[key]]: one for one in value}
            merged[key] = [merge_patch(one, changes.get(one.get(keys[key]), {}), keys) for one in merged[key]]
        else:
            merged[key] = merge_patch(merged.get(key), value, keys)
    return merged


def difference(
    old: Mapping[str, Any], new: Mapping[str, Any], keys: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the merge patch from `old` to `new`, which have no null. `keys`: as of `merge_patch`.

    Raises LookupError if such a list has other items than before.
    """
    patch: dict[str, Any] = dict.fromkeys(key for key in old if key not in new)
    for key, value in new.items():
        before = old.get(key)
        if before == value and key in old:
            continue
        if isinstance(before, dict) and isinstance(value, dict):
            patch[key] = difference(before, value, keys)
        elif key in keys and isinstance(before, list) and isinstance(value, list):
            patch[key] = _items(keys[key], before, value, keys)
        else:
            patch[key] = value
    return patch


def _items(name: str, old: list[Any], new: list[Any], keys: Mapping[str, str]) -> list[Any]:
    names = [one.get(name) for one in old]
    if len({*names}) != len(names) or None in names or [one.get(name) for one in new] != names:
        raise LookupError(name)
    pairs = zip(old, new, strict=True)
    return [{name: one[name], **difference(one, other, keys)} for one, other in pairs if one != other]


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
