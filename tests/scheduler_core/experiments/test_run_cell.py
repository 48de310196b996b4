"""Runs of cells: metrics and outcomes, in a single pass and in virtual time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scheduler_core.experiments.cell import Cell
from scheduler_core.experiments.outcomes import EVICTED, PodOutcome, pack_outcomes, unpack_outcomes
from scheduler_core.experiments.placements import run_with_kinds
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.metrics.catalog import metric_of
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.preflight import AS_UPSTREAM
from scheduler_core.snapshot.prepare import prepare
from tests.scheduler_core.build import Raw, node, pod, static_pod, workload

RELEASE = "1.34"


def scenario_of(*objects: Raw, **time: Any) -> ScenarioInput:
    encoded = json.dumps(objects)
    return ScenarioInput("cluster", "digest", lambda: json.loads(encoded), time)


def result_of(scenario: ScenarioInput, **fields: Any) -> tuple[dict[str, Any], dict[str, PodOutcome]]:
    cell = Cell(question="compare", scenario="cluster", release=RELEASE, parameters={"outcomes": True}, **fields)
    result = run_with_kinds(cell, scenario, lambda: None)
    assert json.loads(json.dumps(result)) == result
    for name in result["metrics"]:
        metric_of(name)
    return result, unpack_outcomes(result["outcomes"])


def test_placed_pending_and_evicted_pods() -> None:
    scenario = scenario_of(
        node("n1", cpu=2),
        node("n2", cpu=2, unschedulable=True),
        node("n3", cpu="100m"),
        pod("low", on="n1", requests={"cpu": 1}),
        static_pod("mirror", on="n2", requests={"cpu": 1}),
        pod("first", requests={"cpu": 1}, priority=50),
        pod("urgent", requests={"cpu": 1}, priority=40),
        pod("huge", requests={"cpu": 9}),
        pod("gated", schedulingGates=[{"name": "later"}]),
        pod("other", schedulerName="mine"),
    )
    result, outcomes = result_of(scenario)
    metrics = result["metrics"]
    assert outcomes["default/first"] == PodOutcome("n1")
    assert outcomes["default/low"] == PodOutcome("", EVICTED)
    assert outcomes["default/huge"].reason == "NodeResourcesFit: Insufficient cpu"
    assert outcomes["default/gated"].reason.startswith("SchedulingGates: ")
    assert set(outcomes) == {f"default/{name}" for name in ("first", "low", "urgent", "huge", "gated")}
    assert (metrics["placed"], metrics["pending"], metrics["preemptions"], metrics["disturbed"]) == (1, 3, 1, 1)
    assert metrics["nominated"] == 1
    assert metrics["pending_by:NodeResourcesFit"] == 2
    assert metrics["pending_by:SchedulingGates"] == 1
    assert result["bottlenecks"][0] == ["NodeResourcesFit", "Insufficient cpu", 2]
    # the mirror pod belongs to its node: it is not part of the workload
    assert result["unit"] == {"cpu": -(-(1000 * 3 + 9000) // 6)}


def test_drained_pods_are_disturbed_and_deleted_ones_are_not() -> None:
    scenario = scenario_of(node("n1"), node("n2"), pod("a", on="n1"), pod("b", on="n2"), pod("c"))
    changes = [{"drain": "n1"}, {"delete": {"kind": "Pod", "namespace": "default", "name": "b"}}]
    result, outcomes = result_of(scenario, changes=changes)
    assert outcomes == {"default/a": PodOutcome("", EVICTED), "default/c": PodOutcome("n2")}
    assert result["metrics"]["disturbed"] == 1


@pytest.mark.parametrize("seed", [0, 5])
def test_a_cell_decides_as_a_run_does(seed: int) -> None:
    web = workload("Deployment", pod={"containers": [{"name": "c"}]}, replicas=30)
    objects = [*(node(f"n{i}", zone="ab"[i % 2]) for i in range(9)), web, *(pod(f"p{i}") for i in range(30))]
    release = get_release(RELEASE)
    schedulers = {"default-scheduler"}
    prepared = prepare(
        json.loads(json.dumps(objects)), release=release, schedulers=schedulers, choices=AS_UPSTREAM, seed=seed
    )
    expected = {one.pod: one.node for one in Simulation(prepared.objects, release=release, seed=seed).run()}
    scenario = scenario_of(*objects)
    names = scenario.stable_names(Cell(question="compare", scenario="", release=RELEASE, seed=seed))
    _, outcomes = result_of(scenario, seed=seed)
    assert {pod: outcome.node for pod, outcome in outcomes.items()} == {
        names.get(pod, pod): node for pod, node in expected.items()
    }
    assert len(names) == (30 if seed else 0)
    _, first = result_of(scenario)
    assert outcomes.keys() == first.keys()


def test_a_run_in_virtual_time_has_waits_and_attempts() -> None:
    arrivals = [{"name": "a", "every": 10, "count": 3, "duration": 25, "template": {"spec": {"containers": [
        {"name": "c", "resources": {"requests": {"cpu": 1}}}
    ]}}}]  # fmt: skip
    scenario = scenario_of(node("n1", cpu=1), arrivals=arrivals, timeline=[{"at": 200, "cordon": "n1"}])
    result, outcomes = result_of(scenario, virtual_time=True, until=300.0)
    metrics = result["metrics"]
    # a-0 runs from 0 to 25, a-1 (created at 10) from 25 to 50, a-2 (created at 20) from 50 to 75
    assert (metrics["wait:0:p50"], metrics["wait:0:p99"], metrics["wait:p95"]) == (15, 30, 30)
    assert metrics["drain_seconds"] == 50
    assert (metrics["placed"], metrics["pending"]) == (3, 0)
    assert metrics["attempts"] - metrics["wasted_attempts"] == 3
    assert metrics["wasted_attempts"] >= 2
    assert set(outcomes) == {"default/a-0", "default/a-1", "default/a-2"}
    result, outcomes = result_of(scenario, virtual_time=True, until=40.0)
    assert outcomes["default/a-2"].reason == "NodeResourcesFit: Insufficient cpu"
    assert "drain_seconds" not in result["metrics"]
    assert result["metrics"]["pending_by:NodeResourcesFit"] == 1


def test_evictions_in_virtual_time() -> None:
    timeline = [{"at": 50, "taint": {"node": "n1", "key": "k", "effect": "NoExecute"}}]
    scenario = scenario_of(node("n1"), pod("a"), pod("b", on="n1"), timeline=timeline, gracePeriods=False)
    result, outcomes = result_of(scenario, virtual_time=True)
    assert outcomes == {"default/a": PodOutcome("", EVICTED), "default/b": PodOutcome("", EVICTED)}
    assert (result["metrics"]["disturbed"], result["metrics"]["placed"], result["metrics"]["pending"]) == (2, 0, 0)


class Stopped(Exception):
    pass


@pytest.mark.parametrize("virtual_time", [False, True])
def test_a_run_can_be_stopped(virtual_time: bool) -> None:
    def stop() -> None:
        raise Stopped

    cell = Cell(question="compare", scenario="", release=RELEASE, virtual_time=virtual_time)
    with pytest.raises(Stopped):
        run_with_kinds(cell, scenario_of(node("n1"), pod("a")), stop)


def test_outcomes_are_small_and_complete() -> None:
    outcomes = {f"default/web-{i:05d}": PodOutcome(f"node-{i * 7919 % 300:04d}") for i in range(1990)}
    outcomes |= {f"default/db-{i}": PodOutcome("", "NodeResourcesFit: Insufficient cpu") for i in range(10)}
    packed = pack_outcomes(outcomes)
    assert unpack_outcomes(packed) == outcomes
    assert len(packed) < 12_000
    assert unpack_outcomes(pack_outcomes({})) == {}
