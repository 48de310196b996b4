"""Selectors, node selector terms and tolerations as trees, corresponding to `api.selectors`."""

from collections.abc import Callable, Mapping, Sequence

from scheduler_core.api import selectors
from scheduler_core.api.objects import LabelSelector, Node, NodeSelectorTerm, Object, PodAffinityTerm, Requirement
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Source, Tree, constant, contains, equal, every, less, opposite, some

Owner = Callable[..., Tree]
"""Creates the leaf of a field or argument from the path below a certain object or place."""


def below(leaf: Callable[..., Tree], *steps: object) -> Owner:
    """Return the owner of everything below a path: `below(view.field, pod, "spec")("nodeName")`."""
    return lambda *more, **how: leaf(*steps, *more, **how)


def _has(view: View, obj: Object | PodInfo, key: Tree) -> Tree:
    return contains(view.field(obj, "metadata", "labels", missing={}), key, f"has the label {key.value}")


def label_equals(view: View, obj: Object | PodInfo, key: str, wanted: Tree) -> Tree:
    """Explain whether a label has a certain value."""
    if key not in _labels(obj):
        return _has(view, obj, constant(key, "key"))
    return equal(view.field(obj, "metadata", "labels", key), wanted)


def _labels(obj: Object | PodInfo) -> Mapping[str, str]:
    return obj.labels if isinstance(obj, PodInfo) else obj.metadata.labels


def requirement(view: View, obj: Object | PodInfo, req: Requirement, owner: Owner) -> Tree:
    """Explain whether the object's label meets a requirement. `owner` creates the leaves of the requirement's
    fields."""
    key, label = req.key, f"{req.key} {req.operator} {', '.join(req.values)}".rstrip()
    there = _has(view, obj, owner("key"))
    if req.operator == "Exists":
        return there
    if req.operator == "DoesNotExist":
        return opposite(there, label)
    if key not in _labels(obj):
        return opposite(there, label) if req.operator == "NotIn" else there
    have = view.field(obj, "metadata", "labels", key)
    if req.operator in ("In", "NotIn"):
        found = contains(owner("values"), have, label)
        return found if req.operator == "In" else opposite(found, label)
    try:
        number = selectors.whole_number(have.value)
    except ValueError:
        return every([there, constant(False, f"{have.value} is not a whole number")], label)
    bound = owner("values", 0)
    bound.value, have.value = int(bound.value), number
    return less(bound, have, label) if req.operator == "Gt" else less(have, bound, label)


def selected(view: View, obj: Object | PodInfo, selector: LabelSelector | None, owner: Owner) -> Tree:
    """Explain whether a label selector selects the object. No selector selects nothing; an empty one selects
    everything."""
    if selector is None:
        return constant(False, "no selector selects nothing")
    parts = [label_equals(view, obj, key, owner("matchLabels", key)) for key in sorted(selector.match_labels)]
    for i, req in enumerate(selector.match_expressions):
        parts.append(requirement(view, obj, req, below(owner, "matchExpressions", i)))
    return parts[0] if len(parts) == 1 else every(parts, "" if parts else "an empty selector selects everything")


def node_term(view: View, node: Node, term: NodeSelectorTerm, owner: Owner, by_name: bool = True) -> Tree:
    """Explain whether the node matches a node selector term. `by_name`: match fields are used, unlike for volumes."""
    if not term.match_expressions and not term.match_fields:
        return constant(False, "an empty term matches no node")
    parts = []
    for i, req in enumerate(term.match_expressions):
        parts.append(requirement(view, node, req, below(owner, "matchExpressions", i)))
    for i, req in enumerate(term.match_fields):
        values = owner("matchFields", i, "values")
        if by_name:
            found = contains(values, view.field(node, "metadata", "name"), "is the node that the term names")
        else:
            found = contains(values, constant("", "volumes are matched against labels only"))
        parts.append(opposite(found) if req.operator == "NotIn" else found)
    return parts[0] if len(parts) == 1 else every(parts, "all requirements of the term")


def any_term(view: View, node: Node, terms: Sequence[NodeSelectorTerm], owner: Owner, by_name: bool = True) -> Tree:
    """Explain whether the node matches one of the terms. `owner` creates the leaves of the list."""
    found = [node_term(view, node, term, below(owner, i), by_name) for i, term in enumerate(terms)]
    return found[0] if len(found) == 1 else some(found, "any of the terms" if found else "there is no term")


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def required_nodes(view: View, pod: PodInfo) -> Tree:
    """Explain whether the node matches the pod's nodeSelector and required node affinity."""
    spec, node = pod.pod.spec, view.node
    selector = below(view.field, pod, "spec", "nodeSelector")
    parts = [label_equals(view, node, key, selector(key)) for key in sorted(spec.node_selector or {})]
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    if required is not None:
        owner = below(view.field, pod, "spec", "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")
        parts.append(any_term(view, node, required.node_selector_terms, owner))
    return every(parts, "the node selector and required affinity" if parts else "the pod has no such constraint")


def tolerated(view: View, taint: Owner) -> Tree:
    """Explain whether one of the pod's tolerations matches a taint."""
    found = []
    for i, toleration in enumerate(view.pod.pod.spec.tolerations):
        mine = below(view.field, view.pod, "spec", "tolerations", i)
        parts = [equal(mine(name), taint(name), name) for name in ("effect", "key") if getattr(toleration, name)]
        if toleration.operator in ("", "Equal"):
            parts.append(equal(mine("value"), taint("value"), "value"))
        else:
            parts.append(equal(mine("operator"), constant("Exists", "TolerationOpExists"), "any value"))
        found.append(every(parts, f"toleration {i}"))
    return some(found, "tolerated by the pod" if found else "the pod has no tolerations")


def untolerated(view: View, index: int, effects: Sequence[str]) -> Tree:
    """Explain whether a taint of the node has one of the effects and is not tolerated."""
    node = view.node
    taint = node.spec.taints[index]
    mine = below(view.field, node, "spec", "taints", index)
    named = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
    counts = contains(constant(list(effects), "the effects that count here"), mine("effect"))
    if not counts.value:
        return counts.with_label(f"taint {named} counts here")
    return every([counts, opposite(tolerated(view, mine))], f"taint {named} is not tolerated")


def term_selects(view: View, term: PodAffinityTerm, owner: Owner, other: PodInfo, carrier: PodInfo) -> Tree:
    """Explain whether a pod affinity term of `carrier` matches the other pod, by its namespace and labels."""
    parts = []
    if term.namespaces or term.namespace_selector is not None:
        wheres = []
        if term.namespaces:
            wheres.append(contains(owner("namespaces"), constant(other.namespace, "namespace"), "namespaces"))
        if term.namespace_selector is not None:
            wheres.append(_namespace_selected(view, term.namespace_selector, below(owner, "namespaceSelector"), other))
        parts.append(wheres[0] if len(wheres) == 1 else some(wheres, "in one of the namespaces"))
    else:
        own = constant(carrier.namespace, "the term selects the pod's own namespace")
        parts.append(equal(constant(other.namespace, "namespace"), own, "namespace"))
    parts.append(selected(view, other, term.label_selector, below(owner, "labelSelector")))
    return every(parts, f"{other.key} is meant")


def _namespace_selected(view: View, selector: LabelSelector, owner: Owner, other: PodInfo) -> Tree:
    labels = view.cluster.namespaces.get(other.namespace, {})
    parts = []
    for key in sorted(selector.match_labels):
        if key in labels:
            parts.append(equal(_namespace_label(other.namespace, key, labels[key]), owner("matchLabels", key)))
        else:
            parts.append(contains(constant(labels, "labels of the namespace"), constant(key, "key")))
    for i, req in enumerate(selector.match_expressions):
        met = selectors.requirement_matches(req, labels.get(req.key))
        text = f"namespace {other.namespace}: {req.key} {req.operator} {', '.join(req.values)}".rstrip()
        if req.operator in ("In", "NotIn") and req.key in labels:
            label = _namespace_label(other.namespace, req.key, labels[req.key])
            found = contains(owner("matchExpressions", i, "values"), label)
            parts.append(found if req.operator == "In" else opposite(found, text))
        else:
            has = contains(constant(labels, "labels of the namespace"), owner("matchExpressions", i, "key"), text)
            parts.append(has if has.value == met else opposite(has, text))
    return every(parts, "the namespace selector" if parts else "every namespace")


def _namespace_label(namespace: str, key: str, value: str) -> Tree:
    path = f"metadata.labels['{key}']" if "." in key or "/" in key else f"metadata.labels.{key}"
    return Tree(value=value, op="field", source=Source("Namespace", namespace, path))
