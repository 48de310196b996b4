"""The last known objects of a live cluster.

Source: k8s.io/client-go/tools/cache/store.go.
"""

from collections.abc import Collection, Mapping

from scheduler_core.api.objects import Object
from scheduler_core.live.watch_events import DELETED, Gap, Item, Listed, WatchEvent


class Store:
    """The objects by kind and key.

    `resource_versions`: kind -> resourceVersion up to which the kind is known; a source can continue there.
    """

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, Object]] = {}
        self._in_gap: set[str] = set()  # the differences of a list are complete only with the list
        self.resource_versions: dict[str, int] = {}

    def get(self, kind: str, key: str) -> Object | None:
        """Return an object, or None if it does not exist."""
        return self._objects.get(kind, {}).get(key)

    def objects(self, kind: str) -> Collection[Object]:
        """Return the objects of a kind."""
        return self._objects.get(kind, {}).values()

    def by_key(self, kind: str) -> Mapping[str, Object]:
        """Return key -> object of a kind."""
        return self._objects.get(kind, {})

    def put(self, kind: str, objects: Mapping[str, Object]) -> None:
        """Set the objects of a kind that no source lists, by key."""
        self._objects[kind] = dict(objects)

    def apply(self, item: Item) -> None:
        """Apply an item of a source. Items of a kind are in the order of their resourceVersion."""
        if isinstance(item, Gap):
            self._in_gap.add(item.kind)
        elif isinstance(item, Listed):
            self._in_gap.discard(item.kind)
            self._objects[item.kind] = {obj.key: obj for obj in item.objects}
        elif isinstance(item, WatchEvent):
            objects = self._objects.setdefault(item.kind, {})
            if item.type == DELETED:
                objects.pop(item.key, None)
            else:
                objects[item.key] = item.object
        if not isinstance(item, Gap) and item.kind not in self._in_gap:
            self.resource_versions[item.kind] = item.resource_version
