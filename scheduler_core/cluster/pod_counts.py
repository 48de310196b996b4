"""The counters of pods: label classes, affinity terms and columns over nodes.

Source: pkg/scheduler/framework/types.go (AffinityTerm).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from scheduler_core.api.selectors import Selector
from scheduler_core.cluster.topology import Topology

Counts = npt.NDArray[np.int64]

_FEW = 16  # the number of nodes for each that has pods from which on only these are kept


@lru_cache(1 << 10)
def only(namespace: str) -> frozenset[str]:
    """Return a set of this namespace, usually the same one: thousands of terms and columns keep it."""
    return frozenset((namespace,))


class Counted(Protocol):
    """The properties of a pod that a selector evaluates."""

    @property
    def namespace(self) -> str: ...
    @property
    def labels(self) -> dict[str, str]: ...
    @property
    def terminating(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Term:
    """A pod (anti-)affinity term. It matches a pod by namespace (listed or selected by labels) and by labels."""

    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector
    topology_key: str
    weight: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        """Terms with equal keys are equivalent."""
        return (self.topology_key, self.namespaces, self.namespace_selector.key, self.selector.key, self.weight)

    def matches(self, namespace: str, namespace_labels: dict[str, str], labels: dict[str, str]) -> bool:
        if namespace not in self.namespaces and not self.namespace_selector.matches(namespace_labels):
            return False
        return self.selector.matches(labels)


@dataclass(slots=True, eq=False)
class LabelClass:
    """Pods with equal namespace, labels and deletion state, and the columns that count them."""

    namespace: str
    labels: dict[str, str]
    terminating: bool
    nodes: dict[str, int] = field(default_factory=dict)  # node name -> number of pods of this class
    columns: list[SelectorColumn] = field(default_factory=list)  # those that count it
    matched_terms: list[TermColumn] = field(default_factory=list)  # those that match it
    namespaces_version: int = 0  # the version of the namespaces' labels for which `matched_terms` is valid


class PodCounts:
    """The number of some pods on each node. `total`: on all nodes.

    Most selectors match pods on few nodes: as long as these are fewer than one in 16, only they are kept.
    """

    __slots__ = ("_by_row", "_counts", "_rows", "_size", "_sums", "total")

    def __init__(self, size: int) -> None:
        """`size`: the number of nodes. None has such a pod."""
        self.total = 0
        self._size = size
        self._by_row: dict[int, int] = {}  # the numbers that are not 0, as long as they are few
        self._counts: Counts | None = None  # else all numbers
        self._rows: set[int] | None = None  # then the rows with such pods, once `rows` was called
        self._sums: dict[str, tuple[Topology, Counts]] = {}  # topology key -> its column, number of pods by value

    @property
    def counts(self) -> Counts:
        """The number of pods on each node: int64 over nodes. Do not change it."""
        if self._counts is not None:
            return self._counts
        counts = np.zeros(self._size, np.int64)
        if self._by_row:
            counts[list(self._by_row)] = list(self._by_row.values())
        return counts

    def add(self, row: int, step: int) -> None:
        """Add (step 1) or remove (step -1) a pod on a row."""
        self.total += step
        counts = self._counts
        if counts is None:
            by_row = self._by_row
            count = by_row.get(row, 0) + step
            if count:
                by_row[row] = count
                if len(by_row) * _FEW > self._size:
                    self._counts = self.counts
                    by_row.clear()
            else:
                del by_row[row]
        else:
            count = counts[row] = counts.item(row) + step
            if self._rows is not None:
                (self._rows.add if count > 0 else self._rows.discard)(row)
        for topology, sums in self._sums.values():
            if (value := topology.ids.item(row)) >= 0:
                sums[value] = sums.item(value) + step

    def rows(self) -> Set[int]:
        """Return the rows with such pods. It changes with the pods."""
        if self._counts is None:
            return self._by_row.keys()
        if self._rows is None:
            self._rows = set((self._counts > 0).nonzero()[0].tolist())
        return self._rows

    def numbers(self) -> Mapping[int, int]:
        """Return row -> the number of such pods, without rows that have none. It may change with the pods."""
        if self._counts is None:
            return self._by_row
        return {row: self._counts.item(row) for row in self.rows()}

    def sums(self, key: str, topology: Topology, eligible: npt.NDArray[np.bool_] | None = None) -> Counts:
        """Return the number of pods on eligible nodes (None: all) by value of a topology key: int64 over values. Do not
        change it; it may change with the pods."""
        if eligible is not None:
            return self._sums_of(topology, eligible)
        if topology.unique:
            return self.counts
        known = self._sums.get(key)
        if known is None or known[0] is not topology:
            known = self._sums[key] = topology, self._sums_of(topology, None)
        return known[1]

    def _sums_of(self, topology: Topology, eligible: npt.NDArray[np.bool_] | None) -> Counts:
        if self._counts is not None or topology.unique:
            return topology.sums(self.counts, eligible)
        sums = [0] * len(topology.values)
        for row, count in self._by_row.items():
            if (value := topology.ids.item(row)) >= 0 and (eligible is None or eligible.item(row)):
                sums[value] += count
        return np.array(sums, np.int64)

    def permute(self, origin: npt.NDArray[np.intp]) -> None:
        """Set new rows. `origin`: the old row of each new row, -1 if it is new."""
        counts = self.counts
        self._sums.clear()
        self._rows, self._size, self._counts = None, len(origin), None
        if len(counts):
            counts = counts[origin]
            counts[origin < 0] = 0
        self.total = int(counts.sum())
        there = counts.nonzero()[0].tolist()
        self._by_row = dict(zip(there, counts[there].tolist(), strict=True))
        if len(there) * _FEW > self._size:
            self._counts = counts
            self._by_row.clear()


class SelectorColumn(PodCounts):
    """The number of pods in one of `namespaces` (None: any) that `selector` matches, on each node."""

    __slots__ = ("namespaces", "selector", "terminating")

    def __init__(self, namespaces: frozenset[str] | None, selector: Selector, terminating: bool, size: int) -> None:
        super().__init__(size)
        self.namespaces, self.selector, self.terminating = namespaces, selector, terminating

    def matches(self, pods: Counted) -> bool:
        """Whether the column counts such pods."""
        if pods.terminating and not self.terminating:
            return False
        if self.namespaces is not None and pods.namespace not in self.namespaces:
            return False
        return self.selector.matches(pods.labels)


class TermColumn(PodCounts):
    """The number of pods that carry `term` in `role` (one of the ROLES), on each node."""

    __slots__ = ("role", "term")

    def __init__(self, role: str, term: Term, size: int) -> None:
        super().__init__(size)
        self.role, self.term = role, term
