"""Texts that nobody could keep: PostgreSQL stores no NUL character, and no name or label of Kubernetes has one."""

from __future__ import annotations

from typing import Any

from scheduler_core.errors import InputError

NUL = "holds a NUL character"
ESCAPED_NUL = b"\\u0000"  # in JSON without it there is none


def refuse_nul(value: Any, where: str) -> None:
    """Raises InputError naming `where` and the path of a text in `value` (plain data, no circles) that has a NUL."""
    rest: list[tuple[str, Any]] = [("", value)]  # no recursion: this looks at what nobody has bounded yet
    while rest:
        path, found = rest.pop()
        if isinstance(found, str) and "\0" in found:
            raise InputError(where, path[:200].replace("\0", "\N{REPLACEMENT CHARACTER}"), NUL)
        if isinstance(found, dict):
            for key, member in found.items():
                at = f"{path}.{key}" if path else str(key)
                rest += [(at, key), (at, member)]
        elif isinstance(found, list | tuple):
            rest += [(f"{path}[{index}]", member) for index, member in enumerate(found)]
