"""Differences between cells, counted by hand and against a straightforward version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.experiments.placements import (
    ABSENT,
    EXCHANGED,
    GROUPS,
    NODES,
    PENDING,
    PLACED,
    SAME,
    Placements,
    WorkloadCounts,
)

NODE_NAMES, GROUP_OF = ["a1", "a2", "b1"], [0, 0, 1]  # two node groups


def counts(*cells: Sequence[int]) -> WorkloadCounts:
    """Return the counts of one workload; a list of outcomes per cell."""
    where = np.array(cells, np.int32).T
    pods, none = [f"p{i}" for i in range(len(where))], np.zeros(len(where), np.int64)
    groups = np.array(GROUP_OF, np.int64)
    placements = Placements(list(range(len(cells))), pods, ["w"], none, none, groups, NODE_NAMES, ["a", "b"], where)
    ((number, rows),) = placements.by_workload()
    assert number == 0
    return placements.counts(rows)


def test_counts_of_a_workload() -> None:
    found = counts([0, 0, 2], [PENDING, 1, ABSENT])
    assert found.placed.tolist() == [3, 1]
    assert {name: row.tolist() for name, row in found.by_group.items()} == {
        "absent": [0, 1], "": [0, 1], "a": [2, 1], "b": [1, 0],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([[0, 2, PENDING], [0, 2, PENDING]], SAME),
        ([[0, 2, PENDING], [2, PENDING, 0]], EXCHANGED),  # equal pods, one of which is pending
        ([[0, 2], [1, 2]], NODES),
        ([[0, 2], [0, 1]], GROUPS),
        ([[0, 2], [0, PENDING]], PLACED),
        ([[PENDING], [ABSENT]], GROUPS),
    ],
)
def test_greatest_difference(cells: list[list[int]], kind: str) -> None:
    assert counts(*cells).kind == kind


def test_a_difference_is_clear_if_the_seeds_do_not_explain_it() -> None:
    # Cells 0 and 1 are two seeds of a variant, 2 and 3 of another.
    sets = [[0, 1], [2, 3]]
    assert counts([0, 0], [0, 1], [0, PENDING], [1, PENDING]).kind_between(sets) == (PLACED, True)
    # 1 or 2 pods are placed with either: only the means differ.
    assert counts([0, 0], [0, PENDING], [0, PENDING], [1, PENDING]).kind_between(sets) == (PLACED, False)
    # The number of placed pods differs between seeds alone, the node group between the variants.
    assert counts([0, 0], [0, PENDING], [2, 2], [2, PENDING]).kind_between(sets) == (GROUPS, True)
    assert counts([0, 1], [1, 0], [0, 1], [1, 0]).kind_between(sets) == (SAME, False)


def straightforward(cells: list[list[int]]) -> str:
    """Return the greatest difference between cells, compared pair by pair."""
    found = SAME
    order = [SAME, EXCHANGED, NODES, GROUPS, PLACED]
    for one in cells:
        for other in cells:
            group = lambda code: GROUP_OF[code] if code >= 0 else code  # noqa: E731
            if sum(code >= 0 for code in one) != sum(code >= 0 for code in other):
                kind = PLACED
            elif Counter(map(group, one)) != Counter(map(group, other)):
                kind = GROUPS
            elif Counter(one) != Counter(other):
                kind = NODES
            else:
                kind = SAME if one == other else EXCHANGED
            found = max(found, kind, key=order.index)
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda pods: st.lists(st.lists(st.integers(-2, 2), min_size=pods, max_size=pods), min_size=1, max_size=4)
    )
)
def test_kind_equals_a_straightforward_version(cells: list[list[int]]) -> None:
    assert counts(*cells).kind == straightforward(cells)
