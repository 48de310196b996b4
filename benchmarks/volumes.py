"""Measure the volume plugins per pod: python -m benchmarks.volumes [nodes ...] prints one JSON line per cluster size.

Per node there are six running pods with a claim each (CSI volumes in three zones), and one free local volume. The
measured pods have claims that are bound, that match a local volume, or that are provisioned where the driver reports
free capacity. Figures are milliseconds of PreFilter and Filter: the median of the pods, and the slowest pod, for which
the columns are computed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from typing import Any

from scheduler_core.api.objects import decode_all
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.commands.bench import HOSTNAME, ZONE, workload
from scheduler_core.framework.interface import SKIPPED, CycleState, FilterPlugin, PreFilterPlugin
from scheduler_core.plugins.node_volume_limits import NodeVolumeLimits
from scheduler_core.plugins.volume_binding import VolumeBinding
from scheduler_core.plugins.volume_restrictions import VolumeRestrictions
from scheduler_core.plugins.volume_zone import VolumeZone
from scheduler_core.releases import get_release

Raw = dict[str, Any]

PLUGINS: tuple[type[FilterPlugin], ...] = (VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone)
DRIVER = "csi.example.com"
PODS = 20  # of each kind
PER_NODE = 6


def _pod(name: str, *claims: str, node: str = "") -> Raw:
    volumes = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": claim}} for i, claim in enumerate(claims)]
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"nodeName": node, "volumes": volumes}}


def _claim(name: str, storage_class: str, volume: str = "") -> Raw:
    bound = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}} if volume else {}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "10Gi"}},
        "storageClassName": storage_class,
        "volumeName": volume,
    }
    return {"kind": "PersistentVolumeClaim", "metadata": {"name": name, **bound}, "spec": spec}


def _volume(name: str, storage_class: str, size: str, key: str, value: str, phase: str, **source: Any) -> Raw:
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": size},
        "storageClassName": storage_class,
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        **source,
    }
    return {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec, "status": {"phase": phase}}


def _bound(name: str, zone: str) -> Iterator[Raw]:
    source = {"csi": {"driver": DRIVER, "volumeHandle": f"handle-{name}"}}
    yield _volume(f"pv-{name}", "shared", "10Gi", ZONE, zone, "Bound", **source)
    yield _claim(name, "shared", f"pv-{name}")


def _class(name: str, provisioner: str) -> Raw:
    mode = {"volumeBindingMode": "WaitForFirstConsumer"}
    return {"kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner, **mode}


def _objects(nodes: int) -> Iterator[Raw]:
    yield from (_class("local", "kubernetes.io/no-provisioner"), _class("shared", DRIVER), _class("late", DRIVER))
    yield {"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": {"storageCapacity": True}}
    for i, node in enumerate(workload("basic", nodes, 0)):
        yield node
        name, zone = node["metadata"]["name"], node["metadata"]["labels"][ZONE]
        driver = {"name": DRIVER, "nodeID": name, "allocatable": {"count": PER_NODE + i % 3}}
        yield {"kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": [driver]}}
        topology = {"nodeTopology": {"matchLabels": {HOSTNAME: name}}}
        metadata = {"name": name, "namespace": "kube-system"}
        capacity = {"storageClassName": "late", "capacity": f"{5 + i % 3 * 5}Gi"}
        yield {"kind": "CSIStorageCapacity", "metadata": metadata, **capacity, **topology}
        yield _volume(f"local-{i}", "local", f"{5 + i % 5 * 5}Gi", HOSTNAME, name, "Available", local={"path": "/"})
        for k in range(PER_NODE):
            yield from _bound(f"used-{i}-{k}", zone)
            yield _pod(f"user-{i}-{k}", f"used-{i}-{k}", node=name)


def _pods() -> Iterator[Raw]:
    for i in range(PODS):
        for k in range(2):
            yield from _bound(f"bound-{i}-{k}", f"zone-{i % 3}")
            yield from (_claim(f"local-{i}-{k}", "local"), _claim(f"late-{i}-{k}", "late"))
        for kind in ("bound", "local", "late"):
            yield _pod(f"{kind}-{i}", f"{kind}-{i}-0")
            yield _pod(f"two-{kind}-{i}", f"{kind}-{i}-0", f"{kind}-{i}-1")


def _judge(plugin: FilterPlugin, pod: PodInfo) -> float:
    """Return the milliseconds of one pod."""
    state, start = CycleState(), time.perf_counter()
    if not isinstance(plugin, PreFilterPlugin) or plugin.pre_filter(state, pod) is not SKIPPED:
        plugin.filter(state, pod)
    return (time.perf_counter() - start) * 1000


def measure(nodes: int, release: str) -> Raw:
    """Measure a cluster of so many nodes."""
    cluster = Cluster(get_release(release))
    pending = cluster.load(decode_all([*_objects(nodes), *_pods()]))
    plugins = [cls(None, cluster) for cls in PLUGINS]
    costs: dict[str, dict[str, list[float]]] = {}
    slowest: dict[str, float] = {}
    for pod in pending:
        kind = pod.name.rpartition("-")[0]
        for plugin in plugins:
            cost = _judge(plugin, pod)
            slowest[plugin.name] = max(cost, slowest.get(plugin.name, 0.0))
            costs.setdefault(kind, {}).setdefault(plugin.name, []).append(cost)
        if kind == "local":
            row = int(pod.name.rpartition("-")[2])
            _place(plugins, pod, cluster.nodes.names[row])
    medians = {kind: {name: statistics.median(each) for name, each in of.items()} for kind, of in costs.items()}
    return {
        "nodes": nodes,
        "volumes": len(cluster.volumes),
        "pods_with_volumes": nodes * PER_NODE,
        "slowest_pod_ms": {name: round(cost, 1) for name, cost in slowest.items()},
        "ms_per_pod": {kind: {n: round(v, 3) for n, v in of.items()} for kind, of in medians.items()},
        "total_ms_per_pod": {kind: round(sum(of.values()), 3) for kind, of in medians.items()},
    }


def _place(plugins: list[FilterPlugin], pod: PodInfo, node: str) -> None:
    """Place a pod, so that the columns change."""
    for plugin in plugins:
        if isinstance(plugin, VolumeBinding):
            state = CycleState()
            plugin.pre_filter(state, pod)
            plugin.filter(state, pod)
            plugin.reserve(state, pod, node)
            plugin.pre_bind(state, pod, node)
    plugins[0].cluster.add_pod(pod, node)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nodes", type=int, nargs="*", default=[1000, 5000])
    parser.add_argument("--release", default="1.34")
    arguments = parser.parse_args()
    for size in arguments.nodes:
        print(json.dumps(measure(size, arguments.release)))
