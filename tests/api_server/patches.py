"""Patches of the API server by content type.

Source: apimachinery/pkg/util/strategicpatch/patch.go and the patchMergeKey tags of k8s.io/api, as far as kubectl uses
them here; RFC 6902 for JSON patches.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

_KEYS = {
    **dict.fromkeys(("containers", "initContainers", "volumes", "env", "imagePullSecrets", "schedulingGates"), "name"),
    **{"ports": "containerPort", "topologySpreadConstraints": "topologyKey", "ownerReferences": "uid"},
    **{"taints": "key", "conditions": "type"},
}


def merge_patch(obj: Any, patch: Any) -> Any:
    """Return an object after a JSON merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(obj) if isinstance(obj, dict) else {}
    for field, value in patch.items():
        if value is None:
            merged.pop(field, None)
        else:
            merged[field] = merge_patch(merged.get(field), value)
    return merged


def strategic_merge_patch(target: Any, patch: Any) -> Any:
    """Apply a strategic merge patch. A list without a merge key is replaced."""
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            merged.pop(key, None)
        elif key in _KEYS and isinstance(value, list):
            merged[key] = _merged_list(_KEYS[key], merged.get(key) or [], value)
        else:
            merged[key] = strategic_merge_patch(merged.get(key), value)
    return merged


def _merged_list(key: str, items: list[Any], patch: list[Any]) -> list[Any]:
    found = list(items)
    for one in patch:
        place = next((i for i, item in enumerate(found) if item.get(key) == one.get(key)), None)
        if one.get("$patch") == "delete":
            found = [item for item in found if item.get(key) != one.get(key)]
        elif place is None:
            found.append(strategic_merge_patch({}, one))
        else:
            found[place] = strategic_merge_patch(found[place], one)
    return found


def json_patch(target: Any, operations: list[Any]) -> Any:
    """Apply the operations add, replace and remove. Raises KeyError or IndexError for a path that does not exist."""
    result = copy.deepcopy(target)
    for operation in operations:
        *path, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        parent = result
        for part in path:
            parent = parent[int(part)] if isinstance(parent, list) else parent[part]
        place: Any = last if isinstance(parent, dict) else len(parent) if last == "-" else int(last)
        if operation["op"] == "remove":
            del parent[place]
        elif operation["op"] == "add" and isinstance(parent, list):
            parent.insert(place, operation["value"])
        else:
            parent[place] = operation["value"]
    return result


PATCHES: dict[str, Callable[[Any, Any], Any]] = {
    "application/merge-patch+json": merge_patch,
    "application/strategic-merge-patch+json": strategic_merge_patch,
    "application/json-patch+json": json_patch,
}
