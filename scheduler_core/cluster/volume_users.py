"""Which pods on which nodes use volumes that scheduling looks at: claims, and disks named in the pod itself.

Source: pkg/scheduler/framework/types.go (NodeInfo.PVCRefCounts), pkg/scheduler/backend/cache/snapshot.go.
"""

from __future__ import annotations

from collections.abc import Container

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.objects import Volume


def counts(volume: Volume) -> bool:
    """Whether the volume is more to the scheduler than a mount: it needs a claim or an attached disk."""
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or volume.aws_elastic_block_store is not None
        or volume.gce_persistent_disk is not None
        or volume.azure_disk is not None
        or volume.cinder is not None
        or volume.portworx_volume is not None
        or volume.iscsi is not None
        or volume.rbd is not None
    )


def claim_keys(pod: PodInfo) -> list[str]:
    """`namespace/name` of the claims that a pod names; those of generic ephemeral volumes are its own affair."""
    return [
        f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}"
        for volume in pod.pod.spec.volumes
        if volume.persistent_volume_claim is not None
    ]


class VolumeUsers:
    """`by_node`: node name -> pod key -> pod. Pods without such volumes cost one look at an empty list."""

    def __init__(self) -> None:
        self.by_node: dict[str, dict[str, PodInfo]] = {}
        self._claims: dict[str, dict[str, int]] = {}  # claim key -> node name -> references

    def add(self, pod: PodInfo, node: str) -> None:
        if not any(counts(volume) for volume in pod.pod.spec.volumes):
            return
        self.by_node.setdefault(node, {})[pod.key] = pod
        for key in claim_keys(pod):
            users = self._claims.setdefault(key, {})
            users[node] = users.get(node, 0) + 1

    def remove(self, pod: PodInfo, node: str) -> None:
        pods = self.by_node.get(node)
        if pods is None or pods.pop(pod.key, None) is None:
            return
        if not pods:
            del self.by_node[node]
        for key in claim_keys(pod):
            users = self._claims[key]
            users[node] -= 1
            if not users[node]:
                del users[node]
            if not users:
                del self._claims[key]

    def on(self, node: str) -> list[PodInfo]:
        """The pods with volumes on a node."""
        return list(self.by_node.get(node, {}).values())

    def claim_used(self, key: str, nodes: Container[str]) -> bool:
        """Whether a pod on one of these nodes refers to the claim `namespace/name`."""
        return any(node in nodes for node in self._claims.get(key, ()))
