"""The number of pods of each class on each node, updated as pods are added and removed.

Pods with equal namespace and labels form one `LabelClass`. A `SelectorColumn` counts, over the nodes, the pods that a
selector matches; a `TermColumn` counts the pods that carry a certain (anti-)affinity term. Both are created on first
use and updated when a pod is added or removed, so a cycle never iterates over pods.

Selectors and classes find each other by labels: a selector that requires one of some values of a label is compared only
with the classes that have one of them.
"""

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from scheduler_core.api.selectors import Selector
from scheduler_core.cluster.pod_counts import LabelClass, SelectorColumn, Term, TermColumn
from scheduler_core.cluster.pod_info import NO_TERMS, PodInfo

REQUIRED_AFFINITY, REQUIRED_ANTI_AFFINITY = "required affinity", "required anti-affinity"
PREFERRED_AFFINITY, PREFERRED_ANTI_AFFINITY = "preferred affinity", "preferred anti-affinity"
# in the order of PodInfo.terms
ROLES = (REQUIRED_AFFINITY, REQUIRED_ANTI_AFFINITY, PREFERRED_AFFINITY, PREFERRED_ANTI_AFFINITY)


_T = TypeVar("_T")

Label = tuple[str, str]


def _required_labels(selector: Selector) -> list[Label] | None:
    """Return labels of which a pod needs one to match; None if there are no such labels."""
    if selector.key is None:
        return []
    for name, operator, values in selector.key:
        if operator == "In":
            return [(name, value) for value in values]
    return None


class _BySelector(Generic[_T]):
    """Things with a selector, found by the labels of a pod."""

    def __init__(self) -> None:
        self._by_label: dict[Label, list[_T]] = {}
        self._rest: list[_T] = []

    def add(self, selector: Selector, one: _T) -> None:
        labels = _required_labels(selector)
        if labels is None:
            self._rest.append(one)
        for label in labels or ():
            self._by_label.setdefault(label, []).append(one)

    def candidates(self, labels: Mapping[str, str]) -> list[_T]:
        """Return all things that may match these labels, each once."""
        found = list(self._rest)
        for label in labels.items():
            found += self._by_label.get(label, ())
        return found


class PodColumns:
    """All columns of one cluster. `rows`: the table's map of node name to row."""

    def __init__(self, namespaces: Mapping[str, dict[str, str]]) -> None:
        self.namespaces = namespaces  # name -> labels, shared with the cluster
        self.size = 0
        self.rows: Mapping[str, int] = {}
        self._classes: dict[tuple[object, ...], LabelClass] = {}
        self._classes_by_label: dict[Label, list[LabelClass]] = {}
        self._selectors: dict[tuple[object, ...], SelectorColumn] = {}
        self._by_selector: _BySelector[SelectorColumn] = _BySelector()
        self._terms: dict[tuple[object, ...], TermColumn] = {}
        self._by_term: _BySelector[TermColumn] = _BySelector()
        self._namespaces_version = 0

    # ---- additions and removals of pods

    def label_class(self, pod: PodInfo) -> LabelClass:
        """Return the class of a pod; create it for the first pod."""
        cls = pod.label_class
        if cls is None:
            cls = pod.label_class = self.class_of(pod.namespace, pod.labels, pod.terminating)
        return cls

    def class_of(self, namespace: str, labels: dict[str, str], terminating: bool) -> LabelClass:
        """Return the class of pods with these properties."""
        key = (namespace, tuple(sorted(labels.items())), terminating)
        cls = self._classes.get(key)
        if cls is None:
            cls = self._classes[key] = LabelClass(namespace, labels, terminating)
            for label in labels.items():
                self._classes_by_label.setdefault(label, []).append(cls)
            cls.columns = [column for column in self._by_selector.candidates(labels) if column.matches(cls)]
            self._match_terms(cls)
        return cls

    def _classes_with(self, selector: Selector) -> Iterable[LabelClass]:
        """Return all classes that the selector may match, each once."""
        labels = _required_labels(selector)
        if labels is None:
            return self._classes.values()
        return [cls for label in labels for cls in self._classes_by_label.get(label, ())]

    def _match_terms(self, cls: LabelClass) -> None:
        own = self.namespaces.get(cls.namespace, {})
        candidates = self._by_term.candidates(cls.labels)
        cls.matched_terms = [c for c in candidates if c.term.matches(cls.namespace, own, cls.labels)]
        cls.namespaces_version = self._namespaces_version

    def count(self, pod: PodInfo, node: str, row: int | None, step: int) -> None:
        """Add (step 1) or remove (step -1) a pod on a node. `row`: None if the node does not exist yet."""
        self.know(pod, node, step)
        if row is not None:
            self._count_row(pod, row, step)

    def know(self, pod: PodInfo, node: str, step: int) -> None:
        """Update the label class like `count`, but not the columns."""
        nodes = (pod.label_class or self.label_class(pod)).nodes
        number = nodes.get(node, 0) + step
        if number:
            nodes[node] = number
        else:
            del nodes[node]

    def count_rows(self, placed: Iterable[tuple[int, PodInfo]]) -> None:
        """Add many pods to the columns only, each on a row."""
        selected = bool(self._selectors)
        for row, pod in placed:
            if selected or (pod.term_columns != () and self._terms_carried(pod)):
                self._count_row(pod, row, 1)

    def _count_row(self, pod: PodInfo, row: int, step: int) -> None:
        for column in (pod.label_class or self.label_class(pod)).columns:
            column.add(row, step)
        carried = pod.term_columns
        for term_column in carried if carried is not None else self._terms_carried(pod):
            term_column.add(row, step)

    def _terms_carried(self, pod: PodInfo) -> tuple[TermColumn, ...]:
        terms = pod.terms()
        if terms is NO_TERMS:
            pod.term_columns = ()
        else:
            by_role = zip(ROLES, terms, strict=True)
            pod.term_columns = tuple([self._term_column(role, term) for role, own in by_role for term in own])
        return pod.term_columns

    def _term_column(self, role: str, term: Term) -> TermColumn:
        key = (role, term.key)
        column = self._terms.get(key)
        if column is None:
            column = self._terms[key] = TermColumn(role, term, self.size)
            self._by_term.add(term.selector, column)
            for cls in self._classes_with(term.selector):
                if term.matches(cls.namespace, self.namespaces.get(cls.namespace, {}), cls.labels):
                    cls.matched_terms.append(column)
        return column

    # ---- queries of plugins

    def matching(self, namespaces: frozenset[str] | None, selector: Selector, terminating: bool) -> SelectorColumn:
        """Return the column of the pods in these namespaces that `selector` matches.

        `namespaces`: None for all. `terminating`: whether terminating pods count.
        """
        key = (namespaces, selector.key, terminating)
        column = self._selectors.get(key)
        if column is None:
            column = self._selectors[key] = SelectorColumn(namespaces, selector, terminating, self.size)
            self._by_selector.add(selector, column)
            for cls in self._classes_with(selector):
                if column.matches(cls):
                    cls.columns.append(column)
                    for node, number in cls.nodes.items():
                        row = self.rows.get(node)
                        if row is not None:
                            column.add(row, number)
        return column

    def terms_matching(self, pod: PodInfo) -> list[TermColumn]:
        """Return the columns of all terms carried by some pod that match this pod."""
        cls = pod.label_class or self.label_class(pod)
        if cls.namespaces_version != self._namespaces_version:
            self._match_terms(cls)
        return cls.matched_terms

    def carried(self, role: str) -> list[Term]:
        """Return the terms in a role (one of the ROLES) of pods that have a node."""
        return [column.term for column in self._terms.values() if column.role == role and column.total]

    # ---- changes of the table

    def permute(self, rows: Mapping[str, int], origin: npt.NDArray[np.intp]) -> None:
        """Set new rows. `origin` (intp over the new rows): the old row of each, -1 if it is new."""
        self.rows, self.size = rows, len(origin)
        for column in self._selectors.values():
            column.permute(origin)
        for term_column in self._terms.values():
            term_column.permute(origin)

    def forget_namespaces(self) -> None:
        """Discard the matches between terms and pods after a change of namespace labels."""
        self._namespaces_version += 1
