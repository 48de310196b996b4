"""Formats the values of lessons for display."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduler_core.cluster.formatting import amount, listing

# fmt: off
WORDS = [
    "none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
]
ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
# fmt: on


class Amount(int):
    """A quantity of a resource, in the scheduler's units: millicores of cpu, bytes of memory."""

    resource: str = ""

    @classmethod
    def new(cls, resource: str, number: int) -> Amount:
        made = cls(number)
        made.resource = resource
        return made


class FieldNumber(int):
    """An integer of an object's field, such as a port, which is shown as the object contains it."""


class Seconds(float):
    """A duration or a time on the virtual clock."""


def shown(value: Any) -> str:
    """Format a value for running text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Amount):
        return _amount(value)
    if isinstance(value, FieldNumber):
        return str(int(value))
    if isinstance(value, Seconds):
        return f"{number(float(value))} s"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, list | tuple):
        return listing([shown(one) for one in value]) if value else "none"
    return str(value)


def number(value: float) -> str:
    """Format a number without unneeded digits."""
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.4f}".rstrip("0").rstrip(".")


def same(a: Any, b: Any) -> bool:
    """Whether two numbers are equal within the precision of a typed answer."""
    return abs(float(a) - float(b)) <= 1e-4 * max(1.0, abs(float(b)))


def names(values: Sequence[Any]) -> list[str]:
    """Return the values as text."""
    return [shown(value) for value in values]


def _amount(value: Amount) -> str:
    return f"{int(value) / 1000:g}" if value.resource == "cpu" else amount(value.resource, int(value))
