"""The order of nodes in the scheduler: one node of each zone in turn, as in upstream's nodeTree.

Source: pkg/scheduler/backend/cache/node_tree.go.
"""

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class NodeTree(Generic[K]):
    """`zones`: zone -> nodes, both in order of arrival. `zone_of`: node -> its zone."""

    def __init__(self, zones: Mapping[str, list[K]] | None = None) -> None:
        self.zones = {zone: list(names) for zone, names in (zones or {}).items()}
        self.zone_of = {name: zone for zone, names in self.zones.items() for name in names}

    def put(self, name: K, zone: str | None) -> bool:
        """Add a node, move it to a zone or, for None, remove it. Return whether the tree changed."""
        before = self.zone_of.pop(name, None)
        if zone is not None:
            self.zone_of[name] = zone
        if before == zone:
            return False
        if before is not None:
            self.zones[before].remove(name)
            if not self.zones[before]:
                del self.zones[before]
        if zone is not None:
            self.zones.setdefault(zone, []).append(name)
        return True

    def names(self) -> list[K]:
        """Return the nodes in order."""
        zones = list(self.zones.values())
        longest = max(map(len, zones), default=0)
        return [zone[i] for i in range(longest) for zone in zones if i < len(zone)]
