"""Quantities: a table of results of Go, and properties with exact fractions."""

import contextlib
from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scheduler_core.api.quantity import (
    MAX_INT64,
    QuantityError,
    from_nano,
    milli_value,
    nano_value,
    sum_value,
    value,
)

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
FACTOR = {**{s: Fraction(10) ** e for s, e in DECIMAL.items()}, **{s: Fraction(2) ** e for s, e in BINARY.items()}}


def exact(text: str) -> Fraction:
    """Return the value of a quantity that ends in a suffix or a decimal exponent."""
    suffix = next((s for s in BINARY if text.endswith(s)), text[-1:] if text[-1:] in DECIMAL else "")
    number = text.removesuffix(suffix)
    return Fraction(number.removesuffix(".") if "." in number[-1:] else number) * FACTOR[suffix]


def away_from_zero(amount: Fraction) -> int:
    return ceil(amount) if amount >= 0 else floor(amount)


def low(number: int) -> int:
    """Return the low 64 bits as an int64."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


# The texts of upstream's TestQuantityParse, and others
PARSED = [
    *("1", "1Ki", "8Ki", "7Mi", "6Gi", "5Ti", "4Pi", "3Ei", "100Ti", "5n", "4u", "3m", "8k", "7M", "6G", "5T"),
    *("2P", "1E", "12E", "1E-3", "1e3", "1E18", "1.3E+6", "0.5e-2"),
    *("100.035k", "0.0005k", "0.05000", "6.987654321G", "1.01E", "100.035Ki", "0.5Mi", "0.05Gi", "0.025Ti"),
    *(".001", ".0001k", "1.", "1.G", "+1", "-1.5", "00012"),
    *("3.001n", "1.1E-9", "0.0000000001", "0.9n", "0.00000012345", "0.00000012354", "0.000000000001Ki"),
    *("-0.1n", "1e-100"),
]


@pytest.mark.parametrize("text", [*PARSED, *(f"0{suffix}" for suffix in FACTOR)])
def test_less_than_a_billionth_is_rounded_away_from_zero(text: str) -> None:
    assert nano_value(text) == away_from_zero(exact(text) * 10**9)


@pytest.mark.parametrize("text", ["9Ei", "9223372036854775807", "8Ei", "9223372036854775807Ki"])
def test_quantities_in_powers_of_two_are_limited_to_int64(text: str) -> None:
    assert (nano_value(text), nano_value(f"-{text}")) == (MAX_INT64 * 10**9, -MAX_INT64 * 10**9)


# ParseQuantity, Value and MilliValue (quantity.go, amount.go, math.go of apimachinery), by hand. MilliValue of 1E is
# the result of a run with 1.36.2.
BEYOND = [
    ("1E", 10**18, 0),
    ("10E", 0, 0),
    ("9E", 9 * 10**18, 0),
    ("100P", 10**17, 0),
    ("9P", 9 * 10**15, 9 * 10**18),
    ("10000T", 10**16, 0),
    ("7Ei", 7 << 60, low(7000 << 60)),  # multiplied at once by 1000
    ("16Pi", 16 << 50, low(16000 << 50)),
    ("99999999999999999", 99999999999999999, low(99999999999999999 * 1000)),
    ("10000000000000M", low(10**19), low(10**22)),  # 10^6 and 10^9
    ("9223372036854775808", -(1 << 63), low(1000 << 63)),  # a decimal keeps its low 64 bits
    ("100000000000000000000", low(10**20), low(10**23)),
    ("1e30", 0, 0),
    ("9Ei", MAX_INT64, -1000),
]


@pytest.mark.parametrize(("text", "whole", "milli"), BEYOND)
def test_beyond_int64(text: str, whole: int, milli: int) -> None:
    assert (value(text), milli_value(text)) == (whole, milli)
    assert (sum_value([text], 0), sum_value(["0", text], -3)) == (whole, milli)


@pytest.mark.parametrize(
    ("texts", "milli"),
    [
        (["1E", "1E"], 0),
        (["1E", "100m"], low(10**21 + 100)),  # the sum is a decimal
        (["5Ei", "5Ei"], low(10_000 << 60)),
        (["100m", "1"], 1100),
        ([], 0),
    ],
)
def test_sums_beyond_int64(texts: list[str], milli: int) -> None:
    assert sum_value(texts, -3) == milli


def test_billionths_are_converted_as_their_shortest_text() -> None:
    for text in ("1E", "12E", "-12E", "9223372036854775807", "1e40", "123456789012345678901e20", "0"):
        assert from_nano(nano_value(text), -3) == milli_value(text), text
    assert from_nano(10**300 + 1, 0) == from_nano(10**300 + 1 + (10**9 << 64), 0)  # of any length


@pytest.mark.parametrize(
    ("text", "whole", "milli"),
    [
        ("1", 1, 1000),
        ("100m", 1, 100),
        ("1.5", 2, 1500),
        ("0.5", 1, 500),
        ("-0.5", -1, -500),
        ("-1.5", -2, -1500),
        ("1n", 1, 1),
        ("1500u", 1, 2),
        ("0.0000000001", 1, 1),
        ("1Gi", 1 << 30, 1000 << 30),
        ("0.5Ki", 512, 512_000),
        ("1e3", 1000, 1_000_000),
        ("9Ei", MAX_INT64, -1000),  # beyond int64 the low 64 bits are left
        ("10000.0000Ti", 10_000 << 40, (10_000_000 << 40) - (1 << 64)),
        ("12E", 0, None),  # an int64 with a scale that no longer fits an int64 reads as 0
        ("0", 0, 0),
        ("-0", 0, 0),
        (3, 3, 3000),
        (0.25, 1, 250),
        (1e3, 1000, 1_000_000),
        (-2, -2, -2000),
    ],
)
def test_units_round_away_from_zero(text: str | float, whole: int, milli: int | None) -> None:
    assert value(text) == whole
    if milli is not None:
        assert milli_value(text) == milli


REFUSED = [
    *("1_000", "_1", "1,5", "1K", "1ki", "1KI", "1gi", "1mi", "1i", ".5i", "1.1.M", "1+1.0M", "0.1mi", "0.1am"),
    *("aoeu", "-3.01i", "1e", "1E+", "1e1.5", "1e3Ki", "1EiE", "1Kim", "1mm"),
    *("--1", "+-1", "0x10", "NaN", "nan", "inf", "-Infinity", "\u0661", "1²", "½", "1\0", "1e9999999999"),
]


@pytest.mark.parametrize("text", [*REFUSED, "", " ", " 1", "1 ", "1 Gi", "1\n", "\t1", "- 1", "1" * 300])
def test_quantities_that_go_rejects_are_rejected(text: str) -> None:
    for read in (value, milli_value, nano_value):
        with pytest.raises(QuantityError):
            read(text)


@pytest.mark.parametrize("number", [True, False, float("nan"), float("inf"), float("-inf")])
def test_text_that_is_no_number_is_rejected(number: float) -> None:
    with pytest.raises(QuantityError):
        value(number)


digits = st.text("0123456789", min_size=1, max_size=12)
numbers = st.builds(
    lambda sign, whole, fraction, suffix: (f"{sign}{whole}{fraction}{suffix}", suffix),
    st.sampled_from(["", "-", "+"]),
    digits,
    st.one_of(st.just(""), st.just("."), digits.map(lambda d: f".{d}")),
    st.sampled_from(sorted(FACTOR)),
)


@given(numbers)
def test_any_quantity_is_rounded_up_from_its_exact_value(given_: tuple[str, str]) -> None:
    text, suffix = given_
    amount = Fraction(text.removesuffix(suffix).removesuffix(".")) * FACTOR[suffix]
    assume(abs(amount) * 1000 <= MAX_INT64)
    nano = away_from_zero(amount * 10**9)
    assert nano_value(text) == nano
    # values below a billionth are rounded first, then to the unit
    assert milli_value(text) == away_from_zero(Fraction(nano, 10**6))
    assert value(text) == away_from_zero(Fraction(nano, 10**9))


@given(numbers)
def test_units_never_leave_int64(given_: tuple[str, str]) -> None:
    text, _ = given_
    for read in (value, milli_value):
        assert -MAX_INT64 - 1 <= read(text) <= MAX_INT64


@given(numbers, st.integers(0, 6))
def test_equal_quantities_in_other_formats(given_: tuple[str, str], zeros: int) -> None:
    text, suffix = given_
    sign, rest = (text[0], text[1:]) if text[0] in "+-" else ("", text)
    number = rest.removesuffix(suffix)
    other = f"{sign}{'0' * zeros}{number}{'0' * zeros if '.' in number else ''}{suffix}"
    assume(len(number) + zeros < 16)  # beyond it Go may represent the two differently
    assert nano_value(other) == nano_value(text)
    if suffix in DECIMAL:
        assert nano_value(f"{sign}{number}e{DECIMAL[suffix]}") == nano_value(text)
    if not sign and "." not in rest:
        assert nano_value(f"-{text}") == -nano_value(text)


@given(st.text(max_size=20))
def test_any_text_is_a_quantity_or_rejected(text: str) -> None:
    with contextlib.suppress(QuantityError):
        assert isinstance(value(text), int)
