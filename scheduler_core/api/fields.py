"""Finds unknown fields such as `nodeSelectorr`, which an API server and KubeSched ignore without a warning.

Source: the OpenAPI description of Kubernetes 1.34 (`fields.txt`) for the kinds that affect scheduling, and
`schedulingGroup` of 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("fields.txt")
DEPTH = 32
LIKELY = ("PodSpec", "Container", "ObjectMeta", "Affinity")  # types that may have a misplaced field


class Unknown(NamedTuple):
    """An unknown field, such as `spec.nodeSelectorr`.

    `problem`: a text such as `is not a field of PodSpec; did you mean nodeSelector?`
    """

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path} {self.problem}"


@cache
def types() -> Mapping[str, Mapping[str, str]]:
    """Return type -> field -> the type of its value, "" for text, numbers and maps."""
    lines = [line.split() for line in FILE.read_text().splitlines() if not line.startswith("#")]
    return {kind: {field: held for field, _, held in (f.partition(":") for f in fields)} for kind, *fields in lines}


def unknown_fields(obj: Any, kind: str = "") -> Iterator[Unknown]:
    """Yield the fields that the object's kind (or `kind`) does not have; none for kinds outside the table."""
    if isinstance(obj, Mapping):
        yield from _walk(obj, kind or str(obj.get("kind", "")), "", 0)


def _walk(obj: Any, kind: str, path: str, depth: int) -> Iterator[Unknown]:
    known = types().get(kind)
    if known is None or depth > DEPTH:
        return
    if isinstance(obj, list):
        for index, item in enumerate(obj):
            yield from _walk(item, kind, f"{path}[{index}]", depth + 1)
    elif isinstance(obj, Mapping):
        for name, value in obj.items():
            at = f"{path}.{name}" if path else str(name)
            if name not in known:
                yield Unknown(at, f"is not a field of {kind}{_instead(str(name), known)}")
            elif known[name] and isinstance(value, list | Mapping):
                yield from _walk(value, known[name], at, depth + 1)


def _instead(name: str, known: Mapping[str, str]) -> str:
    """Return a suggestion: a similar field name, or a type that has the field."""
    by_letters = {field.lower(): field for field in known}
    close = get_close_matches(name.lower()[:100], by_letters, 1, 0.75)
    if close:
        return f"; did you mean {by_letters[close[0]]}?"
    owner = next((kind for kind in LIKELY if name in types()[kind]), "")
    return f"; {owner} has a field with this name" if owner else ""
