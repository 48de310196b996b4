"""Edits of a form: they read back as intended, and all other lines and comments stay."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched_ui.editor.analysis import analyze
from kubesched_ui.editor.apply_edits import apply_changes
from kubesched_ui.editor.object_index import index_objects
from kubesched_ui.editor.yaml_documents import parse
from kubesched_ui.editor.yaml_edit import same
from scheduler_core.errors import InputError
from tests.examples import examples
from tests.kubesched_ui.editor.sample_texts import LISTED, MIXED, edited, paths


def values(text: str) -> list[dict[str, Any]]:
    return [thing.value for thing in index_objects(parse(text)).objects]


def test_a_changed_number_keeps_its_comment() -> None:
    web = values(MIXED)[1]
    web["spec"]["replicas"] = 6
    text = edited(MIXED, {"thing": 1, "value": web})
    assert text == MIXED.replace("replicas: 3   # one a zone", "replicas: 6   # one a zone")


def test_an_added_field_is_inserted_at_its_place() -> None:
    web = values(MIXED)[1]
    web["spec"]["template"]["spec"]["priorityClassName"] = "high"
    web["spec"]["template"]["spec"]["containers"].append({"name": "other"})
    text = edited(MIXED, {"thing": 1, "value": web})
    assert text.startswith(MIXED.rstrip("\n"))
    assert text.removeprefix(MIXED) == "        - name: other\n      priorityClassName: high\n"
    assert values(text)[1] == web


def test_a_flow_map_stays_on_its_line() -> None:
    node = values(MIXED)[0]
    node["metadata"]["labels"]["disk"] = "ssd"
    text = edited(MIXED, {"thing": 0, "value": node})
    assert "metadata: {name: n1, labels: {zone: a, disk: ssd}}" in text


def test_objects_of_a_list_are_added_duplicated_and_removed() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p3"}, "spec": {"containers": [{"name": "c"}]}}
    text = edited(LISTED, {"add": pod, "after": None})
    assert text.startswith(LISTED)
    assert text.removeprefix(LISTED).startswith("    - apiVersion: v1\n      kind: Pod\n")
    text = edited(LISTED, {"thing": 1, "remove": True}, {"add": pod, "after": 2})
    assert [one["metadata"]["name"] for one in values(text)] == ["n1", "p2", "p3"]
    assert "# the only node" in text
    assert "# the last" in text


def test_removing_the_last_object_leaves_an_empty_list() -> None:
    text = edited(LISTED, *({"thing": number, "remove": True} for number in range(3)))
    assert values(text) == []
    assert analyze(text)["errors"] == 0


def test_documents_are_added_and_removed() -> None:
    assert edited("", {"add": {"a": 1}, "after": None}) == "a: 1\n"
    assert edited("a: 1\n", {"add": {"b": 2}, "after": None}) == "a: 1\n---\nb: 2\n"
    assert edited("a: 1\n---\n# two\nb: 2\n---\nc: 3\n", {"thing": 1, "remove": True}) == "a: 1\n---\nc: 3\n"
    assert values(edited("a: 1\n---\nb: 2\n", {"thing": 0, "remove": True})) == [{"b": 2}]
    assert edited("a: 1\n---\nc: 3\n", {"add": {"b": 2}, "after": 0}) == "a: 1\n---\nb: 2\n---\nc: 3\n"


def test_setting_the_scenario_keeps_its_objects_and_comments() -> None:
    scenario = analyze(MIXED)["scenario"]["value"]
    scenario["spec"]["timeline"].append({"at": 60, "cordon": "n1"})
    text = edited(MIXED, {"scenario": scenario})
    assert "# the first thing that happens" in text
    assert "# shown on the page" in text
    assert analyze(text)["scenario"]["value"] == scenario
    text = edited(LISTED, {"scenario": {"metadata": {"name": "other"}, "spec": {"until": "5m"}}})
    assert "name: other" in text
    assert values(text) == values(LISTED)
    assert text.count("# the") == 2


def test_a_new_scenario_is_the_first_document() -> None:
    text = edited("kind: Node\n", {"scenario": {"metadata": {"name": "new"}, "spec": {}}})
    assert text.startswith("apiVersion: kubesched.dev/v1alpha1\nkind: Scenario\n")
    assert text.endswith("---\nkind: Node\n")


def test_an_empty_value_becomes_a_block() -> None:
    text = edited(MIXED.replace("timeline:\n", "x: {}\n  timeline:\n"), {"scenario": {"spec": {"x": {"a": [1]}}}})
    assert "\n  x:\n    a:\n    - 1\n" in text


def test_aliases_are_expanded() -> None:
    text = "items:\n  - &a {kind: Pod, metadata: {name: p1}}\n  - *a\nkind: List\n"
    second = values(text)[1] | {"spec": {"nodeName": "n1"}}
    new = edited(text, {"thing": 1, "value": second})
    assert values(new) == [{"kind": "Pod", "metadata": {"name": "p1"}}, second]


@pytest.mark.parametrize(
    "changes",
    [None, [], [1], [{}], [{"thing": 9, "value": {}}], [{"thing": 0, "value": 3}], [{"add": 1}],
     [{"add": {}, "after": 7}], [{"scenario": {"kind": "Pod"}}], [{"thing": "0", "remove": True}]],
)  # fmt: skip
def test_invalid_edits_are_rejected(changes: Any) -> None:
    with pytest.raises(InputError, match="the change"):
        apply_changes(LISTED, changes)


def test_an_unreadable_document_is_unchanged() -> None:
    broken = "a: [\n# being typed\n---\nb: 1\n"
    assert edited(broken, {"thing": 0, "value": {"b": 2}}) == "a: [\n# being typed\n---\nb: 2\n"
    assert edited(broken, {"thing": 0, "remove": True}) == "a: [\n# being typed\n"
    text = edited(broken, {"scenario": {"metadata": {"name": "a"}, "spec": {}}})
    assert text.endswith("spec: {}\n---\n" + broken)


# Texts that need quotes in YAML are included, characters that YAML cannot represent are not.
words = st.sampled_from(
    ["a", "web", "yes", "n", "010", "1e3", "null", "~", "", " ", "a: b", "# no", "- x", "a\nb\n", "'", '"', "8Gi", "é"]
)
keys = st.sampled_from(["name", "labels", "app.kubernetes.io/name", "yes", "7", "spec", "x y", "#", "é"])
scalars = st.one_of(words, st.booleans(), st.integers(-5, 5000), st.none(), st.floats(-2, 2, allow_nan=False))
held = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=8,
)


@settings(max_examples=examples(150))
@given(data=st.data(), text=st.sampled_from([MIXED, LISTED]))
def test_the_result_reads_back_as_intended(data: st.DataObject, text: str) -> None:
    before = values(text)
    number = data.draw(st.integers(0, len(before) - 1))
    value = copy.deepcopy(before[number])
    *way, last = data.draw(st.sampled_from(paths(value)[1:]))
    place = value
    for step in way:
        place = place[step]
    if data.draw(st.booleans()):
        place[last] = data.draw(held)
    else:
        del place[last]
    if isinstance(place, dict) and data.draw(st.booleans()):
        place[data.draw(keys)] = data.draw(held)
    new = edited(text, {"thing": number, "value": value})
    found = index_objects(parse(new)).objects
    assert [same(one.value, value if at == number else before[at]) for at, one in enumerate(found)] == [True] * len(
        before
    )
    lines = set(new.split("\n"))
    own = range(*analyze(text)["things"][number]["lines"])
    own_lines = {*own, *(line + 1 for line in own), own.start}
    if new != text:
        others = [line for at, line in enumerate(text.split("\n")) if at not in own_lines]
        assert set(others) <= lines, "what belongs to others keeps its lines"
