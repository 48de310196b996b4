"""A number and where it comes from: an operation on arguments, down to fields of objects and of the configuration.

The functions below create inner trees and *compute* their values from their arguments, so an inconsistent tree cannot
be created. At every inner node, applying `op` to the values of `args` gives `value` (docs/debugger.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Protocol

import msgspec

LEAVES = frozenset(("field", "argument", "constant", "default", "over", "rest"))


class Source(msgspec.Struct, omit_defaults=True, frozen=True):
    """A field of an object, such as `spec.containers[0].resources.requests.cpu` or `metadata.labels['a.b/c']`."""

    kind: str
    name: str
    path: str
    namespace: str = ""


class Tree(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One value. Only operations have `args` (possibly empty); the other fields describe the value.

    `unit`: m for millicores, B for bytes. `source`: for fields, and for defaults of missing fields. `profile`,
    `plugin`, `path`, `default`: for an argument of the configuration. `function`, `count`, `node`: for a value over
    other nodes, with their number and the node that has the value. `count`, `page`: for a rest, the number of its terms
    and the page that shows them. `cycle`: the earlier cycle that caused the value. `seq`: the event that caused it in a
    run in virtual time. `text`: for a root, the explanation in a sentence.
    """

    value: Any
    op: str
    text: str = ""
    label: str = ""
    unit: str = ""
    args: list[Tree] | None = None
    source: Source | None = None
    cycle: int = 0
    seq: int = 0
    profile: str = ""
    plugin: str = ""
    path: str = ""
    default: bool = False
    function: str = ""
    count: int | None = None
    node: str = ""
    page: int = 0
    pages: int = 0

    def with_label(self, label: str) -> Tree:
        """Set the label and return the tree."""
        self.label = label
        return self

    def measured(self, unit: str) -> Tree:
        """Set the unit and return the tree."""
        self.unit = unit
        return self

    def with_text(self, text: str) -> Tree:
        """Set the sentence, which makes the tree a root, and return the tree."""
        self.text = text
        return self


# ---------------------------------------------------------------- leaves without an object


def constant(value: Any, label: str = "", unit: str = "") -> Tree:
    """Return a number from upstream's code; `label`: its name there."""
    return Tree(value=value, op="constant", label=label, unit=unit)


def over(function: str, value: Any, count: int, label: str = "", node: str = "", unit: str = "") -> Tree:
    """Return a value over `count` other nodes (or domains), such as their highest score. `node`: a node that has it."""
    return Tree(value=value, op="over", function=function, count=count, label=label, node=node, unit=unit)


def rest(value: Any, count: int, label: str, page: int = 0, unit: str = "") -> Tree:
    """Return the value of `count` other terms of a long sum, which `page` shows."""
    return Tree(value=value, op="rest", count=count, label=label, page=page, unit=unit)


# ---------------------------------------------------------------- operations


def go_int(number: Any) -> Any:
    """Wrap a whole number to int64; fractions are unchanged."""
    if isinstance(number, float) or -(1 << 63) <= number < 1 << 63:
        return number
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def quotient(a: int, b: int) -> int:
    """Return a / b of int64, truncated towards zero as in Go."""
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def go_round(number: float) -> int:
    """Return math.Round: halves are rounded away from zero."""
    whole = math.trunc(number)
    return whole + int(math.copysign(1, number)) if abs(number - whole) >= 0.5 else whole


_COMPUTE: dict[str, Callable[[Sequence[Any]], Any]] = {
    "sum": lambda v: reduce(lambda a, b: go_int(a + b), v, 0),
    "subtract": lambda v: go_int(v[0] - v[1]),
    "multiply": lambda v: reduce(lambda a, b: go_int(a * b), v),
    "divide_int": lambda v: quotient(v[0], v[1]),
    "divide": lambda v: float(v[0]) / float(v[1]),
    "min": min,
    "max": max,
    "count": len,
    "abs": lambda v: abs(v[0]),
    "sqrt": lambda v: math.sqrt(v[0]),
    "log": lambda v: math.log(v[0]),
    "round": lambda v: go_round(v[0]),
    "truncate": lambda v: math.trunc(v[0]),
    "if": lambda v: v[1] if v[0] else v[2],
    "and": all,
    "or": any,
    "not": lambda v: not v[0],
    "equal": lambda v: v[0] == v[1],
    "less": lambda v: v[0] < v[1],
    "less_equal": lambda v: v[0] <= v[1],
    "contains": lambda v: v[1] in v[0],
}


class _OfMany(Protocol):
    def __call__(self, args: Iterable[Tree], label: str = "", unit: str = "") -> Tree: ...


class _OfTwo(Protocol):
    def __call__(self, a: Tree, b: Tree, label: str = "", unit: str = "") -> Tree: ...


class _OfOne(Protocol):
    def __call__(self, a: Tree, label: str = "") -> Tree: ...


def _of(op: str, args: Iterable[Tree], label: str, unit: str = "") -> Tree:
    listed = list(args)
    return Tree(value=_COMPUTE[op]([arg.value for arg in listed]), op=op, label=label, unit=unit, args=listed)


def _of_many(op: str) -> _OfMany:
    return lambda args, label="", unit="": _of(op, args, label, unit)


def _of_two(op: str) -> _OfTwo:
    return lambda a, b, label="", unit="": _of(op, (a, b), label, unit)


def _of_one(op: str) -> _OfOne:
    return lambda a, label="": _of(op, (a,), label)


total = _of_many("sum")  # of whole numbers; 0 if there are none
lowest = _of_many("min")
highest = _of_many("max")
count = _of_many("count")  # number of arguments; all of them are true
every = _of_many("and")  # true if there are no arguments
some = _of_many("or")  # false if there are no arguments

subtract = _of_two("subtract")
multiply = _of_two("multiply")
divide_int = _of_two("divide_int")  # Go's int64 division, truncated towards zero
divide = _of_two("divide")  # float64 division
equal = _of_two("equal")
less = _of_two("less")
less_equal = _of_two("less_equal")
contains = _of_two("contains")  # whether a list contains the item `b`, or a map the key

absolute = _of_one("abs")
root = _of_one("sqrt")
logarithm = _of_one("log")  # natural logarithm
rounded = _of_one("round")  # math.Round of Go
truncated = _of_one("truncate")  # towards zero
opposite = _of_one("not")


def total_floats(args: Sequence[Tree], label: str = "") -> Tree:
    """Sum of fractions from left to right, in pairs, because the order affects the last digit."""
    if len(args) < 2:
        return total(args, label)
    return reduce(lambda a, b: total((a, b)), args).with_label(label)


def either(condition: Tree, then: Tree, otherwise: Tree, label: str = "", unit: str = "") -> Tree:
    """`then` if the condition is true, otherwise `otherwise`."""
    return _of("if", (condition, then, otherwise), label, unit)
