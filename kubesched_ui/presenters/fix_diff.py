"""A suggested fix as a diff of the YAML of the object that a person edits."""

import difflib
from collections.abc import Mapping
from typing import Any, NamedTuple

from kubesched_ui.ingest.yaml_writer import to_yaml
from scheduler_core.api.patches import merge_patch
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.forks.template_patch import MERGE_KEYS, of_template


class DiffLine(NamedTuple):
    """A line of a diff. `mark`: `+`, `-` or a space."""

    mark: str
    text: str


def template_of(pod: PodInfo, raw: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the part of a pod's controller that has the pod's template. `raw`: the pod's manifest."""
    return {"spec": {"template": of_template(pod, {"spec": raw.get("spec") or {}}, kind == "DaemonSet")}}


def diff_of(before: Mapping[str, Any], patch: Any) -> list[DiffLine]:
    """Return what a patch changes in an object: the changed fields with the fields around them."""
    if not isinstance(patch, dict):
        return []
    narrowed = (_narrowed(one, patch) for one in (before, merge_patch(before, patch, MERGE_KEYS)))
    old, new = ([line.removesuffix(" {}") for line in to_yaml(one).splitlines()] for one in narrowed)
    lines = list(difflib.unified_diff(old, new, n=len(old), lineterm=""))[3:]
    return [DiffLine(line[:1], line[1:]) for line in lines]


def _narrowed(document: Any, patch: Any) -> Any:
    """Return the fields of a document that a patch names."""
    if not isinstance(document, Mapping) or not isinstance(patch, dict):
        return document
    found: dict[str, Any] = {}
    for key in (key for key in document if key in patch):
        items, changes = document[key], patch[key]
        named = MERGE_KEYS.get(key, "")
        if named and isinstance(items, list) and isinstance(changes, list):
            by_name = {one.get(named): one for one in changes}
            items = [one for one in items if one.get(named) in by_name]
            found[key] = [{named: one[named], **_narrowed(one, by_name[one[named]])} for one in items]
        else:
            found[key] = _narrowed(items, changes)
    return found
