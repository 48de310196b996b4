"""Characters in the texts of others that do harm.

NUL characters are refused: PostgreSQL cannot store them, and no name or label of Kubernetes contains one. Control
characters and marks that change the direction of text are shown as escapes.
"""

import json
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


def escaped(text: str, also: str = "") -> str:
    r"""Return a text for pages and terminals: what is not printable becomes an escape as in Go, \x1b or \u202e.

    `also`: characters that stay. Databases and UTF-8 can store the result.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in also else _escape(c) for c in text)


def escaped_values(value: Any, also: str = "\n\t") -> Any:
    """Return a JSON value whose texts and keys are escaped."""
    if isinstance(value, str):
        return escaped(value, also)
    if isinstance(value, dict):
        return {escaped(str(key), also): escaped_values(one, also) for key, one in value.items()}
    return [escaped_values(one, also) for one in value] if isinstance(value, list | tuple) else value


def escaped_json(document: str) -> str:
    """Return a JSON document with the same value and without characters that a terminal would obey."""
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in document)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
