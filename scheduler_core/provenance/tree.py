"""A number and where it comes from: an operation on arguments, down to fields of objects and of the configuration.

The functions below create inner trees and *compute* their values from their arguments, so an inconsistent tree cannot
be created. At every inner node, applying `op` to the values of `args` gives `value` (docs/debugger.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

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
OPERATIONS = frozenset(_COMPUTE)


def _of(op: str, args: Iterable[Tree], label: str, unit: str = "") -> Tree:
    listed = list(args)
    return Tree(value=_COMPUTE[op]([arg.value for arg in listed]), op=op, label=label, unit=unit, args=listed)


def total(args: Iterable[Tree], label: str = "", unit: str = "") -> Tree:
    """Sum of whole numbers; 0 if there are none."""
    return _of("sum", args, label, unit)


def total_floats(args: Sequence[Tree], label: str = "") -> Tree:
    """Sum of fractions from left to right, in pairs, because the order affects the last digit."""
    return (
        reduce(lambda a, b: _of("sum", (a, b), ""), args).with_label(label)
        if len(args) > 1
        else _of("sum", args, label)
    )


def subtract(a: Tree, b: Tree, label: str = "", unit: str = "") -> Tree:
    return _of("subtract", (a, b), label, unit)


def multiply(a: Tree, b: Tree, label: str = "", unit: str = "") -> Tree:
    return _of("multiply", (a, b), label, unit)


def divide_int(a: Tree, b: Tree, label: str = "", unit: str = "") -> Tree:
    """Go's int64 division, truncated towards zero."""
    return _of("divide_int", (a, b), label, unit)


def divide(a: Tree, b: Tree, label: str = "") -> Tree:
    """float64 division."""
    return _of("divide", (a, b), label)


def lowest(args: Iterable[Tree], label: str = "", unit: str = "") -> Tree:
    return _of("min", args, label, unit)


def highest(args: Iterable[Tree], label: str = "", unit: str = "") -> Tree:
    return _of("max", args, label, unit)


def count(args: Iterable[Tree], label: str = "") -> Tree:
    """Number of arguments; all of them are true."""
    return _of("count", args, label)


def absolute(a: Tree, label: str = "") -> Tree:
    return _of("abs", (a,), label)


def root(a: Tree, label: str = "") -> Tree:
    """Square root."""
    return _of("sqrt", (a,), label)


def logarithm(a: Tree, label: str = "") -> Tree:
    """Natural logarithm."""
    return _of("log", (a,), label)


def rounded(a: Tree, label: str = "") -> Tree:
    """math.Round of Go."""
    return _of("round", (a,), label)


def truncated(a: Tree, label: str = "") -> Tree:
    """Integer part, truncated towards zero."""
    return _of("truncate", (a,), label)


def either(condition: Tree, then: Tree, otherwise: Tree, label: str = "", unit: str = "") -> Tree:
    """`then` if the condition is true, otherwise `otherwise`."""
    return _of("if", (condition, then, otherwise), label, unit)


def every(args: Iterable[Tree], label: str = "") -> Tree:
    """True if all arguments are true, or if there are none."""
    return _of("and", args, label)


def some(args: Iterable[Tree], label: str = "") -> Tree:
    """True if any argument is true; false if there are none."""
    return _of("or", args, label)


def opposite(a: Tree, label: str = "") -> Tree:
    return _of("not", (a,), label)


def equal(a: Tree, b: Tree, label: str = "") -> Tree:
    return _of("equal", (a, b), label)


def less(a: Tree, b: Tree, label: str = "") -> Tree:
    return _of("less", (a, b), label)


def less_equal(a: Tree, b: Tree, label: str = "") -> Tree:
    return _of("less_equal", (a, b), label)


def contains(container: Tree, item: Tree, label: str = "") -> Tree:
    """Whether a list contains the item, or a map the key."""
    return _of("contains", (container, item), label)
