"""Extended resources backed by device classes: a pod requests `example.com/gpu` and gets devices.

On a node that has the resource in its allocatable, a device plugin provides it. For other nodes, the scheduler creates
its own claim for the pod, with a request for each container. The content of this claim depends on the node.

Upstream: pkg/scheduler/framework/plugins/dynamicresources (extendeddynamicresources.go, extended).
"""

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

IMPLICIT = "deviceclass.resource.kubernetes.io/"  # followed by the name of a class: every class provides this resource
TEMPORARY = "<extended-resources>"  # not a valid object name
_LONGEST = 58  # length before the five characters that make a generated name unique


def class_of(cluster: Cluster, resource: str) -> DeviceClass | None:
    """Return the class that provides an extended resource; the newest if there are several, then the first by name."""
    if not cluster.release.extended_resources or not cluster.device_classes:
        return None
    providing = [one for one in cluster.device_classes.values() if one.spec.extended_resource_name == resource]
    if providing:
        return min(providing, key=lambda one: (-timestamp(one.metadata.creation_timestamp), one.name))
    return cluster.device_classes.get(resource.removeprefix(IMPLICIT)) if resource.startswith(IMPLICIT) else None


def requested(cluster: Cluster, pod: PodInfo) -> dict[str, int]:
    """Return the extended resources that the pod requests, if a class provides any of them; otherwise none."""
    if not cluster.release.extended_resources or not cluster.device_classes:
        return {}
    found = {
        name: amount
        for name, amount in pod.requests.items()
        if amount and (resources.is_extended(name) or name.startswith(IMPLICIT))
    }
    return found if any(class_of(cluster, name) is not None for name in found) else {}


def claim_of(pod: PodInfo, known: Iterable[ResourceClaim]) -> ResourceClaim:
    """Return the claim that an earlier attempt created for the pod, or a new one that exists only in memory."""
    for claim in known:
        if claim.metadata.annotations.get(EXTENDED_CLAIM) == "true" and owned(claim, pod):
            return claim
    owner = OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.pod.metadata.uid, controller=True)
    metadata = Metadata(TEMPORARY, pod.namespace, f"{TEMPORARY} {pod.key}", owner_references=[owner])
    metadata.annotations = {EXTENDED_CLAIM: "true"}
    return ResourceClaim(metadata)


def is_temporary(claim: ResourceClaim) -> bool:
    return claim.name == TEMPORARY


def with_requests(claim: ResourceClaim, requests: list[DeviceRequest]) -> ResourceClaim:
    """Return the claim with the requests for a node."""
    return msgspec.structs.replace(claim, spec=ResourceClaimSpec(DeviceClaim(requests)))


def written(claim: ResourceClaim, pod: PodInfo, number: int) -> ResourceClaim:
    """Return the claim with its final name and uid. `number`: how many claims were created so far."""
    name = f"{pod.name}-extended-resources-"[:_LONGEST] + f"{number:05}"
    metadata = msgspec.structs.replace(claim.metadata, name=name, uid=f"{pod.namespace}-{name}")
    return msgspec.structs.replace(claim, metadata=metadata)


def requests_for(cluster: Cluster, pod: PodInfo, delegated: Sequence[str]) -> list[DeviceRequest]:
    """Return a request for each container and resource that devices must provide.

    Init containers that terminate share the devices of later containers: only the largest remaining request counts.
    """
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
    """Return the request of a container; None if the devices that it can use `already` are sufficient."""
    requests = container.resources.requests
    amount = quantity.value(requests[resource]) if resource in requests else 0
    if amount <= already:
        return None
    name = f"container-{number}-request-{sorted(requests).index(resource)}"
    exactly = ExactRequest(device_class_name=device_class, allocation_mode=EXACT_COUNT, count=amount - already)
    return DeviceRequest(name=name, exactly=exactly)
