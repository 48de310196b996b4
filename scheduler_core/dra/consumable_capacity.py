"""Consumable capacity: how much of a device's capacities an allocation consumes, and whether that is available.

Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating (consumable_capacity.go).
"""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_core.api import quantity
from scheduler_core.api.devices import CapacityPolicy, CapacityRequirements, DeviceCapacity
from scheduler_core.api.objects import Quantities

Amount = str | int | float
Consumed = dict[str, int]  # capacity -> billionths
NANO = 10**9


def consumption(wanted: CapacityRequirements | None, capacities: Mapping[str, DeviceCapacity]) -> Quantities | None:
    """Return what an allocation consumes of each capacity, rounded up; None if the device lacks a requested
    capacity."""
    requests = wanted.requests if wanted is not None else {}
    if any(name not in capacities for name in requests):
        return None
    return {name: _rounded(requests.get(name), capacity) for name, capacity in capacities.items()}


def fits(taken: Quantities, capacities: Mapping[str, DeviceCapacity], used: Consumed, taking: Consumed) -> bool:
    """Return whether `taken` satisfies the policies and fits into what `used` (claims) and `taking` (search) leave."""
    for name, capacity in capacities.items():
        if capacity.request_policy is not None and _violates(taken[name], capacity.request_policy):
            return False
        total = quantity.nano_value(taken[name]) + used.get(name, 0) + taking.get(name, 0)
        if total > quantity.nano_value(capacity.value):
            return False
    return True


def _rounded(wanted: Amount | None, capacity: DeviceCapacity) -> Amount:
    policy = capacity.request_policy
    if wanted is None:
        return policy.default if policy is not None and policy.default is not None else capacity.value
    if policy is None:
        return wanted
    bounds = policy.valid_range
    if bounds is not None and bounds.min is not None:
        if quantity.nano_value(wanted) < quantity.nano_value(bounds.min):
            return bounds.min
        if bounds.step is None:
            return wanted
        least, step = quantity.value(bounds.min), quantity.value(bounds.step)
        steps = -((least - quantity.value(wanted)) // step)
        return quantity.binary(least + step * steps)
    for value in policy.valid_values:
        if quantity.nano_value(wanted) <= quantity.nano_value(value):
            return value
    return wanted


def _violates(amount: Amount, policy: CapacityPolicy) -> bool:
    nano = quantity.nano_value(amount)
    if policy.default is not None and nano == quantity.nano_value(policy.default):
        return False
    bounds = policy.valid_range
    if bounds is not None:
        if bounds.max is not None and nano > quantity.nano_value(bounds.max):
            return True
        if bounds.step is None:
            return False
        return bool((quantity.value(amount) - quantity.value(bounds.min or 0)) % quantity.value(bounds.step))
    return bool(policy.valid_values) and all(nano != quantity.nano_value(value) for value in policy.valid_values)


def add(total: Consumed, amounts: Quantities, sign: int = 1) -> None:
    """Add the amounts, or subtract them if `sign` is -1."""
    for name, text in amounts.items():
        total[name] = total.get(name, 0) + sign * quantity.nano_value(text)
