"""Small clusters for tests, as kubectl prints them."""

import json
from typing import Any

from kubesched_ui.ingest import IngestResult, ingest_files

Object = dict[str, Any]


def node(name: str, cpu: str = "4", memory: str = "8Gi", labels: dict[str, str] | None = None, **spec: Any) -> Object:
    """Return a node for 110 pods. Further arguments are fields of its spec."""
    resources = {"cpu": cpu, "memory": memory, "pods": "110"}
    status = {"allocatable": resources, "capacity": resources}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def pod(name: str, cpu: str = "1", on: str = "", memory: str = "", **spec: Any) -> Object:
    """Return a pod in namespace default that requests `cpu`, bound if `on` names a node."""
    requests = {"cpu": cpu, **({"memory": memory} if memory else {})}
    container = {"name": "c", "image": "nginx", "resources": {"requests": requests}}
    spec = {"containers": [container], **({"nodeName": on} if on else {}), **spec}
    metadata = {"name": name, "namespace": "default"}
    status = {"phase": "Running" if on else "Pending"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def static_pod(name: str, on: str, **more: Any) -> Object:
    """Return the mirror pod of a static pod."""
    made = pod(name, on=on, **more)
    made["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "5e8f"}
    return made


def as_list(*objects: Object) -> bytes:
    """Return a v1 List as JSON."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()


def ingested(*objects: Any) -> IngestResult:
    """Return the result of an upload of these objects."""
    return ingest_files([("a.json", json.dumps(objects).encode())])


def every_outcome() -> bytes:
    """Return a cluster with a pod of each outcome: placed by score, on the only node, nowhere, gated, by preemption."""
    taint = {"key": "dedicated", "value": "a", "effect": "NoSchedule"}
    return as_list(
        node("n1"),
        node("n2"),
        node("n3", cpu="2"),
        node("n4", taints=[taint]),
        pod("bound", "2", on="n3"),
        pod("scored"),
        pod("only", nodeSelector={"kubernetes.io/hostname": "n2"}),
        pod("nowhere", "64"),
        pod("gated", schedulingGates=[{"name": "example.com/wait"}]),
        pod("important", "2", priority=1000, nodeSelector={"kubernetes.io/hostname": "n3"}),
    )
