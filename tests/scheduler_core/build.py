"""Builders of Kubernetes objects for tests of the core."""

import copy
from typing import Any

from scheduler_core.api.objects import Pod, decode_all
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.releases import get_release

Raw = dict[str, Any]

PREFERRED, REQUIRED = (
    "preferredDuringSchedulingIgnoredDuringExecution",
    "requiredDuringSchedulingIgnoredDuringExecution",
)
HOSTNAME, ZONE, REGION = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


def node(
    name: str,
    *,
    labels: dict[str, str] | None = None,
    zone: str = "",
    cpu: Any = "4",
    memory: Any = "8Gi",
    pods: Any = 110,
    more: Raw | None = None,
    taints: tuple[tuple[str, str, str], ...] = (),
    unschedulable: bool = False,
    images: dict[str, int] | None = None,
) -> Raw:
    """Return a node. `more`: further allocatable resources; `taints`: (key, value, effect); `images`: name -> bytes."""
    named = {HOSTNAME: name, **({ZONE: zone} if zone else {}), **(labels or {})}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": named},
        "spec": {
            "taints": [{"key": k, "value": v, "effect": e} for k, v, e in taints],
            **({"unschedulable": True} if unschedulable else {}),
        },
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "pods": pods, **(more or {})},
            "images": [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()],
        },
    }


def pod(
    name: str,
    *,
    on: str = "",
    namespace: str = "default",
    labels: dict[str, str] | None = None,
    requests: Raw | None = None,
    priority: Any = 0,
    status: Raw | None = None,
    deleted: bool = False,
    ports: tuple[Raw, ...] = (),
    image: str = "",
    **spec: Any,
) -> Raw:
    """Return a pod with one container. `spec`: further fields of its spec."""
    metadata: Raw = {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}", "labels": labels or {}}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    container: Raw = {"name": "main", "resources": {"requests": requests or {}}, "ports": list(ports)}
    if image:
        container["image"] = image
    full: Raw = {"containers": [container], "priority": priority, **spec}
    if on:
        full["nodeName"] = on
    return {"kind": "Pod", "metadata": metadata, "spec": full, "status": status or {}}


def static_pod(name: str, **spec: Any) -> Raw:
    """Return the mirror pod of a static pod. `spec`: as in `pod`."""
    made = pod(name, **spec)
    made["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "5e8f"}
    return made


def workload(kind: str, name: str = "web", *, pod: Raw, annotations: Raw | None = None, **spec: Any) -> Raw:
    """Return a workload as users write it. `pod`: the spec of its pods; `spec`: further fields of its own."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels, "annotations": annotations or {}}, "spec": copy.deepcopy(pod)}
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": template, **spec},
    }


def claim(name: str, cls: str = "", volume: str = "", size: str = "10Gi", **more: Any) -> Raw:
    """Return a claim in `default`, bound if it names a volume. `more`: further fields of the spec."""
    annotations = {**({"pv.kubernetes.io/bind-completed": "yes"} if volume else {}), **more.pop("annotations", {})}
    status = {"phase": more.pop("phase", "Bound" if volume else "Pending")}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "annotations": annotations}
    metadata |= more.pop("metadata", {})
    resources = {"requests": {"storage": size}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": resources, "volumeName": volume, **more}
    if cls:
        spec["storageClassName"] = cls
    return {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, "status": status}


def volume(name: str, cls: str = "", size: str = "10Gi", at: Raw | None = None, **more: Any) -> Raw:
    """Return a volume. `at`: label -> values of the nodes that can reach it; `more`: further fields of the spec."""
    metadata = {"name": name, "labels": more.pop("labels", {})}
    phase = more.pop("phase", "Available")
    spec = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": cls, **more}
    if at is not None:
        terms = [{"matchExpressions": [{"key": k, "operator": "In", "values": v} for k, v in at.items()]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return {"kind": "PersistentVolume", "metadata": metadata, "spec": spec, "status": {"phase": phase}}


def mounts(*claims: str) -> list[Raw]:
    """Return the volumes of a pod that uses these claims."""
    return [{"name": f"v-{name}", "persistentVolumeClaim": {"claimName": name}} for name in claims]


def cluster(*objects: Raw, release: str = "1.34") -> tuple[Cluster, dict[str, PodInfo]]:
    """Return a cluster of these objects, and its pending pods by `namespace/name`."""
    made = Cluster(get_release(release))
    return made, {info.key: info for info in made.load(decode_all(objects))}


def info(raw: Raw, release: str = "1.34") -> PodInfo:
    """Return a pod as the scheduler sees it, outside a cluster."""
    (decoded,) = decode_all([raw])
    assert isinstance(decoded, Pod)
    return PodInfo(decoded, get_release(release))


def selector(expressions: list[tuple[str, str, list[str]]] | None = None, **labels: str) -> Raw:
    """Return a label selector."""
    requirements = [{"key": k, "operator": o, "values": v} for k, o, v in expressions or ()]
    return {"matchLabels": labels, "matchExpressions": requirements}
