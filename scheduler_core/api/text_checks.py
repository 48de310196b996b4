"""Refuses NUL characters: PostgreSQL cannot store them, and no name or label of Kubernetes contains one."""

from __future__ import annotations

from typing import Any

from scheduler_core.errors import InputError

NUL = "contains a NUL character"
ESCAPED_NUL = b"\\u0000"  # JSON without this sequence has no NUL


def refuse_nul(value: Any, where: str) -> None:
    """Raise InputError with `where` and the path if a text in `value` (plain data without cycles) contains a NUL."""
    rest: list[tuple[str, Any]] = [("", value)]  # not recursive, because the depth of the data is not limited yet
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
