"""Expressions of lessons: function calls, numbers and comparisons. Python's parser reads them; this module evaluates
them.

    score("web-1", "n2", "NodeResourcesFit") >= 3 * free("n1", "cpu")

There are no attributes, no powers, and no names other than those of functions. Strings can only be compared.
`in_run("then", X)` evaluates X in another run of the lesson, `what_if("Pod/web spec.priority", "5", X)` in the runs
with a changed field.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, Protocol

from kubesched_ui.lessons.errors import Unknown
from kubesched_ui.lessons.formatting import Amount, Seconds

MAX_LENGTH, MAX_PARTS = 400, 120
_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


class Functions(Protocol):
    """The functions that an expression can call."""

    def call(self, name: str, args: list[Any], named: dict[str, Any]) -> Any:
        """Return the value of a function. Raises Unknown."""

    def in_run(self, name: str) -> Functions:
        """Return the facts of another run. Raises Unknown."""

    def what_if(self, field: str, text: str) -> Functions:
        """Return the facts of the runs with a changed field. Raises Unknown."""


def evaluate(text: str, facts: Functions) -> Any:
    """Return the value of an expression. Raises Unknown with the reason."""
    try:
        return _value(parse(text), facts)
    except (TypeError, ZeroDivisionError, IndexError, KeyError, OverflowError) as problem:
        raise Unknown(f"cannot be computed: {problem}") from None


def parse(text: str) -> ast.expr:
    """Parse an expression and check that it uses only the allowed syntax. Raises Unknown."""
    if len(text) > MAX_LENGTH:
        raise Unknown(f"has more than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unknown("is not an expression") from None
    parts = list(ast.walk(tree))
    if len(parts) > MAX_PARTS:
        raise Unknown(f"has more than {MAX_PARTS} parts")
    called = {id(part.func) for part in parts if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)}
    for part in parts:
        _check(part, called)
    return tree


def functions_of(text: str) -> set[str]:
    """Return the names of the functions that an expression calls. Raises Unknown."""
    calls = (part.func for part in ast.walk(parse(text)) if isinstance(part, ast.Call))
    return {function.id for function in calls if isinstance(function, ast.Name)}


def _check(part: ast.AST, called: set[int]) -> None:
    allowed = (ast.Call, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Subscript, ast.List)
    operators = (*_OPERATIONS, *_COMPARISONS, ast.boolop, ast.unaryop, ast.expr_context, ast.keyword)
    if isinstance(part, ast.Name) and id(part) not in called:
        raise Unknown(f"{part.id!r} is not a function call; write texts in quotation marks")
    if isinstance(part, ast.Call) and id(part.func) not in called:
        raise Unknown("calls something that is not a function of lessons")
    if isinstance(part, ast.keyword) and part.arg is None:
        raise Unknown("contains **")
    if not isinstance(part, (*allowed, *operators, ast.Name)):
        raise Unknown(f"contains {type(part).__name__}, which expressions do not allow")
    if isinstance(part, ast.Constant) and not isinstance(part.value, str | int | float | bool | None):
        raise Unknown(f"contains {part.value!r}, which expressions do not allow")


def _value(part: ast.expr, facts: Functions) -> Any:
    match part:
        case ast.Constant():
            return part.value
        case ast.List():
            return [_value(one, facts) for one in part.elts]
        case ast.Call(func=ast.Name(id="in_run")):
            return _elsewhere(part, facts)
        case ast.Call(func=ast.Name(id="what_if")):
            return _tried(part, facts)
        case ast.Call(func=ast.Name(id=name)):
            args = [_value(one, facts) for one in part.args]
            return facts.call(name, args, {str(one.arg): _value(one.value, facts) for one in part.keywords})
        case ast.BinOp():
            return _operation(part, facts)
        case ast.UnaryOp():
            inner = _value(part.operand, facts)
            return (not inner) if isinstance(part.op, ast.Not) else -_numeric(inner)
        case ast.BoolOp():
            values = [bool(_value(one, facts)) for one in part.values]
            return all(values) if isinstance(part.op, ast.And) else any(values)
        case ast.Compare():
            return _compared(part, facts)
        case ast.Subscript():
            return _value(part.value, facts)[_value(part.slice, facts)]
    raise Unknown(f"contains {type(part).__name__}, which expressions do not allow")


def _elsewhere(part: ast.Call, facts: Functions) -> Any:
    if len(part.args) != 2 or part.keywords:
        raise Unknown('in_run takes the name of a run and an expression: in_run("then", node_of("web"))')
    return _value(part.args[1], facts.in_run(str(_value(part.args[0], facts))))


def _tried(part: ast.Call, facts: Functions) -> Any:
    if len(part.args) != 3 or part.keywords:
        raise Unknown(
            'what_if takes a field, its value and an expression: what_if("Pod/a spec.priority", "5", victims("b"))'
        )
    field, text, expression = part.args
    return _value(expression, facts.what_if(str(_value(field, facts)), str(_value(text, facts))))


def _operation(part: ast.BinOp, facts: Functions) -> Any:
    left, right = _numeric(_value(part.left, facts)), _numeric(_value(part.right, facts))
    found = _OPERATIONS[type(part.op)](left, right)
    measured = next((one for one in (left, right) if isinstance(one, Amount | Seconds)), None)
    both = isinstance(left, Amount | Seconds) and isinstance(right, Amount | Seconds)
    if isinstance(measured, Amount) and isinstance(found, int) and not (both and isinstance(part.op, ast.FloorDiv)):
        return Amount.new(measured.resource, found)
    if isinstance(measured, Seconds) and not isinstance(part.op, ast.Div):
        return Seconds(found)
    return found


def _numeric(value: Any) -> Any:
    if isinstance(value, int | float) and abs(value) < 1e30:
        return value
    raise Unknown(f"calculates with {str(value)[:60]!r}, which is not a number")


def _compared(part: ast.Compare, facts: Functions) -> bool:
    left = _value(part.left, facts)
    for operation, other in zip(part.ops, part.comparators, strict=True):
        right = _value(other, facts)
        if not _COMPARISONS[type(operation)](left, right):
            return False
        left = right
    return True
