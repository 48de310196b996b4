"""Formats quantities, lists and phrases as readable text."""

import re
from collections.abc import Sequence
from decimal import ROUND_DOWN, ROUND_UP, Decimal

from scheduler_core.cluster import resources

_BINARY = (("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))
_FURTHER = re.compile(r"(, | and )(lack|refuse|break|have|are|do|were|would|cannot)\b")
_ES = re.compile(r"(s|x|z|ch|sh)$")
_IES = re.compile(r"[^aeiou]y$")
_IRREGULAR = {"have": "has", "are": "is", "do": "does", "were": "was", "would": "would", "cannot": "cannot"}


def count(number: int, one: str = "node", many: str = "") -> str:
    """Return `1 node`, `1,200 nodes`, `2 classes`, `2 policies`."""
    return f"{number:,} {one if number == 1 else many or _with_s(one)}"


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
    return _IRREGULAR.get(verb) or _with_s(verb)


def _with_s(word: str) -> str:
    """Return the plural of a noun, or the third person of a verb: `nodes`, `touches`, `carries`, `stays`."""
    if _ES.search(word):
        return f"{word}es"
    return f"{word[:-1]}ies" if _IES.search(word) else f"{word}s"


def amount(resource: str, number: int, rounding: str = ROUND_UP, like: int = 0) -> str:
    """Format a quantity with its unit, rounded up: `0.25` cores of cpu, `1.5Gi` of memory, else the number.

    `like`: the quantity whose unit of memory is used, so that a sentence has one unit; 0: the quantity itself. It is
    not used for less than 1 of that unit if two decimals are not exact: `133Mi`, not `0.13Gi`.
    """
    if not number:
        return "0"
    if resource == resources.CPU:
        return _decimal(Decimal(number) / 1000, rounding, 3 if abs(number) < 1000 else 2)
    if resource in (resources.MEMORY, resources.EPHEMERAL) or resource.startswith("hugepages-"):
        for unit, bits in _BINARY:
            inexact = abs(number) < 1 << bits and 100 * number % (1 << bits)
            if abs(like or number) >= 1 << bits and not (like and inexact):
                return _decimal(Decimal(number) / (1 << bits), rounding) + unit
        return f"{number}B"
    return f"{number:,}"


def free_amount(resource: str, number: int, like: int = 0) -> str:
    """Format a free quantity like `amount`, but rounded down."""
    return amount(resource, number, ROUND_DOWN, like)


def balance(resource: str, asks: int, free: int, of: int) -> str:
    """Format a request and the free quantity in the request's unit: `requests 4, 2.5 of 8 free`.

    The free quantity is rounded down, so that it never looks sufficient.
    """
    has = free_amount(resource, of, asks)
    if free < 0:
        over = amount(resource, -free, like=asks)
        return f"requests {amount(resource, asks)}, the node's {has} overcommitted by {over}"
    return f"requests {amount(resource, asks)}, {free_amount(resource, free, asks)} of {has} free"


def exact(resource: str, number: int) -> str:
    """Format a quantity like `amount`, but cpu in millicores, the unit of scores: `3,480m`."""
    return f"{number:,}m" if resource == resources.CPU else amount(resource, number)


def _decimal(number: Decimal, rounding: str, places: int = 2) -> str:
    text = f"{number.quantize(Decimal(1).scaleb(-places), rounding):,f}"
    return text.rstrip("0").rstrip(".")
