"""Converts objects as `kubectl cluster-info dump` of old releases wrote them: internal types with capitalized fields.

    {"Items": [{"name": "web-1", "namespace": "default", "Spec": {"NodeName": "n1", "Containers": [...]}}]}

The metadata has JSON tags in the Go source, so its fields keep their names, but they are at the level of Spec. All
other fields have their names in Go. Source: kubernetes/pkg/apis/core/types.go of the releases up to 1.10.
"""

from __future__ import annotations

import re
from typing import Any

_META = {
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "clusterName",
    "managedFields",
}
# The keys of these are data or have JSON tags.
_OPAQUE = {
    "labels",
    "annotations",
    "nodeSelector",
    "selector",
    "labelSelector",
    "namespaceSelector",
    "limits",
    "requests",
    "capacity",
    "allocatable",
    "overhead",
    "parameters",
    "hard",
    "used",
    "options",
    "volumeAttributes",
}
_SPECIAL = {"CephFS": "cephfs", "StorageOS": "storageos"}
_LEADING = re.compile(r"[A-Z]+(?![a-z])|[A-Z]")


def is_internal(obj: dict[str, Any]) -> bool:
    """Return whether an object has the shape of the internal types."""
    return "metadata" not in obj and any(key[:1].isupper() for key in obj)


def external(obj: dict[str, Any]) -> dict[str, Any]:
    """Return the object in the shape of API version v1. The caller sets apiVersion and kind."""
    converted = _object(obj)
    spec = converted.get("spec")
    if isinstance(spec, dict):
        # Internal pods have these fields in their security context.
        context = spec.get("securityContext")
        if isinstance(context, dict):
            for field in ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"):
                if field in context:
                    spec.setdefault(field, context.pop(field))
    return converted


def _object(obj: dict[str, Any]) -> dict[str, Any]:
    """Convert an object with metadata: the resource itself, or the pod template in it."""
    meta = obj.get("ObjectMeta") if isinstance(obj.get("ObjectMeta"), dict) else {}
    metadata = {key: value for key, value in {**obj, **meta}.items() if key in _META and value not in (None, "")}  # type: ignore[dict-item]
    rest = {key: value for key, value in obj.items() if key not in _META and key not in ("ObjectMeta", "TypeMeta")}
    return {"metadata": metadata, **_convert(rest)}


def _convert(value: Any) -> Any:
    if isinstance(value, list):
        return [_convert(v) for v in value if v is not None]
    if not isinstance(value, dict):
        return value
    out = {}
    for name, member in value.items():
        key = _field(name)
        if member is None or member == "":
            continue  # Go writes unset fields of internal types as null or ""
        if key == "template" and isinstance(member, dict):
            out[key] = _object(member)
        else:
            out[key] = member if key in _OPAQUE else _convert(member)
    return out


def _field(name: str) -> str:
    """Return the external field name: `PodCIDR` -> podCIDR, `DNSPolicy` -> dnsPolicy, `NFS` -> nfs, `OSImage` ->
    osImage."""
    if name in _SPECIAL:
        return _SPECIAL[name]
    return _LEADING.sub(lambda match: match[0].lower(), name, count=1) if name[:1].isupper() else name
