"""What a search finds."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler_core.api.device_checks import MAX_SUB_REQUESTS
from scheduler_core.api.objects import Quantities
from scheduler_core.dra.allocation_request import Asked
from scheduler_core.dra.pools import Entry, Pool


@dataclass(slots=True)
class Taken:
    """A device that the search has taken."""

    asked: Asked
    entry: Entry
    pool: Pool
    consumed: Quantities


@dataclass(slots=True)
class Found:
    """A solution. `taken`: per claim. `chosen`: (claim, request) -> which of its alternatives."""

    taken: list[list[Taken]]
    chosen: dict[tuple[int, int], int]

    def at(self, old: list[Pool], new: list[Pool]) -> Found:
        """The same in other pools, which have the same devices at the same places."""
        places = {entry.id: (p, d) for p, pool in enumerate(old) for d, entry in enumerate(pool.entries)}
        entries = [list(pool.entries) for pool in new]

        def moved(one: Taken) -> Taken:
            p, d = places[one.entry.id]
            return Taken(one.asked, entries[p][d], new[p], one.consumed)

        return Found([[moved(one) for one in taken] for taken in self.taken], self.chosen)

    @property
    def preference(self) -> int:
        """The more, the nearer what was had is to the heads of prioritized lists."""
        return sum(MAX_SUB_REQUESTS - alternative for alternative in self.chosen.values())
