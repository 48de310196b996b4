"""Claims and volumes because of which a node is rejected."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.api.objects import PersistentVolume, PersistentVolumeClaim
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.explain import formatting, labels
from scheduler_core.explain.context import Scene
from scheduler_core.framework.interface import Status
from scheduler_core.plugins.node_volume_limits import TOO_MANY
from scheduler_core.plugins.non_csi_limits import NonCSILimits
from scheduler_core.plugins.volume_restrictions import DISK_CONFLICT
from scheduler_core.plugins.volumes import affinity_terms, claim_name

_ZONES = ("zone", "region")


def claims(scene: Scene) -> Iterator[tuple[str, PersistentVolumeClaim | None]]:
    """Yield the pod's claims: `namespace/name` and the claim, None if it is missing."""
    for volume in scene.pod.pod.spec.volumes:
        name = claim_name(scene.pod, volume)
        if name is not None:
            key = f"{scene.pod.namespace}/{name}"
            yield key, scene.cluster.claims.get(key)


def _bound(scene: Scene) -> Iterator[tuple[str, PersistentVolume]]:
    for key, claim in claims(scene):
        volume = scene.cluster.volumes.get(claim.spec.volume_name) if claim is not None else None
        if volume is not None:
            yield key, volume


def volume_binding(scene: Scene, row: int, status: Status) -> str:
    """VolumeBinding: the volume that is unreachable, otherwise the claims without a suitable volume."""
    node = scene.nodes.nodes[row]
    for key, volume in _bound(scene):
        lacks = labels.missing(node, affinity_terms(volume) or [])
        if lacks:
            return f"volume {volume.name} of claim {key} {labels.told(node, lacks, 'wants')}"
    waiting = [key for key, claim in claims(scene) if claim is not None and not claim.spec.volume_name]
    if not waiting:
        return ""
    what = f"claim{'s' if len(waiting) > 1 else ''} {formatting.listing(waiting)}"
    return f"{'; '.join(status.reasons)} ({what})"


def volume_zone(scene: Scene, row: int, status: Status) -> str:
    """VolumeZone: the zone or region of the volume, and that of the node."""
    node = scene.nodes.nodes[row].metadata.labels
    for key, volume in _bound(scene):
        for label, value in volume.metadata.labels.items():
            if label.rpartition("/")[2] in _ZONES and node.get(label) not in value.split("__"):
                has = f"the node has {label}={node[label]}" if label in node else "the node has no such label"
                return f"volume {volume.name} of claim {key} is in {label}={value} ({has})"
    return ""


def volume_restrictions(scene: Scene, row: int, status: Status) -> str:
    """VolumeRestrictions: the pod that uses the disk on the node, or the pods that use the ReadWriteOncePod claim."""
    wanted = _disks(scene.pod)
    for pod in scene.pods_on(row) if status.reasons == DISK_CONFLICT.reasons else ():
        shared = sorted(wanted & _disks(pod))
        if shared:
            return f"{formatting.listing(shared)} is in use by {pod.key}"
    for key, claim in claims(scene):
        if claim is None or "ReadWriteOncePod" not in claim.spec.access_modes:
            continue
        users = [
            pod.key
            for pods in scene.cluster.volume_users.by_node.values()
            for pod in pods.values()
            if pod.namespace == scene.pod.namespace
            and pod.key != scene.pod.key
            and any(claim_name(pod, volume) == claim.name for volume in pod.pod.spec.volumes)
        ]
        if users:
            return f"claim {key} is in use by {formatting.some(users, 3)}"
    return ""


def _disks(pod: PodInfo) -> set[str]:
    found = set()
    for volume in pod.pod.spec.volumes:
        if volume.gce_persistent_disk is not None:
            found.add(f"GCE disk {volume.gce_persistent_disk.pd_name}")
        if volume.aws_elastic_block_store is not None:
            found.add(f"EBS volume {volume.aws_elastic_block_store.volume_id}")
        if volume.iscsi is not None:
            found.add(f"iSCSI target {volume.iscsi.iqn}")
        if volume.rbd is not None:
            found.add(f"RBD image {volume.rbd.pool}/{volume.rbd.image}")
    return found


def node_volume_limits(scene: Scene, row: int, status: Status) -> str:
    """NodeVolumeLimits: the limits in the node's CSINode."""
    csi_node = scene.cluster.csi_nodes.get(scene.nodes.names[row])
    limits = [
        f"{formatting.count(driver.allocatable.count, 'volume')} of {driver.name}"
        for driver in (csi_node.spec.drivers if csi_node is not None else ())
        if driver.allocatable is not None and driver.allocatable.count is not None
    ]
    if status.reasons != TOO_MANY.reasons or not limits:
        return ""
    return f"the node takes at most {formatting.listing(limits)}"


def in_tree_limits(scene: Scene, row: int, status: Status) -> str:
    """EBSLimits, GCEPDLimits, AzureDiskLimits: the limit of the node."""
    plugin, node = scene.plugin(status.plugin), scene.nodes.nodes[row]
    if status.reasons != TOO_MANY.reasons or not isinstance(plugin, NonCSILimits):
        return ""
    limit = node.status.allocatable.get(plugin.resource, plugin.default_limit(node))
    return f"the node takes at most {limit} volumes of this kind ({plugin.resource})"
