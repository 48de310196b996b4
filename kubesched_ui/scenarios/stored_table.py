"""The table of nodes and pods of a large scenario, made once when it is uploaded.

Lines of pods that differ in name and node alone are stored once, as a shape. The pods of a template have one shape for
each owner, so only the first of them is decoded. The table follows from the objects: without it, or with that of
another version, `stored_cluster.py` makes it from them.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from kubesched_ui.ingest.result import Key, Record
from kubesched_ui.models.fields import pack, unpack
from kubesched_ui.scenarios.cluster_overview import (
    ClusterView,
    NodeLine,
    PodLine,
    add_reports,
    events_by_pod,
    lines_of,
    node_line,
)
from scheduler_core.api.objects import Metadata, Node, Struct, decode_valid
from scheduler_core.api.quantity import QuantityError
from scheduler_core.garbage_collection import without_collecting
from scheduler_core.releases import NEWEST

LARGE = 1000  # objects of a scenario whose table is stored
VERSION = f"1 {NEWEST}"  # of the lines: change the number with what they contain. The newest release counts requests.


class _StoredTable(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """`nodes`: the fields of NodeLine. `names`: of the nodes of pods. `keys`, and the indices in `names` and `shapes`
    (`on`, `like`), have an element for each pod, in order."""

    version: str
    nodes: list[tuple[str, dict[str, int], dict[str, str], list[str], bool, bool]]
    names: list[str]
    shapes: list[PodLine]
    keys: list[str]
    on: list[int]
    like: list[int]


class _TableHead(msgspec.Struct, array_like=True):
    version: str


class _Owned(Struct):
    metadata: Metadata


_read = msgspec.json.Decoder(_StoredTable).decode
_read_head = msgspec.json.Decoder(_TableHead).decode
_read_owned = msgspec.json.Decoder(_Owned).decode


@without_collecting()
def packed_table(records: dict[Key, Record]) -> bytes:
    """Return the table of the objects of an upload, as it is stored. Empties `records`, so that it takes no memory
    besides them."""
    models = {id(record.model): record.model for record in records.values() if record.model is not None}
    # the model may have been replaced by a later object with its name
    kept = {n for n, one in models.items() if records.get((one.kind, one.namespace, one.name)) is one}
    alone = [r for r in records.values() if r.kind in ("Pod", "PriorityClass") and id(r.model) not in kept]
    _, lines = lines_of(decode_valid(record.data, record.kind) for record in alone)
    del alone
    events = events_by_pod(record.object() for record in records.values() if record.kind == "Event")
    names, shapes = dict[str, int](), dict[Any, int]()
    nodes, found = list[bytes](), list[PodLine]()
    keys, on, like = bytearray(), list[int](), list[int]()  # the keys as JSON: texts take four times the memory
    for place in list(records):
        record = records.pop(place)
        if record.kind == "Node":
            nodes += _node(record)
        if record.kind != "Pod":
            continue
        key, model = f"{record.namespace}/{record.name}", record.model if id(record.model) in kept else None
        line = lines.get(key if model is None else f"{model.namespace}/{model.name}")
        if line is None:
            continue  # its quantities are invalid
        owner = line.owner and (line.owner if model is None else _owner(record))
        shape: Any = (id(model), owner)
        if model is None or key in events:
            line = msgspec.structs.replace(line, key="", node="", owner=owner)
            if key in events:
                add_reports(line, events[key])
            shape = msgspec.json.encode(line)
        if (number := shapes.get(shape)) is None:
            number = shapes[shape] = len(found)
            found.append(msgspec.structs.replace(line, key="", node="", owner=owner))
        keys += b",%s" % msgspec.json.encode(key)
        on.append(names.setdefault(record.node, len(names)))
        like.append(number)
    all_nodes, all_keys = msgspec.Raw(b"[%s]" % b",".join(nodes)), msgspec.Raw(b"[%s]" % keys[1:])
    return pack(msgspec.json.encode([VERSION, all_nodes, list(names), found, all_keys, on, like]))


def _node(record: Record) -> Iterator[bytes]:
    """Yield the fields of the line of a node, unless its quantities are invalid."""
    with suppress(QuantityError):
        node = decode_valid(record.data, record.kind)
        assert isinstance(node, Node)
        line = node_line(node)
        yield msgspec.json.encode((line.name, line.allocatable, line.labels, line.taints, line.cordoned, line.ready))


def _owner(record: Record) -> str:
    owners = _read_owned(record.data).metadata.owner_references
    return next((f"{owner.kind} {owner.name}" for owner in owners if owner.controller), "")


@without_collecting()
def view_of_table(packed: bytes | memoryview) -> ClusterView | None:
    """Return the nodes and pods of a stored table; None if another version made it. Raises zlib.error,
    msgspec.DecodeError and IndexError for damaged data."""
    text = unpack(packed)
    if _read_head(text).version != VERSION:
        return None
    stored = _read(text)
    pods = dict[str, PodLine]()
    for key, on, like in zip(stored.keys, stored.on, stored.like, strict=True):
        line = pods[key] = stored.shapes[like].__copy__()  # type: ignore[attr-defined]
        line.key, line.node = key, stored.names[on]
    return ClusterView({node[0]: NodeLine(*node) for node in stored.nodes}, pods)
