"""The number of pods of each class on each node, updated as pods are added and removed.

Pods with equal namespace and labels form one `LabelClass`. A `SelectorColumn` counts, over the nodes, the pods that a
selector matches; a `TermColumn` counts the pods that carry a certain (anti-)affinity term. Both are created on first
use and updated when a pod is added or removed, so a cycle never iterates over pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from scheduler_core.api.selectors import Selector
from scheduler_core.cluster.pod_counts import LabelClass, SelectorColumn, Term, TermColumn
from scheduler_core.cluster.pod_info import NO_TERMS, PodInfo

REQUIRED_AFFINITY, REQUIRED_ANTI_AFFINITY = "required affinity", "required anti-affinity"
PREFERRED_AFFINITY, PREFERRED_ANTI_AFFINITY = "preferred affinity", "preferred anti-affinity"
# in the order of PodInfo.terms
ROLES = (REQUIRED_AFFINITY, REQUIRED_ANTI_AFFINITY, PREFERRED_AFFINITY, PREFERRED_ANTI_AFFINITY)


class PodColumns:
    """All columns of one cluster. `rows`: the table's map of node name to row."""

    def __init__(self, namespaces: Mapping[str, dict[str, str]]) -> None:
        self.namespaces = namespaces  # name -> labels, shared with the cluster
        self.size = 0
        self.rows: Mapping[str, int] = {}
        self._classes: dict[tuple[object, ...], LabelClass] = {}
        self._selectors: dict[tuple[object, ...], SelectorColumn] = {}
        self._selector_list: list[SelectorColumn] = []
        self._terms: dict[tuple[object, ...], TermColumn] = {}
        self._term_list: list[TermColumn] = []

    # ---- additions and removals of pods

    def label_class(self, pod: PodInfo) -> LabelClass:
        """Return the class of a pod; create it for the first pod."""
        cls = pod.label_class
        if cls is None:
            cls = pod.label_class = self.class_of(pod.namespace, pod.labels, pod.terminating)
        return cls

    def class_of(self, namespace: str, labels: dict[str, str], terminating: bool) -> LabelClass:
        """Return the class of pods with these properties."""
        key = (namespace, frozenset(labels.items()), terminating)
        cls = self._classes.get(key)
        if cls is None:
            cls = self._classes[key] = LabelClass(namespace, labels, terminating)
        return cls

    def count(self, pod: PodInfo, node: str, step: int) -> None:
        """Add (step 1) or remove (step -1) a pod on a node, which may not exist yet."""
        self.know(pod, node, step)
        row = self.rows.get(node)
        if row is not None:
            self._count_row(pod, row, step)

    def know(self, pod: PodInfo, node: str, step: int) -> None:
        """Update the label class like `count`, but not the columns."""
        cls = self.label_class(pod)
        cls.nodes[node] = cls.nodes.get(node, 0) + step
        if not cls.nodes[node]:
            del cls.nodes[node]

    def count_rows(self, placed: Iterable[tuple[int, PodInfo]]) -> None:
        """Add many pods to the columns only, each on a row."""
        selected = bool(self._selector_list)
        for row, pod in placed:
            if selected or pod.term_columns != ():
                self._count_row(pod, row, 1)

    def _count_row(self, pod: PodInfo, row: int, step: int) -> None:
        for column in self._columns_of(self.label_class(pod)):
            column.counts[row] += step
        for term_column in self._terms_carried(pod):
            term_column.counts[row] += step
            term_column.total += step

    def _columns_of(self, cls: LabelClass) -> list[SelectorColumn]:
        if cls.seen_columns < len(self._selector_list):
            new = self._selector_list[cls.seen_columns :]
            cls.columns.extend(column for column in new if column.matches(cls))
            cls.seen_columns = len(self._selector_list)
        return cls.columns

    def _terms_carried(self, pod: PodInfo) -> tuple[TermColumn, ...]:
        if pod.term_columns is None:
            terms = pod.terms()
            by_role = zip(ROLES, terms, strict=True) if terms is not NO_TERMS else ()
            pod.term_columns = tuple([self._term_column(role, term) for role, own in by_role for term in own])
        return pod.term_columns

    def _term_column(self, role: str, term: Term) -> TermColumn:
        key = (role, term.key)
        column = self._terms.get(key)
        if column is None:
            column = self._terms[key] = TermColumn(role, term, np.zeros(self.size, np.int64))
            self._term_list.append(column)
        return column

    # ---- queries of plugins

    def matching(self, namespaces: frozenset[str] | None, selector: Selector, terminating: bool) -> SelectorColumn:
        """Return the column of the pods in these namespaces that `selector` matches.

        `namespaces`: None for all. `terminating`: whether terminating pods count.
        """
        key = (namespaces, selector.key, terminating)
        column = self._selectors.get(key)
        if column is None:
            counts = np.zeros(self.size, np.int64)
            column = self._selectors[key] = SelectorColumn(namespaces, selector, terminating, counts)
            self._selector_list.append(column)
            for cls in self._classes.values():
                columns = self._columns_of(cls)
                if columns and columns[-1] is column:
                    for node, number in cls.nodes.items():
                        row = self.rows.get(node)
                        if row is not None:
                            column.counts[row] += number
        return column

    def terms_matching(self, pod: PodInfo) -> list[TermColumn]:
        """Return the columns of all terms carried by some pod that match this pod."""
        cls = self.label_class(pod)
        if cls.seen_terms < len(self._term_list):
            labels = self.namespaces.get(cls.namespace, {})
            for column in self._term_list[cls.seen_terms :]:
                if column.term.matches(cls.namespace, labels, cls.labels):
                    cls.matched_terms.append(column)
            cls.seen_terms = len(self._term_list)
        return cls.matched_terms

    def carried(self, role: str) -> list[Term]:
        """Return the terms in a role (one of the ROLES) of pods that have a node."""
        return [column.term for column in self._term_list if column.role == role and column.total]

    # ---- changes of the table

    def permute(self, rows: Mapping[str, int], origin: npt.NDArray[np.intp]) -> None:
        """Set new rows. `origin` (intp over the new rows): the old row of each, -1 if it is new."""
        self.rows, self.size = rows, len(origin)
        fresh = origin < 0
        columns: list[SelectorColumn | TermColumn] = [*self._selector_list, *self._term_list]
        for column in columns:
            if len(column.counts):
                column.counts = column.counts[origin]
                column.counts[fresh] = 0
            else:
                column.counts = np.zeros(self.size, np.int64)
        for term_column in self._term_list:
            term_column.total = int(term_column.counts.sum())

    def forget_namespaces(self) -> None:
        """Discard the matches between terms and pods after a change of namespace labels."""
        for cls in self._classes.values():
            cls.matched_terms, cls.seen_terms = [], 0
