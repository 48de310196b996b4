"""Plugins that score by measured load: explanations, arguments, and nodes without measurements."""

import math
from typing import Any

import msgspec
import pytest

from scheduler_core.errors import InputError
from scheduler_core.plugins.contrib.low_risk_over_commitment import distribution
from scheduler_core.plugins.contrib.trimaran import set_load
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import Raw, node, pod

ARGS: dict[str, Raw] = {
    "LoadVariationRiskBalancing": {},
    "LowRiskOverCommitment": {},
    "Peaks": {"WatcherAddress": "http://watcher", "NodePowerModel": {"n1": {"k0": 1, "k1": 2, "k2": 0.01}}},
    "TargetLoadPacking": {},
}


def measured(**loads: float) -> Raw:
    metrics = {name: {"metrics": [{"type": "CPU", "operator": "AVG", "value": value}]} for name, value in loads.items()}
    return {"window": {"end": 1}, "data": {"NodeMetricsMap": metrics}}


def simulated(name: str, load: Raw, **args: Any) -> Simulation:
    config = {
        "profiles": [
            {
                "plugins": {"score": {"enabled": [{"name": name}], "disabled": [{"name": "*"}]}},
                "pluginConfig": [{"name": name, "args": ARGS[name] | args}],
            }
        ]
    }
    nodes = [node("n1"), node("n2")]
    for one in nodes:
        one["status"]["capacity"] = one["status"]["allocatable"]
    simulation = Simulation([*nodes, pod("p", requests={"cpu": "1"})], config=config, tie_break="name")
    set_load(simulation.cluster, load)
    return simulation


@pytest.mark.parametrize("name", ARGS)
def test_nodes_without_measurements_score_0(name: str) -> None:
    (trace,) = simulated(name, {}).run()
    assert trace.scores[name].raw.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("name", "scores"),
    [
        ("LoadVariationRiskBalancing", [75, 0]),
        ("LowRiskOverCommitment", [100, 0]),
        ("TargetLoadPacking", [25, 0]),
    ],
)
def test_scores_of_a_measured_node(name: str, scores: list[int]) -> None:
    (trace,) = simulated(name, measured(n1=25.0)).run()
    assert trace.scores[name].raw.tolist() == scores


def test_the_power_of_a_node_rises() -> None:
    (trace,) = simulated("Peaks", measured(n1=25.0)).run()
    rise = 2 * (math.exp(0.5) - math.exp(0.25)) * 1e15
    assert trace.scores["Peaks"].raw.tolist() == [pytest.approx(rise, rel=1e-12), 0]
    assert trace.scores["Peaks"].normalized.tolist() == [0, 100]


@pytest.mark.parametrize(
    ("name", "args", "field"),
    [
        ("TargetLoadPacking", {"metricProvider": {"type": "Other"}}, "metricProvider.type"),
        ("TargetLoadPacking", {"defaultRequestsMultiplier": "x"}, "defaultRequestsMultiplier"),
        ("Peaks", {"watcherAddress": "http://watcher"}, "watcherAddress"),
        ("Peaks", {"NodePowerModel": {}}, "NodePowerModel"),
    ],
)
def test_invalid_arguments_are_refused(name: str, args: Raw, field: str) -> None:
    with pytest.raises(InputError) as error:
        simulated(name, {}, **args)
    assert field in str(error.value)


def test_an_invalid_document_of_a_watcher_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        simulated("TargetLoadPacking", {"data": {"NodeMetricsMap": {"n1": {"metrics": "none"}}}})


@pytest.mark.parametrize(
    ("alpha", "beta", "x", "expected"),
    [
        (1.0, 1.0, 0.3, 0.3),
        (2.0, 2.0, 0.5, 0.5),
        (2.0, 1.0, 0.5, 0.25),
        (0.5, 0.5, 0.25, 1 / 3),
        (3.0, 2.0, 0.8, 0.8192),
    ],
)
def test_the_beta_distribution(alpha: float, beta: float, x: float, expected: float) -> None:
    assert distribution(alpha, beta, x) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("multiplier", ["NaN", "1e400", "-inf", "9" * 400])
def test_a_multiplier_that_is_no_usable_number_is_refused(multiplier: str) -> None:
    with pytest.raises(InputError, match="defaultRequestsMultiplier"):
        simulated("TargetLoadPacking", {}, defaultRequestsMultiplier=multiplier)
