"""Formats amounts, lists and phrases as readable text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scheduler_core.cluster.quantity_format import amount as amount
from scheduler_core.cluster.quantity_format import balance as balance

_FURTHER = re.compile(r"(, | and )(lack|refuse|break|have|are|do|were|would|cannot)\b")
_IRREGULAR = {"have": "has", "are": "is", "do": "does", "were": "was", "would": "would", "cannot": "cannot"}


def count(number: int, one: str = "node", many: str = "") -> str:
    """Return `1 node`, `1,200 nodes`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listing(parts: Sequence[str], last: str = "and") -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}" if len(parts) > 1 else "".join(parts)


def some(names: Sequence[str], most: int = 5) -> str:
    """Return the first few names and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def agree(number: int, words: str) -> str:
    """Return `words` (a plural verb first) in the singular for one node."""
    if number != 1:
        return words
    verb, _, rest = words.partition(" ")
    rest = _FURTHER.sub(lambda verb: verb[1] + _singular(verb[2]), rest)
    return f"{_singular(verb)} {rest}".rstrip()


def _singular(verb: str) -> str:
    return _IRREGULAR.get(verb, f"{verb}s")
