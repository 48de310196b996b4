"""The items from which a new judging process continues where the last one ended.

The changes that the last process had not judged are in the stored history. Without them, the bindings among them would
be in no outcome.
"""

import time
from collections.abc import Collection, Iterator

import msgspec

from kubesched_ui.clusters import history
from kubesched_ui.clusters.models import Cluster, HistoryGap
from scheduler_core.api.shared_parts import SharedParts
from scheduler_core.live.decode import ObjectDecoder
from scheduler_core.live.ordering import UNORDERED
from scheduler_core.live.store import Store
from scheduler_core.live.watch_events import (
    ADDED,
    DELETED,
    MODIFIED,
    Bookmark,
    Gap,
    Item,
    Listed,
    WatchEvent,
    differences,
)


def items_since(cluster: Cluster, version: int | None, kinds: Collection[str]) -> list[Item]:
    """Return the stored state of these kinds at a resourceVersion as lists, and then the changes and gaps since, in
    order. Return [] if that part of the history is not stored. `version`: None for the beginning of the history."""
    first, last = history.bounds(cluster)
    version = first if version is None else min(version, last)
    gaps = list(HistoryGap.objects.filter(cluster=cluster))
    if not first or version < first or any(gap.until is None for gap in gaps):
        return []
    shared = SharedParts()
    state = history.state_at(cluster, version)
    listed = {
        kind: tuple(state.typed(kind, shared)) for kind in cluster.versions if kind in kinds and kind not in UNORDERED
    }
    since: list[Item] = [
        Gap(gap.kind or "Pod", gap.after, gap.until or 0, gap.began_at.timestamp())
        for gap in gaps
        if (gap.until or 0) > version
    ]
    since += (item for item in _changes(cluster, state, version, shared) if item.kind in listed)
    since.sort(key=lambda item: (item.after, 0) if isinstance(item, Gap) else (item.resource_version, 1))
    seconds = min((item.time for item in since), default=time.time())
    return [
        *(Listed(kind, version, objects, seconds) for kind, objects in listed.items()),
        *since,
        *(Bookmark(kind, known, seconds) for kind, known in cluster.versions.items() if kind in listed),
    ]


def _changes(cluster: Cluster, state: history.State, version: int, shared: SharedParts) -> Iterator[WatchEvent]:
    """Yield the stored changes after the state as events, and apply them to it."""
    decoders: dict[str, ObjectDecoder] = {}
    for change in history.changes_after(cluster, state.block):
        if change.kind in UNORDERED or change.resource_version <= version:
            continue
        before = state.objects.get(change.kind, {}).get(change.key)
        state.apply(change)
        after = state.objects[change.kind].get(change.key)
        value = before if after is None else after
        if value is None:
            continue
        decoder = decoders.setdefault(change.kind, ObjectDecoder(change.kind, shared))
        obj = decoder.decode(value if isinstance(value, msgspec.Raw) else msgspec.json.encode(value))
        what = DELETED if after is None else MODIFIED if before is not None else ADDED
        yield WatchEvent(change.kind, what, change.key, change.resource_version, obj, change.time)


class Resumption:
    """Connects the stored items with those of the follower, which begin with lists of a state that may be older or
    newer. `items`: those of `items_since`."""

    def __init__(self, items: list[Item]) -> None:
        self._store = Store()
        for item in items:
            self._store.apply(item)
        self._known = dict(self._store.resource_versions)
        self._continued: set[str] = set()

    def items(self, item: Item) -> Iterator[Item]:
        """Yield what an item of the follower adds to the stored ones."""
        kind = item.kind
        if isinstance(item, Gap) and item.until <= item.after:  # nothing of another store is stored
            self._known.pop(kind, None)
        if kind not in self._known or isinstance(item, Gap):
            yield item
        elif not isinstance(item, Listed):
            if item.resource_version >= self._known[kind] + isinstance(item, WatchEvent):
                yield item
        elif kind in self._continued:  # a later list of the follower
            del self._known[kind]
            yield item
        else:
            self._continued.add(kind)
            yield from self._differences(item)

    def _differences(self, listed: Listed) -> Iterator[Item]:
        """Yield what is not stored: a gap, because the changes in between are not known one by one."""
        kind, version, _, seconds = listed
        known = self._known[kind]
        if version < known:
            return
        before = self._store.by_key(kind)
        now = {obj.key: obj for obj in listed.objects}
        if events := differences(kind, before, now, known, version, seconds):
            yield Gap(kind, known, version, seconds)
            yield from events
        yield Bookmark(kind, version, seconds)
        self._known[kind] = version
