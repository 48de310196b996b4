"""Which claim or volume is in the way."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.explain import labels, words
from scheduler_core.explain.scene import Scene, Told
from scheduler_core.framework.interface import Status
from scheduler_core.objects import PersistentVolume, PersistentVolumeClaim
from scheduler_core.plugins.volumes import affinity_terms, claim_name

_ZONES = ("zone", "region")


def claims(scene: Scene) -> Iterator[tuple[str, PersistentVolumeClaim | None]]:
    """The pod's claims: `namespace/name` and the claim, None if it is missing."""
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


def volume_binding(scene: Scene, row: int, status: Status) -> Told:
    """VolumeBinding: the volume that cannot be reached, else the claims that find none."""
    node = scene.nodes.nodes[row]
    for key, volume in _bound(scene):
        lacks = labels.missing(node, affinity_terms(volume) or [])
        if lacks:
            detail, _ = labels.told(node, lacks, "wants")
            return f"volume {volume.name} of claim {key} {detail}", f"move volume {volume.name}"
    waiting = [key for key, claim in claims(scene) if claim is not None and not claim.spec.volume_name]
    if not waiting:
        return "", ""
    what = f"claim{'s' if len(waiting) > 1 else ''} {words.listing(waiting)}"
    return f"{'; '.join(status.reasons)} ({what})", f"provide a volume for {what}"


def volume_zone(scene: Scene, row: int, status: Status) -> Told:
    """VolumeZone: the zone or region of the volume and that of the node."""
    node = scene.nodes.nodes[row].metadata.labels
    for key, volume in _bound(scene):
        for label, value in volume.metadata.labels.items():
            if label.rpartition("/")[2] in _ZONES and node.get(label) not in value.split("__"):
                has = f"the node has {label}={node[label]}" if label in node else "the node has no such label"
                return (
                    f"volume {volume.name} of claim {key} is in {label}={value} ({has})",
                    f"move volume {volume.name}",
                )
    return "", ""


def volume_restrictions(scene: Scene, row: int, status: Status) -> Told:
    """VolumeRestrictions: who uses the ReadWriteOncePod claim."""
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
            return f"claim {key} is in use by {words.some(users, 3)}", f"remove {words.some(users, 3)}"
    return "", ""


def unusable(scene: Scene) -> list[str]:
    """What would have to happen to the claims for PreFilter to let the pod pass."""
    changes = []
    for key, claim in claims(scene):
        if claim is None:
            changes.append(f"create claim {key}")
        elif claim.status.phase == "Lost":
            changes.append(f"bring back volume {claim.spec.volume_name} of claim {key}")
        elif claim.metadata.deletion_timestamp:
            changes.append(f"claim {key} is being deleted: create it anew")
        elif claim.status.phase == "Pending" or not claim.spec.volume_name:
            changes.append(f"have claim {key} bound to a volume")
    return changes
