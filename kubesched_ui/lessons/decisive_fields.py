"""Finds fields of a lesson's scenario that decide an answer although no page shows them.

It changes one field after the other and simulates the lesson again. If the answer to a question changes, but nothing
that a student has seen before answering, the student cannot know the answer.
"""

import copy
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from kubesched_ui.editor.yaml_documents import path_text
from kubesched_ui.ingest.values import Path
from kubesched_ui.lessons import questions, step_state
from kubesched_ui.lessons.catalog import Lesson
from kubesched_ui.lessons.errors import LessonError, Unknown

# Fields that identify, and labels that the kubelet sets to the name of the node.
NAMES = ("apiVersion", "kind", "name", "namespace", "uid", "kubernetes.io/hostname")
_NUMBER = re.compile(r"(\d+)((?:\.\d+)?)([A-Za-z]*)")
_REMOVED = object()


class DecisiveField(NamedTuple):
    """A field that decides the answer of a step's question and is not shown."""

    step: int
    field: str


class _Leaf(NamedTuple):
    """A value of the scenario. `owner`: kind and name of its object, "" outside of objects."""

    path: Path
    owner: str
    inner: Path
    value: Any


class Search(NamedTuple):
    """A part of the search. `next`: the number of the field at which it goes on, `total` at its end."""

    fields: list[DecisiveField]
    next: int
    total: int


def hidden_fields(lesson: Lesson) -> Iterator[DecisiveField]:
    """Yield each hidden field that decides an answer, once per step."""
    for found in _search(lesson, list(_distinct(lesson.spec))):
        yield from found


def search(lesson: Lesson, start: int, seconds: float) -> Search:
    """Search from a field of the scenario on until the time is over, at least one field. Raises Unknown."""
    leaves, found, end = list(_distinct(lesson.spec)), [], time.monotonic() + seconds
    position = min(start, len(leaves))
    for fields in _search(lesson, leaves[position:]):
        found += fields
        position += 1
        if time.monotonic() > end:
            break
    return Search(found, position, len(leaves))


def _search(lesson: Lesson, leaves: Sequence[_Leaf]) -> Iterator[list[DecisiveField]]:
    """Yield what was found for each field."""
    numbers = [i for i, step in enumerate(lesson.steps, 1) if step.ask is not None and step.ask.kind != "change"]
    answers = {number: _answer(lesson, number) for number in numbers}
    shown = {number: _seen(lesson, number) for number in numbers}
    spec = lesson.spec
    for leaf in leaves:
        found: set[int] = set()
        for value in _others(leaf, spec):
            varied = lesson.with_spec(_replaced(spec, leaf.path, value))
            with suppress(LessonError):
                _ = varied.runs
                found |= {n for n in numbers if n not in found and _decides(varied, n, answers[n], shown[n])}
        yield [DecisiveField(number, f"{leaf.owner} {path_text(leaf.inner)}".strip()) for number in sorted(found)]


def _decides(varied: Lesson, number: int, answer: Any, shown: list[Any]) -> bool:
    try:
        return bool(_answer(varied, number) != answer and _seen(varied, number) == shown)
    except (Unknown, KeyError):
        return False


def _answer(lesson: Lesson, number: int) -> Any:
    question = lesson.question(number)
    assert question is not None
    return questions.answer(question)


def _seen(lesson: Lesson, number: int) -> list[Any]:
    """Return what is shown before a step is answered: the step, and the texts and pictures of the earlier steps."""
    # Also without the map, whose data has more than a person reads on it.
    return [{**step_state.shows(lesson, one), "stages": None, "moving": None} for one in range(1, number + 1)]


# ---- changes of a scenario


def _distinct(spec: dict[str, Any]) -> Iterator[_Leaf]:
    """Yield the values of a scenario, those of equal objects once."""
    known: set[bytes] = set()
    for leaf in _leaves(spec, (), "", ()):
        obj = _object_at(spec, leaf)
        key = msgspec.json.encode([leaf.inner, leaf.value, obj])
        if key not in known:
            known.add(key)
            yield leaf


def _object_at(spec: dict[str, Any], leaf: _Leaf) -> Any:
    """Return the object of a value without its name."""
    if not leaf.owner:
        return leaf.path
    found: Any = spec
    for step in leaf.path[: len(leaf.path) - len(leaf.inner)]:
        found = found[step]
    return {**found, "metadata": {**(found.get("metadata") or {}), "name": ""}}


def _leaves(value: Any, path: Path, owner: str, inner: Path) -> Iterator[_Leaf]:
    if isinstance(value, dict):
        if path[-2:] == ("patch", "patch"):
            yield _Leaf(path, owner, inner, value)
        if isinstance(value.get("metadata"), dict) and "name" in value["metadata"] and "kind" in value:
            owner, inner = f"{value['kind']} {value['metadata']['name']}", ()
        for key, content in value.items():
            if key not in NAMES:
                yield from _leaves(content, (*path, key), owner, (*inner, key))
    elif isinstance(value, list):
        for index, content in enumerate(value):
            yield from _leaves(content, (*path, index), owner, (*inner, index))
    elif value is not None:
        yield _Leaf(path, owner, inner, value)


def _others(leaf: _Leaf, spec: dict[str, Any]) -> list[Any]:
    """Return other values for a field: numbers twice and half as large, other texts."""
    value = leaf.value
    if isinstance(value, dict):
        return _alike(leaf, spec)[:1]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value * 2, value // 2] if value else [1]
    if number := _NUMBER.fullmatch(value):
        whole = int(number[1])
        return [f"{whole * 2}{number[3]}", f"{whole // 2}{number[3]}"] if whole > 1 else [f"{whole + 1}{number[3]}"]
    return [*(_alike(leaf, spec)[:1] or ["other"]), _REMOVED]


def _alike(leaf: _Leaf, spec: dict[str, Any]) -> list[Any]:
    """Return the other values of the same field in other objects."""

    def field(one: _Leaf) -> list[Any]:
        return [type(one.value), *(step for step in one.inner if isinstance(step, str))]

    same = (one.value for one in _leaves(spec, (), "", ()) if field(one) == field(leaf))
    return [value for value in same if value != leaf.value]


def _replaced(spec: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    varied: Any = copy.deepcopy(spec)
    at = varied
    for step in path[:-1]:
        at = at[step]
    if value is _REMOVED:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return varied
