"""Scenarios of cells: files, prepared objects, content addresses."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell
from scheduler_core.experiments.scenario_input import CACHED, ScenarioInput
from scheduler_core.snapshot.preflight import Choices
from tests.scheduler_core.build import Raw, node, pod, workload


def snapshot(tmp_path: Path, *objects: Raw) -> ScenarioInput:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "items": objects}))
    return ScenarioInput.from_file(file, "cluster")


def placed(scenario: ScenarioInput, cell: Cell) -> dict[str, str]:
    return {cycle.pod: cycle.placed_on for cycle in scenario.simulation(cell).run()}


CELL = Cell(question="compare", scenario="cluster", release="1.34")


def test_cells_share_the_objects_and_do_not_change_them(tmp_path: Path) -> None:
    scenario = snapshot(tmp_path, node("n1"), node("n2"), *(pod(f"p{i}", requests={"cpu": 1}) for i in range(9)))
    first = placed(scenario, CELL)
    assert sum(map(bool, first.values())) == 8
    assert placed(scenario, CELL) == first
    cordoned = Cell(question="compare", scenario="cluster", release="1.34", changes=[{"cordon": "n1"}])
    assert set(placed(scenario, cordoned).values()) == {"n2", ""}
    assert placed(scenario, CELL) == first


def test_pods_of_workloads_have_the_names_that_a_run_with_the_seed_gives_them(tmp_path: Path) -> None:
    web = workload("Deployment", pod={"containers": [{"name": "c"}]}, replicas=3)
    scenario = snapshot(tmp_path, node("n1"), web)
    names = [scenario.prepared("1.34", seed=seed).made for seed in (0, 7, 7)]
    assert [one.key for one in names[1]] == [one.key for one in names[2]] != [one.key for one in names[0]]
    alone = snapshot(tmp_path, node("n1"), pod("p"))
    assert alone.prepared("1.34", seed=7) is alone.prepared("1.34")


def test_what_was_prepared_is_shared_and_bounded(tmp_path: Path) -> None:
    scenario = snapshot(tmp_path, node("n1"), workload("Deployment", pod={"containers": [{"name": "c"}]}, replicas=2))
    renamed = replace(scenario, key="other")
    assert renamed.workload_of(CELL) is scenario.workload_of(CELL)
    assert set(scenario.workload_of(CELL).values()) == {"Deployment default/web"}
    for seed in range(9):
        scenario.workload_of(Cell(question="compare", scenario="cluster", release="1.34", seed=seed))
    assert len(scenario._prepared) == len(scenario._workloads) == CACHED
    assert len(scenario.workload_of(CELL)) == 2


def test_a_scenario_file_runs_in_virtual_time(tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(
        json.dumps(
            {
                "apiVersion": "kubesched.dev/v1alpha1",
                "kind": "Scenario",
                "spec": {"seed": 3, "until": 50, "objects": [node("n1")], "arrivals": [
                    {"name": "a", "every": 10, "template": {"spec": {"containers": []}}}
                ]},
            }
        )
    )  # fmt: skip
    scenario = ScenarioInput.from_file(file)
    run = scenario.virtual_time_run(Cell(question="compare", scenario="", release="1.34", virtual_time=True, until=25))
    assert [record.time for record in run.run() if record.kind == "pod.bound"] == [0, 10, 20]
    assert run.simulation.release.name == "1.34"
    run = scenario.virtual_time_run(
        Cell(question="compare", scenario="", release="1.34", virtual_time=True, changes=[{"cordon": "n1"}])
    )
    assert [record.kind for record in run.run() if record.kind == "pod.bound"] == []


def test_the_address_depends_on_everything_but_labels(tmp_path: Path) -> None:
    pods = [node("n1"), pod("p")]
    scenario = snapshot(tmp_path, *pods)
    address = scenario.address_of(CELL)
    assert len(address) == 64
    fields = {"question": "noise", "release": "1.33", "configuration": "{}", "seed": 1, "changes": [{"cordon": "n1"}]}
    fields |= {"unknown_plugins": "leave_out", "virtual_time": True, "until": 5.0, "parameters": {"outcomes": True}}
    plain = {"question": "compare", "scenario": "cluster", "release": "1.34"}
    others = [scenario.address_of(Cell(**plain | {name: value})) for name, value in fields.items()]  # type: ignore[arg-type]
    assert len({address, *others}) == len(fields) + 1
    assert set(fields) | {"scenario", "labels"} == set(Cell.__struct_fields__)
    renamed = Cell(question="compare", scenario="other", release="1.34", labels={"seed": "0"})
    assert ScenarioInput("other", scenario.digest, scenario.objects).address_of(renamed) == address
    assert ScenarioInput("", scenario.digest, scenario.objects, choices=Choices("take")).address_of(CELL) != address
    changed = snapshot(tmp_path, node("n1"), pod("q"))
    assert changed.address_of(CELL) != address


def test_a_file_without_nodes_and_pods_is_refused(tmp_path: Path) -> None:
    scenario = snapshot(tmp_path, {"kind": "Namespace", "metadata": {"name": "default"}})
    with pytest.raises(InputError, match="cluster: has neither nodes nor pods"):
        scenario.simulation(CELL)
    with pytest.raises(InputError, match="cannot be read"):
        ScenarioInput.from_file(tmp_path / "missing.json")


def test_a_workload_with_too_many_pods_is_refused(tmp_path: Path) -> None:
    web = workload("Deployment", pod={"containers": [{"name": "c"}]}, replicas=20)
    scenario = snapshot(tmp_path, node("n1"), web)
    scenario.max_pods = 10
    with pytest.raises(InputError, match="would have 20 pods, which is more than 10"):
        scenario.simulation(CELL)


def test_plugins_that_are_not_built_in_are_left_out_on_request(tmp_path: Path) -> None:
    scenario = snapshot(tmp_path, node("n1"), pod("a"))
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config = json.dumps(head | {"profiles": [{"plugins": {"score": {"enabled": [{"name": "Unheard"}]}}}]})
    cell = Cell(question="compare", scenario="s", release="1.34", configuration=config)
    with pytest.raises(InputError, match="Unheard"):
        scenario.simulation(cell)
    left_out = structs.replace(cell, unknown_plugins="leave_out")
    assert placed(scenario, left_out) == {"default/a": "n1"}
