"""The devices of a node at a timepoint and their holders."""

from collections.abc import Iterable

import msgspec

from scheduler_core.api.devices import ResourceClaim, ResourceSlice
from scheduler_core.api.objects import Node
from scheduler_core.dra.pools import DeviceID, Inventory, is_for_device
from scheduler_core.releases import Release
from scheduler_core.search.claims import facts_of, given_of


class Holder(msgspec.Struct, frozen=True):
    """A claim that holds the device, and the pods that it is reserved for. `amounts`: consumed if it is shared."""

    claim: str
    request: str
    pods: list[str]
    admin: bool
    amounts: dict[str, str]


class DeviceThen(msgspec.Struct, frozen=True):
    name: str
    facts: dict[str, str]
    taints: list[str]
    holders: list[Holder]


class PoolThen(msgspec.Struct, frozen=True):
    """A pool of devices. `state`: "", or why its devices cannot be allocated. `used`: number of allocated devices."""

    driver: str
    pool: str
    state: str
    used: int
    devices: list[DeviceThen]


def pools_of(
    release: Release, node: Node, slices: Iterable[ResourceSlice], claims: Iterable[ResourceClaim]
) -> list[PoolThen]:
    """Return the pools that the node can use, with the holders of each device."""
    holders = _holders(claims)
    found = []
    for pool in Inventory(release, slices).pools(node):
        devices = []
        for entry in pool.entries:
            if entry.piece.spec.per_device_node_selection and not is_for_device(entry.device, node):
                continue
            taints = [f"{taint.key}={taint.value}:{taint.effect}" for taint in entry.device.taints]
            devices.append(DeviceThen(entry.device.name, facts_of(entry), taints, holders.get(entry.id, [])))
        state = f"invalid: {pool.problem}" if pool.problem else "being updated" if pool.incomplete else ""
        used = sum(any(not one.admin for one in device.holders) for device in devices)
        found.append(PoolThen(*pool.id, state, used, devices))
    return found


def _holders(claims: Iterable[ResourceClaim]) -> dict[DeviceID, list[Holder]]:
    found: dict[DeviceID, list[Holder]] = {}
    for claim in claims:
        pods = [f"{claim.namespace}/{one.name}" for one in claim.status.reserved_for if one.resource == "pods"]
        for given in given_of(claim.status.allocation):
            holder = Holder(claim.key, given.request, pods, given.admin, given.amounts)
            found.setdefault((given.driver, given.pool, given.device), []).append(holder)
    return found
