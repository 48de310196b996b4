"""Binding conditions: devices that have to be made ready before a pod is bound, and what their drivers say of it.

Upstream: pkg/scheduler/framework/plugins/dynamicresources (isClaimReadyForBinding, isClaimTimeout).
"""

from __future__ import annotations

from collections.abc import Collection

from scheduler_core.api.devices import AllocatedDevice, ResourceClaim
from scheduler_core.api.objects import Condition
from scheduler_core.dra.claims import uid_of


def _said(claim: ResourceClaim, given: AllocatedDevice) -> dict[str, Condition] | None:
    """What the driver says of a device, by type; None if nothing."""
    for status in claim.status.devices:
        if (status.driver, status.pool, status.device) == given.id:
            return {condition.type: condition for condition in status.conditions}
    return None


def problem(claim: ResourceClaim) -> str | None:
    """Why the claim's devices will not become ready; "" if they may still, None if they are."""
    allocation = claim.status.allocation
    for given in allocation.devices.results if allocation is not None else ():
        if not given.binding_conditions:
            continue
        said = _said(claim, given)
        if said is None:
            return ""
        for name in given.binding_failure_conditions:
            condition = said.get(name)
            if condition is not None and condition.status == "True":
                return f'claim {claim.name} binding failed: reason={condition.reason}, message="{condition.message}"'
        if any(name not in said or said[name].status != "True" for name in given.binding_conditions):
            return ""
    return None


def failed(claim: ResourceClaim, timed_out: Collection[str]) -> bool:
    """Whether the devices have failed, or nobody waits for them any longer."""
    found = problem(claim)
    return found is not None and (bool(found) or uid_of(claim) in timed_out)
