"""Which claims a pod uses, and who may use a claim.

Source: staging/src/k8s.io/dynamic-resource-allocation/resourceclaim, pkg/scheduler/framework/plugins/dynamicresources
(foreachPodResourceClaim).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

import msgspec

from scheduler_core.api.devices import Allocation, Consumer, ResourceClaim, ResourceClaimStatus
from scheduler_core.api.objects import PodResourceClaim
from scheduler_core.cluster.pod_info import PodInfo


class ClaimProblem(Exception):
    """A claim of the pod is not there, or not the pod's."""


def claim_name(pod: PodInfo, used: PodResourceClaim) -> tuple[str | None, bool]:
    """(the claim's name, None if none was needed; whether it must be the pod's own). Raises ClaimProblem."""
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
    """The claims of a pod that it named or that were made for it, in the order of its spec. Raises ClaimProblem."""
    for used in pod.pod.spec.resource_claims:
        claim = _claim(pod, used, known)
        if claim is not None:
            yield claim


def _claim(pod: PodInfo, used: PodResourceClaim, known: Mapping[str, ResourceClaim]) -> ResourceClaim | None:
    """None where none was needed. Raises ClaimProblem."""
    name, own = claim_name(pod, used)
    if name is None:
        return None
    claim = known.get(f"{pod.namespace}/{name}")
    if claim is None:
        raise ClaimProblem(f'could not find ResourceClaim "{pod.namespace}/{name}"')
    if claim.metadata.deletion_timestamp:
        raise ClaimProblem(f'resourceclaim "{claim.name}" is being deleted')
    if own and not owned(claim, pod):
        kind = "Pod" if pod.release.claim_owner_capital else "pod"
        raise ClaimProblem(f"ResourceClaim {claim.key} was not created for {kind} {pod.key} ({kind} is not owner)")
    return claim


def problem_of(pod: PodInfo, used: PodResourceClaim, known: Mapping[str, ResourceClaim]) -> str:
    """What is wrong with one of the pod's claims; "" for nothing."""
    try:
        _claim(pod, used, known)
    except ClaimProblem as problem:
        return str(problem)
    return ""


def claims_used(pod: PodInfo, known: Mapping[str, ResourceClaim]) -> list[ResourceClaim]:
    """Those of the pod's claims that are there, whatever is wrong with others."""
    found = []
    for used in pod.pod.spec.resource_claims:
        with suppress(ClaimProblem):
            claim = known.get(f"{pod.namespace}/{claim_name(pod, used)[0]}")
            if claim is not None:
                found.append(claim)
    return found


def owned(claim: ResourceClaim, pod: PodInfo) -> bool:
    """Whether the pod controls the claim: claims are made for pods by a controller."""
    references = claim.metadata.owner_references
    controller = next((reference for reference in references if reference.controller), None)
    return controller is not None and controller.uid == pod.pod.metadata.uid


def reserved_for(claim: ResourceClaim, pod: PodInfo) -> bool:
    uid = pod.pod.metadata.uid
    return any(consumer.uid == uid for consumer in claim.status.reserved_for)


def with_status(claim: ResourceClaim, status: ResourceClaimStatus) -> ResourceClaim:
    return msgspec.structs.replace(claim, status=status)


def allocated(claim: ResourceClaim, allocation: Allocation) -> ResourceClaim:
    return with_status(claim, msgspec.structs.replace(claim.status, allocation=allocation))


def reserved(claim: ResourceClaim, pod: PodInfo, allocation: Allocation | None) -> ResourceClaim:
    """The claim with the pod among its consumers, and allocated if it was not."""
    consumer = Consumer(resource="pods", name=pod.name, uid=pod.pod.metadata.uid)
    status = msgspec.structs.replace(claim.status, reserved_for=[*claim.status.reserved_for, consumer])
    if allocation is not None:
        status.allocation = allocation
    return with_status(claim, status)


def released(claim: ResourceClaim, uid: str) -> ResourceClaim:
    """The claim without one consumer; it stays allocated."""
    left = [consumer for consumer in claim.status.reserved_for if consumer.uid != uid]
    return with_status(claim, msgspec.structs.replace(claim.status, reserved_for=left))


def deallocated(claim: ResourceClaim) -> ResourceClaim:
    return with_status(claim, ResourceClaimStatus())
