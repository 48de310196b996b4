"""Removes confidential and unneeded data before anything is stored. See docs/formats.md, "What is left out"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

# Texts for the counters of `redact` and of the reader: (singular, plural).
NOTES = {
    "Secret": ("Secret", "Secrets"),
    "ConfigMap": ("ConfigMap", "ConfigMaps"),
    "env": ("value of an environment variable", "values of environment variables"),
    "managedFields": ("managedFields list", "managedFields lists"),
    "lastApplied": ("last-applied-configuration annotation", "last-applied-configuration annotations"),
    "events": ("event that is no pod's last scheduling failure", "events that are no pod's last scheduling failure"),
    "logs": ("container log", "container logs"),
}


def notes(dropped: Counter[str]) -> list[str]:
    """Return one line per kind of removed data, such as `512 values of environment variables`."""
    return [f"{dropped[key]:,} {forms[dropped[key] != 1]}" for key, forms in NOTES.items() if dropped[key]]


def redact(obj: dict[str, Any], dropped: Counter[str]) -> None:
    """Remove managedFields, last-applied annotations and values of environment variables in place, and count them."""
    _metadata(obj, dropped)
    spec = obj.get("spec")
    while isinstance(spec, dict):
        _pod_spec(spec, dropped)
        # Workloads contain a pod template; cron jobs contain a job template, which contains one.
        inner = spec.get("template") or spec.get("jobTemplate")
        if not isinstance(inner, dict):
            return
        _metadata(inner, dropped)
        spec = inner.get("spec")


def _metadata(obj: dict[str, Any], dropped: Counter[str]) -> None:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return
    if metadata.pop("managedFields", None) is not None:
        dropped["managedFields"] += 1
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict) and annotations.pop(LAST_APPLIED, None) is not None:
        dropped["lastApplied"] += 1


def _pod_spec(spec: dict[str, Any], dropped: Counter[str]) -> None:
    for field in ("containers", "initContainers", "ephemeralContainers"):
        for container in _dicts(spec.get(field)):
            if "env" in container:
                container["env"] = _names_only(container["env"], dropped)


def _names_only(env: Any, dropped: Counter[str]) -> list[dict[str, str]]:
    """Return only the names of the variables; all other data is removed, whatever its shape."""
    kept = [{"name": entry["name"]} for entry in _dicts(env) if isinstance(entry.get("name"), str)]
    dropped["env"] += sum("value" in entry or "valueFrom" in entry for entry in _dicts(env))
    return kept


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (element for element in value if isinstance(element, dict))
