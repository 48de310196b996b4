"""Finds the volumes that an unbound claim may use, and picks one of them on each node.

Upstream: k8s.io/component-helpers/storage/volume (FindMatchingVolume).
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.api import selectors
from scheduler_core.api.objects import (
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
)
from scheduler_core.cluster.nodes import NodeTable
from scheduler_core.cluster.object_store import ObjectTable
from scheduler_core.plugins.volumes import (
    admitted_rows,
    affinity_terms,
    bound_to,
    class_of_claim,
    class_of_volume,
    storage,
)
from scheduler_core.releases import Release

Picks = npt.NDArray[np.int64]  # over nodes: the number of a volume, -1 for none
_Index = npt.NDArray[np.intp]
_Pairs = tuple[_Index, _Index]  # the number of a node affinity, and a row that it matches
_Traits = tuple[str, str, frozenset[str]]  # volume mode, attributes class, access modes

_MANY_PAIRS = 1 << 21  # limit of pairs in memory at once: thousands of affinities that each match most nodes exceed it


def is_free(volume: PersistentVolume) -> bool:
    """Return whether any claim may take the volume."""
    return (
        volume.spec.claim_ref is None and volume.status.phase == "Available" and not volume.metadata.deletion_timestamp
    )


def _traits(spec: PersistentVolumeClaimSpec | PersistentVolumeSpec, release: Release) -> _Traits:
    attributes_class = spec.volume_attributes_class_name if release.volume_attributes_class else ""
    return spec.volume_mode or "Filesystem", attributes_class, frozenset(spec.access_modes)


class _FreeOfClass:
    """Free volumes of one storage class.

    They are listed by size, then by number. A volume that is taken stays in the list and is marked, until the list is
    built again.
    """

    def __init__(self, release: Release) -> None:
        self._release = release
        self._volumes: dict[int, PersistentVolume] = {}  # the free volumes, by number
        self._stale = True
        self._listed: list[PersistentVolume] = []
        self._places: dict[int, int] = {}  # number -> index in the list
        self._sizes: list[int] = []
        self._numbers: Picks = np.full(1, -1, np.int64)  # ends with -1, the number for no volume
        self._free = np.zeros(0, np.bool_)
        self._traits: list[_Traits] = []
        self._traits_of: _Index = np.zeros(0, np.intp)
        self._affinities: list[list[NodeSelectorTerm] | None] = []
        self._affinity_of: _Index = np.zeros(0, np.intp)
        self._reach: tuple[int, _Pairs] | None = None  # with the version of the nodes that it was computed for

    def put(self, number: int, volume: PersistentVolume) -> None:
        """Add a volume, or free one that was taken."""
        self._volumes[number] = volume
        place = self._places.get(number)
        if place is None or not _alike(self._listed[place], volume):
            self._stale = True
        else:
            self._free[place] = True

    def drop(self, number: int) -> None:
        """Mark the volume as no longer free."""
        del self._volumes[number]
        place = self._places.get(number)
        if place is not None:
            self._free[place] = False

    def _list(self) -> None:
        sizes = {number: storage(volume.spec.capacity) for number, volume in self._volumes.items()}
        order = sorted(sizes, key=lambda number: (sizes[number], number))
        self._listed = [self._volumes[number] for number in order]
        self._places = {number: place for place, number in enumerate(order)}
        self._sizes = [sizes[number] for number in order]
        self._numbers = np.array([*order, -1], np.int64)
        self._free = np.ones(len(order), np.bool_)
        traits: dict[_Traits, int] = {}
        each = [traits.setdefault(_traits(volume.spec, self._release), len(traits)) for volume in self._listed]
        self._traits, self._traits_of = list(traits), np.array(each, np.intp)
        affinities: dict[bytes, int] = {}
        self._affinities = []
        each = []
        for volume in self._listed:
            terms = affinity_terms(volume)
            each.append(affinities.setdefault(msgspec.json.encode(terms), len(affinities)))
            if len(affinities) > len(self._affinities):
                self._affinities.append(terms)
        self._affinity_of = np.array(each, np.intp)
        self._reach = None
        self._stale = False

    # ---- nodes

    def _pairs(self, nodes: NodeTable) -> Iterable[_Pairs]:
        """Return the rows that each affinity matches, in one or several pieces. A single piece is cached until the
        nodes change."""
        if self._reach is not None and self._reach[0] == nodes.version:
            return (self._reach[1],)
        pieces = self._admitted(nodes)
        first = list(islice(pieces, 2))
        if len(first) == 1:
            self._reach = nodes.version, first[0]
        return chain(first, pieces)

    def _admitted(self, nodes: NodeTable) -> Iterator[_Pairs]:
        start, rows, total = 0, [], 0
        for i, terms in enumerate(self._affinities):
            admitted = admitted_rows(nodes, terms)
            rows.append(np.arange(len(nodes)) if admitted is None else admitted)
            total += len(rows[-1])
            if total > _MANY_PAIRS or i == len(self._affinities) - 1:
                yield np.repeat(np.arange(start, i + 1), [len(r) for r in rows]), np.concatenate(rows)
                start, rows, total = i + 1, [], 0

    # ---- volumes

    def picks(self, claim: PersistentVolumeClaim, nodes: NodeTable, taken: Sequence[Picks]) -> Picks:
        """Return the smallest volume for the claim on each node that is not in `taken` there; the first of
        equal size."""
        if self._stale:
            self._list()
        none = len(self._listed)
        places = self._suitable(claim)
        # Of volumes with the same affinity, a node needs the smallest, and one more for each that may be taken there.
        smallest = []
        for _ in range(len(taken) + 1):
            of = self._affinity_of[places]
            first: _Index = np.full(len(self._affinities), none, np.intp)
            np.minimum.at(first, of, places)
            smallest.append(first)
            places = places[first[of] != places]
        best: _Index = np.full(len(nodes), none, np.intp)
        for affinities, rows in self._pairs(nodes) if none else ():
            for first in smallest:
                found = first[affinities]
                open_ = np.ones(len(rows), np.bool_)
                for other in taken:
                    open_ &= other[rows] != self._numbers[found]
                np.minimum.at(best, rows[open_], found[open_])
        return self._numbers[best]

    def _suitable(self, claim: PersistentVolumeClaim) -> _Index:
        """Return the list indices of the free volumes that are suitable on any node; ascending."""
        mode, attributes_class, access_modes = _traits(claim.spec, self._release)
        fits = [t[:2] == (mode, attributes_class) and access_modes <= t[2] for t in self._traits]
        start = bisect_left(self._sizes, storage(claim.spec.resources.requests))
        suits = self._free[start:] & np.array(fits, np.bool_)[self._traits_of[start:]]
        places = start + np.flatnonzero(suits)
        if claim.spec.selector is not None:
            selector = selectors.compile_selector(claim.spec.selector)
            labels = [self._listed[place].metadata.labels for place in places.tolist()]
            places = places[np.fromiter(map(selector.matches, labels), np.bool_, len(labels))]
        return places


def _alike(a: PersistentVolume, b: PersistentVolume) -> bool:
    return a is b or (a.spec == b.spec and a.metadata.labels == b.metadata.labels)


class FreeVolumes:
    """The volumes of a cluster that unbound claims may take, numbered in the order in which they were added."""

    def __init__(self, table: ObjectTable[PersistentVolume], release: Release) -> None:
        self._table = table
        self._release = release
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._reserved: dict[tuple[str, str], set[str]] = {}  # (namespace, name) of a claim -> volumes reserved for it
        self._classes: dict[str, _FreeOfClass] = {}
        for key, volume in table.items():
            self._changed(key, None, volume)
        table.watch(self._changed)

    def _changed(self, key: str, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        if old is None:
            self._numbers[key] = len(self._names)
            self._names.append(key)
        number = self._numbers[key]
        if old is not None and old.spec.claim_ref is not None:
            self._reserved[old.spec.claim_ref.namespace, old.spec.claim_ref.name].discard(key)
        if new is not None and new.spec.claim_ref is not None:
            ref = new.spec.claim_ref
            self._reserved.setdefault((ref.namespace, ref.name), set()).add(key)
        if old is not None and is_free(old):
            self._classes[class_of_volume(old)].drop(number)
        if new is not None and is_free(new):
            self._classes.setdefault(class_of_volume(new), _FreeOfClass(self._release)).put(number, new)
        if new is None:
            del self._numbers[key]

    def volume(self, number: int) -> PersistentVolume:
        """Return the volume with this number."""
        return self._table[self._names[number]]

    def picks(self, claim: PersistentVolumeClaim, nodes: NodeTable, taken: Sequence[Picks]) -> Picks:
        """Return the volume for the claim on each node, given those `taken` there by other claims of the pod.

        A volume reserved for the claim comes first, then the smallest one that is large enough, then the first of equal
        size. int64 over nodes: the volume's number, -1 for none.
        """
        picks: Picks = np.full(len(nodes), -1, np.int64)
        undecided = np.ones(len(nodes), np.bool_)
        for number in self._reserved_for(claim):
            admitted = admitted_rows(nodes, affinity_terms(self.volume(number)))
            here = np.zeros(len(nodes), np.bool_)
            here[slice(None) if admitted is None else admitted] = True
            open_ = np.logical_and.reduce([other != number for other in taken], initial=True)
            picks[here & undecided & open_] = number
            undecided &= ~open_  # a reserved volume excludes all others, even if unreachable, unless already taken
        free = self._classes.get(class_of_claim(claim))
        if free is not None and undecided.any():
            picks = np.where(undecided, free.picks(claim, nodes, taken), picks)
        return picks

    def _reserved_for(self, claim: PersistentVolumeClaim) -> list[int]:
        found = []
        wanted = _traits(claim.spec, self._release)[:2]
        for name in self._reserved.get((claim.namespace, claim.name), ()):
            volume = self._table[name]
            if (
                bound_to(volume, claim)
                and not volume.metadata.deletion_timestamp
                and class_of_volume(volume) == class_of_claim(claim)
                and storage(volume.spec.capacity) >= storage(claim.spec.resources.requests)
                and _traits(volume.spec, self._release)[:2] == wanted
            ):
                found.append(self._numbers[name])
        return sorted(found)
