"""Orders the changes of all kinds by resourceVersion.

Each kind has a watch of its own, so changes of different kinds arrive in any order. Their resourceVersions are
revisions of one store, so a change is in order once every kind is known beyond it: by a later change or by a bookmark.
"""

import heapq
from collections.abc import Collection, Iterator

from scheduler_core.live.watch_events import Gap, Item, Listed

UNORDERED = frozenset(("Event",))
"""Kinds that no other kind waits for: nothing is decided by them, and clusters may store them elsewhere."""


class Ordering:
    """Releases items in the order of resourceVersion. `kinds`: the kinds to wait for, as `WatchEvent.kind`.

    The first list of a kind is released at once: a cluster is complete when each kind has been listed. A later list
    waits for its turn, because changes before it may still wait for another kind. A list with a lower resourceVersion
    than before is of another store, and the changes of the former one come first.
    """

    def __init__(self, kinds: Collection[str]) -> None:
        self._known = dict.fromkeys((kind for kind in kinds if kind not in UNORDERED), -1)
        self._waiting: list[tuple[int, int, Item]] = []
        self._count = 0

    def add(self, item: Item) -> Iterator[Item]:
        """Take an item; yield the items that are in order now."""
        kind = item.kind
        if isinstance(item, Listed):
            if item.resource_version < self._known.get(kind, -1):
                yield from self.flush()
                self._known = dict.fromkeys(self._known, -1)
            if kind in UNORDERED:
                yield item
            elif self._known.get(kind, -1) < 0:
                yield item
                self._known[kind] = item.resource_version
            else:
                self._push(item.resource_version, item)
                self._know(kind, item.resource_version)
        elif isinstance(item, Gap):
            if item.until >= item.after:
                self._push(item.after, item)
            else:  # before the differences of another store
                if self._known.get(kind, -1) > item.until:
                    yield from self.flush()
                    self._known = dict.fromkeys(self._known, -1)
                yield item
        else:
            self._push(item.resource_version, item)
            self._know(kind, item.resource_version)
        yield from self._release()

    def forget(self, kind: str) -> Iterator[Item]:
        """Do not wait for a kind any longer, because the server refuses it; yield the items that are in order now."""
        self._known.pop(kind, None)
        yield from self._release()

    def flush(self) -> Iterator[Item]:
        """Yield all items that are left, in order: no kind will say more."""
        while self._waiting:
            yield heapq.heappop(self._waiting)[2]

    @property
    def resource_version(self) -> int:
        """The resourceVersion up to which all kinds are known."""
        return min(self._known.values(), default=-1)

    @property
    def waiting(self) -> int:
        """The number of items that are not in order yet."""
        return len(self._waiting)

    @property
    def waits_since(self) -> float | None:
        """When the first of them arrived; None if there is none."""
        return self._waiting[0][2].time if self._waiting else None

    def _push(self, version: int, item: Item) -> None:
        self._count += 1
        heapq.heappush(self._waiting, (version, self._count, item))

    def _know(self, kind: str, version: int) -> None:
        if version > self._known.get(kind, version):
            self._known[kind] = version

    def _release(self) -> Iterator[Item]:
        known = self.resource_version
        while self._waiting and (self._waiting[0][0] <= known or not self._known):
            yield heapq.heappop(self._waiting)[2]


def in_order(items: Iterator[Item], kinds: Collection[str]) -> Iterator[Item]:
    """Yield the items of a finite source, such as a recorded folder, in order."""
    ordering = Ordering(kinds)
    for item in items:
        yield from ordering.add(item)
    yield from ordering.flush()
