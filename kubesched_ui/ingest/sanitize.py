"""Removes values that must not be stored: nulls, which Go reads as absent, and NUL characters, which PostgreSQL
rejects.

The upload is cleaned on input, so that no later code has to handle them.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from kubesched_ui.ingest.errors import shown
from kubesched_ui.ingest.json_values import Json

NULL = "is null in a list and was left out"
NUL = "holds a NUL character, which was replaced"
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SUSPECT = re.compile(rb"null|\\u0000")


class Odd(NamedTuple):
    """`path`: such as status.conditions[0]. `problem`: the text of the warning."""

    path: str
    problem: str


def suspect(text: Json) -> bool:
    """Return whether the JSON of an object may need cleaning. Few objects do, and this check is much cheaper than a
    walk over all values."""
    return _SUSPECT.search(text) is not None


def clean(obj: dict[str, Any]) -> list[Odd]:
    """Remove nulls and replace NUL characters in place. Return the warnings.

    A member that is null means the same as an absent one and causes no warning; a null element of a list does.
    """
    found: list[Odd] = []
    _clean_map(obj, "", found)
    return found


def _clean_map(members: dict[str, Any], path: str, found: list[Odd]) -> None:
    for name in [name for name, value in members.items() if value is None]:
        del members[name]
    for name in [name for name in members if "\0" in name]:
        found.append(Odd(_join(path, shown(name)), NUL))
        members[name.replace("\0", REPLACEMENT)] = members.pop(name)
    for name, value in members.items():
        if type(value) is dict or type(value) is list or (type(value) is str and "\0" in value):
            members[name] = _cleaned(value, _join(path, name), found)


def _cleaned(value: Any, path: str, found: list[Odd]) -> Any:
    if isinstance(value, dict):
        _clean_map(value, path, found)
    elif isinstance(value, list):
        found += [Odd(f"{path}[{index}]", NULL) for index, entry in enumerate(value) if entry is None]
        value[:] = [_cleaned(entry, f"{path}[{n}]", found) for n, entry in enumerate(value) if entry is not None]
    elif isinstance(value, str) and "\0" in value:
        found.append(Odd(path, NUL))
        return value.replace("\0", REPLACEMENT)
    return value


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
