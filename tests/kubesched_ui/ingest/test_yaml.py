"""YAML is read as Kubernetes reads it, and written YAML reads back unchanged."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubesched_ui.ingest import IngestError, Limits
from kubesched_ui.ingest.errors import Where
from kubesched_ui.ingest.yaml_reader import documents, plain
from kubesched_ui.ingest.yaml_writer import to_yaml
from scheduler_core.config.document import read_documents


def read(text: str) -> list[object]:
    return [json.loads(document) for _, document in documents(text.encode(), Where("a.yaml"), Limits())]


# Source: resolve.go of goyaml.v2 in sigs.k8s.io/yaml, and encoding/json of Go for numbers.
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True), ("Yes", True), ("on", True), ("y", True), ("Y", True), ("TRUE", True),
        ("no", False), ("OFF", False), ("n", False), ("False", False), ("yEs", "yEs"), ("tRue", "tRue"),
        ("~", None), ("null", None), ("", None), ("nULL", "nULL"),
        ("0", 0), ("-0", 0), ("17", 17), ("+17", 17), ("-17", -17), ("1_000", 1000), ("010", 8), ("0o10", 8),
        ("0x1F", 31), ("-0x1f", -31), ("0b101", 5), ("08", 8), ("09.5", 9.5),
        ("18446744073709551615", 18446744073709551615), ("18446744073709551616", 18446744073709551616.0),
        ("0.5", 0.5), (".5", 0.5), ("5.", 5), ("1e3", 1000), ("1E-3", 0.001), ("-1.5e+2", -150), ("1e30", 1e30),
        ("100m", "100m"), ("1Gi", "1Gi"), ("1.5Gi", "1.5Gi"), ("1:30", "1:30"), ("1.2.3", "1.2.3"), ("v1", "v1"),
        ("2024-01-02", "2024-01-02"), ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"), ("-", "-"), ("+", "+"),
        (".", "."), ("...x", "...x"), ("0x", "0x"), ("0xg", "0xg"), ("_1", "_1"), ("1e", "1e"), ("==", "=="),
    ],
)  # fmt: skip
def test_plain_scalars(text: str, value: object) -> None:
    got = plain(text)
    assert got == value
    assert type(got) is type(value)


def test_quoted_scalars_are_strings() -> None:
    assert read("""{a: "1", b: 'yes', c: "null", d: !!str 5}""") == [{"a": "1", "b": "yes", "c": "null", "d": "5"}]
    assert read("a: |\n  5\nb: >-\n  true\n") == [{"a": "5\n", "b": "true"}]


def test_keys_become_strings_as_in_json() -> None:
    assert read("1: a\ntrue: b\n1.5: c\nyes: d\n'yes': e\n".replace("yes: d\n", "", 1)) == [
        {"1": "a", "true": "b", "1.5": "c", "yes": "e"}
    ]


def test_a_small_alias_is_expanded() -> None:
    assert read("a: &x {b: [1, 2]}\nc: *x\nd: &y 5\ne: *y\n") == [
        {"a": {"b": [1, 2]}, "c": {"b": [1, 2]}, "d": 5, "e": 5}
    ]


def test_a_quoted_merge_key_is_a_plain_key() -> None:
    assert read("'<<': 1") == [{"<<": 1}]


def test_documents_are_numbered_and_empty_ones_dropped() -> None:
    text = "---\n---\na: 1\n---\n# nothing\n---\nb: 2\n"
    assert [number for number, _ in documents(text.encode(), Where("a.yaml"), Limits())] == [2, 4]


def test_errors_name_document_and_line() -> None:
    with pytest.raises(IngestError, match=r"^a\.yaml, document 2: line 4: the key \"b\" occurs twice"):
        read("a: 1\n---\nb: 1\nb: 2\n")


KEYWORDS = st.sampled_from(
    ["y", "n", "on", "0o7", "1e3", "0x1", "1_0", "<<", "~", "", "null", "=", "- a", "a: b", "#", "1:2"]
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | KEYWORDS
SCALARS = st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4))


@given(VALUES)
def test_written_yaml_reads_back_unchanged(value: object) -> None:
    # A file cannot contain characters for which YAML has no escape. All others are preserved.
    assert read(to_yaml({"value": value})) == [{"value": value}]


def same(ours: object, theirs: object) -> bool:
    """Compare the structure of two values, and their strings (PyYAML reads other scalars differently)."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return len(ours) == len(theirs) and all(map(same, ours.values(), theirs.values()))
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours == theirs if isinstance(ours, str) else not isinstance(theirs, dict | list)


@given(st.text(alphabet="ab:-?[]{}&*!|>'\"%@`, \n\t#01.~", max_size=60))
def test_any_text_is_read_as_by_pyyaml_or_rejected(text: str) -> None:
    try:
        ours = [document for document in read(text) if document != ""]
    except IngestError:
        return
    theirs = [document for document in yaml.load_all(text, Loader=yaml.CBaseLoader) if document not in ("", "~")]
    assert len(ours) == len(theirs)
    assert all(map(same, ours, theirs))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &a {x: 1, z: 2}\nb: {<<: *a, z: 3}", {"x": 1, "z": 3}),
        ("a: &a {x: 1}\nc: &c {x: 2, z: 3}\nb: {<<: [*a, *c], w: 4}", {"x": 1, "z": 3, "w": 4}),
        ("b:\n  x: 1\n  <<: {x: 2}", {"x": 2}),  # as in go-yaml v2, the later one counts
        ('b: {"<<": {x: 1}}', {"<<": {"x": 1}}),
    ],
)
def test_merge_keys(text: str, expected: dict[str, object]) -> None:
    """Both readers merge alike: that of uploads, and that of the core."""
    ((_, document),) = documents(text.encode(), Where("a.yaml"), Limits())
    assert json.loads(document)["b"] == expected
    assert read_documents(text, "a.yaml")[0]["b"] == expected
