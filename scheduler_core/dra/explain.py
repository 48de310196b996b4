"""Explains why a claim cannot get each device on one node, and how much of shared counters is left.

`node_report` returns plain data for pages and for explanation trees. It changes nothing.
"""

from collections.abc import Iterator, Mapping

import msgspec

from scheduler_core.api.devices import ResourceClaim
from scheduler_core.api.selectors import NO_SCHEDULE, first_untolerated
from scheduler_core.dra import constraints, consumable_capacity, shared_counters
from scheduler_core.dra.allocation_request import AllocationError, RequestData
from scheduler_core.dra.devices import Devices
from scheduler_core.dra.pools import DeviceID, Pool, PoolDevice, is_for_device

TAKEN, SELECTOR, NODE, TAINT, COUNTERS, CAPACITY, POOL, BINDING = (
    *("taken", "selector", "node", "taint"),
    *("counters", "capacity", "pool", "binding"),
)
NANO = 10**9


class DeviceObjection(msgspec.Struct, frozen=True):
    """A reason against a device. `kind`: one of the constants above. `text`: the claim, selector, taint or counter."""

    kind: str
    text: str


class DeviceReport(msgspec.Struct, frozen=True):
    """A device with all reasons against it; none if the request could get it."""

    driver: str
    pool: str
    device: str
    objections: list[DeviceObjection]


class RequestReport(msgspec.Struct, frozen=True):
    """Devices for one request or one alternative of a prioritized list. `wanted`: the number of devices it needs (as
    many as it selects with mode All). `fitting`: the number it could get if it were the only request."""

    name: str
    device_class: str
    mode: str
    wanted: int
    fitting: int
    devices: list[DeviceReport]


class PoolReport(msgspec.Struct, frozen=True):
    """A pool visible to the node. `state`: "", or why its devices are not allocated. `left`: (counter set, counter,
    amount that allocated devices leave, in whole units)."""

    driver: str
    pool: str
    state: str
    left: list[tuple[str, str, float]]


class ClaimReport(msgspec.Struct, frozen=True):
    """Result for a claim. `requests`: the alternatives of each request. `constraints`: attributes that its devices must
    share, or in which they must differ."""

    claim: str
    requests: list[list[RequestReport]]
    constraints: list[str]


class NodeReport(msgspec.Struct, frozen=True):
    node: str
    claims: list[ClaimReport]
    pools: list[PoolReport]


def node_report(devices: Devices, row: int, claims: list[ResourceClaim]) -> NodeReport:
    """Return which devices the unallocated claims find on the node of a row."""
    plan, pools = devices.plan(claims), devices.pools(row)
    holders = _holders(devices)
    left = {pool.id: shared_counters.left(pool, devices.in_use, devices.cluster.release) for pool in pools}
    texts = []
    for claim, requests in zip(claims, plan.requests, strict=True):
        made = [
            constraints.make(one, devices.cluster.release.consumable_capacity) for one in claim.spec.devices.constraints
        ]
        texts.append(
            ClaimReport(
                claim.key,
                [[_request(devices, row, one, pools, holders) for one in alternatives] for alternatives in requests],
                [one.text for one in made if one is not None],
            )
        )
    states = [
        PoolReport(*pool.id, _state(pool, devices), [(*name, amount / NANO) for name, amount in left[pool.id].items()])
        for pool in pools
    ]
    return NodeReport(devices.cluster.nodes.names[row], texts, states)


def _state(pool: Pool, devices: Devices) -> str:
    if pool.problem:
        return f"invalid: {pool.problem}"
    return "being updated" if pool.incomplete and not devices.cluster.release.allocates_from_incomplete_pools else ""


def _holders(devices: Devices) -> dict[DeviceID, list[str]]:
    """Return device -> the claims to which it is allocated."""
    found: dict[DeviceID, list[str]] = {}
    for claim in (*devices.cluster.device_claims.values(), *devices.pending.values()):
        allocation = claim.status.allocation
        for given in allocation.devices.results if allocation is not None else ():
            if not given.admin_access:
                found.setdefault(given.id, []).append(claim.key)
    return found


def _request(
    devices: Devices, row: int, request: RequestData, pools: list[Pool], holders: Mapping[DeviceID, list[str]]
) -> RequestReport:
    seen = []
    for pool in pools:
        for entry in pool.entries:
            objections = list(_objections(devices, row, request, pool, entry, holders))
            seen.append(DeviceReport(*entry.id, objections))
    if request.wants_all:
        wanted = sum(all(one.kind not in (SELECTOR, NODE, POOL) for one in device.objections) for device in seen)
    else:
        wanted = request.spec.count
    fitting = sum(not device.objections for device in seen)
    name, mode = request.full_name, request.spec.allocation_mode
    return RequestReport(name, request.spec.device_class_name, mode, wanted, fitting, seen)


def _objections(
    devices: Devices,
    row: int,
    request: RequestData,
    pool: Pool,
    entry: PoolDevice,
    holders: Mapping[DeviceID, list[str]],
) -> Iterator[DeviceObjection]:
    release, device = devices.cluster.release, entry.device
    state = _state(pool, devices)
    if state:
        yield DeviceObjection(POOL, state)
    if entry.id in devices.in_use.devices and not request.admin:
        yield DeviceObjection(TAKEN, f"allocated to {', '.join(holders.get(entry.id, ()))}")
    try:
        refusing = request.refusing(entry, devices.selectors)
        if refusing is not None:
            owner, number, expression = refusing
            yield DeviceObjection(SELECTOR, f"{f'class {owner}, ' if owner else ''}selector #{number}: {expression}")
    except AllocationError as error:
        yield DeviceObjection(SELECTOR, error.problem.removeprefix(": "))
    if entry.piece.spec.per_device_node_selection and not is_for_device(device, devices.cluster.nodes.nodes[row]):
        yield DeviceObjection(NODE, "is for other nodes")
    if device.binding_conditions and not release.binding_conditions:
        yield DeviceObjection(BINDING, "has binding conditions, which this release does not support")
    taint = first_untolerated(device.taints, request.spec.tolerations, NO_SCHEDULE) if release.device_taints else None
    if taint is not None:
        yield DeviceObjection(TAINT, f"{taint.key}={taint.value}:{taint.effect}")
    yield from _amounts(devices, request, pool, entry)


def _amounts(devices: Devices, request: RequestData, pool: Pool, entry: PoolDevice) -> Iterator[DeviceObjection]:
    release = devices.cluster.release
    if entry.consumes and not release.shared_counters:
        yield DeviceObjection(COUNTERS, "consumes counters, which this release does not support")
    elif entry.consumes and entry.id not in devices.in_use.consumed:
        left = shared_counters.left(pool, devices.in_use, release)
        for (shared, name), amount in entry.consumes.items():
            there = left.get((shared, name), 0)
            if amount > there:
                yield DeviceObjection(
                    COUNTERS, f"needs {amount / NANO:g} of {name} of {shared}, {there / NANO:g} are left"
                )
    if not release.consumable_capacity:
        return
    amounts = consumable_capacity.consumption(release, request.spec.capacity, entry.device.capacity)
    used = devices.in_use.consumed.get(entry.id, {})
    if amounts is None:
        yield DeviceObjection(CAPACITY, "lacks a requested capacity")
    elif not consumable_capacity.fits(release, amounts, entry.device.capacity, used, {}):
        text = ", ".join(f"{name} {amount}" for name, amount in amounts.items())
        yield DeviceObjection(CAPACITY, f"cannot give {text}")
