"""The table of nodes and pods of a large scenario, made once when it is uploaded.

Lines of pods that differ in name and node alone are stored once, as a shape. The pods of a template have one shape for
each owner, so only the first of them is decoded. A page makes the lines that it shows: names of pods and lines of nodes
stay compressed until they are read. The table follows from the objects: without it, or with that of another version,
`stored_cluster.py` makes it from them.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from contextlib import suppress
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from kubesched_ui.ingest.result import Key, Record
from kubesched_ui.models.fields import pack, unpack
from kubesched_ui.scenarios.cluster_overview import (
    ZONES,
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
VERSION = f"2 {NEWEST}"  # of the lines: change the number with what they contain. The newest release counts requests.
PART = 1000  # elements of a list that are compressed together

_T = TypeVar("_T")
_L = TypeVar("_L")
_NodeFields = tuple[str, dict[str, int], dict[str, str], list[str], bool, bool]


class _StoredTable(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """`names`: of the nodes in order, then of other nodes of pods, among them "". `nodes`: their fields of NodeLine, in
    parts. `node_kinds`: each allocatable and zone of nodes, with their number. `keys`, in parts, and the indices in
    `names` and `shapes` (`on`, `like`: int32, little-endian) have an element for each pod, in order."""

    version: str
    names: list[str]
    nodes: list[bytes]
    number_of_nodes: int
    node_kinds: list[tuple[dict[str, int], str, int]]
    shapes: list[PodLine]
    keys: list[bytes]
    on: bytes
    like: bytes


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
    nodes, keys = _Parts(), _Parts()
    kinds, names = Counter[tuple[bytes, str]](), dict[str, int]()
    for node in _nodes(record for record in records.values() if record.kind == "Node"):
        kinds[msgspec.json.encode(node.allocatable), node.zone] += 1
        names[node.name] = len(names)
        nodes.add((node.name, node.allocatable, node.labels, node.taints, node.cordoned, node.ready))
    number_of_nodes = len(names)
    shapes, found = dict[Any, int](), list[PodLine]()
    on, like = array("i"), array("i")
    for place in list(records):
        record = records.pop(place)
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
        keys.add(key)
        on.append(names.setdefault(record.node, len(names)))
        like.append(number)
    node_kinds = [(msgspec.Raw(allocatable), zone, number) for (allocatable, zone), number in kinds.items()]
    about_nodes = list(names), nodes.packed(), number_of_nodes, node_kinds
    indices = (np.array(one, "<i4").tobytes() for one in (on, like))
    return pack(msgspec.json.encode([VERSION, *about_nodes, found, keys.packed(), *indices]))


class _Parts:
    """Packs a long list while it is made."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._rest: list[Any] = []

    def add(self, one: Any) -> None:
        self._rest.append(one)
        if len(self._rest) == PART:
            self.packed()

    def packed(self) -> list[bytes]:
        """Return the parts, each of PART elements but the last one."""
        if self._rest:
            self._parts.append(pack(msgspec.json.encode(self._rest)))
            self._rest = []
        return self._parts


def _nodes(records: Iterable[Record]) -> Iterator[NodeLine]:
    """Yield the lines of nodes, without those whose quantities are invalid."""
    for record in records:
        with suppress(QuantityError):
            node = decode_valid(record.data, record.kind)
            assert isinstance(node, Node)
            yield node_line(node)


def _owner(record: Record) -> str:
    """Return the controller of a pod of a template."""
    data = record.data
    try:
        stored = _read_owned(data.partition(b',"spec":{')[0] + b"}")  # takes a third of the time of the whole pod
    except msgspec.DecodeError:  # a field of the metadata has this name
        stored = _read_owned(data)
    owners = stored.metadata.owner_references
    return next((f"{owner.kind} {owner.name}" for owner in owners if owner.controller), "")


def view_of_table(packed: bytes | memoryview) -> ClusterView | None:
    """Return the nodes and pods of a stored table; None if another version made it. Raises IndexError,
    ValueError, msgspec.DecodeError and what `unpack` raises for damaged data."""
    text = unpack(packed)
    return _StoredView(_read(text)) if _read_head(text).version == VERSION else None


class _Unpacked(Sequence[_T]):
    """A long list of `length` elements, packed as by `_Parts`. The part that was read last is kept."""

    def __init__(self, parts: list[bytes], length: int, kind: Any) -> None:
        if len(parts) != -(-length // PART):
            raise ValueError("a list has another length")
        self._parts, self._length = parts, length
        self._read: Callable[[bytes], list[_T]] = msgspec.json.Decoder(list[kind]).decode
        self._last: tuple[int, list[_T]] = -1, []

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        number, place = divmod(index, PART)
        last, part = self._last
        if number != last:
            part = self._read(unpack(self._parts[number]))
            self._last = number, part
        return part[place]

    def __iter__(self) -> Iterator[_T]:
        for part in self._parts:
            yield from self._read(unpack(part))


class _Lines(Mapping[str, _L], Generic[_L]):
    """Lines by name, each made when it is read: `line` returns that of a row and its element of `data`."""

    def __init__(self, names: Sequence[str], data: Sequence[_T], line: Callable[[int, _T], _L]) -> None:
        self._names = names
        self.at: Callable[[int], _L] = lambda row: line(row, data[row])
        self._all: Callable[[], Iterator[_L]] = lambda: map(line, range(len(names)), data)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __getitem__(self, name: str) -> _L:
        return self.at(self._rows[name])

    def values(self) -> ValuesView[_L]:
        return _Values(self, self._all)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self._names)}


class _Values(ValuesView[_L]):
    """The lines in order."""

    def __init__(self, lines: Mapping[str, _L], every: Callable[[], Iterator[_L]]) -> None:
        super().__init__(lines)
        self._every = every

    def __iter__(self) -> Iterator[_L]:
        return self._every()


class _StoredNode(NodeLine):
    """A node whose pods are found when they are read."""

    def __init__(self, fields: _NodeFields, view: "_StoredView", row: int) -> None:
        self.name, self.allocatable, self.labels, self.taints, self.cordoned, self.ready = fields
        self._view, self._row = view, row

    def __getattr__(self, name: str) -> Any:
        match name:
            case "pods":
                self.pods = self._view.pods_on(self._row)
            case "nominated":
                self.nominated = self._view.nominated_to(self.name)
            case "requested":
                self.requested = self._view.requested_on(self._row)
            case _:
                raise AttributeError(name)
        return getattr(self, name)


class _StoredView(ClusterView):
    """A cluster whose lines are made when they are read. `_on`, `_like`: int32 for each pod."""

    def __init__(self, stored: _StoredTable) -> None:
        self._names, self._shapes, self._node_kinds = stored.names, stored.shapes, stored.node_kinds
        self._on, self._like = (np.frombuffer(one, "<i4") for one in (stored.on, stored.like))
        for indices, values in ((self._on, self._names), (self._like, self._shapes)):
            if len(indices) and not 0 <= indices.min() <= indices.max() < len(values):
                raise IndexError("an index is outside its list")
        if len(self._on) != len(self._like):
            raise ValueError("a list has another length")
        keys = _Unpacked[str](stored.keys, len(self._on), str)
        data = _Unpacked[_NodeFields](stored.nodes, stored.number_of_nodes, _NodeFields)
        self.pods = self._pods = _Lines(keys, keys, self._pod)
        self.nodes = _Lines(self._names[: len(data)], data, self._node)

    def _pod(self, row: int, key: str) -> PodLine:
        line: PodLine = self._shapes[self._like.item(row)].__copy__()
        line.key, line.node = key, self._names[self._on.item(row)]
        return line

    def _node(self, row: int, fields: _NodeFields) -> NodeLine:
        return _StoredNode(fields, self, row)

    def pods_on(self, row: int) -> list[PodLine]:
        """Return the pods that take resources of a node."""
        return [pod for pod in map(self._pods.at, self._rows_on(row)) if pod.on_node]

    def requested_on(self, row: int) -> Counter[str]:
        """Return what they request."""
        return self._sum((like, 1) for like in self._like[self._rows_on(row)].tolist())

    def nominated_to(self, name: str) -> list[PodLine]:
        """Return the pods without a node that are nominated to a node."""
        return [pod for pod in map(self._pods.at, self._nominated.get(name, ())) if not pod.node]

    def _rows_on(self, row: int) -> npt.NDArray[np.int32]:
        order, begin = self._by_node
        return order[begin[row] : begin[row + 1]]

    def _sum(self, numbers: Iterable[tuple[int, int]]) -> Counter[str]:
        """Return what pods on nodes request. `numbers`: shapes, and how many of these pods have each."""
        total = Counter[str]()
        for like, number in numbers:
            if self._shapes[like].state != "finished":
                for resource, quantity in self._shapes[like].requests.items():
                    total[resource] += number * quantity
        return total

    @cached_property
    def _by_node(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.intp]]:
        """The rows of pods by node, and for each node where its rows begin."""
        order = self._on.argsort(kind="stable").astype(np.int32)
        return order, self._on[order].searchsorted(np.arange(len(self.nodes) + 1))

    @cached_property
    def _nominated(self) -> dict[str, list[int]]:
        """Node -> rows of the pods that are nominated to it."""
        found = dict[str, list[int]]()
        for row in self._rows_where(lambda pod: bool(pod.nominated_node)):
            found.setdefault(self._shapes[self._like.item(row)].nominated_node, []).append(row)
        return found

    def _rows_where(self, suits: Callable[[PodLine], bool]) -> Iterator[int]:
        suiting = np.fromiter(map(suits, self._shapes), np.bool_, len(self._shapes))
        return (row.item() for row in suiting[self._like].nonzero()[0])  # a list would take ten times the memory

    def pods_where(self, suits: Callable[[PodLine], bool]) -> Iterator[PodLine]:
        return map(self._pods.at, self._rows_where(suits))

    def node_kinds(self) -> Iterable[tuple[NodeLine, int]]:
        return ((NodeLine("", amounts, {ZONES[0]: zone}), number) for amounts, zone, number in self._node_kinds)

    def pod_kinds(self) -> Iterable[tuple[PodLine, int]]:
        return ((self._shapes[like], number) for like, number in self._counted(self._like))

    def requested(self) -> Counter[str]:
        return self._sum(self._counted(self._like[self._on < len(self.nodes)]))

    @staticmethod
    def _counted(like: npt.NDArray[np.int32]) -> Iterator[tuple[int, int]]:
        values, numbers = np.unique(like, return_counts=True)
        return zip(values.tolist(), numbers.tolist(), strict=True)
