"""The nodes that use volumes relevant to scheduling: claims of pods, disks named in pods, and attachments.

Source: pkg/scheduler/framework/types.go (NodeInfo.PVCRefCounts), pkg/scheduler/backend/cache/snapshot.go.
"""

from collections.abc import Callable, Container, Hashable, Iterable, Iterator

from scheduler_core.api.objects import Volume, VolumeAttachment
from scheduler_core.cluster.pod_info import PodInfo


def disk_key(volume: Volume) -> Hashable:
    """Return the key of the volume's disk; equal keys may be the same disk. None for other kinds of volumes."""
    if volume.gce_persistent_disk is not None:
        return "gce", volume.gce_persistent_disk.pd_name
    if volume.aws_elastic_block_store is not None:
        return "ebs", volume.aws_elastic_block_store.volume_id
    if volume.iscsi is not None:
        return "iscsi", volume.iscsi.iqn
    return ("rbd", volume.rbd.pool, volume.rbd.image) if volume.rbd is not None else None


def _references(pod: PodInfo) -> Iterator[Hashable]:
    """Yield the claims that the pod's volumes name, as `namespace/name`, and their disks.

    Claims of generic ephemeral volumes are not included: they belong to one pod.
    """
    for volume in pod.volumes:
        if volume.persistent_volume_claim is not None:
            yield f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}"
        elif (disk := disk_key(volume)) is not None:
            yield disk


class VolumeUsers:
    """The users of volumes. `by_node`: node name -> pod key -> pod, for pods with such volumes."""

    def __init__(self) -> None:
        self.by_node: dict[str, dict[str, PodInfo]] = {}
        self._nodes: dict[Hashable, dict[str, int]] = {}  # claim or disk -> node name -> references
        self._attachments: dict[str, dict[str, VolumeAttachment]] = {}  # node name -> name -> attachment
        self._watchers: list[Callable[[str], object]] = []

    def watch(self, callback: Callable[[str], object]) -> None:
        """Call `callback(node)` after a pod with volumes is added or removed, and after a change of attachments."""
        self._watchers.append(callback)

    def _notify(self, node: str) -> None:
        for callback in self._watchers:
            callback(node)

    def nodes(self) -> set[str]:
        """Return the nodes with such pods or attached volumes."""
        return {*self.by_node, *self._attachments}

    def add(self, pod: PodInfo, node: str) -> None:
        self.by_node.setdefault(node, {})[pod.key] = pod
        for key in _references(pod):
            users = self._nodes.setdefault(key, {})
            users[node] = users.get(node, 0) + 1
        self._notify(node)

    def remove(self, pod: PodInfo, node: str) -> None:
        pods = self.by_node.get(node)
        if pods is None or pods.pop(pod.key, None) is None:
            return
        if not pods:
            del self.by_node[node]
        for key in _references(pod):
            users = self._nodes[key]
            users[node] -= 1
            if not users[node]:
                del users[node]
            if not users:
                del self._nodes[key]
        self._notify(node)

    def attach(self, name: str, old: VolumeAttachment | None, new: VolumeAttachment | None) -> None:
        """Handle a change of the table of VolumeAttachments."""
        if old is not None:
            del self._attachments[old.spec.node_name][name]
            self._notify(old.spec.node_name)
        if new is not None:
            self._attachments.setdefault(new.spec.node_name, {})[name] = new
            self._notify(new.spec.node_name)

    def attachments(self, node: str) -> list[VolumeAttachment]:
        """Return the VolumeAttachments of a node."""
        return list(self._attachments.get(node, {}).values())

    def on(self, node: str) -> list[PodInfo]:
        """Return the pods with volumes on a node."""
        return list(self.by_node.get(node, {}).values())

    def claim_used(self, key: str, nodes: Container[str]) -> bool:
        """Whether a pod on one of these nodes uses the claim `namespace/name`."""
        return any(node in nodes for node in self._nodes.get(key, ()))

    def disk_users(self, volumes: Iterable[Volume]) -> set[str]:
        """Return the nodes with a pod that names one of these disks in any mode."""
        return {node for volume in volumes for node in self._nodes.get(disk_key(volume), ())}
