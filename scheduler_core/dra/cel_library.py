"""Kubernetes extensions of CEL for device selectors: quantities and versions.

Quantities and versions are opaque to an expression. The CEL binding has no opaque values, so they are maps with one
hidden key; only equality and these functions are useful on them. Source: k8s.io/apiserver/pkg/cel/library (quantity.go,
semverlib.go).
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from scheduler_core.api import quantity

QUANTITY, VERSION = "<quantity>", "<version>"
NANO = 10**9
_NO_OVERLOAD = "no such overload"
_SEMVER = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)
_MAX_UINT64 = (1 << 64) - 1


def make_quantity(text: str | int | float) -> dict[str, str]:
    """Return a quantity with its exact amount in billionths. Raises ValueError."""
    return {QUANTITY: str(quantity.nano_value(text))}


def make_version(text: str, normalize: bool = False) -> dict[str, str]:
    """Return a semantic version; comparisons ignore its build metadata. Raises ValueError."""
    if normalize:
        text = _normalized(text)
    match = _SEMVER.fullmatch(text)
    if match is None:
        raise ValueError(f"parse semantic version: {text[:64]!r} is none")
    if any(int(part) > _MAX_UINT64 for part in match.group(1, 2, 3)):
        raise ValueError("parse semantic version: a number is out of range")
    for part in (match[4] or "").split("."):
        if part.isdigit() and len(part) > 1 and part[0] == "0":
            raise ValueError(f"parse semantic version: leading zero in {part[:64]!r}")
    return {VERSION: text}


def _normalized(text: str) -> str:
    """Return `1.2.0` for `v1.2`: remove a leading v and leading zeros, and add missing parts."""
    text = text.removeprefix("v")
    split = re.search(r"[-+]", text)
    core, rest = (text[: split.start()], text[split.start() :]) if split else (text, "")
    parts = [part.lstrip("0") or "0" if part else part for part in core.split(".", 2)]
    if len(parts) < 3 and rest:
        raise ValueError("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (3 - len(parts))) + rest


def _nano(value: Any) -> int:
    if not isinstance(value, dict) or QUANTITY not in value:
        raise ValueError(_NO_OVERLOAD)
    return int(value[QUANTITY])


def version_key(value: Any) -> tuple[Any, ...]:
    """Return the sort key of a version."""
    if not isinstance(value, dict) or VERSION not in value:
        raise ValueError(_NO_OVERLOAD)
    match = _SEMVER.fullmatch(value[VERSION])
    if match is None:
        raise ValueError(_NO_OVERLOAD)
    numbers = tuple(int(part) for part in match.group(1, 2, 3))
    if match[4] is None:
        return (*numbers, 1)  # a release sorts after its pre-releases
    parts = ((0, int(part), "") if part.isdigit() else (1, 0, part) for part in match[4].split("."))
    return (*numbers, 0, tuple(parts))


def _compare(a: Any, b: Any) -> int:
    if isinstance(a, dict) and QUANTITY in a:
        left, right = (_nano(a),), (_nano(b),)
    else:
        left, right = version_key(a), version_key(b)
    return (left > right) - (left < right)


def _possible(make: Callable[..., Any], *arguments: Any) -> bool:
    try:
        make(*arguments)
    except ValueError:
        return False
    return True


def _plus(a: Any, b: Any, sign: int) -> dict[str, str]:
    other = b * NANO if isinstance(b, int) and not isinstance(b, bool) else _nano(b)
    return {QUANTITY: str(_nano(a) + sign * other)}


def _as_integer(value: Any) -> int:
    whole, rest = divmod(_nano(value), NANO)
    if rest or not -(1 << 63) <= whole < 1 << 63:
        raise ValueError("cannot convert value to integer")
    return whole


def _is_integer(value: Any) -> bool:
    return _possible(_as_integer, value)


def _sign(value: Any) -> int:
    nano = _nano(value)
    return (nano > 0) - (nano < 0)


def _part(index: int) -> Callable[[Any], int]:
    return lambda value: int(version_key(value)[index])


def functions() -> list[Any]:
    """Return the function declarations for a CEL environment."""
    from cel_expr_python import cel

    kind, overload = cel.Type, cel.Overload
    text, number, true, opaque = kind.STRING, kind.INT, kind.BOOL, kind.Map(kind.STRING, kind.STRING)

    def declare(name: str, *overloads: tuple[str, Any, list[Any], Any], member: bool = True) -> Any:
        made = [overload(id_, result, takes, member, does) for id_, result, takes, does in overloads]
        return cel.FunctionDecl(name, made)

    return [
        declare("quantity", ("string_to_quantity", opaque, [text], make_quantity), member=False),
        declare("isQuantity", ("is_quantity", true, [text], lambda t: _possible(make_quantity, t)), member=False),
        declare(
            "semver",
            ("string_to_semver", opaque, [text], make_version),
            ("string_bool_to_semver", opaque, [text, true], make_version),
            member=False,
        ),
        declare(
            "isSemver",
            ("is_semver", true, [text], lambda t: _possible(make_version, t)),
            ("is_semver_bool", true, [text, true], lambda t, n: _possible(make_version, t, n)),
            member=False,
        ),
        declare("isGreaterThan", ("k8s_greater", true, [opaque, opaque], lambda a, b: _compare(a, b) > 0)),
        declare("isLessThan", ("k8s_less", true, [opaque, opaque], lambda a, b: _compare(a, b) < 0)),
        declare("compareTo", ("k8s_compare", number, [opaque, opaque], _compare)),
        declare("asInteger", ("quantity_integer", number, [opaque], _as_integer)),
        declare("isInteger", ("quantity_is_integer", true, [opaque], _is_integer)),
        declare("asApproximateFloat", ("quantity_float", kind.DOUBLE, [opaque], lambda q: _nano(q) / NANO)),
        declare("sign", ("quantity_sign", number, [opaque], _sign)),
        *(
            declare(
                name,
                (f"quantity_{name}", opaque, [opaque, opaque], partial(_plus, sign=sign)),
                (f"quantity_{name}_int", opaque, [opaque, number], partial(_plus, sign=sign)),
            )
            for name, sign in (("add", 1), ("sub", -1))
        ),
        declare("major", ("semver_major", number, [opaque], _part(0))),
        declare("minor", ("semver_minor", number, [opaque], _part(1))),
        declare("patch", ("semver_patch", number, [opaque], _part(2))),
    ]
