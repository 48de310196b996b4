"""resource.Quantity: quantities such as `100m`, `1.5Gi` or `12e6`, parsed and rounded exactly as in Go.

Source: k8s.io/apimachinery/pkg/api/resource (quantity.go, amount.go). Go stores a quantity as an int64 with a decimal
scale if it fits, otherwise as an arbitrary-precision decimal. They behave differently beyond int64, so both are
implemented.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

MAX_INT64 = (1 << 63) - 1

_SYNTAX = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)
_INT64_DIGITS = 18  # decimal digits that always fit an int64
_AT_ONCE = (1, 2, 3, 6, 9)  # the powers of ten for which Go multiplies once
_MAX_LENGTH = 256  # longer than any realistic quantity; Go has no limit, and its cost grows with the exponent


class QuantityError(ValueError):
    """The text is not a quantity."""


def _suffix(text: str, suffix: str) -> tuple[int, int]:
    """Return (base, exponent) of a suffix. Raises QuantityError if it does not exist."""
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix]
    if suffix in _BINARY:
        return 2, _BINARY[suffix]
    match = _EXPONENT.fullmatch(suffix)
    if match is None or abs(int(match[1][:12])) > 400:
        raise QuantityError(f"unable to parse quantity's suffix: {text!r}")
    return 10, int(match[1])


def _round_up(numerator: int, denominator: int) -> int:
    """Return numerator / denominator rounded away from zero."""
    size = -(-abs(numerator) // denominator)
    return size if numerator >= 0 else -size


@lru_cache(maxsize=65536)
def _parse(text: str) -> tuple[int, int, bool]:
    """Return (value, scale, small): the quantity is value x 10^scale; small means that Go stores it as an int64."""
    match = _SYNTAX.fullmatch(text) if 0 < len(text) <= _MAX_LENGTH else None
    if match is None:
        raise QuantityError(f"quantities must match a number and a known suffix, got {text[:64]!r}")
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    if not whole and not fraction:
        raise QuantityError(f"quantities must match a number and a known suffix, got {text[:64]!r}")
    base, exponent = _suffix(text, suffix)
    whole = whole.lstrip("0")
    digits = int(whole + fraction or "0")
    if base == 10:
        precision = _INT64_DIGITS - len(whole) - len(fraction)
        scale, factor = exponent - len(fraction), 1
    else:
        precision = 15 - len(whole) - exponent * 3 // 10 - 1 if not fraction else -1
        scale, factor = -len(fraction), 1 << exponent
    value = digits * factor
    if precision >= 0 and scale >= -9 and value <= MAX_INT64:
        return (-value if sign == "-" else value), scale, True
    if scale < -9:
        value, scale = _round_up(value, 10 ** (-9 - scale)), -9
    if base == 2 and value * 10 ** max(scale, 0) > MAX_INT64 * 10 ** max(-scale, 0):
        value, scale = MAX_INT64, 0
    return (-value if sign == "-" else value), scale, False


def _scaled(text: str | int | float, scale: int) -> int:
    return _to_int64(*_parse(text if isinstance(text, str) else _text(text)), scale)


def _to_int64(value: int, own: int, small: bool, scale: int) -> int:
    """Return value x 10^own in units of 10^scale, rounded away from zero."""
    shift = own - scale
    result: int = value * 10**shift if shift >= 0 else _round_up(value, 10 ** abs(shift))
    if _fits(result):
        return result
    # In Go a decimal that overflows keeps its low 64 bits. An int64 quantity does so if it is multiplied at once, which
    # positiveScaleInt64 does for some powers; otherwise it becomes 0.
    return 0 if small and shift not in _AT_ONCE else (result + (1 << 63)) % (1 << 64) - (1 << 63)


def _fits(number: int) -> bool:
    return -MAX_INT64 - 1 <= number <= MAX_INT64


def _text(number: int | float) -> str:
    """Return the digits of a JSON number, which Go's UnmarshalJSON parses."""
    if isinstance(number, bool):
        raise QuantityError(f"quantities are strings or numbers, got {number}")
    return str(number)


def value(quantity: str | int | float) -> int:
    """Return the quantity in whole units (such as bytes), rounded away from zero. Raises QuantityError."""
    return _scaled(quantity, 0)


def is_negative(quantity: str | int | float) -> bool:
    """Return whether the quantity is below 0, whatever its value beyond int64 is. Raises QuantityError."""
    return _parse(quantity if isinstance(quantity, str) else _text(quantity))[0] < 0


def milli_value(quantity: str | int | float) -> int:
    """Return the quantity in thousandths (millicores), rounded away from zero. Raises QuantityError."""
    return _scaled(quantity, -3)


def sum_value(quantities: Sequence[str | int | float], scale: int) -> int:
    """Return the sum of quantities in units of 10^scale as Go does, also if it exceeds int64. Raises QuantityError."""
    value, own, small = 0, 0, True
    for quantity in quantities:
        more, its, fits = _parse(quantity if isinstance(quantity, str) else _text(quantity))
        if small and fits and more == 0:
            continue
        if small and fits and value == 0:
            value, own = more, its
            continue
        least = min(own, its)
        parts = value * 10 ** (own - least), more * 10 ** (its - least)
        value, own = sum(parts), least
        small = small and fits and all(map(_fits, (*parts, value)))
    return _to_int64(value, own, small, scale)


@lru_cache(maxsize=65536)
def _nano(text: str) -> int:
    value, own, _ = _parse(text)
    nano: int = value * 10 ** (own + 9)
    return nano


def nano_value(quantity: str | int | float) -> int:
    """Return the exact quantity in billionths, for sums that are rounded at the end. Raises QuantityError."""
    return _nano(quantity if isinstance(quantity, str) else _text(quantity))


def parsed(quantity: str | int | float) -> tuple[int, int, str]:
    """Return (value, scale, format): the quantity is value x 10^scale; the format is Go's name, such as BinarySI.
    Raises QuantityError."""
    text = quantity if isinstance(quantity, str) else _text(quantity)
    number, scale, _ = _parse(text)
    binary = text[-1:] == "i"
    exponent = not binary and _EXPONENT.search(text) is not None
    return number, scale, "BinarySI" if binary else "DecimalExponent" if exponent else "DecimalSI"


def from_nano(nano: int, scale: int) -> int:
    """Return billionths in units of 10^scale as Go converts the shortest text of that quantity."""
    digits = str(nano)
    short = digits.rstrip("0") or "0"
    small = len(short.lstrip("-")) <= _INT64_DIGITS
    return _to_int64(int(short), len(digits) - len(short) - 9, small, scale)


def binary(number: int) -> str:
    """Format a whole quantity as Go does in powers of 1024: with the largest suffix that divides it."""
    exponent = 0
    while number and number % 1024 == 0 and exponent < 60:
        number, exponent = number // 1024, exponent + 10
    return f"{number}{next((suffix for suffix, e in _BINARY.items() if e == exponent), '')}"


def canonical(quantity: str | int | float) -> str:
    """Format a quantity in powers of 1024 as Go does; others stay unchanged."""
    text = quantity if isinstance(quantity, str) else _text(quantity)
    return binary(value(text)) if text.endswith("i") and nano_value(text) % 10**9 == 0 else text
