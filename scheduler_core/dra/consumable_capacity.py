"""Consumable capacity: how much of a device's capacities an allocation consumes, and whether that is available.

Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating (consumable_capacity.go).
"""

from collections.abc import Mapping

from scheduler_core.api import quantity
from scheduler_core.api.devices import CapacityPolicy, CapacityRange, CapacityRequirements, DeviceCapacity
from scheduler_core.api.objects import Quantities
from scheduler_core.api.quantity import MAX_INT64, nano_value
from scheduler_core.releases.release import Release

Amount = str | int | float
Consumed = dict[str, int]  # capacity -> billionths
NANO = 10**9
MICRO = 10**6  # billionths in a thousandth


def consumption(
    release: Release, wanted: CapacityRequirements | None, capacities: Mapping[str, DeviceCapacity]
) -> Quantities | None:
    """Return what an allocation consumes of each capacity, rounded up; None if the device lacks a requested
    capacity."""
    requests = wanted.requests if wanted is not None else {}
    if any(name not in capacities for name in requests):
        return None
    return {name: _rounded(release, requests.get(name), capacity) for name, capacity in capacities.items()}


def fits(
    release: Release, taken: Quantities, capacities: Mapping[str, DeviceCapacity], used: Consumed, taking: Consumed
) -> bool:
    """Return whether `taken` satisfies the policies and fits into what `used` (claims) and `taking` (search) leave."""
    for name, capacity in capacities.items():
        if capacity.request_policy is not None and _violates(release, taken[name], capacity.request_policy):
            return False
        total = nano_value(taken[name]) + used.get(name, 0) + taking.get(name, 0)
        if total > nano_value(capacity.value):
            return False
    return True


def _is_fractional(release: Release, bounds: CapacityRange) -> bool:
    """Return whether the range is in thousandths: not all of its amounts are whole, and all fit."""
    amounts = [nano_value(amount) for amount in (bounds.min, bounds.max, bounds.step) if amount is not None]
    return (
        release.fractional_capacity_ranges
        and any(amount % NANO for amount in amounts)
        and all(amount % MICRO == 0 and amount <= MAX_INT64 * MICRO for amount in amounts)
    )


def _rounded(release: Release, wanted: Amount | None, capacity: DeviceCapacity) -> Amount:
    policy = capacity.request_policy
    if wanted is None:
        return policy.default if policy is not None and policy.default is not None else capacity.value
    if policy is None:
        return wanted
    bounds = policy.valid_range
    if bounds is not None and bounds.min is not None:
        if nano_value(wanted) < nano_value(bounds.min):
            return bounds.min
        if bounds.step is None:
            return wanted
        if _is_fractional(release, bounds):
            return _rounded_to_thousandths(wanted, bounds.min, bounds.step)
        least, step = quantity.value(bounds.min), quantity.value(bounds.step)
        steps = -((least - quantity.value(wanted)) // step)
        return quantity.binary(least + step * steps)
    for value in policy.valid_values:
        if nano_value(wanted) <= nano_value(value):
            return value
    return wanted


def _rounded_to_thousandths(wanted: Amount, least: Amount, step: Amount) -> Amount:
    if nano_value(wanted) % MICRO:
        return wanted  # it violates the policy
    begin, by = nano_value(least) // MICRO, nano_value(step) // MICRO
    rounded = begin - (begin - nano_value(wanted) // MICRO) // by * by
    milli = min(rounded, MAX_INT64)
    whole, rest = divmod(milli, 1000)
    if rest:
        return f"{milli}m"
    return quantity.binary(whole) if isinstance(step, str) and step.endswith("i") else str(whole)


def _violates(release: Release, amount: Amount, policy: CapacityPolicy) -> bool:
    nano = nano_value(amount)
    if policy.default is not None and nano == nano_value(policy.default):
        return False
    bounds = policy.valid_range
    if bounds is not None:
        if bounds.max is not None and nano > nano_value(bounds.max):
            return True
        if bounds.step is None:
            return False
        if _is_fractional(release, bounds):
            return nano % MICRO != 0 or (nano - nano_value(bounds.min or 0)) % nano_value(bounds.step) != 0
        return bool((quantity.value(amount) - quantity.value(bounds.min or 0)) % quantity.value(bounds.step))
    return bool(policy.valid_values) and all(nano != nano_value(value) for value in policy.valid_values)


def add(total: Consumed, amounts: Quantities, sign: int = 1) -> None:
    """Add the amounts, or subtract them if `sign` is -1."""
    for name, text in amounts.items():
        total[name] = total.get(name, 0) + sign * nano_value(text)
