"""Claims that pods name but the snapshot lacks, and stand-ins for them if a run treats them as bound.

`kubectl cluster-info dump` omits volumes and claims, so such a snapshot does not say where volumes are.
"""

from collections.abc import Iterator

from scheduler_core.api.objects import (
    Metadata,
    Object,
    ObjectReference,
    OwnerReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    Phase,
    Pod,
)
from scheduler_core.plugins.volumes import BIND_COMPLETED

ACCESS = ["ReadWriteMany"]


def claims_of(pod: Pod) -> Iterator[tuple[str, bool]]:
    """Yield (namespace/name, whether it was created for this pod) of the claims that a pod's volumes name."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None and volume.persistent_volume_claim.claim_name:
            yield f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}", False
        elif volume.ephemeral is not None:
            yield f"{pod.namespace}/{pod.name}-{volume.name}", True


def stand_ins(number: int, key: str, owner: Pod | None) -> list[Object]:
    """Return a claim bound to a volume, which every node can reach and any number of pods can use.

    `number`: used in the volume's name. `owner`: the pod of an ephemeral claim.
    """
    namespace, _, name = key.partition("/")
    volume = f"stand-in-{number}"
    owners = [OwnerReference("v1", "Pod", owner.name, owner.metadata.uid, True)] if owner is not None else []
    metadata = Metadata(name, namespace, annotations={BIND_COMPLETED: "yes"}, owner_references=owners)
    reference = ObjectReference("PersistentVolumeClaim", namespace, name)
    return [
        PersistentVolumeClaim(
            metadata=metadata,
            spec=PersistentVolumeClaimSpec(access_modes=ACCESS, volume_name=volume),
            status=Phase("Bound"),
        ),
        PersistentVolume(
            metadata=Metadata(volume),
            spec=PersistentVolumeSpec(access_modes=ACCESS, claim_ref=reference),
            status=Phase("Bound"),
        ),
    ]
