"""The stored history of a cluster: changes in compressed blocks, checkpoints, and the state at a resourceVersion.

A block is the packed JSON list of `ClusterChange` values. An object is the JSON of its struct; an update is a merge
patch (RFC 7396) of that JSON, so a pod's new condition takes some hundred bytes. The changes of a kind are in the order
of their resourceVersion; those of different kinds are in the order of their arrival. Therefore a checkpoint names the
resourceVersion of each kind.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec
from django.db.models import Max, Min, Q, QuerySet

from kubesched_ui.clusters.models import ChangeBlock, Checkpoint, Cluster, HistoryGap
from kubesched_ui.models.fields import pack, unpack
from scheduler_core.api.objects import Object
from scheduler_core.api.patches import merge_patch
from scheduler_core.api.shared_parts import SharedParts
from scheduler_core.errors import InputError
from scheduler_core.live.decode import ObjectDecoder
from scheduler_core.live.objects import TYPES

Raw = dict[str, Any]
ADD: Literal["A"] = "A"
MODIFY: Literal["M"] = "M"
DELETE: Literal["D"] = "D"


class ClusterChange(NamedTuple):
    """A change of one object. `value`: the object for ADD, a merge patch for MODIFY, null for DELETE. `time`: Unix
    seconds of its arrival."""

    kind: str
    type: Literal["A", "M", "D"]
    key: str
    resource_version: int
    time: float
    value: Any


_read_changes = msgspec.json.Decoder(list[tuple[str, str, str, int, float, Any]])
_read_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])


def encode_changes(changes: Iterable[ClusterChange]) -> bytes:
    """Return the data of a block. A value may be a struct or `msgspec.Raw`."""
    return pack(msgspec.json.encode(list(changes)))


def decode_changes(data: bytes | memoryview) -> list[ClusterChange]:
    """Return the changes of a block."""
    return [ClusterChange(*change) for change in _read_changes.decode(unpack(data))]  # type: ignore[arg-type]


class State:
    """The objects of a cluster: kind -> key -> JSON, decoded if a patch changed it. `versions`: kind ->
    resourceVersion. `block`: number of the last block that it includes."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Raw | msgspec.Raw]] = {}
        self.versions: dict[str, int] = {}
        self.block = 0

    def apply(self, change: ClusterChange) -> None:
        """Apply a change."""
        objects = self.objects.setdefault(change.kind, {})
        if change.type == DELETE:
            objects.pop(change.key, None)
        elif change.type == ADD:
            objects[change.key] = change.value
        else:
            before = objects.get(change.key)
            if isinstance(before, msgspec.Raw):
                before = msgspec.json.decode(before)
            objects[change.key] = merge_patch(before, change.value)
        self.versions[change.kind] = max(self.versions.get(change.kind, 0), change.resource_version)

    def typed(self, kind: str, shared: SharedParts | None = None) -> Iterator[Object]:
        """Yield the objects of a kind as structs. `shared`: parts that many pods have in common."""
        decoder = ObjectDecoder(kind, shared)
        for value in self.objects.get(kind, {}).values():
            yield decoder.decode(value if isinstance(value, msgspec.Raw) else msgspec.json.encode(value))

    def every(self) -> Iterator[Object]:
        """Yield all objects as structs."""
        shared = SharedParts()
        for kind in self.objects:
            if kind in TYPES:
                yield from self.typed(kind, shared)


def usable_checkpoints(cluster: Cluster) -> tuple[QuerySet[Checkpoint], bool]:
    """Return the checkpoints after which all blocks are stored, oldest first, and whether the history is stored from
    its beginning. The oldest blocks may be deleted at any moment, and a cleanup may be killed."""
    first = ChangeBlock.objects.filter(cluster=cluster).aggregate(first=Min("number"))["first"]
    points = Checkpoint.objects.filter(cluster=cluster, complete=True).order_by("block")
    if first is None:
        newest = points.last()
        return points.filter(block__gte=newest.block if newest else 0), False
    return points.filter(block__gte=first - 1), first == 1


def bounds(cluster: Cluster) -> tuple[int, int]:
    """Return the resourceVersions between which the state is stored; (0, 0) if nothing is."""
    points, from_beginning = usable_checkpoints(cluster)
    oldest, newest = points.first(), points.last()
    opening = HistoryGap.objects.filter(cluster=cluster, kind="", after=0).order_by("pk").first()
    if (opening is not None and opening.until is None) or not (oldest or from_beginning):
        return 0, 0  # the objects are being listed for the first time
    first = (opening.until or 0) if opening is not None else 0
    if not from_beginning and oldest is not None:
        first = max(first, oldest.resource_version)
    blocks = ChangeBlock.objects.filter(cluster=cluster)
    last = max(blocks.aggregate(last=Max("last_version"))["last"] or 0, newest.resource_version if newest else 0)
    return min(first, last), last


def checked_state_at(cluster: Cluster, resource_version: int) -> State:
    """Return the state at a resourceVersion. Raises InputError if that part of the history is not stored."""
    first, last = bounds(cluster)
    if not last:
        raise InputError(f"Cluster {cluster.name}", "resource_version", "no history is stored yet")
    if not first <= resource_version <= last:
        problem = f"must be from {first} to {last}, the stored history, got {resource_version}"
        raise InputError(f"Cluster {cluster.name}", "resource_version", problem)
    return state_at(cluster, resource_version)


def state_at(cluster: Cluster, resource_version: int | None = None) -> State:
    """Return the state of a cluster after all stored changes up to a resourceVersion; None: after all stored changes.
    It starts from the newest checkpoint before it."""
    state = State()
    points, _ = usable_checkpoints(cluster)
    if resource_version is not None:
        points = points.filter(resource_version__lte=resource_version)
    if point := points.last():
        state.block, state.versions = point.block, dict(point.versions)
        for kind, data in point.parts.values_list("kind", "data").iterator(chunk_size=20):
            state.objects.setdefault(kind, {}).update(_read_objects.decode(unpack(data)))
    for change in changes_after(cluster, state.block, resource_version):
        state.apply(change)
    return state


def changes_after(cluster: Cluster, block: int, until: int | None = None) -> Iterator[ClusterChange]:
    """Yield the stored changes of the blocks after `block`, up to a resourceVersion."""
    rows = ChangeBlock.objects.filter(cluster=cluster, number__gt=block)
    if until is not None:
        rows = rows.filter(first_version__lte=until)
    for data in rows.order_by("number").values_list("data", flat=True).iterator(chunk_size=50):
        for change in decode_changes(data):
            if until is None or change.resource_version <= until:
                yield change


def changes_between(cluster: Cluster, after: int, until: int, most: int) -> list[ClusterChange]:
    """Return at most `most` stored changes with a resourceVersion above `after`, up to `until`."""
    rows = ChangeBlock.objects.filter(Q(last_version__gt=after), cluster=cluster, first_version__lte=until)
    found: list[ClusterChange] = []
    for data in rows.order_by("number").values_list("data", flat=True).iterator(chunk_size=50):
        found += (change for change in decode_changes(data) if after < change.resource_version <= until)
        if len(found) >= most:
            break
    return found[:most]


def encode_part(objects: Mapping[str, Any]) -> bytes:
    """Return the data of a checkpoint's part: key -> object."""
    return pack(msgspec.json.encode(objects))
