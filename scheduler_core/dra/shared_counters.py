"""Devices in use, and the counters that the devices of a pool share.

Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating (allocator_incubating.go:
checkAvailableCounters).
"""

from dataclasses import dataclass

from scheduler_core.dra.consumable_capacity import Consumed
from scheduler_core.dra.pools import Amounts, DeviceID, Pool, PoolDevice
from scheduler_core.releases import Release


@dataclass(slots=True)
class InUse:
    """Devices allocated to claims. `devices`: exclusively allocated devices. `consumed`: capacities consumed of shared
    devices."""

    devices: dict[DeviceID, int]
    consumed: dict[DeviceID, Consumed]

    def allocated(self, device: DeviceID) -> bool:
        return device in self.devices or device in self.consumed


class Counters:
    """Counters that a search consumes in addition to those in use. As upstream does, they are kept by pool
    name only."""

    def __init__(self, in_use: InUse, release: Release) -> None:
        self._in_use, self._release = in_use, release
        self._available: dict[str, Amounts] = {}
        self._consumed: dict[str, Amounts] = {}

    def take(self, entry: PoolDevice, pool: Pool) -> bool:
        """Consume the counters of a device if enough of all of them is left; return whether it is."""
        name = pool.id[1]
        available = self._available.get(name)
        if available is None:
            available = self._available[name] = left(pool, self._in_use, self._release)
        consumed = self._consumed.setdefault(name, {})
        for counter, amount in entry.consumes.items():
            consumed[counter] = consumed.get(counter, 0) + amount
        if any(amount < consumed.get(counter, 0) for counter, amount in available.items()):
            self.give_back(entry, pool)
            return False
        return True

    def give_back(self, entry: PoolDevice, pool: Pool) -> None:
        """Undo a successful `take`."""
        consumed = self._consumed.setdefault(pool.id[1], {})
        for counter, amount in entry.consumes.items():
            consumed[counter] = consumed.get(counter, 0) - amount


def left(pool: Pool, in_use: InUse, release: Release) -> Amounts:
    """Return what allocated devices leave of the pool's counters; negative if they are overused."""
    amounts = dict(pool.counters)
    exclusive = release.shared_devices_leave_counters
    for piece in (*pool.pieces, *pool.elsewhere):
        for entry in piece.entries:
            if entry.consumes and (entry.id in in_use.devices if exclusive else in_use.allocated(entry.id)):
                for counter, amount in entry.consumes.items():
                    if counter in amounts:
                        amounts[counter] -= amount
    return amounts
