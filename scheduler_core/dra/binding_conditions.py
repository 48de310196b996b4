"""Binding conditions: devices must be ready before a pod is bound, as reported by their drivers.

Upstream: pkg/scheduler/framework/plugins/dynamicresources (isClaimReadyForBinding, isClaimTimeout).
"""

from collections.abc import Collection

from scheduler_core.api.devices import AllocatedDevice, ResourceClaim
from scheduler_core.api.objects import Condition
from scheduler_core.dra.claims import uid_of


def _conditions_of(claim: ResourceClaim, given: AllocatedDevice) -> dict[str, Condition] | None:
    """Return the conditions that the driver reports for a device, by type; None if there are none."""
    for status in claim.status.devices:
        if (status.driver, status.pool, status.device) == given.id:
            return {condition.type: condition for condition in status.conditions}
    return None


def problem(claim: ResourceClaim) -> str | None:
    """Return why the claim's devices cannot become ready; "" if they are not ready yet, None if they are ready."""
    allocation = claim.status.allocation
    for given in allocation.devices.results if allocation is not None else ():
        if not given.binding_conditions:
            continue
        conditions = _conditions_of(claim, given)
        if conditions is None:
            return ""
        for name in given.binding_failure_conditions:
            condition = conditions.get(name)
            if condition is not None and condition.status == "True":
                return f'claim {claim.name} binding failed: reason={condition.reason}, message="{condition.message}"'
        if any(name not in conditions or conditions[name].status != "True" for name in given.binding_conditions):
            return ""
    return None


def failed(claim: ResourceClaim, timed_out: Collection[str]) -> bool:
    """Return whether the devices have failed, or waiting for them has timed out."""
    found = problem(claim)
    return found is not None and (bool(found) or uid_of(claim) in timed_out)
