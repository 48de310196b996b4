"""Clusters for runs of some seconds: one whose pods fit, one with preemption, one in virtual time."""

from __future__ import annotations

import json
from typing import Any

from tests.kubesched_ui.instance import CHECKOUT
from tests.kubesched_ui.test_processes import cluster


def loads(nodes: int, pods: int) -> list[bytes]:
    """Return the files to upload."""
    time = CHECKOUT / "kubesched_ui" / "scenarios" / "samples"
    in_time = next(path for path in sorted(time.glob("*.yaml")) if b"Virtual time: preemption" in path.read_bytes())
    return [cluster(nodes, pods), preempting(nodes // 10, pods // 10), in_time.read_bytes()]


def preempting(nodes: int, pods: int) -> bytes:
    """Return a cluster in which every second pod has a higher priority, with capacity for half of the pods."""
    items: list[dict[str, Any]] = json.loads(cluster(nodes, pods))["items"]
    for number, item in enumerate(item for item in items if item["kind"] == "Pod"):
        item["spec"]["priority"] = number % 2 * 1000
        item["spec"]["containers"][0]["resources"]["requests"]["cpu"] = f"{nodes * 32 / pods:.1f}"
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
