"""Why-pending answers with their suggested fixes on a large cluster: one workload, and forty.

A row for each version: milliseconds of processor time by cause of one workload with two pods, and of forty workloads:
the medians of the repetitions. --before measures a commit of the repository as well, by turns.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.processes import ROOT, in_new_process

Raw = dict[str, Any]
WORKLOADS = 40
ZONE, REQUIRED = "topology.kubernetes.io/zone", "requiredDuringSchedulingIgnoredDuringExecution"


def _away_from(app: str) -> Raw:
    selector = {"matchLabels": {"app": app}}
    return {"podAntiAffinity": {REQUIRED: [{"topologyKey": ZONE, "labelSelector": selector}]}}


def _near(app: str) -> Raw:
    selector = {"matchLabels": {"app": app}}
    return {"podAffinity": {REQUIRED: [{"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}]}}


# Cause -> its requests and the rest of the pod's spec.
CAUSES: dict[str, tuple[Raw, Raw]] = {
    "untolerated-taint": ({"cpu": "4"}, {"nodeSelector": {"pool": "batch"}}),
    "node-selector": ({"cpu": "4"}, {"nodeSelector": {"pool": "bacth"}}),
    "insufficient-resource": ({"cpu": "4"}, {}),
    "request-exceeds-nodes": ({"cpu": "500"}, {}),
    "resource-absent": ({"cpu": "100m", "example.com/fpga": "1"}, {}),
    "pod-anti-affinity": ({"cpu": "100m"}, {"affinity": _away_from("base")}),
    "pod-affinity": ({"cpu": "100m"}, {"affinity": _near("no-such-app")}),
    "claim-missing": ({"cpu": "100m"}, {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "gone"}}]}),
}


def cluster(nodes: int) -> list[Raw]:
    """Return full nodes of ten zones, with one in twenty tainted and empty."""
    objects: list[Raw] = []
    for i in range(nodes):
        tainted = i % 20 == 0
        name, pool = f"node-{i:05}", "batch" if tainted else "general"
        labels = {"kubernetes.io/hostname": name, ZONE: f"zone-{i % 10}", "pool": pool}
        taints = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}] if tainted else []
        amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        objects.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "uid": name, "labels": labels},
                "spec": {"taints": taints},
                "status": {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
            }
        )
        used = "2" if tainted else f"{14000 + i % 1000}m"
        objects.append(_pod(f"base-{i:05}", "base", "base", {"cpu": used}, {"nodeName": name}))
    return objects


def workload(number: int, cause: str) -> list[Raw]:
    """Return a Deployment with its ReplicaSet and two pending pods."""
    name, (requests, spec) = f"app-{number}", CAUSES[cause]
    owner = {"apiVersion": "apps/v1", "controller": True}
    template = _pod("", name, name, requests, spec)
    body = {"replicas": 2, "selector": {"matchLabels": {"app": name}}}
    body["template"] = {"metadata": {"labels": {"app": name}}, "spec": template["spec"]}
    by_deployment = [owner | {"kind": "Deployment", "name": name, "uid": f"d-{name}"}]
    by_set = [owner | {"kind": "ReplicaSet", "name": f"{name}-rs", "uid": f"r-{name}"}]
    objects: list[Raw] = []
    for kind, title, uid, owners in (
        ("Deployment", name, f"d-{name}", []),
        ("ReplicaSet", f"{name}-rs", f"r-{name}", by_deployment),
    ):
        metadata = {"name": title, "namespace": "default", "uid": uid, "ownerReferences": owners}
        objects.append({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": body})
    for i in range(2):
        pod = _pod(f"{name}-rs-{i}", name, name, requests, spec)
        pod["metadata"]["ownerReferences"] = by_set
        objects.append(pod)
    return objects


def _pod(name: str, app: str, uid: str, requests: Raw, spec: Raw) -> Raw:
    container = {"name": "main", "image": "registry.example/app:1", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"{uid}-{name}", "labels": {"app": app}},
        "spec": {"schedulerName": "default-scheduler", "priority": 0, "containers": [container], **spec},
        "status": {"phase": "Running" if "nodeName" in spec else "Pending"},
    }


def milliseconds(root: Path, nodes: int) -> Raw:
    """Return the time by cause of one workload, and of forty, with the package below `root`."""
    sys.path.insert(0, str(root))
    from scheduler_core.simulation import Simulation
    from scheduler_core.suggestions.answers import answers_of

    base = cluster(nodes)
    figures: Raw = {}
    names = [*CAUSES]
    for title, chosen in [*((name, [name]) for name in names), ("forty", (names * WORKLOADS)[:WORKLOADS])]:
        objects = [*base, *(obj for number, name in enumerate(chosen) for obj in workload(number, name))]
        simulation = Simulation(objects, release="1.34", tie_break="name")
        for _ in simulation.run():
            pass
        start = time.process_time()
        answers_of(simulation)
        figures[title] = round((time.process_time() - start) * 1000)
    return figures


def measure(nodes: int = 5000, before: str = "", repeat: int = 3) -> Iterator[Raw]:
    with tempfile.TemporaryDirectory() as folder:
        versions = {"now": ROOT}
        if before:
            versions[before] = Path(folder)
            archive = ["git", "archive", before, "scheduler_core"]
            packed = subprocess.run(archive, cwd=ROOT, capture_output=True, check=True).stdout
            subprocess.run(["tar", "x", "-C", folder], input=packed, check=True)
        found: dict[str, list[Raw]] = {version: [] for version in versions}
        for _ in range(repeat):
            for version, root in versions.items():
                found[version].append(in_new_process(milliseconds, root, nodes))
    for version, runs in found.items():
        medians = {title: statistics.median(run[title] for run in runs) for title in runs[0]}
        yield {"version": version, "nodes": nodes, "workloads": WORKLOADS, **medians}
