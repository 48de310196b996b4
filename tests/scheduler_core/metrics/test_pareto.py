"""The Pareto front, by hand and against a brute force."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.metrics.pareto import Direction, pareto_front

Point = tuple[float | None, ...]


def test_front_of_pending_pods_and_used_nodes() -> None:
    # (pending pods, nodes in use): b has fewer pending pods than a, c fewer nodes; d is worse than c, e equals b.
    a, b, c, d, e = (4, 10), (0, 12), (4, 8), (5, 9), (0, 12)
    assert pareto_front([a, b, c, d, e], ["lower", "lower"]) == [1, 2, 4]


def test_direction_higher() -> None:
    assert pareto_front([(1, 5), (2, 5), (2, 4)], ["higher", "lower"]) == [2]
    assert pareto_front([(1, 5), (2, 5), (2, 4)], ["higher", "higher"]) == [1]


def test_points_with_missing_values_are_left_out() -> None:
    assert pareto_front([(None, 0), (3, 3), (0, None)], ["lower", "lower"]) == [1]


def test_no_points() -> None:
    assert pareto_front([], ["lower"]) == []
    assert pareto_front([(None,)], ["lower"]) == []


def test_rows_need_a_value_for_each_metric() -> None:
    with pytest.raises(ValueError, match="2 values"):
        pareto_front([(1, 2), (1, 2, 3)], ["lower", "lower"])


def dominates(one: Point, other: Point, directions: list[Direction]) -> bool:
    better = 0
    for a, b, direction in zip(one, other, directions, strict=True):
        assert a is not None
        assert b is not None
        if a != b and (a > b) != (direction == "higher"):
            return False
        better += a != b
    return better > 0


@settings(max_examples=60, deadline=None)
@given(st.data(), st.lists(st.sampled_from(["higher", "lower"]), min_size=1, max_size=4))
def test_front_equals_a_brute_force(data: st.DataObject, directions: list[Direction]) -> None:
    value = st.one_of(st.none(), st.integers(-3, 3), st.floats(-2, 2))
    points: list[Point] = data.draw(st.lists(st.tuples(*[value] * len(directions)), max_size=12))
    known = [point for point in points if None not in point]
    expected = [
        index
        for index, point in enumerate(points)
        if None not in point and not any(dominates(other, point, directions) for other in known)
    ]
    assert pareto_front(points, directions) == expected
