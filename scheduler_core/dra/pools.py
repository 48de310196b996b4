"""The devices of all ResourceSlices, and the pools visible to a node.

A pool is the set of slices with the same driver and pool name. Of the slices for a node, it sees those of the newest
generation. A pool is incomplete if a slice is missing, and invalid if its slices contradict each other.

Source: staging/src/k8s.io/dynamic-resource-allocation/structured/internal (pools_stable.go, pools_incubating.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from scheduler_core.api import quantity, selectors
from scheduler_core.api.devices import BasicDevice, Device, DeviceAttribute, DeviceTaintRule, ResourceSlice
from scheduler_core.api.objects import Node, NodeSelector
from scheduler_core.dra.selectors import Content
from scheduler_core.releases import Release

DeviceID = tuple[str, str, str]  # driver, pool, device
PoolID = tuple[str, str]  # driver, pool
Amounts = dict[tuple[str, str], int]  # (counter set, counter) -> billionths


class PoolDevice:
    """A device of a slice. `consumes`: amounts of the pool's counters. `content`: equal for devices that selectors
    treat alike."""

    __slots__ = ("consumes", "content", "device", "id", "piece")

    def __init__(self, piece: Piece, device: Device, content: Content) -> None:
        self.piece, self.device, self.content = piece, device, content
        self.id: DeviceID = (*piece.pool, device.name)
        self.consumes: Amounts = {
            (consumption.counter_set, name): quantity.nano_value(counter.value)
            for consumption in device.consumes_counters
            for name, counter in consumption.counters.items()
        }

    @property
    def multiple(self) -> bool:
        return self.content.multiple

    def attribute(self, name: str) -> DeviceAttribute | None:
        """Return an attribute by its full name, or by its identifier if the domain is the driver's."""
        found = self.device.attributes.get(name)
        domain, slash, identifier = name.partition("/")
        if found is None and slash and domain == self.id[0]:
            found = self.device.attributes.get(identifier)
        return found


class Piece:
    """A preprocessed ResourceSlice."""

    __slots__ = ("binds_later", "entries", "name", "pool", "shape", "spec")

    def __init__(self, piece: ResourceSlice, contents: dict[bytes, Content]) -> None:
        self.spec, self.name = piece.spec, piece.name
        self.pool: PoolID = (piece.spec.driver, piece.spec.pool.name)
        self.entries = [
            PoolDevice(self, device, _content(piece.spec.driver, device, contents)) for device in self.spec.devices
        ]
        self.binds_later = any(device.binding_conditions for device in self.spec.devices)
        self.shape = _shape(self)

    @property
    def generation(self) -> int:
        return self.spec.pool.generation


_ENCODER = msgspec.json.Encoder(order="sorted")


def _content(driver: str, device: Device, contents: dict[bytes, Content]) -> Content:
    """Return one shared object for all devices that selectors cannot distinguish."""
    key = _ENCODER.encode([driver, device.attributes, device.capacity, bool(device.allow_multiple_allocations)])
    found = contents.get(key)
    if found is None:
        found = contents[key] = Content(driver, device)
    return found


def _shape(piece: Piece) -> bytes | None:
    """Return a key that is equal for slices in which a search finds devices in the same positions; None if that depends
    on more."""
    spec = piece.spec
    if spec.per_device_node_selection or spec.shared_counters:
        return None
    if any(entry.consumes or entry.multiple for entry in piece.entries):
        return None
    devices = [msgspec.structs.replace(device, name="") for device in spec.devices]
    return spec.driver.encode() + b" " + _ENCODER.encode(devices)


@dataclass(slots=True)
class Pool:
    """A pool as visible to a node. `pieces`: slices for the node. `elsewhere`: its other slices, whose devices use the
    same counters. `counters`: total of each counter, in billionths. `problem`: why the pool is invalid."""

    id: PoolID
    incomplete: bool = False
    problem: str = ""
    pieces: Sequence[Piece] = ()
    elsewhere: Sequence[Piece] = ()
    counters: Amounts = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.id[0]}/{self.id[1]}"

    @property
    def shape(self) -> tuple[bytes, ...] | None:
        """The shapes of its slices; None if one has none, or if the pool is invalid or incomplete."""
        shapes = [piece.shape for piece in self.pieces if piece.shape is not None]
        plain = len(shapes) == len(self.pieces) and not (self.problem or self.incomplete)
        return tuple(shapes) if plain else None

    @property
    def entries(self) -> Iterator[PoolDevice]:
        return (entry for piece in self.pieces for entry in piece.entries)


def node_matches(node: Node, name: str | None, all_nodes: bool | None, selector: NodeSelector | None) -> bool:
    """Return whether a slice or device with these fields is for the node."""
    if name:
        return node.name == name
    if all_nodes:
        return True
    return selector is not None and selectors.any_term_matches(selector.node_selector_terms, node)


def tainted(piece: ResourceSlice, rules: Sequence[DeviceTaintRule]) -> ResourceSlice:
    """Return the slice with the taints that rules add to its devices (upstream: applyPatches of its tracker)."""
    driver, pool, found = piece.spec.driver, piece.spec.pool.name, list(piece.spec.devices)
    for i, device in enumerate(piece.spec.devices):
        added = [rule.spec.taint for rule in rules if rule.taints(driver, pool, device.name)]
        if added:
            found[i] = msgspec.structs.replace(device, taints=[*device.taints, *added])
    if all(new is old for new, old in zip(found, piece.spec.devices, strict=True)):
        return piece
    return msgspec.structs.replace(piece, spec=msgspec.structs.replace(piece.spec, devices=found))


class Inventory:
    """All slices, grouped by the nodes that they are for."""

    def __init__(
        self, release: Release, slices: Iterable[ResourceSlice], rules: Iterable[DeviceTaintRule] = ()
    ) -> None:
        applied = list(rules) if release.device_taint_rules else []
        self._partitions = release.shared_counters
        self._later = release.binding_conditions
        self._partial = release.allocates_from_incomplete_pools
        self._counters_everywhere = release.counters_of_pool_everywhere
        contents: dict[bytes, Content] = {}
        self._of_node: dict[str, list[Piece]] = {}
        self.shared: list[Piece] = []  # slices that are not for a single node
        self.of_pool: dict[PoolID, list[Piece]] = {}
        for one in sorted(slices, key=lambda one: one.name):
            if not self._partitions and (one.spec.per_device_node_selection is not None or one.spec.shared_counters):
                continue
            piece = Piece(tainted(one, applied), contents)
            self.of_pool.setdefault(piece.pool, []).append(piece)
            if one.spec.node_name and not self._is_everywhere(piece):
                self._of_node.setdefault(one.spec.node_name, []).append(piece)
            else:
                self.shared.append(piece)

    def _is_everywhere(self, piece: Piece) -> bool:
        return self._counters_everywhere and bool(piece.spec.shared_counters)

    def pools(self, node: Node) -> list[Pool]:
        """Return the pools visible to a node, by driver and name; pools with binding conditions come last."""
        seen: dict[PoolID, list[Piece]] = {}
        shared = (piece for piece in self.shared if self._is_everywhere(piece) or _is_for(piece, node))
        for pieces in (self._of_node.get(node.name, ()), shared):
            for piece in pieces:
                mine = seen.get(piece.pool)
                if mine is None or piece.generation > mine[0].generation:
                    seen[piece.pool] = [piece]
                elif piece.generation == mine[0].generation:
                    mine.append(piece)
        found = [pool for id_ in sorted(seen) if (pool := self._pool(id_, seen[id_])) is not None]
        if self._later and any(piece.binds_later for pool in found for piece in pool.pieces):
            found.sort(key=lambda pool: any(piece.binds_later for piece in pool.pieces))
        return found

    def _pool(self, id_: PoolID, pieces: list[Piece]) -> Pool | None:
        """Return the pool; None if newer slices, which are not for the node, replace it."""
        pieces.sort(key=lambda piece: piece.name)
        everything = pieces
        if len(pieces) != pieces[0].spec.pool.resource_slice_count:
            everything = self.of_pool[id_]
            if any(piece.generation > pieces[0].generation for piece in everything):
                return None
            everything = [piece for piece in everything if piece.generation == pieces[0].generation]
            if len(everything) != pieces[0].spec.pool.resource_slice_count:
                return Pool(id_, True, _twice(pieces), pieces) if self._partial else Pool(id_, True)
        return self._complete(id_, pieces, everything)

    def _complete(self, id_: PoolID, pieces: list[Piece], everything: list[Piece]) -> Pool:
        with_devices = [piece for piece in pieces if not piece.spec.shared_counters] if self._partitions else pieces
        problem = _twice(with_devices)
        if problem or not self._partitions:
            return Pool(id_, problem=problem, pieces=with_devices)
        names = {piece.name for piece in pieces}
        others = [piece for piece in everything if piece.name not in names]
        counters: Amounts = {}
        sets: dict[str, Mapping[str, object]] = {}
        for counter_set in (one for piece in (*pieces, *others) for one in piece.spec.shared_counters):
            if counter_set.name in sets:
                return Pool(id_, problem=f"duplicate counter set name {counter_set.name}")
            sets[counter_set.name] = counter_set.counters
            for name, counter in counter_set.counters.items():
                counters[counter_set.name, name] = quantity.nano_value(counter.value)
        elsewhere = [piece for piece in others if not piece.spec.shared_counters]
        for consumes in (
            c for piece in (*pieces, *elsewhere) for e in piece.entries for c in e.device.consumes_counters
        ):
            if consumes.counter_set not in sets:
                return Pool(id_, problem=f"counter set {consumes.counter_set} not found")
            for name in consumes.counters:
                if name not in sets[consumes.counter_set]:
                    return Pool(id_, problem=f"counter {name} not found in counter set {consumes.counter_set}")
        return Pool(id_, pieces=with_devices, elsewhere=elsewhere, counters=counters)


def _is_for(piece: Piece, node: Node) -> bool:
    spec = piece.spec
    if spec.node_name or spec.all_nodes or spec.node_selector is not None:
        return node_matches(node, spec.node_name, spec.all_nodes, spec.node_selector)
    if not spec.per_device_node_selection:
        return False
    return any(is_for_device(device, node) for device in spec.devices)


def is_for_device(device: BasicDevice, node: Node) -> bool:
    """Return whether a device of a slice with perDeviceNodeSelection is for the node."""
    return node_matches(node, device.node_name, device.all_nodes, device.node_selector)


def _twice(pieces: Iterable[Piece]) -> str:
    names: set[str] = set()
    for entry in (entry for piece in pieces for entry in piece.entries):
        if entry.device.name in names:
            return f"duplicate device name {entry.device.name}"
        names.add(entry.device.name)
    return ""
