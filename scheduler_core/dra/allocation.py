"""Result of a search for devices."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler_core.api.devices import MAX_SUB_REQUESTS
from scheduler_core.api.objects import Quantities
from scheduler_core.dra.allocation_request import RequestData
from scheduler_core.dra.pools import Entry, Pool


@dataclass(slots=True)
class Taken:
    """A device that the search has selected."""

    request: RequestData
    entry: Entry
    pool: Pool
    consumed: Quantities


@dataclass(slots=True)
class Found:
    """A solution. `taken`: devices of each claim. `chosen`: (claim, request) -> index of the alternative that
    is used."""

    taken: list[list[Taken]]
    chosen: dict[tuple[int, int], int]

    def at(self, old: list[Pool], new: list[Pool]) -> Found:
        """Return the same solution in other pools, which have the same devices in the same positions."""
        places = {entry.id: (p, d) for p, pool in enumerate(old) for d, entry in enumerate(pool.entries)}
        entries = [list(pool.entries) for pool in new]

        def moved(one: Taken) -> Taken:
            p, d = places[one.entry.id]
            return Taken(one.request, entries[p][d], new[p], one.consumed)

        return Found([[moved(one) for one in taken] for taken in self.taken], self.chosen)

    @property
    def preference(self) -> int:
        """Score of the alternatives used from prioritized lists: higher if they are earlier in their lists."""
        return sum(MAX_SUB_REQUESTS - alternative for alternative in self.chosen.values())
