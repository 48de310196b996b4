"""The counters of pods: label classes, affinity terms and columns over nodes.

Source: pkg/scheduler/framework/types.go (AffinityTerm).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from scheduler_core.api.selectors import Selector

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


@dataclass(slots=True, eq=False)
class SelectorColumn:
    """The number of pods that a selector matches, on each node.

    `counts`: int64 over nodes, the pods in one of `namespaces` (None: any) that `selector` matches.
    """

    namespaces: frozenset[str] | None
    selector: Selector
    terminating: bool
    counts: Counts

    def matches(self, pods: Counted) -> bool:
        """Whether the column counts such pods."""
        if pods.terminating and not self.terminating:
            return False
        if self.namespaces is not None and pods.namespace not in self.namespaces:
            return False
        return self.selector.matches(pods.labels)


@dataclass(slots=True, eq=False)
class TermColumn:
    """A column: `counts` (int64 over nodes) is the number of pods that carry `term` in `role` (one of the ROLES)."""

    role: str
    term: Term
    counts: Counts
    total: int = 0  # sum over all nodes
