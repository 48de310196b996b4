"""Damaged input of every format is accepted or rejected with a sentence."""

import copy
import gzip
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched_ui.ingest import IngestError, Limits, ingest_files
from kubesched_ui.ingest.api_versions import external
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.scenarios.samples import FOLDER
from tests.examples import examples
from tests.kubesched_ui.editor.sample_texts import paths
from tests.kubesched_ui.ingest.hostile import tarred, zipped

OBJECTS = [obj for path in sorted(FOLDER.glob("*.yaml")) for obj in ingest_files([(path.name, path)]).objects]
LIMITS = Limits(max_bytes=4_000_000, ratio_from=100_000)
LIST = {"apiVersion": "v1", "kind": "List", "items": OBJECTS[:4]}
JSON = json.dumps(LIST).encode()
CARRIERS = [
    JSON,
    to_yaml(LIST).encode(),
    gzip.compress(JSON, mtime=0),
    zipped(("a/pods.json", JSON), ("b.yaml", to_yaml(LIST).encode())),
    tarred(("a/pods.json", JSON), ("b.yaml", to_yaml(LIST).encode())),
    tarred(("a/pods.json", JSON), mode="w"),
    json.dumps(LIST).encode("utf-16"),
]
NUMBERS = [0, -1, 1 << 63, 1 << 70, 1e300, -0.5]
ODD = [None, True, *NUMBERS, "", "x" * 300, "\0", "<script>", "9" * 30, "1e400", "-5", [], {}]
ODD_INSIDE = [[None], [[]], [{}], {"": None}, {"a": []}, [1, "a", {}], {"name": 5}, {"key": None, "operator": []}]
NASTY = st.sampled_from([*ODD, *ODD_INSIDE]) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def read(data: bytes, name: str = "upload") -> None:
    refusal = None
    try:
        result = ingest_files([(name, data)], LIMITS)
    except IngestError as error:
        refusal = str(error)
    if refusal is not None:
        assert 0 < len(refusal) < 1500
        assert refusal.isprintable()
        return
    assert result.records
    json.dumps(result.objects)
    assert all(warning.message.isprintable() for warning in result.warnings)


@settings(max_examples=examples(400))
@given(st.sampled_from(OBJECTS), st.data(), NASTY)
def test_any_field_may_have_any_value(obj: dict[str, Any], data: st.DataObject, nasty: Any) -> None:
    obj = copy.deepcopy(obj)
    path = data.draw(st.sampled_from(paths(obj)[1:]))
    parent = obj
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = nasty
    read(json.dumps([OBJECTS[0], obj]).encode())


@settings(max_examples=examples(400))
@given(st.sampled_from(CARRIERS), st.data())
def test_any_byte_may_be_damaged(carrier: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(carrier)))
    end = data.draw(st.integers(start, min(len(carrier), start + 40)))
    read(carrier[:start] + data.draw(st.binary(max_size=20)) + carrier[end:])


@settings(max_examples=examples(200))
@given(st.dictionaries(st.sampled_from(["name", "Spec", "Status", "Items", "ObjectMeta", "Template", "X"]), NASTY))
def test_any_internal_object(obj: dict[str, Any]) -> None:
    assert "metadata" in external(obj)
    read(json.dumps({"Items": [obj, OBJECTS[0]]}).encode(), "pods.json")
