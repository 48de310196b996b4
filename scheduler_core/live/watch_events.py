"""What a source yields: watch events, bookmarks, complete lists and gaps.

A source is a live API server or a recorded folder. Consumers (history, shadow, pending pods) use only these types.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from scheduler_core.api.objects import Object

ADDED: Literal["ADDED"] = "ADDED"
MODIFIED: Literal["MODIFIED"] = "MODIFIED"
DELETED: Literal["DELETED"] = "DELETED"


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
