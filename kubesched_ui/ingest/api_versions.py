"""Converts objects of old API versions and of internal types to the current API version."""

import re
from typing import Any

from kubesched_ui.ingest.kinds import Kind
from kubesched_ui.ingest.values import as_map, member


def normalise(obj: dict[str, Any], kind: Kind, api_version: str, namespace: str) -> dict[str, Any]:
    """Return the object with the current apiVersion and kind first, and with its namespace if it is namespaced.
    `api_version` is the version of the uploaded object."""
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
    spec, labels = as_map(obj.get("spec")), member(obj, ("spec", "template", "metadata", "labels"))
    if labels and not spec.get("selector"):
        spec["selector"] = {"matchLabels": labels}


def _empty_selector(obj: dict[str, Any]) -> None:
    """Remove an empty selector: in policy/v1beta1 it matches no pod, in policy/v1 every pod of the namespace."""
    spec = as_map(obj.get("spec"))
    if not spec.get("selector", True):
        del spec["selector"]


_CONVERSIONS = {
    **dict.fromkeys(("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"), _default_selector),
    "PodDisruptionBudget": _empty_selector,
}


# ---- internal types
#
# `kubectl cluster-info dump` of releases up to 1.10 wrote the internal types with the names of the Go fields:
#
#     {"Items": [{"name": "web-1", "namespace": "default", "Spec": {"NodeName": "n1", "Containers": [...]}}]}
#
# The metadata has JSON tags in the Go source, so its fields keep their names, but they are at the level of Spec.
# Source: kubernetes/pkg/apis/core/types.go.

_META = {
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
    "clusterName", "managedFields",
}  # fmt: skip
# The keys of these are data or have JSON tags.
_OPAQUE = {
    "labels", "annotations", "nodeSelector", "selector", "labelSelector", "namespaceSelector", "limits", "requests",
    "capacity", "allocatable", "overhead", "parameters", "hard", "used", "options", "volumeAttributes",
}  # fmt: skip
_SPECIAL = {"CephFS": "cephfs", "StorageOS": "storageos"}
_LEADING = re.compile(r"[A-Z]+(?![a-z])|[A-Z]")


def is_internal(obj: dict[str, Any]) -> bool:
    """Return whether an object has the shape of the internal types."""
    return "metadata" not in obj and any(key[:1].isupper() for key in obj)


def external(obj: dict[str, Any]) -> dict[str, Any]:
    """Return the object in the shape of API version v1. The caller sets apiVersion and kind."""
    converted = _object(obj)
    spec = as_map(converted.get("spec"))
    context = as_map(spec.get("securityContext"))
    for field in ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"):
        if field in context:  # internal pods have these fields in their security context
            spec.setdefault(field, context.pop(field))
    return converted


def _object(obj: dict[str, Any]) -> dict[str, Any]:
    """Convert an object with metadata: the resource itself, or the pod template in it."""
    fields = obj | as_map(obj.get("ObjectMeta"))
    metadata = {key: value for key, value in fields.items() if key in _META and value not in (None, "")}
    rest = {key: value for key, value in obj.items() if key not in _META and key not in ("ObjectMeta", "TypeMeta")}
    return {"metadata": metadata, **_convert(rest)}


def _convert(value: Any) -> Any:
    if isinstance(value, list):
        return [_convert(v) for v in value if v is not None]
    if not isinstance(value, dict):
        return value
    out = {}
    for name, inner in value.items():
        key = _field(name)
        if inner is None or inner == "":
            continue  # Go writes unset fields of internal types as null or ""
        if key == "template" and isinstance(inner, dict):
            out[key] = _object(inner)
        else:
            out[key] = inner if key in _OPAQUE else _convert(inner)
    return out


def _field(name: str) -> str:
    """Return the external field name: `PodCIDR` -> podCIDR, `DNSPolicy` -> dnsPolicy, `OSImage` -> osImage."""
    if name in _SPECIAL:
        return _SPECIAL[name]
    return _LEADING.sub(lambda match: match[0].lower(), name, count=1) if name[:1].isupper() else name
