"""Converts the result of a search to the allocation in the status of a claim.

Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal (allocator_stable.go: Allocate,
createNodeSelector).
"""

import uuid
from collections.abc import Iterable

from scheduler_core.api import quantity
from scheduler_core.api.devices import Allocated, AllocatedDevice, Allocation, DeviceConfiguration, ResourceClaim
from scheduler_core.api.objects import NodeSelector, NodeSelectorTerm, Requirement
from scheduler_core.dra.allocation_request import AllocationPlan, RequestData
from scheduler_core.dra.allocator import AllocationSolution, Taken
from scheduler_core.releases import Release

FROM_CLASS, FROM_CLAIM = "FromClass", "FromClaim"


def allocations(release: Release, plan: AllocationPlan, solution: AllocationSolution, node: str) -> list[Allocation]:
    """Return one allocation for each claim."""
    found = []
    for i, (claim, requests) in enumerate(zip(plan.claims, plan.requests, strict=True)):
        chosen = [requests[j][solution.chosen.get((i, j), 0)] for j in range(len(requests)) if requests[j]]
        taken = solution.taken[i]
        devices = Allocated(
            [_device(release, claim, number, one) for number, one in enumerate(taken)],
            _configuration(release, claim, chosen),
        )
        found.append(Allocation(devices, _node_selector(taken, node)))
    return found


def _device(release: Release, claim: ResourceClaim, number: int, taken: Taken) -> AllocatedDevice:
    device = taken.entry.device
    made = AllocatedDevice(taken.request.full_name, *taken.entry.id, tolerations=taken.request.spec.tolerations)
    if taken.request.admin:
        made.admin_access = True
    if release.binding_conditions:
        made.binding_conditions = device.binding_conditions
        made.binding_failure_conditions = device.binding_failure_conditions
    if release.consumable_capacity and taken.entry.multiple:
        # Upstream's share IDs are random.
        made.share_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{claim.key}/{claim.metadata.uid}/{number}"))
        made.consumed_capacity = {name: quantity.canonical(text) for name, text in taken.consumed.items()}
    return made


def _configuration(release: Release, claim: ResourceClaim, chosen: list[RequestData]) -> list[DeviceConfiguration]:
    found = [*_of_classes(release, chosen), *_of_claim(release, claim, chosen)]
    if not release.configuration_for_all_names_no_requests:
        return found
    # no requests mean all; a subrequest counts as its request
    full_names = {request.base: request.full_name for request in chosen}
    names = [{one.name, full_names.get(one.name, one.name)} for one in claim.spec.devices.requests]
    return [
        DeviceConfiguration(one.source, [], one.opaque) if all(own.intersection(one.requests) for own in names) else one
        for one in found
    ]


def _of_classes(release: Release, chosen: list[RequestData]) -> list[DeviceConfiguration]:
    """Return the classes' configurations, repeated for each request if they name no requests."""
    found: list[DeviceConfiguration] = []
    of_class: dict[str, list[DeviceConfiguration]] = {}
    for request in chosen:
        device_class = request.device_class
        if device_class is None:
            continue
        if not release.class_configuration_names_requests:
            found += [DeviceConfiguration(FROM_CLASS, [], one.opaque) for one in device_class.spec.config]
            continue
        if device_class.name not in of_class:
            made = [DeviceConfiguration(FROM_CLASS, [], one.opaque) for one in device_class.spec.config]
            of_class[device_class.name] = made
            found += made
        for config in of_class[device_class.name]:
            config.requests.append(request.full_name)
    return found


def _of_claim(release: Release, claim: ResourceClaim, chosen: list[RequestData]) -> Iterable[DeviceConfiguration]:
    for config in claim.spec.devices.config:
        made = DeviceConfiguration(FROM_CLAIM, config.requests, config.opaque)
        if not config.requests:
            yield made
            continue
        for request in chosen:
            if request.base in config.requests or (request.parent and request.full_name in config.requests):
                yield made
                if release.configuration_for_all_names_no_requests:
                    break


def _node_selector(taken: list[Taken], node: str) -> NodeSelector | None:
    """Return the nodes on which all of the devices can be used; None for all nodes."""
    term = NodeSelectorTerm([], [])
    for one in taken:
        spec, device = one.entry.piece.spec, one.entry.device
        place = device if spec.per_device_node_selection else spec
        if place.node_name or device.binds_to_node:
            return NodeSelector([NodeSelectorTerm(match_fields=[Requirement("metadata.name", "In", [node])])])
        for mine in place.node_selector.node_selector_terms[:1] if place.node_selector is not None else ():
            _join(mine.match_fields, term.match_fields)
            _join(mine.match_expressions, term.match_expressions)
    return NodeSelector([term]) if term.match_fields or term.match_expressions else None


def _join(more: list[Requirement], known: list[Requirement]) -> None:
    def alike(a: Requirement, b: Requirement) -> bool:
        return (a.key, a.operator, set(a.values)) == (b.key, b.operator, set(b.values))

    for requirement in more:
        if not any(alike(requirement, one) for one in known):
            known.append(requirement)
