"""Selectors, node selector terms and tolerations compared with plain evaluators."""

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.api import selectors
from scheduler_core.api.objects import LabelSelector, NodeSelectorTerm, Requirement, Taint, Toleration
from scheduler_core.cluster import node_matching
from tests.scheduler_core.build import REQUIRED, cluster, node, pod

KEYS, VALUES = ["a", "b", "c"], ["", "x", "y", "z"]

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
listed = st.lists(st.sampled_from(VALUES), min_size=1, max_size=3)
set_requirements = st.one_of(
    st.builds(Requirement, st.sampled_from(KEYS), st.sampled_from(["In", "NotIn"]), listed),
    st.builds(Requirement, st.sampled_from(KEYS), st.sampled_from(["Exists", "DoesNotExist"])),
)
label_selectors = st.builds(LabelSelector, labels, st.lists(set_requirements, max_size=3))


def meets(requirement: Requirement, have: dict[str, str]) -> bool:
    """Evaluate a requirement as the operators are documented."""
    present = requirement.key in have
    inside = present and have[requirement.key] in requirement.values
    return {"In": inside, "NotIn": not inside, "Exists": present, "DoesNotExist": not present}[requirement.operator]


def selects(selector: LabelSelector | None, have: dict[str, str]) -> bool:
    if selector is None:
        return False
    return all(have.get(k) == v for k, v in selector.match_labels.items()) and all(
        meets(requirement, have) for requirement in selector.match_expressions
    )


@given(st.none() | label_selectors, labels)
def test_label_selectors(selector: LabelSelector | None, have: dict[str, str]) -> None:
    compiled = selectors.compile_selector(selector)
    assert compiled.matches(have) == selects(selector, have)


@given(label_selectors, label_selectors, labels)
def test_selectors_of_one_key_match_the_same_pods(
    one: LabelSelector, other: LabelSelector, have: dict[str, str]
) -> None:
    if selectors.compile_selector(one).key == selectors.compile_selector(other).key:
        assert selects(one, have) == selects(other, have)
    turned = LabelSelector(
        dict(reversed(one.match_labels.items())),
        [Requirement(r.key, r.operator, r.values[::-1] * 2) for r in one.match_expressions[::-1]],
    )
    assert selectors.compile_selector(turned).key == selectors.compile_selector(one).key


@given(st.none() | label_selectors, labels, labels)
def test_and_labels_requires_both(selector: LabelSelector | None, more: dict[str, str], have: dict[str, str]) -> None:
    both = selectors.compile_selector(selector).and_labels(more)
    assert both.matches(have) == (selects(selector, have) and more.items() <= have.items())
    assert selectors.from_labels(more).matches(have) == (more.items() <= have.items())


def test_no_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert selectors.compile_selector(None).key is None
    assert selectors.compile_selector(LabelSelector()).key == ()


# ---------------------------------------------------------------- node selector requirements

INTEGERS = ["-9223372036854775809", "-5", "-0", "0", "+3", "007", "10", "9223372036854775807", "9223372036854775808"]
NO_INTEGERS = ["", " 1", "1 ", "1_0", "1.0", "1e3", "x", "٣", "0x1", "--1"]
BOUNDS = (-(1 << 63), (1 << 63) - 1)


@given(
    st.sampled_from(["Gt", "Lt"]),
    st.sampled_from(INTEGERS + NO_INTEGERS),
    st.none() | st.sampled_from(INTEGERS + NO_INTEGERS),
)
def test_gt_and_lt_compare_64_bit_integers(operator: str, bound: str, have: str | None) -> None:
    def integer(text: str | None) -> int | None:
        number = int(text) if text in INTEGERS else None
        return number if number is not None and BOUNDS[0] <= number <= BOUNDS[1] else None

    left, right = integer(have), integer(bound)
    expected = left is not None and right is not None and (left > right if operator == "Gt" else left < right)
    assert selectors.requirement_matches(Requirement("a", operator, [bound]), have) == expected


node_requirements = st.one_of(
    set_requirements,
    st.builds(
        Requirement,
        st.sampled_from(KEYS),
        st.sampled_from(["Gt", "Lt"]),
        st.lists(st.sampled_from(["1", "5"]), min_size=1, max_size=1),
    ),
)
fields = st.builds(
    Requirement,
    st.just("metadata.name"),
    st.sampled_from(["In", "NotIn"]),
    st.lists(st.sampled_from(["n0", "n1", "gone"]), min_size=1, max_size=1),
)
node_labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["", "x", "y", "1", "3", "7"]))
terms = st.lists(
    st.builds(NodeSelectorTerm, st.lists(node_requirements, max_size=3), st.lists(fields, max_size=2)), max_size=3
)


def on_node(term: NodeSelectorTerm, name: str, have: dict[str, str]) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    for requirement in term.match_expressions:
        if requirement.operator in ("Gt", "Lt"):
            text = have.get(requirement.key, "")
            if not text.isdigit():
                return False
            bound = int(requirement.values[0])
            if not (int(text) > bound if requirement.operator == "Gt" else int(text) < bound):
                return False
        elif not meets(requirement, have):
            return False
    return all(meets(requirement, {"metadata.name": name}) for requirement in term.match_fields)


@given(st.lists(node_labels, min_size=1, max_size=5), terms, labels)
def test_node_selection_over_all_nodes(
    nodes: list[dict[str, str]], wanted: list[NodeSelectorTerm], selector: dict[str, str]
) -> None:
    made, _ = cluster(*(node(f"n{i}", labels=have) for i, have in enumerate(nodes)))
    expected = [any(on_node(term, f"n{i}", have) for term in wanted) for i, have in enumerate(nodes)]
    rows = [made.nodes.rows[f"n{i}"] for i in range(len(nodes))]
    assert node_matching.terms_mask(made.nodes, wanted)[rows].tolist() == expected

    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": msgspec.to_builtins(wanted)}}}
    for given_affinity, required in ((affinity, expected), (None, [True] * len(nodes))):
        _, pending = cluster(pod("p", nodeSelector=selector, affinity=given_affinity))
        mask = node_matching.required_mask(made.nodes, pending["default/p"])
        both = [want and selector.items() <= have.items() for want, have in zip(required, nodes, strict=True)]
        assert (np.ones(len(nodes), np.bool_) if mask is None else mask)[rows].tolist() == both


# ---------------------------------------------------------------- taints

EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
taints = st.builds(Taint, st.sampled_from(["a", "b"]), st.sampled_from(["", "x", "y"]), st.sampled_from(EFFECTS))
tolerations = st.builds(
    Toleration,
    key=st.sampled_from(["", "a", "b"]),
    operator=st.sampled_from(["", "Equal", "Exists"]),
    value=st.sampled_from(["", "x", "y"]),
    effect=st.sampled_from(["", *EFFECTS]),
)


@given(tolerations, taints)
def test_tolerations(toleration: Toleration, taint: Taint) -> None:
    same_effect = toleration.effect in ("", taint.effect)
    same_key = toleration.key in ("", taint.key)
    same_value = toleration.operator == "Exists" or toleration.value == taint.value
    assert selectors.tolerates(toleration, taint) == (same_effect and same_key and same_value)


@given(st.lists(taints, max_size=4), st.lists(tolerations, max_size=3))
def test_the_first_untolerated_taint(nodes: list[Taint], tolerated: list[Toleration]) -> None:
    left = [t for t in nodes if not any(selectors.tolerates(toleration, t) for toleration in tolerated)]
    hard = [t for t in left if t.effect != "PreferNoSchedule"]
    found = selectors.first_untolerated(nodes, tolerated, selectors.NO_SCHEDULE)
    assert found is (hard[0] if hard else None)
