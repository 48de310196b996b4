"""Statistics of a column of numbers."""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

import numpy as np
import numpy.typing as npt

_T = TypeVar("_T")

FIGURES = ("mean", "stddev", "min", "max", "jain")


def figures(values: npt.NDArray[np.float64]) -> dict[str, float]:
    """Return mean, population standard deviation, min, max and Jain's index of at least one value."""
    found = (values.mean(), values.std(), values.min(), values.max(), jain_index(values))
    return {name: round(float(figure), 6) for name, figure in zip(FIGURES, found, strict=True)}


def jain_index(values: npt.NDArray[np.float64]) -> float:
    """Return (sum x)² / (n sum x²): 1 if all values are equal (also if all are 0), 1/n if all but one are 0.

    Source: Jain, Chiu, Hawe, "A Quantitative Measure of Fairness and Discrimination for Resource Allocation in Shared
    Computer Systems", DEC-TR-301, 1984.
    """
    squares = float((values * values).sum())
    return float(values.sum()) ** 2 / (len(values) * squares) if squares else 1.0


def most_frequent(ranked: Sequence[tuple[_T, int]], coverage: float) -> list[tuple[_T, int]]:
    """Return the first of these (kind, number of members) until they have at least `coverage` of all members."""
    before = accumulate((count for _, count in ranked), initial=0)
    least = coverage * sum(count for _, count in ranked)
    return [one for one, covered in zip(ranked, before, strict=False) if covered < least]


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Return the first of the ordered values with which `percent` % of all values are reached (nearest rank)."""
    return ordered[max(math.ceil(len(ordered) * percent / 100) - 1, 0)]
