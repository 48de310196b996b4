"""How many pods of a kind run on each node, kept up to date as pods come and go.

Pods with equal namespace and labels are one `LabelClass`. A `SelectorColumn` counts, over the nodes, the pods that a
selector matches; a `TermColumn` counts the pods that carry a certain (anti-)affinity term. Both are made when first
asked for and updated when a pod is added or removed, so a cycle never walks over pods.
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
ROLES = (REQUIRED_AFFINITY, REQUIRED_ANTI_AFFINITY, PREFERRED_AFFINITY, PREFERRED_ANTI_AFFINITY)  # as PodInfo.terms


class PodColumns:
    """All columns of one cluster. `rows` is the table's map of node name to row."""

    def __init__(self, namespaces: Mapping[str, dict[str, str]]) -> None:
        self.namespaces = namespaces  # name -> labels, shared with the cluster
        self.size = 0
        self.rows: Mapping[str, int] = {}
        self._classes: dict[tuple[object, ...], LabelClass] = {}
        self._selectors: dict[tuple[object, ...], SelectorColumn] = {}
        self._selector_list: list[SelectorColumn] = []
        self._terms: dict[tuple[object, ...], TermColumn] = {}
        self._term_list: list[TermColumn] = []

    # ---- pods come and go

    def label_class(self, pod: PodInfo) -> LabelClass:
        """The class of a pod; made when it is the first of its kind."""
        cls = pod.label_class
        if cls is None:
            cls = pod.label_class = self.class_of(pod.namespace, pod.labels, pod.terminating)
        return cls

    def class_of(self, namespace: str, labels: dict[str, str], terminating: bool) -> LabelClass:
        """The class of pods like this."""
        key = (namespace, frozenset(labels.items()), terminating)
        cls = self._classes.get(key)
        if cls is None:
            cls = self._classes[key] = LabelClass(namespace, labels, terminating)
        return cls

    def count(self, pod: PodInfo, node: str, step: int) -> None:
        """Counts a pod in (step 1) or out (step -1) on a node; the node may be one that does not exist (yet)."""
        self.know(pod, node, step)
        row = self.rows.get(node)
        if row is not None:
            self._count_row(pod, row, step)

    def know(self, pod: PodInfo, node: str, step: int) -> None:
        """As `count`, without the columns."""
        cls = self.label_class(pod)
        cls.nodes[node] = cls.nodes.get(node, 0) + step
        if not cls.nodes[node]:
            del cls.nodes[node]

    def count_rows(self, placed: Iterable[tuple[int, PodInfo]]) -> None:
        """Many pods counted in, each on a row, for columns alone."""
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
            pod.term_columns = (
                ()
                if terms is NO_TERMS
                else tuple(
                    self._term_column(role, term) for role, own in zip(ROLES, terms, strict=True) for term in own
                )
            )
        return pod.term_columns

    def _term_column(self, role: str, term: Term) -> TermColumn:
        key = (role, term.key)
        column = self._terms.get(key)
        if column is None:
            column = self._terms[key] = TermColumn(role, term, self.size)
            self._term_list.append(column)
        return column

    # ---- what plugins ask

    def matching(self, namespaces: frozenset[str] | None, selector: Selector, terminating: bool) -> SelectorColumn:
        """The column of pods in these namespaces (None: any) that the selector matches; `terminating` ones or not."""
        key = (namespaces, selector.key, terminating)
        column = self._selectors.get(key)
        if column is None:
            column = SelectorColumn(namespaces, selector, terminating, self.size)
            self._selectors[key] = column
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
        """Columns of all terms carried by some pod that match this pod."""
        cls = self.label_class(pod)
        if cls.seen_terms < len(self._term_list):
            labels = self.namespaces.get(cls.namespace, {})
            for column in self._term_list[cls.seen_terms :]:
                if column.term.matches(cls.namespace, labels, cls.labels):
                    cls.matched_terms.append(column)
            cls.seen_terms = len(self._term_list)
        return cls.matched_terms

    def carried(self, role: str) -> list[Term]:
        """The terms that some pod on a node carries in a role (one of the ROLES)."""
        return [column.term for column in self._term_list if column.role == role and column.total]

    # ---- the table changes

    def permute(self, rows: Mapping[str, int], origin: npt.NDArray[np.intp]) -> None:
        """New rows: `origin` (intp over the new rows) is the old row of each, -1 where there was none."""
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
        """Namespace labels changed: which terms match which pods is found anew."""
        for cls in self._classes.values():
            cls.matched_terms, cls.seen_terms = [], 0
