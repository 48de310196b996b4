"""The resource claim controller.

It creates a ResourceClaim, owned by the pod, for each template that a pod names. It deallocates a claim when the last
pod for which it was reserved is gone.

Source: pkg/controller/resourceclaim.
"""

from collections.abc import Iterator, Mapping

import msgspec

from scheduler_core.api.devices import ResourceClaim, ResourceClaimStatus, ResourceClaimTemplate
from scheduler_core.api.objects import Metadata, OwnerReference, Pod, PodResourceClaimStatus
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.dra.claims import claims_used, owned, reserved_for, with_status

POD_CLAIM = "resource.kubernetes.io/pod-claim-name"  # annotation: the name of the claim in the pod


def make(
    pod: Pod, templates: Mapping[str, ResourceClaimTemplate], known: Mapping[str, ResourceClaim]
) -> Iterator[ResourceClaim]:
    """Yield the claims that the pod still needs and write their names to its status. `templates`, `known`: by key.

    A missing template creates no claim, and the pod waits for it. Upstream's names end in five random letters; here a
    number is appended if the name is taken.
    """
    made = {status.name for status in pod.status.resource_claim_statuses}
    for used in pod.spec.resource_claims:
        template = templates.get(f"{pod.namespace}/{used.resource_claim_template_name}")
        if used.name in made or template is None:
            continue
        name, number = f"{pod.name}-{used.name}", 0
        while f"{pod.namespace}/{name}" in known:
            number += 1
            name = f"{pod.name}-{used.name}-{number}"
        owner = OwnerReference("v1", "Pod", pod.name, pod.metadata.uid, controller=True)
        more = template.spec.metadata
        yield ResourceClaim(
            Metadata(
                name,
                pod.namespace,
                f"claim-of-{pod.metadata.uid}-{used.name}" if pod.metadata.uid else "",
                labels=dict(more.labels),
                annotations={**more.annotations, POD_CLAIM: used.name},
                owner_references=[owner],
            ),
            template.spec.spec,
        )
        statuses = [*pod.status.resource_claim_statuses, PodResourceClaimStatus(used.name, name)]
        # pods of a template share the status
        pod.status = msgspec.structs.replace(pod.status, resource_claim_statuses=statuses)


def release_claims(
    pod: PodInfo, known: Mapping[str, ResourceClaim]
) -> Iterator[tuple[ResourceClaim, ResourceClaim | None]]:
    """Yield the changes to the claims of a removed pod: (old, new); new is None for a claim deleted with the pod."""
    for claim in claims_used(pod, known):
        if owned(claim, pod):
            yield claim, None
        elif reserved_for(claim, pod):
            left = [one for one in claim.status.reserved_for if one.uid != pod.pod.metadata.uid]
            allocation = claim.status.allocation if left else None
            yield claim, with_status(claim, ResourceClaimStatus(allocation, left, claim.status.devices if left else []))
