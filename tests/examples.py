"""Number of generated examples or seeds that a test tries, by test profile."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeVar

import pytest
from hypothesis import settings

Item = TypeVar("Item")

# The share of the examples that each profile tries: `make check` and `make test`, `make long`, and
# `--hypothesis-profile=exhaustive`, for some tests at a time.
SHARES = {"short": Fraction(1, 10), "long": Fraction(1), "exhaustive": Fraction(25)}


def examples(count: int, profile: str = "") -> int:
    """Return how many of `count` examples a profile tries. The default is the current profile."""
    return max(1, int(count * SHARES[profile or settings.get_current_profile_name()]))


def at_least(count: int) -> int:
    """Return `count`, or for the profile `exhaustive` 25 times as many."""
    return max(count, examples(count))


def sample(items: Sequence[Item], count: int) -> list[Item]:
    """Return `examples(count)` of the items, evenly spaced."""
    number = min(len(items), examples(count))
    return [items[i * len(items) // number] for i in range(number)]


def selection(values: Sequence[Any], every: int) -> list[Any]:
    """Return the parameters of a test. `make test` runs each `every`-th of them; `make long` runs the others."""
    return [value if n % every == 0 else _long(value) for n, value in enumerate(values)]


def _long(value: Any) -> Any:
    if isinstance(value, type(pytest.param())):
        return pytest.param(*value.values, id=value.id, marks=[*value.marks, pytest.mark.long])
    return pytest.param(value, marks=pytest.mark.long)
