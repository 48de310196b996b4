"""The claims and volumes of a pod that waits."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.api.objects import PersistentVolume, PersistentVolumeClaim, Volume
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.debugger.suggestions.node_context import NodeContext
from scheduler_core.plugins.volumes import claim_name


def claims(context: NodeContext) -> Iterator[tuple[int, Volume, str, PersistentVolumeClaim | None]]:
    """Yield (index in spec.volumes, volume, claim's name, the claim or None) for each volume with a claim."""
    for i, volume in enumerate(context.pod.pod.spec.volumes):
        name = claim_name(context.pod, volume)
        if name is not None:
            yield i, volume, name, context.cluster.claims.get(f"{context.pod.namespace}/{name}")


def users(cluster: Cluster, claim: PersistentVolumeClaim, pod: PodInfo) -> list[PodInfo]:
    """Return the other pods with a node that use a ReadWriteOncePod claim."""
    if "ReadWriteOncePod" not in claim.spec.access_modes:
        return []
    return [
        other
        for pods in cluster.volume_users.by_node.values()
        for other in pods.values()
        if other.namespace == claim.namespace
        and other.key != pod.key
        and any(claim_name(other, volume) == claim.name for volume in other.pod.spec.volumes)
    ]


def labels_of(volume: PersistentVolume) -> dict[str, list[str]]:
    """Return the labels that nodes must have to reach a volume, label -> values: of its first node selector term, and
    its own zone and region labels."""
    own = {k: v.split("__") for k, v in volume.metadata.labels.items() if k.rpartition("/")[2] in ("zone", "region")}
    affinity = volume.spec.node_affinity
    terms = affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else []
    first = terms[0].match_expressions if terms else []
    return own | {req.key: list(req.values) for req in first if req.operator == "In"}
