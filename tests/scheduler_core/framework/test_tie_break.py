"""Ties are recorded and broken by seed or by name, reproducibly."""

from collections import Counter

import numpy as np
import pytest

from scheduler_core.framework.tie_break import Picker, place_of
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import node, pod

NAMES = ["c", "a", "d", "b"]


def test_without_a_seed_the_first_name_is_selected() -> None:
    assert Picker(None).pick(NAMES) == "a"
    assert Picker(None).offset(7) == 0


def test_a_seed_is_reproducible_and_selects_every_name() -> None:
    def picks(seed: int) -> list[str]:
        picker = Picker(seed)
        return [picker.pick(NAMES) for _ in range(200)]

    assert picks(7) == picks(7)
    assert picks(7) != picks(8)
    counts = Counter(picks(7))
    assert set(counts) == set(NAMES)
    assert min(counts.values()) > 25, "no name is preferred"


def test_offsets_stay_in_the_ring() -> None:
    picker = Picker(3)
    assert {picker.offset(3) for _ in range(100)} == {0, 1, 2}


@pytest.mark.parametrize("size", [1, 1024, 1025, 5000])
def test_a_place_has_so_many_true_values_before_it(size: int) -> None:
    tied = np.random.default_rng(size).random(size) < 0.3
    tied[-1] = True
    places = tied.nonzero()[0].tolist()
    assert [place_of(tied, number) for number in range(len(places))] == places


def nodes_of(seed: int, **options: str) -> list[str]:
    objects = [*(node(name) for name in NAMES), *(pod(f"p{i}") for i in range(12))]
    return [trace.node for trace in Simulation(objects, seed=seed, **options).run()]  # type: ignore[arg-type]


def test_runs_of_one_seed_are_equal_and_independent_of_names() -> None:
    assert len({tuple(nodes_of(seed)) for seed in [*range(5), *range(5)]}) == 5
    assert nodes_of(1, tie_break="name") == nodes_of(2, tie_break="name")


def test_ties_are_recorded_with_the_selection() -> None:
    for trace in Simulation([*(node(name) for name in NAMES), pod("p")], seed=5).run():
        golden = trace.golden(sorted(NAMES))
        assert sorted(golden["best"]) == sorted(NAMES)
        assert golden["selected"] in golden["best"]
    uneven = [node("a", cpu="2"), node("b", cpu="16"), pod("p", requests={"cpu": "1", "memory": "2Gi"})]
    simulation = Simulation(uneven, seed=5)
    (trace,) = simulation.run()
    assert len(trace.golden(simulation.nodes)["best"]) == 1
