"""The claims that a pending pod waits for, and why they have no volume."""

from __future__ import annotations

from scheduler_core.api.objects import PersistentVolumeClaim, Volume
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.spelling import nearest
from scheduler_core.pending_pods.event_index import EventIndex
from scheduler_core.pending_pods.pending_answer import ClaimWait
from scheduler_core.plugins.volumes import NO_PROVISIONER, SELECTED_NODE, claim_name, class_of_claim, fully_bound

MESSAGE = 300  # characters of a provisioner's message
_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
WAITS_FOR_CONSUMER = "waits-for-consumer"


def claim_waits(cluster: Cluster, pod: PodInfo, events: EventIndex) -> list[ClaimWait]:
    """Return why each unusable or unbound claim of the pod is so. Claims that are bound with the pod come last."""
    found = []
    for volume in pod.pod.spec.volumes:
        name = claim_name(pod, volume)
        if name is not None:
            key = f"{pod.namespace}/{name}"
            wait = _wait(cluster, key, cluster.claims.get(key), volume, events)
            if wait is not None:
                found.append(wait)
    return sorted(found, key=lambda wait: wait.cause == WAITS_FOR_CONSUMER)


def _wait(
    cluster: Cluster, key: str, claim: PersistentVolumeClaim | None, volume: Volume, events: EventIndex
) -> ClaimWait | None:
    if claim is None:
        if volume.ephemeral is not None:
            sentence = (
                f"claim {key} of its ephemeral volume {volume.name} does not exist yet; its controller creates it"
            )
            return ClaimWait(key, "missing", sentence)
        namespace, _, name = key.partition("/")
        like = nearest(name, (one.name for one in cluster.claims.values() if one.namespace == namespace))
        return ClaimWait(key, "missing", f"claim {key} does not exist" + (f"; there is {like[0]}" if like else ""))
    if claim.metadata.deletion_timestamp:
        return ClaimWait(key, "deleted", f"claim {key} is being deleted")
    if claim.status.phase == "Lost":
        return ClaimWait(key, "lost", f"claim {key} lost its volume {claim.spec.volume_name}")
    return None if fully_bound(claim) else _unbound(cluster, key, claim, events)


def _unbound(cluster: Cluster, key: str, claim: PersistentVolumeClaim, events: EventIndex) -> ClaimWait:
    name, reported = class_of_claim(claim), _reported(key, events)
    storage_class = cluster.storage_classes.get(name)
    if claim.spec.volume_name:
        there = "" if claim.spec.volume_name in cluster.volumes else ", which does not exist"
        sentence = f"claim {key} waits to be bound to volume {claim.spec.volume_name}{there}"
        return ClaimWait(key, "waits-for-volume", sentence, name)
    if not name:
        default = next((c.name for c in cluster.storage_classes.values() if _is_default(c.metadata.annotations)), "")
        why = f"the default class {default} does not apply to it" if default else "there is no default class"
        return ClaimWait(key, "no-class", f"claim {key} names no storage class and {why}{reported}")
    if storage_class is None:
        like = nearest(name, (one.name for one in cluster.storage_classes.values()))
        more = f"; there is {like[0]}" if like else ""
        return ClaimWait(
            key, "class-missing", f"claim {key} names storage class {name}, which does not exist{more}", name
        )
    manual = storage_class.provisioner == NO_PROVISIONER
    if storage_class.volume_binding_mode == "WaitForFirstConsumer":
        node = claim.metadata.annotations.get(SELECTED_NODE, "")
        if node and not manual:
            sentence = f"claim {key} waits for {storage_class.provisioner} to create a volume for node {node}{reported}"
            return ClaimWait(key, "provisioning", sentence, name)
        sentence = f"claim {key} gets its volume when the pod gets its node (class {name}, WaitForFirstConsumer)"
        return ClaimWait(key, WAITS_FOR_CONSUMER, sentence, name)
    if manual:
        sentence = (
            f"claim {key} waits for a volume of class {name}, which has no provisioner: an administrator creates one"
        )
        return ClaimWait(key, "no-provisioner", sentence, name)
    sentence = f"claim {key} waits for {storage_class.provisioner} to create a volume of class {name}"
    return ClaimWait(key, "immediate", sentence + (reported or "; it has reported nothing"), name)


def _is_default(annotations: dict[str, str]) -> bool:
    return any(annotations.get(key) == "true" for key in _DEFAULT)


def _reported(key: str, events: EventIndex) -> str:
    event = events.last("PersistentVolumeClaim", key)
    if event is None:
        return ""
    return f"; last event: {event.reason}: {event.message[:MESSAGE].rstrip('.')}"
