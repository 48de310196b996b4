"""Reads a database of etcd as a recording: it holds every change of each object since the last compaction.

etcd stores no times. Those of creation, conditions and events are in whole seconds or better: changes are distributed
evenly between two such times.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from scheduler_core.api.objects import Object, timestamp
from scheduler_core.errors import InputError
from scheduler_core.etcd.bbolt import DamagedFile
from scheduler_core.etcd.keyspace import Keyspace, Revision
from scheduler_core.etcd.objects import ValueReader
from scheduler_core.live.kinds import KINDS, recorded_kind
from scheduler_core.live.recorded_folder import Convert, object_of
from scheduler_core.live.watch_events import ADDED, DELETED, MODIFIED, Item, Listed, WatchEvent

_UNIT = 1.0  # seconds; most times are in whole seconds


def read(data: bytes, path: str, notes: list[str], convert: Convert = object_of) -> list[Item]:
    """Return the items of a database: first a list of each kind as it was at the last compaction, then all changes.

    `notes` takes a sentence for each value that was left out. `convert`: makes the object of an item from its JSON.
    Raises InputError with the path.
    """
    reader = ValueReader()
    try:
        keyspace = Keyspace(data)
        changes = keyspace.changes()
        objects, now = dict[str, tuple[str, Object]](), 0.0
        change = next(changes, None)
        while change is not None and change.revision <= keyspace.compacted:
            now = max(now, _apply(change, reader, objects, path, convert))
            change = next(changes, None)
        known = list(objects.values())
        lists = [Listed(kind, keyspace.compacted, tuple(obj for of, obj in known if of == kind), now) for kind in KINDS]
        events = []
        while change is not None:
            before = objects.get(change.key)
            now = max(now, _apply(change, reader, objects, path, convert))
            after = objects.get(change.key)
            if (found := after or before) is not None:
                kind, obj = found
                type_ = DELETED if after is None else ADDED if before is None else MODIFIED
                events.append(WatchEvent(kind, type_, obj.key, change.revision, obj, now))
            change = next(changes, None)
    except DamagedFile as problem:
        raise InputError(path, "", str(problem)) from None
    notes += reader.notes
    return [*lists, *_distributed(events)]


def _distributed(events: Sequence[WatchEvent]) -> Iterator[WatchEvent]:
    """Yield the events with times between that of the newest object and the next one, at most `_UNIT` later."""
    groups = [(time, list(group)) for time, group in groupby(events, lambda event: event.time)]
    for (time, group), (following, _) in zip(groups, [*groups[1:], (float("inf"), [])], strict=True):
        step = min(following - time, _UNIT) / len(group)
        for number, event in enumerate(group):
            yield event._replace(time=time + number * step)


def _apply(
    change: Revision, reader: ValueReader, objects: dict[str, tuple[str, Object]], path: str, convert: Convert
) -> float:
    """Apply a change to the objects, key in etcd -> (kind, object). Return the newest time in the new state, or 0."""
    if change.value is None:
        objects.pop(change.key, None)
        return 0.0
    raw = reader.object(change.key, change.value, change.revision)
    if raw is None or not (kind := recorded_kind(raw)):
        return 0.0
    where = f"{path}: {change.key}"
    objects[change.key] = kind, convert(raw, where)
    return max((timestamp(text, where, "time") for text in _times(raw)), default=0.0)


def _times(raw: dict[str, Any]) -> Iterator[str]:
    """Yield the times at which something happened to an object."""
    conditions = (raw.get("status") or {}).get("conditions") or ()
    for place, name in (
        (raw["metadata"], "creationTimestamp"),
        *((raw, name) for name in ("eventTime", "lastTimestamp")),
        *((condition, name) for condition in conditions for name in ("lastTransitionTime", "lastHeartbeatTime")),
    ):
        if text := place.get(name):
            yield text
