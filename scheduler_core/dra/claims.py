"""Claims of a pod, and the pods that may use a claim.

Source: staging/src/k8s.io/dynamic-resource-allocation/resourceclaim, pkg/scheduler/framework/plugins/dynamicresources
(foreachPodResourceClaim).
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress

import msgspec

from scheduler_core.api.devices import EXTENDED_CLAIM, Allocation, Consumer, ResourceClaim, ResourceClaimStatus
from scheduler_core.api.objects import PodResourceClaim
from scheduler_core.cluster.pod_info import PodInfo


class ClaimProblem(Exception):
    """A claim of the pod does not exist, or does not belong to the pod."""


def claim_name(pod: PodInfo, used: PodResourceClaim) -> tuple[str | None, bool]:
    """Return (name of the claim, None if none is needed; whether the pod must own it). Raises ClaimProblem."""
    if used.resource_claim_name is not None:
        return used.resource_claim_name, False
    if used.resource_claim_template_name is None:
        problem = "none of the supported fields are set"
        raise ClaimProblem(f'pod "{pod.key}", spec.resourceClaim {used.name!r}: {problem}'.replace("'", '"'))
    for status in pod.pod.status.resource_claim_statuses:
        if status.name == used.name:
            return status.resource_claim_name, True
    raise ClaimProblem(f'pod "{pod.key}": ResourceClaim not created yet')


def claims_of(pod: PodInfo, known: Mapping[str, ResourceClaim]) -> Iterator[ResourceClaim]:
    """Yield the claims that the pod names or that were created for it, in the order of its spec. Raises
    ClaimProblem."""
    for used in pod.pod.spec.resource_claims:
        claim = _claim(pod, used, known)
        if claim is not None:
            yield claim


def _claim(pod: PodInfo, used: PodResourceClaim, known: Mapping[str, ResourceClaim]) -> ResourceClaim | None:
    """Return the claim; None if none is needed. Raises ClaimProblem."""
    name, own = claim_name(pod, used)
    if name is None:
        return None
    claim = known.get(f"{pod.namespace}/{name}")
    if claim is None:
        raise ClaimProblem(f'could not find ResourceClaim "{pod.namespace}/{name}"')
    if claim.metadata.deletion_timestamp:
        raise ClaimProblem(f'resourceclaim "{claim.name}" is being deleted')
    if own and not owned(claim, pod):
        kind = "Pod" if pod.release.claim_owner_message_capitalized else "pod"
        raise ClaimProblem(f"ResourceClaim {claim.key} was not created for {kind} {pod.key} ({kind} is not owner)")
    return claim


def problem_of(pod: PodInfo, used: PodResourceClaim, known: Mapping[str, ResourceClaim]) -> str:
    """Return the problem of one of the pod's claims; "" if there is none."""
    try:
        _claim(pod, used, known)
    except ClaimProblem as problem:
        return str(problem)
    return ""


def claims_used(pod: PodInfo, known: Mapping[str, ResourceClaim]) -> list[ResourceClaim]:
    """Return the existing claims of the pod, even if others are missing, and claims that the scheduler
    created for it."""
    found = []
    for used in pod.pod.spec.resource_claims:
        with suppress(ClaimProblem):
            claim = known.get(f"{pod.namespace}/{claim_name(pod, used)[0]}")
            if claim is not None:
                found.append(claim)
    made = (claim for claim in known.values() if claim.metadata.annotations.get(EXTENDED_CLAIM) == "true")
    return [*found, *(claim for claim in made if claim.namespace == pod.namespace and owned(claim, pod))]


def uid_of(thing: PodInfo | ResourceClaim) -> str:
    """Return the uid, or the key of an object without a uid."""
    metadata = thing.pod.metadata if isinstance(thing, PodInfo) else thing.metadata
    return metadata.uid or thing.key


def owned(claim: ResourceClaim, pod: PodInfo) -> bool:
    """Return whether the pod is the controller of the claim, as for claims created from a template."""
    references = claim.metadata.owner_references
    controller = next((reference for reference in references if reference.controller), None)
    if controller is None:
        return False
    uid = pod.pod.metadata.uid
    return controller.uid == uid if uid else (controller.kind, controller.name) == ("Pod", pod.name)


def reserved_for(claim: ResourceClaim, pod: PodInfo) -> bool:
    uid = uid_of(pod)
    return any(consumer.uid == uid for consumer in claim.status.reserved_for)


def of_others(claim: ResourceClaim, pod: PodInfo) -> bool:
    """Return whether the claim is reserved for another pod."""
    uid = uid_of(pod)
    return any(consumer.uid != uid for consumer in claim.status.reserved_for)


def with_status(claim: ResourceClaim, status: ResourceClaimStatus) -> ResourceClaim:
    return msgspec.structs.replace(claim, status=status)


def allocated(claim: ResourceClaim, allocation: Allocation) -> ResourceClaim:
    return with_status(claim, msgspec.structs.replace(claim.status, allocation=allocation))


def reserved(claim: ResourceClaim, pod: PodInfo, allocation: Allocation | None) -> ResourceClaim:
    """Return the claim reserved for the pod, with the allocation if one is given."""
    consumer = Consumer(resource="pods", name=pod.name, uid=uid_of(pod))
    status = msgspec.structs.replace(claim.status, reserved_for=[*claim.status.reserved_for, consumer])
    if allocation is not None:
        status.allocation = allocation
    return with_status(claim, status)


def released(claim: ResourceClaim, pod: PodInfo) -> ResourceClaim:
    """Return the claim without its reservation for the pod; it stays allocated."""
    left = [consumer for consumer in claim.status.reserved_for if consumer.uid != uid_of(pod)]
    return with_status(claim, msgspec.structs.replace(claim.status, reserved_for=left))


def deallocated(claim: ResourceClaim) -> ResourceClaim:
    return with_status(claim, ResourceClaimStatus())
