"""Clusters for runs of some seconds: one whose pods fit, one whose pods preempt, one in time."""

from __future__ import annotations

import json
from typing import Any

from tests.kubesched_ui.instance import CHECKOUT
from tests.kubesched_ui.test_processes import cluster


def loads(nodes: int, pods: int) -> list[bytes]:
    """As files to upload."""
    time = CHECKOUT / "kubesched_ui" / "scenarios" / "samples"
    in_time = next(path for path in sorted(time.glob("*.yaml")) if b"Virtual time: preemption" in path.read_bytes())
    return [cluster(nodes, pods), preempting(nodes // 10, pods // 10), in_time.read_bytes()]


def preempting(nodes: int, pods: int) -> bytes:
    """Every second pod is of a higher priority, and there is room for half of them."""
    items: list[dict[str, Any]] = json.loads(cluster(nodes, pods))["items"]
    for number, item in enumerate(item for item in items if item["kind"] == "Pod"):
        item["spec"]["priority"] = number % 2 * 1000
        item["spec"]["containers"][0]["resources"]["requests"]["cpu"] = f"{nodes * 32 / pods:.1f}"
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
