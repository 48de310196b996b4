"""Claims that pods name and the snapshot does not hold, and what stands in for them if a run is to take them as bound.

`kubectl cluster-info dump` leaves volumes and claims out: of such a snapshot nobody knows where the volumes are.
"""

from __future__ import annotations

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
    """(namespace/name, whether it was made for the pod alone) of the claims that a pod's volumes name."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None and volume.persistent_volume_claim.claim_name:
            yield f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}", False
        elif volume.ephemeral is not None:
            yield f"{pod.namespace}/{pod.name}-{volume.name}", True


def stand_ins(number: int, key: str, owner: Pod | None) -> list[Object]:
    """A claim and the volume that it is bound to, which any node reaches and any number of pods may use.

    `number`: makes the volume's name. `owner`: the pod that an ephemeral claim was made for.
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
