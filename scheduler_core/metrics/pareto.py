"""The Pareto front: the points that no other point surpasses in every metric."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

Direction = Literal["higher", "lower"]
"""Which values of a metric are better."""


def pareto_front(points: Sequence[Sequence[float | None]], directions: Sequence[Direction]) -> list[int]:
    """Return the positions of the points that no other point dominates, in order.

    A point dominates another one if it is at least as good in every metric and better in one. Equal points do not
    dominate each other, so the front has both. A point with a missing value (None) is neither in the front nor
    dominates. `points`: a row per point, a value per direction. Raises ValueError for a row of another length.
    """
    if any(len(point) != len(directions) for point in points):
        raise ValueError(f"every point needs {len(directions)} values")
    if not directions:
        return []
    known = [index for index, point in enumerate(points) if None not in point]
    signs = np.array([-1.0 if direction == "higher" else 1.0 for direction in directions])
    costs = np.array([points[index] for index in known], np.float64).reshape(-1, len(directions)) * signs
    # In this order a point is dominated only by points before it, and one of those is in the front.
    order = np.lexsort(costs.T[::-1])
    front: list[int] = []
    for row in order.tolist():
        rivals = costs[front]
        if not ((rivals <= costs[row]).all(axis=1) & (rivals < costs[row]).any(axis=1)).any():
            front.append(row)
    return sorted(known[row] for row in front)
