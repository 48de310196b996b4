"""Splitting JSON without parsing it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesched_ui.ingest.json_values import Malformed, deeper_than, elements, next_value

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@given(st.lists(VALUES), st.sampled_from([None, 2]), st.booleans())
def test_elements_equal_those_of_the_array(values: list[object], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    if "\\ud" in text.decode().lower():
        return
    assert [json.loads(bytes(e)) for e in elements(text)] == values


@given(VALUES, VALUES, st.sampled_from([" ", "\n", "\n\n  "]))
def test_a_value_ends_where_the_next_one_starts(first: object, second: object, between: str) -> None:
    texts = [json.dumps(v, ensure_ascii=False) for v in ([first], [second])]
    text = memoryview((texts[0] + between + texts[1]).encode())
    value, end = next_value(text)
    assert json.loads(bytes(value)) == [first]
    assert json.loads(bytes(text[end:])) == [second]


@pytest.mark.parametrize("text", [b"", b"{", b"[1", b"nul", b'"a', b"{]", b"}"])
def test_malformed(text: bytes) -> None:
    with pytest.raises(Malformed):
        next_value(memoryview(text))


def test_depth() -> None:
    assert not deeper_than({"a": [1]}, 2)
    assert deeper_than({"a": [{}]}, 2)
