"""Node selectors and taints over all nodes at once. Every result is cached by value.

Source: k8s.io/component-helpers/scheduling/corev1/nodeaffinity, k8s.io/component-helpers/scheduling/corev1.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scheduler_core.api import selectors
from scheduler_core.api.objects import Node, NodeSelectorTerm, Requirement, Taint
from scheduler_core.cluster.nodes import NodeTable
from scheduler_core.cluster.pod_info import PodInfo

Bool = npt.NDArray[np.bool_]
Int64 = npt.NDArray[np.int64]


def _field_mask(nodes: NodeTable, req: Requirement) -> Bool:
    """Return the nodes that meet a field requirement. metadata.name is the only supported field."""
    mask = np.zeros(len(nodes), np.bool_)
    for name in req.values:
        row = nodes.rows.get(name)
        if row is not None:
            mask[row] = True
    return ~mask if req.operator == "NotIn" else mask


def term_mask(nodes: NodeTable, term: NodeSelectorTerm) -> Bool:
    """Return the nodes that meet all requirements of a term; an empty term matches none. bool over nodes."""
    if not term.match_expressions and not term.match_fields:
        return np.zeros(len(nodes), np.bool_)
    mask = np.ones(len(nodes), np.bool_)
    for req in term.match_expressions:
        mask &= nodes.requirement_mask(req)
    for req in term.match_fields:
        mask &= _field_mask(nodes, req)
    return mask


def terms_mask(nodes: NodeTable, terms: Sequence[NodeSelectorTerm]) -> Bool:
    """Return the nodes that meet at least one of the terms. bool over nodes."""
    mask = np.zeros(len(nodes), np.bool_)
    for term in terms:
        mask |= term_mask(nodes, term)
    return mask


def required_mask(nodes: NodeTable, pod: PodInfo) -> Bool | None:
    """Return the nodes that the pod's nodeSelector and required node affinity allow: bool over nodes, None for all."""
    if pod.node_selection is None:
        return None

    def make() -> Bool:
        mask = np.ones(len(nodes), np.bool_)
        for key, value in (pod.pod.spec.node_selector or {}).items():
            mask &= nodes.requirement_mask(Requirement(key, "In", [value]))
        affinity = pod.pod.spec.affinity
        if affinity is not None and affinity.node_affinity is not None and affinity.node_affinity.required is not None:
            mask &= terms_mask(nodes, affinity.node_affinity.required.node_selector_terms)
        return mask

    return nodes.memo(("required", pod.node_selection), make)


def required_matches(pod: PodInfo, node: Node) -> bool:
    """Whether a node, which may be missing from the table, meets the pod's nodeSelector and required node affinity."""
    labels, spec = node.metadata.labels, pod.pod.spec
    if any(labels.get(key) != value for key, value in (spec.node_selector or {}).items()):
        return False
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    return required is None or selectors.any_term_matches(required.node_selector_terms, node)


def untolerated(nodes: NodeTable, pod: PodInfo) -> tuple[npt.NDArray[np.uint16], tuple[Taint, ...]]:
    """Return the first NoSchedule or NoExecute taint of each node that the pod does not tolerate.

    uint16 over nodes: 0 for none, k for the k-th of the returned taints.
    """
    return nodes.memo(("untolerated", pod.tolerations), lambda: _untolerated(nodes, pod))


def _untolerated(nodes: NodeTable, pod: PodInfo) -> tuple[npt.NDArray[np.uint16], tuple[Taint, ...]]:
    ids, examples = nodes.taint_sets()
    found: dict[tuple[str, str], int] = {}
    taints: list[Taint] = []
    codes = np.zeros(len(examples), np.uint16)
    for i, node in enumerate(examples):
        taint = selectors.first_untolerated(node.spec.taints, pod.pod.spec.tolerations, selectors.NO_SCHEDULE)
        if taint is None:
            continue
        key = (taint.key, taint.value)
        if key not in found:
            taints.append(taint)
            found[key] = len(taints)
        codes[i] = found[key]
    return (codes[ids] if len(ids) else np.zeros(0, np.uint16)), tuple(taints)


def unpreferred_taints(nodes: NodeTable, pod: PodInfo) -> Int64:
    """Return the number of PreferNoSchedule taints of each node that the pod does not tolerate. int64 over nodes."""

    def make() -> Int64:
        ids, examples = nodes.taint_sets()
        tolerations = [t for t in pod.pod.spec.tolerations if t.effect in ("", "PreferNoSchedule")]
        soft = ([t for t in node.spec.taints if t.effect == "PreferNoSchedule"] for node in examples)
        counts = [sum(not any(selectors.tolerates(one, t) for one in tolerations) for t in taints) for taints in soft]
        return np.array(counts, np.int64)[ids] if len(ids) else np.zeros(0, np.int64)

    return nodes.memo(("unpreferred", pod.tolerations), make)
