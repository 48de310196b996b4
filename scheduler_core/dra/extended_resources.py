"""Extended resources that device classes provide: a pod asks for `example.com/gpu`, and is given devices.

Where a node has the resource itself, a device plugin provides it; else the scheduler makes a claim of its own for the
pod, with a request per container. What it asks for depends on the node.

Upstream: pkg/scheduler/framework/plugins/dynamicresources (extendeddynamicresources.go, extended).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from scheduler_core.api import quantity
from scheduler_core.api.devices import (
    EXACT_COUNT,
    EXTENDED_CLAIM,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from scheduler_core.api.objects import Container, Metadata, OwnerReference, timestamp
from scheduler_core.cluster import resources
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.dra.claims import owned

IMPLICIT = "deviceclass.resource.kubernetes.io/"  # and the name of a class: every class provides that
TEMPORARY = "<extended-resources>"  # no name that an object could have
_LONGEST = 58  # characters before the five that make a generated name unique


def class_of(cluster: Cluster, resource: str) -> DeviceClass | None:
    """The class that provides an extended resource; of several the newest, then the first by name."""
    if not cluster.release.extended_resources or not cluster.device_classes:
        return None
    providing = [one for one in cluster.device_classes.values() if one.spec.extended_resource_name == resource]
    if providing:
        return min(providing, key=lambda one: (-timestamp(one.metadata.creation_timestamp), one.name))
    return cluster.device_classes.get(resource.removeprefix(IMPLICIT)) if resource.startswith(IMPLICIT) else None


def asked(cluster: Cluster, pod: PodInfo) -> dict[str, int]:
    """The extended resources that the pod asks for, if a class provides any of them; else none."""
    if not cluster.release.extended_resources or not cluster.device_classes:
        return {}
    found = {
        name: amount
        for name, amount in pod.requests.items()
        if amount and (resources.is_extended(name) or name.startswith(IMPLICIT))
    }
    return found if any(class_of(cluster, name) is not None for name in found) else {}


def claim_of(pod: PodInfo, known: Iterable[ResourceClaim]) -> ResourceClaim:
    """The claim that an earlier attempt made for the pod; else a new one that is nowhere but here."""
    for claim in known:
        if claim.metadata.annotations.get(EXTENDED_CLAIM) == "true" and owned(claim, pod):
            return claim
    owner = OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.pod.metadata.uid, controller=True)
    metadata = Metadata(TEMPORARY, pod.namespace, f"{TEMPORARY} {pod.key}", owner_references=[owner])
    metadata.annotations = {EXTENDED_CLAIM: "true"}
    return ResourceClaim(metadata)


def is_temporary(claim: ResourceClaim) -> bool:
    return claim.name == TEMPORARY


def asking(claim: ResourceClaim, requests: list[DeviceRequest]) -> ResourceClaim:
    """The claim as a node needs it."""
    return msgspec.structs.replace(claim, spec=ResourceClaimSpec(DeviceClaim(requests)))


def written(claim: ResourceClaim, pod: PodInfo, number: int) -> ResourceClaim:
    """The claim under the name that it gets when it is created; `number`: of the claims made so far."""
    name = f"{pod.name}-extended-resources-"[:_LONGEST] + f"{number:05}"
    metadata = msgspec.structs.replace(claim.metadata, name=name, uid=f"{pod.namespace}-{name}")
    return msgspec.structs.replace(claim, metadata=metadata)


def requests_for(cluster: Cluster, pod: PodInfo, delegated: Sequence[str]) -> list[DeviceRequest]:
    """A request per container and resource that devices have to provide. Containers that end before others start use
    what those are given: of them only the largest request that is left counts."""
    spec = pod.pod.spec
    containers = [*spec.init_containers, *spec.containers]
    found: list[DeviceRequest] = []
    for resource in sorted(delegated):
        provider = class_of(cluster, resource)
        if provider is None:
            continue
        lasting: list[DeviceRequest | None] = [None] * len(containers)
        ending = []
        for i, container in enumerate(containers):
            if i < len(spec.init_containers) and container.restart_policy != "Always":
                ending.append(i)
            else:
                lasting[i] = _request(i, container, resource, provider.name, 0)
        largest: DeviceRequest | None = None
        for i in ending:
            later = [one.exactly.count for one in lasting[i:] if one is not None and one.exactly is not None]
            made = _request(i, containers[i], resource, provider.name, sum(later))
            if made is not None and (largest is None or _count(largest) < _count(made)):
                largest = made
        found += [one for one in (largest, *lasting) if one is not None]
    return sorted(found, key=lambda one: one.name)


def _count(request: DeviceRequest) -> int:
    return request.exactly.count if request.exactly is not None else 0


def _request(number: int, container: Container, resource: str, device_class: str, already: int) -> DeviceRequest | None:
    """None if the container needs no devices beside those that it can use `already`."""
    requests = container.resources.requests
    amount = quantity.value(requests[resource]) if resource in requests else 0
    if amount <= already:
        return None
    name = f"container-{number}-request-{sorted(requests).index(resource)}"
    exactly = ExactRequest(device_class_name=device_class, allocation_mode=EXACT_COUNT, count=amount - already)
    return DeviceRequest(name=name, exactly=exactly)
