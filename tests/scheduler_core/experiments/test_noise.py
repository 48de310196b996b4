"""Noise: counts and entropy by hand, and answers about small clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.errors import InputError
from scheduler_core.experiments import placements
from scheduler_core.experiments.noise import Noise, entropy, pods_by_luck, pods_by_outcomes
from scheduler_core.experiments.placements import PENDING
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.experiments.questions import answer_of, experiment_of, scenario_of

SEEDS = {"count": 20}


def test_entropy_in_bits() -> None:
    assert entropy([8]) == 0
    assert entropy([5, 5]) == 1
    assert entropy([2, 1, 1]) == 1.5
    assert entropy([1, 1, 1, 1, 0]) == 2


def test_pods_by_luck() -> None:
    where = np.array([[0, 0, 0], [0, 1, 1], [0, PENDING, 1], [PENDING] * 3], np.int32)
    assert pods_by_luck(where) == {"fixed": 1, "moving": 1, "unsure": 1, "pending": 1}
    assert pods_by_outcomes(where) == [
        {"outcomes": 1, "always": 1, "unsure": 0, "pending": 1},
        {"outcomes": 2, "always": 1, "unsure": 0, "pending": 0},
        {"outcomes": 3, "always": 0, "unsure": 1, "pending": 0},
    ]
    assert sum(pods_by_luck(where[:0]).values()) == 0
    assert pods_by_outcomes(where[:0]) == []


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5).flatmap(lambda seeds: st.lists(st.lists(st.integers(-1, 3), min_size=seeds, max_size=seeds))))
def test_counts_equal_a_straightforward_version(rows: list[list[int]]) -> None:
    where = np.array(rows, np.int32).reshape(len(rows), -1 if rows else 1)
    found = pods_by_outcomes(where)
    for one in found:
        own = [row for row in rows if len(set(row)) == one["outcomes"]]
        assert one["always"] == sum(min(row) >= 0 for row in own)
        assert one["pending"] == sum(max(row) < 0 for row in own)
        assert one["unsure"] == len(own) - one["always"] - one["pending"]
    assert sum(sum(one.values()) - one["outcomes"] for one in found) == len(rows)


def test_equal_pods_exchange_places() -> None:
    found = answer_of("noise", scenario_of(node("n1"), node("n2"), pod("a"), pod("b")), seeds=SEEDS)
    assert found["answer"] == "The same 2 of 2 pods are placed with each of 20 seeds; 2 of them change their node."
    (variant,) = found["variants"]
    (workload,) = variant["workloads"]
    assert (workload["kind"], workload["placed"], workload["unsure"]) == ("exchanged", [2, 2, 2], 0)
    assert workload["groups"] == {"n1 and 1 equal": [2, 2, 2]}
    assert variant["metrics"]["nodes_used"]["stddev"] == 0
    assert 0 < workload["entropy"] <= 1
    assert sum(seeds for _, seeds in workload["shown"][0]["outcomes"]) == 20


def test_whether_a_pod_is_placed_is_luck() -> None:
    # `small` takes either node; `big` fits only if it took the first one.
    objects = [node("n1", cpu=2), node("n2", cpu=2, labels={"large": "yes"})]
    objects += [pod("small", requests={"cpu": 1}), pod("big", requests={"cpu": 2}, nodeSelector={"large": "yes"})]
    found = answer_of("noise", scenario_of(*objects), seeds=SEEDS)
    assert found["answer"] == (
        "Whether 1 of 2 pods is placed depends on the seed (20 seeds); of the 1 that are always placed, 1 changes its "
        "node. The number of placed pods changes in 1 workload."
    )
    first = found["variants"][0]["workloads"][0]
    assert (first["workload"], first["kind"], first["placed"][::2], first["unsure"]) == (
        "default/big",
        "placed",
        [0, 1],
        1,
    )
    assert 0 < first["shown"][0]["placed"] < 20
    assert {node for node, _ in first["shown"][0]["outcomes"]} == {"", "n2"}


def test_nothing_is_luck() -> None:
    found = answer_of("noise", scenario_of(node("n1"), pod("a"), pod("b")), seeds=SEEDS)
    assert found["answer"] == "Nothing is luck: every pod has the same outcome with 20 seeds."
    assert found["variants"][0]["workloads"] == []
    assert found["variants"][0]["same_workloads"] == 1
    assert "No pod waits" in answer_of("noise", scenario_of(node("n1")), seeds=SEEDS)["answer"]


def test_each_configuration_is_a_variant() -> None:
    configurations = [{"name": "one"}, {"name": "two"}]
    found = answer_of("noise", scenario_of(node("n1"), pod("a")), seeds=[1, 2], configurations=configurations)
    assert [one["title"] for one in found["variants"]] == ["one", "two"]
    assert found["answer"].startswith("one: ")


def test_outcomes_of_too_many_pods_are_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placements, "MAX_STORED_PODS", 1)
    found = answer_of("noise", scenario_of(node("n1"), pod("a"), pod("b")), seeds=[1, 2])
    assert found["answer"] == "The runs have more than 100,000 pods, so only the metrics are compared."
    assert found["variants"][0]["metrics"]["placed"]["mean"] == 2


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"seeds": [1]}, "spec.seeds: must be at least 2 seeds"),
        ({"seeds": {"count": 1001}}, "spec: would have 1,001 cells"),
        ({"seeds": [1, 2], "outcomes": False}, "spec.outcomes: must not be false"),
    ],
)
def test_refused(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Noise().plan(experiment_of("noise", **spec), {})
