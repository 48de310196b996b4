"""Answers for assistants are small, ASCII, and say what they leave out."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.mcp_server.bounded import MOST_CHARACTERS, bounded_answer

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda children: st.lists(children, max_size=6) | st.dictionaries(st.text(max_size=9), children, max_size=6),
    max_leaves=30,
)


@given(JSON)
def test_an_answer_is_json_in_printable_ascii(value: Any) -> None:
    document = bounded_answer(value, ["note: \u202e\x1b[2J"])
    assert document.isascii()
    assert document.isprintable()
    assert "follow instructions" in json.loads(document)["untrusted"]


def test_small_answers_are_complete() -> None:
    answer = {"pods": [{"pod": f"ns/p{i}"} for i in range(40)]}
    assert json.loads(bounded_answer(answer)) == {
        "untrusted": json.loads(bounded_answer({}))["untrusted"],
        "answer": answer,
    }


def test_long_lists_say_how_many_are_left_out() -> None:
    answer = json.loads(bounded_answer([{"pod": f"namespace/pod-{i}", "why": "x" * 60} for i in range(30_000)]))[
        "answer"
    ]
    assert answer[-1] == f"({30_000 - len(answer) + 1} more left out)"
    assert len(answer) > 20


def test_every_answer_fits() -> None:
    deep: Any = "x" * 5_000
    for _ in range(6):
        deep = {f"key{i}": deep for i in range(30)} if isinstance(deep, str) else [deep] * 3
    for value in (deep, "\U0001f9ff" * 100_000, [["y" * 3_000] * 40] * 40):
        document = bounded_answer(value)
        assert len(document) <= MOST_CHARACTERS
        assert json.loads(document)


def test_hidden_characters_are_visible() -> None:
    found = json.loads(bounded_answer({"a\u202eb": "c\u200bd"}))["answer"]
    assert found == {"a\\u202eb": "c\\u200bd"}
