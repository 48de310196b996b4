"""What a source yields: watch events, bookmarks, complete lists and gaps.

A source is a live API server or a recorded folder. Consumers (history, shadow, pending pods) use only these types.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from scheduler_core.api.objects import Object

ADDED: Literal["ADDED"] = "ADDED"
MODIFIED: Literal["MODIFIED"] = "MODIFIED"
DELETED: Literal["DELETED"] = "DELETED"
NEVER = 2**63 - 1  # `until` of a gap that only the next list of the kind ends


class WatchEvent(NamedTuple):
    """A change of one object (upstream: watch.Event).

    `kind`: its kind, such as Pod. `key`: namespace/name, or the name of a cluster-scoped object. `resource_version`: of
    the change; for DELETED that of the deletion. `object`: the object after the change; for DELETED its last state.
    `time`: Unix seconds at which the change arrived.
    """

    kind: str
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    key: str
    resource_version: int
    object: Object
    time: float


class Bookmark(NamedTuple):
    """All changes of a kind up to this resourceVersion have been yielded."""

    kind: str
    resource_version: int
    time: float


class Listed(NamedTuple):
    """A list of a kind is complete: the objects at this resourceVersion. They replace all that was known before.

    The changes that a second list reveals are yielded as changes before it, after the Gap.
    """

    kind: str
    resource_version: int
    objects: tuple[Object, ...]
    time: float


class Gap(NamedTuple):
    """Changes of a kind between two resourceVersions may be missing, because the server no longer had them."""

    kind: str
    after: int
    until: int
    time: float


Item = WatchEvent | Bookmark | Listed | Gap


def differences(
    kind: str, old: Mapping[str, Object], new: Mapping[str, Object], after: int, version: int, time: float
) -> list[WatchEvent]:
    """Return the changes from an earlier state to a list, in the order of resourceVersion as far as it is known.

    `old`, `new`: key -> object. `after`: resourceVersion of `old`. `version`: that of the list, which counts as that of
    the deletions. Objects of another store can have any resourceVersion; their changes are after `after` if
    the list is.
    """
    events = []
    first = min(after + 1, version) if after <= version else 0
    for key, obj in new.items():
        before, at = old.get(key), max(int(obj.metadata.resource_version), first)
        if before is not None and before.metadata.uid != obj.metadata.uid:
            events.append(WatchEvent(kind, DELETED, key, at, before, time))
            before = None
        if before is None:
            events.append(WatchEvent(kind, ADDED, key, at, obj, time))
        elif before.metadata.resource_version != obj.metadata.resource_version:
            events.append(WatchEvent(kind, MODIFIED, key, at, obj, time))
    events.sort(key=lambda event: event.resource_version)
    return events + [WatchEvent(kind, DELETED, key, version, obj, time) for key, obj in old.items() if key not in new]
