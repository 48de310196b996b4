"""Trees are computed as in Go. The evaluator of the other tests agrees and detects errors."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.provenance import tree as t
from scheduler_core.provenance.context import at, path_of
from scheduler_core.provenance.tree import Tree, constant
from tests.scheduler_core.provenance.evaluate import look_up, nodes, problems

NUMBERS = st.integers(-(10**6), 10**6).map(constant)


def grown(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    pairs, lists = st.tuples(inner, inner), st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        lists.map(t.total),
        lists.map(t.lowest),
        lists.map(t.highest),
        pairs.map(lambda p: t.subtract(*p)),
        pairs.map(lambda p: t.multiply(*p)),
        pairs.filter(lambda p: p[1].value != 0).map(lambda p: t.divide_int(*p)),
        inner.map(t.absolute),
        st.tuples(inner, inner, inner, inner).map(lambda p: t.either(t.less(p[0], p[1]), p[2], p[3])),
    )


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@given(st.recursive(NUMBERS, grown, max_leaves=12))
def test_the_other_evaluator_agrees(tree: Tree) -> None:
    encoded = json.loads(msgspec.json.encode(tree))
    if all(abs(node["value"]) < 1 << 50 for node in nodes(encoded)):  # beyond int64 sums wrap, as in Go
        assert list(problems(encoded, {})) == []


def test_division_truncates_towards_zero_and_rounds_halves_away_from_it() -> None:
    assert t.divide_int(constant(-7), constant(2)).value == -3
    assert [t.rounded(constant(x)).value for x in (2.5, -2.5, 2.4)] == [3, -3, 2]
    assert t.total([constant((1 << 63) - 1), constant(1)]).value == -(1 << 63)


def test_a_wrong_value_is_detected() -> None:
    encoded = msgspec.to_builtins(t.total([constant(2), constant(3)]))
    assert list(problems(encoded, {})) == []
    assert list(problems({**encoded, "value": 6}, {}))
    source = {"kind": "Pod", "namespace": "a", "name": "b", "path": "x.y"}
    leaf = {"op": "field", "value": 500, "unit": "m", "source": source}
    pod = {("Pod", "a", "b"): {"x": {"y": "0.5"}}}
    assert list(problems(leaf, pod)) == []
    assert list(problems({**leaf, "value": 501}, pod))
    assert list(problems(leaf, {}))


def test_paths_refer_to_their_fields() -> None:
    obj = {"metadata": {"labels": {"topology.kubernetes.io/zone": "a", "app": "web"}}, "list": [{"x": 1}]}
    labels = [("metadata", "labels", key) for key in obj["metadata"]["labels"]]
    for steps in (*labels, ("list", 0, "x")):
        assert look_up(obj, path_of(steps)) == at(obj, steps)
    assert path_of(("metadata", "labels", "a.b/c")) == "metadata.labels['a.b/c']"
