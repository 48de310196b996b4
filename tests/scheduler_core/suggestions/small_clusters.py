"""Nodes and pods of small clusters."""

from typing import Any

from tests.scheduler_core import build

Raw = dict[str, Any]
DEDICATED = ("dedicated", "db", "NoSchedule")


def node(
    name: str, cpu: str = "4", taints: tuple[tuple[str, str, str], ...] = (), ready: bool = True, **labels: str
) -> Raw:
    made = build.node(name, cpu=cpu, pods="10", taints=taints, labels=labels)
    made["status"]["conditions"] = [{"type": "Ready", "status": "True" if ready else "Unknown"}]
    return made


def pod(name: str = "web", cpu: str = "1", on: str = "", labels: Raw | None = None, **spec: Any) -> Raw:
    return build.pod(name, requests={"cpu": cpu}, on=on, labels=labels or {"app": name}, **spec)
