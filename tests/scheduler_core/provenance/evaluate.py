"""Evaluator of provenance trees, written from docs/debugger.md. It shares no code with what builds them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

LEAVES = {"field", "argument", "constant", "default", "over", "rest"}


def apply(op: str, v: list[Any]) -> Any:
    """Apply the operation to the values."""
    match op:
        case "sum":
            return sum(v)
        case "count":
            assert all(x is True for x in v)
            return len(v)
        case "divide_int":
            return int(Decimal(v[0]) / Decimal(v[1])) if abs(v[0]) < 1 << 60 else v[0] // v[1]
        case "round":
            return int(math.copysign(math.floor(abs(v[0]) + 0.5), v[0]))
        case "if":
            return v[1] if v[0] else v[2]
    simple: Mapping[str, Any] = {
        "subtract": lambda a, b: a - b,
        "multiply": lambda a, b: a * b,
        "divide": lambda a, b: a / b,
        "abs": abs,
        "sqrt": math.sqrt,
        "log": math.log,
        "truncate": int,
        "not": lambda a: not a,
        "equal": lambda a, b: a == b,
        "less": lambda a, b: a < b,
        "less_equal": lambda a, b: a <= b,
        "contains": lambda a, b: b in a,
    }
    if op in simple:
        return simple[op](*v)
    return {"min": min, "max": max, "and": all, "or": any}[op](v)


def nodes(tree: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield tree
    for arg in tree.get("args", ()):
        yield from nodes(arg)


_STEP = re.compile(r"\['([^']+)'\]|\[(\d+)\]|\.?([A-Za-z0-9_-]+)")
_SUFFIX = {"": 0, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "u": -6, "n": -9, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def look_up(obj: Any, path: str) -> Any:
    """Return the field at a path. Raise LookupError if it is missing."""
    for quoted, index, plain in _STEP.findall(path):
        obj = obj[int(index)] if index else obj[quoted or plain]
    return obj


def amount(text: Any) -> Decimal:
    """Return the value of a quantity."""
    found = re.fullmatch(r"([+-]?[0-9.]+)(?:[eE]([+-]?\d+)|([A-Za-z]*))", str(text))
    assert found, text
    number = Decimal(found[1])
    if found[2]:
        return number.scaleb(int(found[2]))
    if found[3] in _BINARY:
        return number * (1 << _BINARY[found[3]])
    return number.scaleb(_SUFFIX[found[3] or ""])


def same(shown: Mapping[str, Any], have: Any) -> bool:
    """Tell whether the leaf of a field agrees with the object."""
    value = shown["value"]
    if value == have and type(value) is type(have):
        return True
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    exact = amount(have) * (1000 if shown.get("unit") == "m" else 1)
    return value == math.ceil(exact)


def rounded(tree: Mapping[str, Any]) -> Iterator[str]:
    """A rounding node may differ by less than one unit per field. Otherwise it hides a missing value."""
    for arg in tree["args"]:
        if arg["op"] == "rest" and arg.get("label") == "rounded up together":
            fields = sum(node["op"] == "field" for node in nodes(tree))
            if abs(arg["value"]) > fields:
                yield f"{arg['value']} of {tree['value']} is described as rounding of {fields} fields"


def problems(tree: Mapping[str, Any], objects: Mapping[tuple[str, str, str], Any]) -> Iterator[str]:
    """Yield the problems of a tree. `objects`: (kind, namespace, name) -> the object as it was given."""
    for node in nodes(tree):
        op = node["op"]
        if op not in LEAVES:
            try:
                value = apply(op, [arg["value"] for arg in node["args"]])
            except Exception as problem:
                yield f"{op}: {type(problem).__name__} {problem}"
                continue
            yield from rounded(node)
            if value != node["value"] or isinstance(value, bool) != isinstance(node["value"], bool):
                yield f"{op} of {[arg['value'] for arg in node['args']]} is {value}, not {node['value']}"
        elif "args" in node:
            yield f"a leaf with arguments: {op}"
        elif op == "field":
            source = node["source"]
            key = (source["kind"], source.get("namespace", ""), source["name"])
            try:
                have = look_up(objects[key], source["path"])
            except LookupError:
                yield f"no such field: {key} {source['path']}"
                continue
            if not same(node, have):
                yield f"{key} {source['path']} is {have!r}, shown {node['value']!r}"
        elif op == "argument" and not (node.get("path") and ("profile" in node) == ("plugin" in node)):
            yield "an argument without its place"
        elif op in ("over", "rest") and "count" not in node:
            yield f"{op} without its count"
