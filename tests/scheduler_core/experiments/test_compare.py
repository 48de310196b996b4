"""Compare: statistics by hand, and answers about small clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell, Done
from scheduler_core.experiments.compare import (
    Compare,
    Variant,
    best_of,
    default_axes,
    differences,
    front_of,
    mean_fullness,
    sentence,
    statistics_of,
    variants_of,
)
from scheduler_core.experiments.placements import PENDING, Placements
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.experiments.questions import answer_of, experiment_of, scenario_of

PACKED = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]}
    ],
}
CONFIGURATIONS = [{"name": "default"}, {"name": "packed", "config": PACKED}]


def row(**metrics: Any) -> dict[str, Any]:
    """Return a variant whose metrics are given as the values of its seeds."""
    return {
        "title": "v",
        "metrics": statistics_of([dict(zip(metrics, of, strict=True)) for of in zip(*metrics.values(), strict=True)]),
    }


def test_mean_and_sample_deviation_over_the_seeds() -> None:
    found = statistics_of([{"pending": 1, "wait:p95": 2.5}, {"pending": 3}, {"pending": 2, "wait:p95": None}])
    assert found == {
        "pending": {"mean": 2, "stddev": 1, "min": 1, "max": 3},
        "wait:p95": {"mean": 2.5, "stddev": 0, "min": 2.5, "max": 2.5},
    }
    orders = [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]
    means = {statistics_of([{"pending": value} for value in order])["pending"]["mean"] for order in orders}
    assert means == {0.2}
    assert mean_fullness([{"cpu": [2, 0]}, {"cpu": [1, 1], "gpu": [0, 4]}]) == {"cpu": [1.5, 0.5], "gpu": [0, 4]}


def test_best_by_direction_and_whether_the_seeds_overlap() -> None:
    rows = [row(pending=[4, 6], placed=[8, 9]), row(pending=[1, 3], placed=[9, 9]), row(pending=[2, 2], placed=[7, 10])]
    assert best_of(rows) == {
        "pending": {"direction": "lower", "variants": [1, 2], "clear": True},  # at most 3, the other at least 4
        "placed": {"direction": "higher", "variants": [1], "clear": False},  # 9, another one has 10
    }
    assert best_of([row(nodes=[5]), row(nodes=[6])]) == {}  # neither is better
    assert best_of([row(pending=[5]), row(pending=[5])]) == {}


def test_a_plugin_that_leaves_no_pod_pending_counts_as_0() -> None:
    scenario = scenario_of(node("a", cpu=2), node("b", cpu=2), *(pod(f"p{i}", requests={"cpu": 2}) for i in range(2)))
    changes = [{"name": "without b", "changes": [{"delete": {"kind": "Node", "name": "b"}}]}, {"name": "unchanged"}]
    found = answer_of("compare", scenario, changes=changes)
    name = "pending_by:NodeResourcesFit"
    assert [row["metrics"][name]["mean"] for row in found["variants"]] == [1, 0]
    assert found["best"][name] == {"direction": "lower", "variants": [1], "clear": True}


def test_axes_are_metrics_that_differ() -> None:
    rows = [row(pending=[0], nodes_used=[4], hole_filling=[2]), row(pending=[0], nodes_used=[3], hole_filling=[1])]
    assert default_axes(rows) == ["hole_filling", "nodes_used"]
    assert front_of(rows, ["hole_filling", "nodes_used"]) == [0, 1]
    assert front_of(rows, ["nodes_used", "pending"]) == [1]
    assert front_of([row(nodes=[1], pending=[1])], ["nodes", "pending"]) == []


def test_titles_name_what_differs() -> None:
    def done(configuration: str, release: str, seed: int) -> Done:
        labels = {"configuration": configuration, "release": release, "changes": "unchanged", "scenario": "cluster"}
        return Done(Cell(question="compare", scenario="cluster", release=release, seed=seed, labels=labels), None)

    same = variants_of([done("default", "1.36", 0), done("default", "1.36", 1)])
    assert [(one.title, one.cells) for one in same] == [("default", [0, 1])]
    mixed = variants_of([done("a", "1.36", 0), done("b", "1.36", 0), done("a", "1.35", 0)])
    assert [one.title for one in mixed] == ["a, 1.36", "b, 1.36", "a, 1.35"]


# Two variants with two seeds each. Pods p0 and p1 are of workload w, p2 of v and p3 of u.
WHERE = np.array(
    [
        [0, 1, 0, PENDING],  # both of w with the first variant, one of them with the second
        [1, 0, PENDING, 0],
        [2, 2, 0, 0],  # another node group
        [0, 1, 1, 0],  # another node of the same group, by luck
    ],
    np.int32,
)
PLACEMENTS = Placements(
    cells=[0, 1, 2, 3],
    pods=["p0", "p1", "p2", "p3"],
    workloads=["w", "v", "u"],
    workload=np.array([0, 0, 1, 2]),
    priority=np.array([0, 0, 7, 0]),
    group=np.array([0, 0, 1]),
    nodes=["a1", "a2", "b1"],
    groups=["a", "b"],
    where=WHERE,
)
VARIANTS = [Variant("one", {}, [0, 1]), Variant("two", {}, [2, 3])]


def test_pods_that_make_the_difference() -> None:
    first, second = differences(PLACEMENTS, VARIANTS)
    assert (first["workload"], first["kind"], first["clear"], first["size"]) == ("w", "placed", True, 1)
    assert first["variants"] == [
        {"placed": [2, 2, 2], "groups": {"a": 2}},
        {"placed": [1, 1, 1], "groups": {"a": 1, "": 1}},
    ]
    assert first["certain"] == 0  # each of the equal pods is placed with some seed
    assert first["shown"][0] == {"pod": "p0", "outcomes": [[["a1", 1], ["a2", 1]], [["a1", 1], ["", 1]]]}
    assert (second["workload"], second["kind"], second["clear"], second["priority"]) == ("v", "groups", True, 7)
    assert second["shown"] == [{"pod": "p2", "outcomes": [[["b1", 2]], [["a1", 2]]]}]
    assert differences(PLACEMENTS, VARIANTS[:1]) == []


def test_a_variant_without_a_result_is_left_out() -> None:
    third = Variant("failed", {}, [4])
    found = differences(PLACEMENTS, [*VARIANTS, third])
    assert [one["variants"][2] for one in found] == [None, None]
    assert found[0]["shown"][0]["outcomes"][2] == []


def test_a_pod_that_one_variant_always_places_and_another_one_never() -> None:
    where = np.array([[0, 0, PENDING, PENDING]], np.int32)
    none = np.zeros(1, np.int64)
    alone = Placements([0, 1, 2, 3], ["p"], ["w"], none, none, none, ["a1"], ["a"], where)
    (found,) = differences(alone, VARIANTS)
    assert found["certain"] == 1


def test_packing_uses_fewer_nodes() -> None:
    objects = [node(f"n{i}", cpu=4) for i in range(3)] + [pod(f"p{i}", requests={"cpu": 1}) for i in range(4)]
    found = answer_of("compare", scenario_of(*objects), configurations=CONFIGURATIONS, seeds=[1, 2])
    assert found["answer"] == (
        "Both configurations leave no pods pending; packed uses the fewest nodes: 1 instead of 3. 1 workload is on "
        "other nodes."
    )
    default, packed = found["variants"]
    assert packed["metrics"]["nodes_used"] == {"mean": 1, "stddev": 0, "min": 1, "max": 1}
    assert packed["fullness"]["cpu"][-1] == 1
    assert packed["fullness"]["cpu"][0] == 2
    assert default["cells"] == [0, 1]
    assert found["best"]["nodes_used"] == {"direction": "lower", "variants": [1], "clear": True}
    assert [one["workload"] for one in found["workloads"]] == ["default/p0 and 3 equal"]


def test_a_large_pod_fits_only_with_packing() -> None:
    objects = [node("n1", cpu=4), node("n2", cpu=4), pod("a", requests={"cpu": 1}), pod("b", requests={"cpu": 1})]
    objects += [pod("big", requests={"cpu": 4})]
    found = answer_of("compare", scenario_of(*objects), configurations=CONFIGURATIONS, seeds=[1, 2, 3])
    assert found["answer"].startswith("packed leaves the fewest pods pending: 0 instead of 1; it uses 2 nodes. ")
    first = found["workloads"][0]
    assert (first["workload"], first["kind"], first["clear"], first["certain"]) == ("default/big", "placed", True, 1)


def test_without_outcomes_only_metrics_are_compared() -> None:
    objects = [node("n1"), pod("p")]
    found = answer_of("compare", scenario_of(*objects), configurations=CONFIGURATIONS, outcomes=False)
    assert found["answer"] == "Both configurations leave no pods pending; they use 1 node."
    assert found["workloads"] == []
    assert not found["outcomes"]


def test_nothing_to_compare_and_no_result() -> None:
    found = answer_of("compare", scenario_of(node("n1"), pod("p")))
    assert found["answer"].endswith("There is nothing to compare.")
    cell = Cell(question="compare", scenario="cluster", release="1.36")
    assert Compare().summarise(experiment_of("compare"), [Done(cell, None, "failed")])["answer"] == "No run succeeded."
    assert sentence({"variants": []}) == "No run succeeded."


def test_too_many_variants_are_refused() -> None:
    changes = [{"name": f"c{i}", "changes": []} for i in range(1001)]
    with pytest.raises(InputError, match="would compare 1,001 variants; at most 1,000 are allowed"):
        Compare().plan(experiment_of("compare", changes=changes), {})
