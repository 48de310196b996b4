"""Converts objects of old API versions to the current one, as far as a difference affects scheduling."""

from __future__ import annotations

from typing import Any

from kubesched_ui.ingest.kinds import Kind


def normalise(obj: dict[str, Any], kind: Kind, api_version: str, namespace: str) -> dict[str, Any]:
    """Return the object with the current apiVersion and kind first, and with its namespace if it is namespaced.

    `api_version` is the version of the uploaded object.
    """
    metadata = obj["metadata"]
    if kind.namespaced:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
    convert = _CONVERSIONS.get(kind.name)
    if convert is not None and api_version and api_version != kind.api_version:
        convert(obj)
    body = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}
    return {"apiVersion": kind.api_version, "kind": kind.served, **body}


def _default_selector(obj: dict[str, Any]) -> None:
    """Set a missing selector to the labels of the template: extensions/v1beta1 permits workloads without a selector."""
    spec = obj.get("spec")
    if not isinstance(spec, dict) or spec.get("selector"):
        return
    template = spec.get("template")
    metadata = template.get("metadata") if isinstance(template, dict) else None
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    if labels:
        spec["selector"] = {"matchLabels": labels}


def _empty_selector(obj: dict[str, Any]) -> None:
    """Remove an empty selector: in policy/v1beta1 it matches no pod, in policy/v1 every pod of the namespace."""
    spec = obj.get("spec")
    if isinstance(spec, dict) and "selector" in spec and not spec["selector"]:
        del spec["selector"]


_CONVERSIONS = {
    "Deployment": _default_selector,
    "ReplicaSet": _default_selector,
    "DaemonSet": _default_selector,
    "StatefulSet": _default_selector,
    "PodDisruptionBudget": _empty_selector,
}
