"""Nulls in lists and NUL characters are removed from uploads, with a warning that names object and field."""

import json
from typing import Any

import pytest

from kubesched_ui.ingest import IngestError, IngestResult, ingest_files
from kubesched_ui.ingest.redact import NUL, NULL, Cleaned, clean
from kubesched_ui.scenarios.edits import read_one
from tests.kubesched_ui.clusters import ingested, node, pod
from tests.scheduler_core.virtual_time.test_scenario import LIST


def cleaned(result: IngestResult) -> list[tuple[str, str, str]]:
    return [(warn.name, warn.field, warn.message) for warn in result.warnings if warn.code == "cleaned"]


def test_nulls_and_nuls_are_removed_in_place() -> None:
    obj: dict[str, Any] = {
        "a": None,
        "list": [None, {"b": None, "c": [1, None, "x\0"]}, None, [None]],
        "k\0": {"d": "\0\0", "e": 0, "f": False, "g": ""},
    }
    found = clean(obj)
    assert obj == {
        "list": [{"c": [1, "x\N{REPLACEMENT CHARACTER}"]}, []],
        "k\N{REPLACEMENT CHARACTER}": {"d": "\N{REPLACEMENT CHARACTER}" * 2, "e": 0, "f": False, "g": ""},
    }
    assert sorted(found) == sorted(
        [
            *(Cleaned(path, NULL) for path in ("list[0]", "list[2]", "list[1].c[1]", "list[3][0]")),
            *(
                Cleaned(path, NUL)
                for path in ("list[1].c[2]", "k\N{REPLACEMENT CHARACTER}", "k\N{REPLACEMENT CHARACTER}.d")
            ),
        ]
    )


@pytest.mark.parametrize(
    ("obj", "field"),
    [
        (node("n1") | {"status": {"conditions": [None]}}, "status.conditions[0]"),
        (node("n1", taints=[None]), "spec.taints[0]"),
        (pod("n1", tolerations=[{"operator": "Exists"}, None]), "spec.tolerations[1]"),
        (pod("n1", containers=[{"name": "c", "ports": [None]}]), "spec.containers[0].ports[0]"),
    ],
)
def test_an_object_with_a_null_in_a_list_is_kept_without_it(obj: dict[str, Any], field: str) -> None:
    result = ingested(obj, node("n2"))
    assert [(name, at) for name, at, _ in cleaned(result)] == [("n1", field)]
    assert f"{obj['kind']}" in cleaned(result)[0][2]
    assert "is a null element of a list; it was removed" in cleaned(result)[0][2]
    assert len(result.records) == 2
    assert all(b"null" not in record.data for record in result.records.values())


@pytest.mark.parametrize("null", ["null", " null", "\n\t null"])
def test_a_member_that_is_null_is_absent(null: str) -> None:
    taints = f'{{"key":"a","value":{null},"effect":"NoSchedule"}},{null}'
    labels = f'{{"a":{null},"b":"\\":null"}}'
    text = f'{{"kind":"Node","metadata":{{"name":"n1","labels":{labels}}},"spec":{{"taints":[{taints}]}}}}'
    result = ingest_files([("a.json", text.encode())])
    assert [field for _, field, _ in cleaned(result)] == ["spec.taints[1]"]
    (kept,) = result.objects
    assert kept["spec"]["taints"] == [{"key": "a", "effect": "NoSchedule"}]
    assert kept["metadata"]["labels"] == {"b": '":null'}


def test_yaml_is_cleaned() -> None:
    text = b'kind: Node\nmetadata: {name: n1, annotations: {a: "x\\0y"}}\nspec:\n  taints:\n  -\n'
    result = ingest_files([("a.yaml", text)])
    assert {field for _, field, _ in cleaned(result)} == {"metadata.annotations.a", "spec.taints[0]"}
    assert result.objects[0]["metadata"]["annotations"] == {"a": "x\N{REPLACEMENT CHARACTER}y"}


def test_a_quoted_null_is_text() -> None:
    result = ingested(node("null"), pod("p", nodeSelector={"null": "\\u0000"}))
    assert cleaned(result) == []
    assert result.objects[1]["spec"]["nodeSelector"] == {"null": "\\u0000"}


def test_the_editor_asks_to_remove_a_null() -> None:
    with pytest.raises(IngestError, match=r"Node n1\): status.conditions\[0\]: is a null element"):
        read_one(json.dumps(node("n1") | {"status": {"conditions": [None]}}))


def test_the_warning_names_the_step_or_arrival_of_a_scenario() -> None:
    text = """apiVersion: kubesched.dev/v1alpha1
kind: Scenario
spec:
  objects: []
  timeline:
  - at: 1s
    create:
      kind: Node
      metadata: {name: n1}
      status:
        conditions:
        - null
"""
    with pytest.raises(IngestError, match=r"line 12: spec.timeline\[0\].create.status.conditions\[0\]: is null"):
        ingest_files([("a.yaml", text.encode())])


def test_a_list_in_a_scenario_is_expanded_and_no_step() -> None:
    read = ingest_files([("a.yaml", LIST.encode())])
    assert [(one["kind"], one["metadata"]["name"]) for one in read.objects] == [("Node", "n1"), ("Pod", "p1")]
    text = LIST.replace("until: 60", "until: 60\n  timeline:\n  - {at: 5, create: {kind: List, items: []}}")
    words = r"a.yaml.*line 7: spec.timeline\[0\].create.kind: must be one object"
    with pytest.raises(IngestError, match=words):
        ingest_files([("a.yaml", text.encode())])


@pytest.mark.parametrize("spec", [{"": None}, {"timeline": None, "until": 5}, {"arrivals": None, "controllers": None}])
def test_a_null_field_of_a_scenario_document_is_absent(spec: dict[str, Any]) -> None:
    document = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Scenario", "spec": {"objects": [node("n1")], **spec}}
    kept = ingested(document).time
    assert kept == {name: value for name, value in spec.items() if value is not None}
