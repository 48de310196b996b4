"""A number and where it comes from: an operation and its arguments, down to fields of objects and of the configuration.

Inner trees are made by the functions below, which *compute* their value from their arguments: a tree that is not right
cannot be written down. Applying `op` to the values of `args` gives `value`, at every inner node (docs/debugger.md).
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
    """One value. `args` are there (maybe none) for operations alone; all else says more of the value.

    `unit`: m for millicores, B for bytes. `source`: of fields, and of what stands for a missing one. `profile`,
    `plugin`, `path`, `default`: of an argument of the configuration. `function`, `count`, `node`: of a figure over
    other nodes, how many they are and the one that has it. `count`, `page`: of a rest, how many there are and the page
    that shows them. `cycle`: the earlier cycle that brought it about; `seq`: the event of a run in time that did.
    `text`: of a root, it all in a sentence.
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

    def says(self, label: str) -> Tree:
        """The same with another label."""
        self.label = label
        return self

    def measured(self, unit: str) -> Tree:
        """The same in this unit."""
        self.unit = unit
        return self

    def tells(self, text: str) -> Tree:
        """The same with this sentence, which makes it a root."""
        self.text = text
        return self


# ---------------------------------------------------------------- leaves without an object


def constant(value: Any, label: str = "", unit: str = "") -> Tree:
    """A number that upstream's code has; `label`: its name there."""
    return Tree(value=value, op="constant", label=label, unit=unit)


def over(function: str, value: Any, count: int, label: str = "", node: str = "", unit: str = "") -> Tree:
    """A figure over `count` other nodes (or domains), such as their highest score; `node`: one that has it."""
    return Tree(value=value, op="over", function=function, count=count, label=label, node=node, unit=unit)


def rest(value: Any, count: int, label: str, page: int = 0, unit: str = "") -> Tree:
    """What `count` others of a long sum come to; `page` shows them."""
    return Tree(value=value, op="rest", count=count, label=label, page=page, unit=unit)


# ---------------------------------------------------------------- operations


def go_int(number: Any) -> Any:
    """A whole number as an int64 holds it; fractions as they are."""
    if isinstance(number, float) or -(1 << 63) <= number < 1 << 63:
        return number
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def quotient(a: int, b: int) -> int:
    """a / b of int64, towards zero, as Go has it."""
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def go_round(number: float) -> int:
    """math.Round: halves go away from zero."""
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
    """The sum of whole numbers; 0 of none."""
    return _of("sum", args, label, unit)


def total_floats(args: Sequence[Tree], label: str = "") -> Tree:
    """The sum of fractions from left to right, two at a time: their order matters to the last digit."""
    return reduce(lambda a, b: _of("sum", (a, b), ""), args).says(label) if len(args) > 1 else _of("sum", args, label)


def subtract(a: Tree, b: Tree, label: str = "", unit: str = "") -> Tree:
    return _of("subtract", (a, b), label, unit)


def multiply(a: Tree, b: Tree, label: str = "", unit: str = "") -> Tree:
    return _of("multiply", (a, b), label, unit)


def divide_int(a: Tree, b: Tree, label: str = "", unit: str = "") -> Tree:
    """Go's int64 division, towards zero."""
    return _of("divide_int", (a, b), label, unit)


def divide(a: Tree, b: Tree, label: str = "") -> Tree:
    """float64 division."""
    return _of("divide", (a, b), label)


def lowest(args: Iterable[Tree], label: str = "", unit: str = "") -> Tree:
    return _of("min", args, label, unit)


def highest(args: Iterable[Tree], label: str = "", unit: str = "") -> Tree:
    return _of("max", args, label, unit)


def count(args: Iterable[Tree], label: str = "") -> Tree:
    """How many they are; all of them are true."""
    return _of("count", args, label)


def absolute(a: Tree, label: str = "") -> Tree:
    return _of("abs", (a,), label)


def root(a: Tree, label: str = "") -> Tree:
    """The square root."""
    return _of("sqrt", (a,), label)


def logarithm(a: Tree, label: str = "") -> Tree:
    """The natural one."""
    return _of("log", (a,), label)


def rounded(a: Tree, label: str = "") -> Tree:
    """math.Round of Go."""
    return _of("round", (a,), label)


def truncated(a: Tree, label: str = "") -> Tree:
    """The whole number towards zero."""
    return _of("truncate", (a,), label)


def either(condition: Tree, then: Tree, otherwise: Tree, label: str = "", unit: str = "") -> Tree:
    """`then` if the condition holds."""
    return _of("if", (condition, then, otherwise), label, unit)


def every(args: Iterable[Tree], label: str = "") -> Tree:
    """True if all are, also of none."""
    return _of("and", args, label)


def some(args: Iterable[Tree], label: str = "") -> Tree:
    """True if one is; false of none."""
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
    """Whether a list has the item, or a map the key."""
    return _of("contains", (container, item), label)
