"""The counters of pods: label classes, affinity terms and columns over nodes.

Source: pkg/scheduler/framework/types.go (AffinityTerm).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from scheduler_core.api.selectors import Selector
from scheduler_core.cluster.topology import Topology

Counts = npt.NDArray[np.int64]


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
    """The number of some pods on each node. `counts`: int64 over nodes. `total`: on all nodes."""

    __slots__ = ("_rows", "_sums", "counts", "total")

    def __init__(self, size: int) -> None:
        """`size`: the number of nodes. None has such a pod."""
        self.counts: Counts = np.zeros(size, np.int64)
        self.total = 0
        self._rows: set[int] | None = None  # those with such pods, once `rows` was called
        self._sums: dict[str, tuple[Topology, Counts]] = {}  # topology key -> its column, number of pods by value

    def add(self, row: int, step: int) -> None:
        """Add (step 1) or remove (step -1) a pod on a row."""
        count = self.counts[row] = self.counts.item(row) + step
        self.total += step
        if self._rows is not None:
            (self._rows.add if count > 0 else self._rows.discard)(row)
        for topology, sums in self._sums.values():
            if not topology.unique and (value := topology.ids.item(row)) >= 0:
                sums[value] = sums.item(value) + step

    def rows(self) -> set[int]:
        """Return the rows with such pods. Do not change the set; it changes with the pods."""
        if self._rows is None:
            self._rows = set((self.counts > 0).nonzero()[0].tolist())
        return self._rows

    def sums(self, key: str, topology: Topology) -> Counts:
        """Return the number of pods by value of a topology key: int64 over values. It changes with the pods."""
        known = self._sums.get(key)
        if known is None or known[0] is not topology:
            known = self._sums[key] = topology, topology.sums(self.counts)
        return known[1]

    def permute(self, origin: npt.NDArray[np.intp]) -> None:
        """Set new rows. `origin`: the old row of each new row, -1 if it is new."""
        self._sums.clear()
        self._rows = None
        if len(self.counts):
            self.counts = self.counts[origin]
            self.counts[origin < 0] = 0
        else:
            self.counts = np.zeros(len(origin), np.int64)
        self.total = int(self.counts.sum())


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
