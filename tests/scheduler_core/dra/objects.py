"""Small clusters with devices."""

from __future__ import annotations

from typing import Any

from scheduler_core.commands.replay import replay_case

Raw = dict[str, Any]
DRIVER = "gpu.example.com"


def node(name: str, **labels: str) -> Raw:
    spec = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": spec},
    }


def device(name: str, **more: Any) -> Raw:
    """Return a device. `model`, `index`: attributes; `memory`: a capacity; others are fields."""
    attributes = {
        key: {"int" if isinstance(more[key], int) else "string": more.pop(key)}
        for key in ("model", "index", "root")
        if key in more
    }
    capacity = {"memory": {"value": more.pop("memory")}} if "memory" in more else {}
    return {"name": name, "attributes": attributes, "capacity": capacity, **more}


def resource_slice(
    name: str, *devices: Raw, pool: str = "", on: str = "", generation: int = 1, count: int = 1, **spec: Any
) -> Raw:
    """Return a ResourceSlice. `on`: its only node."""
    where = {"nodeName": on} if on else {}
    pools = {"name": pool or on or name, "generation": generation, "resourceSliceCount": count}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {"driver": DRIVER, "pool": pools, "devices": list(devices), **where, **spec},
    }


def device_class(name: str = "gpu", *expressions: str, **spec: Any) -> Raw:
    selectors = [{"cel": {"expression": one}} for one in expressions or (f'device.driver == "{DRIVER}"',)]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": selectors, **spec},
    }


def exactly(count: int = 1, *expressions: str, cls: str = "gpu", **more: Any) -> Raw:
    selectors = [{"cel": {"expression": one}} for one in expressions]
    return {"deviceClassName": cls, "allocationMode": "ExactCount", "count": count, "selectors": selectors, **more}


def everything(*expressions: str, cls: str = "gpu") -> Raw:
    wanted = exactly(1, *expressions, cls=cls)
    return {**{k: v for k, v in wanted.items() if k != "count"}, "allocationMode": "All"}


def claim(name: str, *wanted: Raw | list[Raw], status: Raw | None = None, uid: str = "", **devices: Any) -> Raw:
    """Return a claim with requests r0, r1 ... of `exactly`. A list is a prioritized list of s0, s1 ..."""
    requests: list[Raw] = []
    for i, one in enumerate(wanted):
        if isinstance(one, list):
            requests.append(
                {"name": f"r{i}", "firstAvailable": [{"name": f"s{j}", **sub} for j, sub in enumerate(one)]}
            )
        else:
            requests.append({"name": f"r{i}", "exactly": one})
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": uid or f"uid-{name}"},
        "spec": {"devices": {"requests": requests, **devices}},
        **({"status": status} if status else {}),
    }


def allocation(*devices: str, pool: str, to: str = "", on: str = "") -> Raw:
    """Return the status of a claim with these devices. `to`: the pod that reserves it; `on`: the only node."""
    results = [{"request": "r0", "driver": DRIVER, "pool": pool, "device": one} for one in devices]
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}]
    allocation: Raw = {
        "devices": {"results": results},
        **({"nodeSelector": {"nodeSelectorTerms": terms}} if on else {}),
    }
    reserved = [{"resource": "pods", "name": to, "uid": f"uid-{to}"}] if to else []
    return {"allocation": allocation, "reservedFor": reserved}


def pod(name: str, *claims: str, **spec: Any) -> Raw:
    uses = [{"name": one, "resourceClaimName": one} for one in claims]
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": one} for one in claims]}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"containers": [container], "resourceClaims": uses, "schedulerName": "default-scheduler", **spec},
    }


def cycles(*objects: Raw, release: str = "1.34", preempt: bool = True, pods: tuple[str, ...] = ()) -> list[Raw]:
    """Return the cycles of the pods, in order. `pods`: their names, by default all without a node."""
    pending = (one for one in objects if one["kind"] == "Pod" and "nodeName" not in one["spec"])
    names = pods or [one["metadata"]["name"] for one in pending]
    case: Raw = {"name": "x", "kubernetes": release, "objects": list(objects), "preempt": preempt, "percentage": 100}
    return list(replay_case({**case, "pods": [f"default/{name}" for name in names]})["cycles"])


def allocated(cycle: Raw, name: str) -> list[str]:
    """Return the devices of a claim as `request:pool/device`."""
    allocation = cycle.get("claims", {}).get(f"default/{name}", {}).get("allocation", {})
    results = allocation.get("devices", {}).get("results", [])
    return [f"{one['request']}:{one['pool']}/{one['device']}" for one in results]
