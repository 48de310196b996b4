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
from tests.scheduler_core.virtual_time_runs import PlayedScenario

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


def used(name: str, cpu: str) -> Raw:
    return {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "NodeMetrics",
        "metadata": {"name": name},
        "timestamp": "2026-02-01T00:00:00Z",
        "window": "15s",
        "usage": {"cpu": cpu, "memory": "1Gi"},
    }


def load(name: str, value: float) -> Raw:
    metrics = [{"type": "CPU", "operator": "AVG", "value": value}]
    kind = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "NodeLoad"}
    return {**kind, "metadata": {"name": name}, "metrics": metrics}


def placed(*objects: Raw) -> list[list[int]]:
    """Return the raw scores of TargetLoadPacking on n1 and n2 for two pods of 1 cpu, one after the other."""
    config = {"profiles": [{"plugins": {"score": {"enabled": [{"name": "TargetLoadPacking"}]}}}]}
    nodes = [node("n1", cpu="10"), node("n2", cpu="10")]
    for one in nodes:
        one["status"]["capacity"] = one["status"]["allocatable"]
    running = pod("running", on="n1", requests={"cpu": "1"})
    pods = [pod(name, requests={"cpu": "1"}, nodeSelector={"kubernetes.io/hostname": "n1"}) for name in "ab"]
    pods[1]["spec"].pop("nodeSelector")
    pods[0]["spec"].pop("nodeSelector")
    pods[0]["spec"]["priority"] = 1
    simulation = Simulation([*nodes, running, *pods, *objects], config=config, tie_break="name")
    return [trace.scores["TargetLoadPacking"].raw.tolist() for trace in simulation.run()]


def test_load_of_objects_is_that_of_the_beginning_of_the_run() -> None:
    first, second = placed(used("n1", "1"), used("n2", "0"))
    assert first == [78, 63]  # 10 % and 0 % measured, and 1.5 cpu of the pod
    assert second == [100, 63]  # a was placed on n1; the pod that ran there before is in the measurement
    assert placed(load("n1", 10.0), load("n2", 0.0)) == [first, second]
    assert placed(load("n1", 10.0), load("n2", 0.0), used("n1", "9"))[0] == first  # the watcher's counts


@pytest.mark.parametrize(
    ("value", "problem"),
    [(-1.0, r"NodeLoad n1: metrics\[0\].value: must be 0 to"), (1e9, r"metrics\[0\].value: must be 0 to")],
)
def test_a_load_that_cannot_be(value: float, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Simulation([load("n1", value)])


def test_pods_that_were_bound_in_the_run_are_not_in_the_measurement() -> None:
    nodes = [node(name, cpu="10") for name in ("n1", "n2")]
    for one in nodes:
        one["status"]["capacity"] = one["status"]["allocatable"]
    enabled = {"enabled": [{"name": "TargetLoadPacking"}], "disabled": [{"name": "*"}]}
    pods = [{"at": at, "create": pod(name, requests={"cpu": "1"})} for at, name in (("1s", "a"), ("200s", "b"))]
    played = PlayedScenario(
        *nodes,
        load("n1", 10.0),
        load("n2", 12.0),
        timeline=pods,
        config={"profiles": [{"plugins": {"score": enabled}}]},
    )
    assert [played.node_of(name) for name in "ab"] == ["n2", "n1"]
