"""Measure devices for claims: python -m benchmarks.devices [--nodes 1000] [--claims 1000] [--kinds 10] prints JSON.

Every node has eight devices of two models, in two slices. Every pod has its own claim for one or two devices, with one
of `kinds` different expressions; pods are placed until all devices are allocated. `first`: milliseconds of the slowest
cycle, in which an expression is evaluated and all nodes are searched for the first time.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

from scheduler_core.simulation import Simulation

Raw = dict[str, Any]
DRIVER = "gpu.example.com"
HOME = f'device.attributes["{DRIVER}"]'


def _object(kind: str, name: str, spec: Raw, namespace: str = "") -> Raw:
    metadata = {"name": name, "uid": f"{kind}-{name}", **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def _node(i: int) -> Iterator[Raw]:
    name = f"node-{i:05}"
    allocatable = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    yield {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}}
    for part in range(2):
        devices = [
            {
                "name": f"gpu-{4 * part + j}",
                "attributes": {
                    "model": {"string": "a100" if (i + part) % 2 else "h100"},
                    "index": {"int": 4 * part + j},
                    "driverVersion": {"version": f"1.{i % 3}.0"},
                },
                "capacity": {"memory": {"value": "80Gi" if i % 2 else "40Gi"}},
            }
            for j in range(4)
        ]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 2}
        yield _object(
            "ResourceSlice", f"{name}-{part}", {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
        )


def objects(nodes: int, claims: int, kinds: int) -> Iterator[Raw]:
    """Return the cluster, and a pending pod per claim."""
    of_driver = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    yield _object("DeviceClass", "gpu", {"selectors": [of_driver]})
    for i in range(nodes):
        yield from _node(i)
    for i in range(claims):
        kind = i % kinds
        expressions = [f'{HOME}.model == "{"a100" if kind % 2 else "h100"}"', f"{HOME}.index < {8 - kind % 4}"]
        selectors = [{"cel": {"expression": one}} for one in expressions]
        exactly = {
            "deviceClassName": "gpu",
            "allocationMode": "ExactCount",
            "count": 1 + kind % 2,
            "selectors": selectors,
        }
        request = {"name": f"r{kind}", "exactly": exactly}
        name = f"pod-{i:05}"
        yield _object("ResourceClaim", name, {"devices": {"requests": [request]}}, "default")
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
        spec = {"containers": [container], "resourceClaims": [{"name": "c", "resourceClaimName": name}]}
        yield {"kind": "Pod", "metadata": {"name": name, "namespace": "default", "uid": name}, "spec": spec}


def measure(nodes: int, claims: int, kinds: int, release: str) -> Raw:
    simulation = Simulation(list(objects(nodes, claims, kinds)), release=release)
    slowest, placed = 0.0, 0
    begin = last = time.perf_counter()
    for trace in simulation.run():
        now = time.perf_counter()
        slowest, last = max(slowest, now - last), now
        placed += trace.result == "scheduled"
    seconds = last - begin
    return {
        "nodes": nodes,
        "devices": 8 * nodes,
        "claims": claims,
        "kinds": kinds,
        "release": release,
        "placed": placed,
        "seconds": round(seconds, 3),
        "pods_per_second": round(claims / seconds, 1),
        "first": round(1000 * slowest, 1),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--claims", type=int, default=1000)
    parser.add_argument("--kinds", type=int, default=10, help="different things that claims ask for")
    parser.add_argument("--release", default="1.34")
    args = parser.parse_args()
    print(json.dumps(measure(args.nodes, args.claims, args.kinds, args.release)))
