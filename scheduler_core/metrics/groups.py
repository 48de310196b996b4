"""Groups of nodes and of pods whose members are interchangeable, so that results can be counted per group."""

from collections.abc import Iterable, Sequence

import msgspec

from scheduler_core.api.objects import Node, Pod
from scheduler_core.controllers.pod_template import HASH

POOLS = (
    *("pool", "node-pool", "nodepool", "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup"),
    *("alpha.eksctl.io/nodegroup-name", "kubernetes.azure.com/agentpool", "agentpool", "karpenter.sh/nodepool"),
    *("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"),
)
"""Labels that name a node group, best first: those of cloud providers, then the type of the instance."""
MAX_GROUPS = 60

OF_ONE_POD = ("statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index")
"""Labels that differ between the pods of a workload."""
_ENCODE = msgspec.json.Encoder(order="deterministic").encode


def node_groups(nodes: Iterable[Node], label: str = "") -> dict[str, str]:
    """Map each node to its group: its value of `label`, or "no LABEL".

    Without `label`, the first of POOLS that some node has and that gives at most MAX_GROUPS groups. If there is none,
    nodes with the same allocatable quantities are a group, named after its first node.
    """
    known = list(nodes)
    values = {pool: {node.metadata.labels.get(pool) for node in known} for pool in (POOLS if not label else (label,))}
    chosen = label or next((pool for pool in POOLS if values[pool] - {None} and len(values[pool]) <= MAX_GROUPS), "")
    if chosen:
        missing = f"no {chosen.rpartition('/')[2]}"
        return {node.metadata.name: node.metadata.labels.get(chosen) or missing for node in known}
    shapes: dict[bytes, list[str]] = {}
    for node in known:
        shapes.setdefault(_ENCODE(node.status.allocatable), []).append(node.metadata.name)
    return {name: group_name(names) for names in shapes.values() for name in names}


def workload_of(pod: Pod) -> tuple[str, str] | None:
    """Return kind and name of the pod's controller; for a ReplicaSet of a Deployment, the Deployment's."""
    owner = pod.metadata.controller_ref
    if owner is None:
        return None
    suffix = "-" + pod.metadata.labels.get(HASH, "\0")
    if owner.kind == "ReplicaSet" and owner.name.endswith(suffix):
        return "Deployment", owner.name.removesuffix(suffix)
    return owner.kind, owner.name


def workloads(pods: Iterable[Pod]) -> dict[str, str]:
    """Map each pod (namespace/name) to its workload, such as `Deployment default/web`.

    The workload is the controller of the pod; for a ReplicaSet of a Deployment, the Deployment. Pods without a
    controller are a workload if they are equal but for their names, named after its first pod.
    """
    found: dict[str, str] = {}
    bare: dict[tuple[str, bytes], list[str]] = {}
    for pod in pods:
        meta = pod.metadata
        if owner := workload_of(pod):
            kind, name = owner
            found[pod.key] = f"{kind} {meta.namespace}/{name}"
            continue
        labels = {key: value for key, value in meta.labels.items() if key not in OF_ONE_POD}
        spec = msgspec.structs.replace(pod.spec, node_name="")
        bare.setdefault((meta.namespace, _ENCODE((spec, labels))), []).append(pod.key)
    return found | {pod: group_name(alike) for alike in bare.values() for pod in alike}


def group_name(names: Sequence[str]) -> str:
    """Return a name for a group of equal things: `web-1`, or `web-1 and 2 equal`."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} equal"
