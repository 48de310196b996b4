"""The scenarios in docs/examples/time show what their descriptions promise."""

from itertools import pairwise
from pathlib import Path

import pytest

from scheduler_core.virtual_time.engine import Record
from scheduler_core.virtual_time.scenario import load_scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun

FOLDER = Path(__file__).parents[3] / "docs" / "examples" / "time"


def play(name: str, kubernetes: str = "1.34") -> list[Record]:
    source = (FOLDER / f"{name}.yaml").read_text()
    scenario = load_scenario(source)
    scenario.spec.kubernetes = kubernetes
    records = list(ScenarioRun(scenario, source).run())
    assert not [record.data["message"] for record in records if record.kind == "warning"]
    return records


def of(records: list[Record], kind: str, pod: str) -> list[Record]:
    return [record for record in records if record.kind == kind and record.data["pod"] == f"default/{pod}"]


def moves(records: list[Record], pod: str) -> list[tuple[float, str]]:
    return [(r.time, r.data["event"]) for r in of(records, "queue.moved", pod) if r.data["to"] in ("active", "backoff")]


def test_every_example_has_a_test() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {
        "backoff",
        "gang",
        "hints",
        "preemption",
        "queue",
        "taints",
    }


def test_backoff() -> None:
    records = play("backoff")
    tries = [record.time for record in of(records, "attempt", "unlucky")]
    assert [later - earlier for earlier, later in pairwise(tries)] == [2, 3, 5, 9, 11, 11]
    assert of(records, "pod.bound", "unlucky")


@pytest.mark.parametrize(
    ("release", "cpu", "ssd"),
    [
        ("1.34", [(30, "AssignedPodDelete")], [(20, "NodeUpdateNodeLabel")]),
        ("1.27", [(30, "AssignedPodDelete")], [(20, "NodeLabelChange")]),
    ],
)
def test_hints(release: str, cpu: list[tuple[float, str]], ssd: list[tuple[float, str]]) -> None:
    records = play("hints", release)
    assert moves(records, "cpu")[1:] == cpu
    assert moves(records, "ssd")[1:] == ssd


def test_preemption() -> None:
    records = play("preemption")
    assert [record.time for record in of(records, "pod.evicted", "worker")] == [10]
    assert [record.time for record in of(records, "pod.deleted", "worker")] == [50]
    assert "terminating pod on the nominated node" in of(records, "attempt", "boss")[1].data["message"]
    assert [record.time for record in of(records, "pod.bound", "king")] == [50]
    assert not of(records, "pod.bound", "boss")


def test_taints() -> None:
    records = play("taints")
    evicted = {record.data["pod"].split("-")[0]: record.time for record in records if record.kind == "pod.evicted"}
    assert evicted == {"default/impatient": 90, "default/site": 360}
    assert {r.data["node"] for r in records if r.kind == "pod.bound" and r.time > 100} == {"n2"}


def test_gang() -> None:
    records = play("gang")
    bound = [record.time for record in records if record.kind == "pod.bound" and "training" in record.data["pod"]]
    assert bound == [100, 100, 100]
    assert [record.time for record in of(records, "pod.bound", "other-0")] == [30]


def test_queue() -> None:
    records = play("queue")
    parts = {record.data["to"] for record in records if record.kind == "queue.moved"}
    assert parts >= {"active", "backoff", "unschedulable", "gated", "popped"}
    assert of(records, "pod.bound", "gated")[0].time >= 180
