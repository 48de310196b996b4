"""NUL characters, which databases cannot store, and nulls in lists, which API servers reject."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scheduler_core.api.objects import decode
from scheduler_core.api.text_checks import escaped, escaped_json, escaped_values, refuse_nul
from scheduler_core.config.document import NullEntry, read_documents
from scheduler_core.errors import InputError


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [{"b": "x\0"}]}, "a[0].b"),
        ({"a": {"b\0": 1}}, "a.b\N{REPLACEMENT CHARACTER}"),
        ("\0", ""),
        ([["\0"]], "[0][0]"),
    ],
)
def test_a_nul_is_rejected_by_its_path(value: Any, path: str) -> None:
    with pytest.raises(InputError) as caught:
        refuse_nul(value, "It")
    assert (caught.value.where, caught.value.field, caught.value.problem) == ("It", path, "contains a NUL character")


def test_text_similar_to_a_nul_is_accepted() -> None:
    refuse_nul({"a": ["\\u0000", "\\0", 0, None, True]}, "It")
    annotations = {"a": "\\u0000"}
    assert decode({"kind": "Node", "metadata": {"name": "n", "annotations": annotations}}) is not None
    assert read_documents('a: "\\\\0"', "It") == [{"a": "\\0"}]


def test_an_object_without_a_nul() -> None:
    with pytest.raises(InputError, match=r"Node n: metadata.labels.zone: contains a NUL character"):
        decode({"kind": "Node", "metadata": {"name": "n", "labels": {"zone": "a\0"}}})


@pytest.mark.parametrize("text", ['{"a": ["\\u0000"]}', 'a: ["\\0"]', 'a: ["\\x00"]', 'a: ["\\U00000000"]'])
def test_a_document_without_a_nul(text: str) -> None:
    with pytest.raises(InputError, match=r"It: a\[0\]: contains a NUL character"):
        read_documents(text, "It")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"spec": {"tolerations": [{"key": "a"}, null]}}', "spec.tolerations[1]"),
        ("spec:\n  containers:\n  - args:\n    - ~\n", "spec.containers[0].args[0]"),
        ("- - null\n", "[0][0]"),
    ],
)
def test_a_null_in_a_list_is_rejected_by_its_path(text: str, path: str) -> None:
    with pytest.raises(NullEntry) as caught:
        read_documents(text, "It")
    assert (caught.value.field, caught.value.problem) == (path, "is null; leave it out")


def test_a_null_member_is_treated_as_absent() -> None:
    assert read_documents("a: null\nb: {c: ~, d: 1}", "It") == [{"b": {"d": 1}}]


LISTS = {
    "Node": ("spec.taints", "status.conditions", "status.images", "status.volumesAttached"),
    "Pod": ("spec.containers", "spec.tolerations", "spec.volumes", "status.conditions", "metadata.ownerReferences"),
    "PersistentVolume": ("spec.accessModes",),
    "ResourceClaim": ("spec.devices.requests", "status.reservedFor"),
}


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, paths in LISTS.items() for path in paths])
def test_decoding_drops_nulls_in_lists(kind: str, path: str) -> None:
    """Objects stored before uploads were checked can still be read."""

    def with_list(entries: list[Any]) -> dict[str, Any]:
        obj: dict[str, Any] = {"kind": kind, "metadata": {"name": "x", "namespace": "default"}}
        inner = obj
        *steps, last = path.split(".")
        for step in steps:
            inner = inner.setdefault(step, {})
        inner[last] = entries
        return obj

    assert decode(with_list([None])) == decode(with_list([]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("größer 🚀 日本", "größer 🚀 日本"),
        ("a\x1b[31mb\x00", r"a\x1b[31mb\x00"),
        ("\u202egnp\u2066", r"\u202egnp\u2066"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("a\nb\tc\x85", "a\nb\tc\\x85"),
    ],
)
def test_characters_that_are_not_printable_are_escapes(text: str, expected: str) -> None:
    assert escaped(text, "\n\t") == expected
    assert escaped_values({text: [text, 1, None, {"a": text}]}) == {expected: [expected, 1, None, {"a": expected}]}


def test_a_json_document_keeps_its_value() -> None:
    value = {"a": "\x1b\u202e\U000e0041\n", "b": ["ü"]}
    document = escaped_json(json.dumps(value, ensure_ascii=False, indent=1))
    assert json.loads(document) == value
    assert document.replace("\n", "").isprintable()
