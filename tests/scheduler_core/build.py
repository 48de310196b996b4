"""Short ways to write Kubernetes objects, for the tests of the core."""

from typing import Any

from scheduler_core.api.objects import Pod, decode_all
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.releases import get_release

Raw = dict[str, Any]

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
    """A node; `more`: further allocatable resources; `taints`: (key, value, effect); `images`: name -> bytes."""
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
    """A pod of one container; `spec`: further fields of the pod's spec."""
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


def cluster(*objects: Raw, release: str = "1.34") -> tuple[Cluster, dict[str, PodInfo]]:
    """A cluster of these objects, and its pending pods by `namespace/name`."""
    made = Cluster(get_release(release))
    return made, {info.key: info for info in made.load(decode_all(objects))}


def info(raw: Raw, release: str = "1.34") -> PodInfo:
    """A pod as the scheduler sees it, in no cluster."""
    (decoded,) = decode_all([raw])
    assert isinstance(decoded, Pod)
    return PodInfo(decoded, get_release(release))


def selector(expressions: list[tuple[str, str, list[str]]] | None = None, **labels: str) -> Raw:
    """A label selector."""
    told = [{"key": k, "operator": o, "values": v} for k, o, v in expressions or ()]
    return {"matchLabels": labels, "matchExpressions": told}
