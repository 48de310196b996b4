"""Matches label selectors with pods, node selector terms with nodes, and tolerations with taints.

Selectors are compiled into a `Selector` with a canonical `key`. Selectors with equal keys match the same labels, so
results are cached by key. For all nodes at once, use `NodeTable.requirement_mask`.

Source: k8s.io/apimachinery/pkg/labels, k8s.io/component-helpers/scheduling/corev1 (and nodeaffinity).
"""

from collections.abc import Iterable, Mapping, Sequence

from scheduler_core.api.objects import LabelSelector, Node, NodeSelectorTerm, Requirement, Taint, Toleration

Key = tuple[tuple[str, str, tuple[str, ...]], ...]


class Selector:
    """A compiled label selector. `key` is None for a selector that matches nothing, () for one that matches all."""

    __slots__ = ("key",)

    def __init__(self, key: Key | None) -> None:
        self.key = key

    def matches(self, labels: Mapping[str, str]) -> bool:
        if self.key is None:
            return False
        for name, operator, values in self.key:
            value = labels.get(name)
            if operator == "In":
                if value is None or value not in values:
                    return False
            elif operator == "NotIn":
                if value is not None and value in values:
                    return False
            elif (value is not None) != (operator == "Exists"):
                return False
        return True

    def and_(self, other: "Selector") -> "Selector":
        """Return the selector that requires both. If one of them matches nothing, so does the result."""
        if self.key is None or other.key is None:
            return NOTHING
        return Selector(tuple(sorted(set(self.key + other.key))))

    def and_labels(self, labels: Mapping[str, str]) -> "Selector":
        """Return the selector that also requires these labels; a selector that matches nothing stays unchanged."""
        return self.and_(from_labels(labels))


NOTHING = Selector(None)
EVERYTHING = Selector(())


def from_labels(labels: Mapping[str, str]) -> Selector:
    """Return the selector that requires each of these labels (upstream SelectorFromSet)."""
    return Selector(tuple(sorted((name, "In", (value,)) for name, value in labels.items())))


def compile_selector(selector: LabelSelector | None) -> Selector:
    """Compile a selector (upstream LabelSelectorAsSelector): None matches nothing, an empty one matches everything."""
    if selector is None:
        return NOTHING
    if not selector.match_expressions:
        return from_labels(selector.match_labels)
    labels = ((name, "In", (value,)) for name, value in selector.match_labels.items())
    listed = ((req.key, req.operator, tuple(sorted(set(req.values)))) for req in selector.match_expressions)
    return Selector(tuple(sorted({*labels, *listed})))


def requirement_matches(req: Requirement, value: str | None) -> bool:
    """Whether a node with this label (or field) value, None if missing, meets a node selector requirement.

    `Gt` and `Lt` compare integers; a label that is not an integer does not match.
    """
    operator = req.operator
    if operator == "In":
        return value is not None and value in req.values
    if operator == "NotIn":
        return value is None or value not in req.values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    if value is None:
        return False
    try:
        have, want = whole_number(value), whole_number(req.values[0])
    except ValueError:
        return False
    return have > want if operator == "Gt" else have < want


def whole_number(text: str) -> int:
    """Parse as strconv.ParseInt(text, 10, 64): no spaces, no underscores. Raises ValueError."""
    if "_" in text or text != text.strip() or not text.isascii():
        raise ValueError(text)
    number = int(text)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(text)
    return number


def node_term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    """Whether a node meets a node selector term; an empty term matches no node."""
    if not term.match_expressions and not term.match_fields:
        return False
    labels = node.metadata.labels
    return all(requirement_matches(req, labels.get(req.key)) for req in term.match_expressions) and all(
        requirement_matches(req, node.name) for req in term.match_fields
    )


def any_term_matches(terms: Iterable[NodeSelectorTerm], node: Node) -> bool:
    """Whether a node meets at least one of the terms."""
    return any(node_term_matches(term, node) for term in terms)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether the toleration tolerates the taint (upstream Toleration.ToleratesTaint)."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def first_untolerated(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], effects: frozenset[str]
) -> Taint | None:
    """Return the first taint with one of the effects that is not tolerated (upstream FindMatchingUntoleratedTaint)."""
    for taint in taints:
        if taint.effect in effects and not any(tolerates(t, taint) for t in tolerations):
            return taint
    return None


NO_SCHEDULE = frozenset(("NoSchedule", "NoExecute"))


def untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> list[Taint]:
    """Return the NoSchedule and NoExecute taints that are not tolerated."""
    return [t for t in taints if first_untolerated([t], tolerations, NO_SCHEDULE) is not None]


PREFER_NO_SCHEDULE = frozenset(("PreferNoSchedule",))
