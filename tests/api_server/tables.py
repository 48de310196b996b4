"""Lists as Table, which `kubectl get` requests. Source: k8s.io/kubernetes/pkg/printers/internalversion/printers.go."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from tests.api_server.resources import Resource

Raw = dict[str, Any]
Column = tuple[str, Callable[[Raw], Any]]


def table(resource: Resource, api_version: str, objects: list[bytes], metadata: Raw) -> Raw:
    """Return a meta.k8s.io/v1 Table of objects."""
    columns: list[Column] = [
        ("Name", lambda obj: obj["metadata"]["name"]),
        *COLUMNS.get(resource.kind, ()),
        ("Age", _age),
    ]
    rows = []
    for raw in objects:
        obj = msgspec.json.decode(raw)
        partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
        rows.append({"cells": [cell(obj) for _, cell in columns], "object": partial})
    definitions = [
        {
            "name": name,
            "type": "string",
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": 0,
        }
        for name, _ in columns
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def _age(obj: Raw) -> str:
    created = obj["metadata"].get("creationTimestamp")
    if not created:
        return "<unknown>"
    seconds = (datetime.now(UTC) - datetime.fromisoformat(created)).total_seconds()
    days, hours, minutes = int(seconds // 86400), int(seconds // 3600), int(seconds // 60)
    return f"{days}d" if days > 1 else f"{hours}h" if hours > 1 else f"{minutes}m" if minutes else f"{int(seconds)}s"


def _ready(node: Raw) -> str:
    conditions = node.get("status", {}).get("conditions", [])
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    cordoned = ",SchedulingDisabled" if node.get("spec", {}).get("unschedulable") else ""
    return ("Ready" if ready else "NotReady") + cordoned


def _ready_containers(pod: Raw) -> str:
    statuses = pod.get("status", {}).get("containerStatuses", [])
    return f"{sum(bool(s.get('ready')) for s in statuses)}/{len(pod['spec'].get('containers') or ())}"


COLUMNS: dict[str, tuple[Column, ...]] = {
    "Node": (
        ("Status", _ready),
        ("Roles", lambda node: "<none>"),
        ("Version", lambda node: node.get("status", {}).get("nodeInfo", {}).get("kubeletVersion", "")),
    ),
    "Pod": (
        ("Ready", _ready_containers),
        ("Status", lambda pod: pod.get("status", {}).get("phase", "")),
        ("Restarts", lambda pod: "0"),
    ),
}
