"""The scenarios in docs/examples/time show what their descriptions promise."""

from itertools import pairwise
from pathlib import Path

import pytest

from scheduler_core.virtual_time.scenario import load_scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.scheduler_core.virtual_time_runs import PlayedScenario

FOLDER = Path(__file__).parents[3] / "docs" / "examples" / "time"


def play(name: str, kubernetes: str = "1.34") -> PlayedScenario:
    source = (FOLDER / f"{name}.yaml").read_text()
    scenario = load_scenario(source)
    scenario.spec.kubernetes = kubernetes
    played = PlayedScenario(run=ScenarioRun(scenario, source))
    assert not played.records_of("warning")
    return played


def woken(played: PlayedScenario, pod: str) -> list[tuple[float, str]]:
    return [(time, event) for time, to, event in played.moves(pod) if to in ("active", "backoff")][1:]


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
    played = play("backoff")
    tries = played.times("attempt", "unlucky")
    assert [later - earlier for earlier, later in pairwise(tries)] == [2, 3, 5, 9, 11, 11]
    assert played.records_of("pod.bound", "unlucky")


@pytest.mark.parametrize(("release", "label"), [("1.34", "NodeUpdateNodeLabel"), ("1.27", "NodeLabelChange")])
def test_hints(release: str, label: str) -> None:
    played = play("hints", release)
    assert (woken(played, "cpu"), woken(played, "ssd")) == ([(30, "AssignedPodDelete")], [(20, label)])


def test_preemption() -> None:
    played = play("preemption")
    assert (played.times("pod.evicted", "worker"), played.times("pod.deleted", "worker")) == ([10], [50])
    assert "terminating pod on the nominated node" in played.records_of("attempt", "boss")[1].data["message"]
    assert played.times("pod.bound", "king") == [50]
    assert not played.records_of("pod.bound", "boss")


def test_taints() -> None:
    played = play("taints")
    evicted = {record.data["pod"].split("-")[0]: record.time for record in played.records_of("pod.evicted")}
    assert evicted == {"default/impatient": 90, "default/site": 360}
    assert {record.data["node"] for record in played.records_of("pod.bound") if record.time > 100} == {"n2"}


def test_gang() -> None:
    played = play("gang")
    assert [record.time for record in played.records_of("pod.bound") if "training" in record.data["pod"]] == [
        100,
        100,
        100,
    ]
    assert played.times("pod.bound", "other-0") == [30]


def test_queue() -> None:
    played = play("queue")
    parts = {record.data["to"] for record in played.records_of("queue.moved")}
    assert parts >= {"active", "backoff", "unschedulable", "gated", "popped"}
    assert played.times("pod.bound", "gated")[0] >= 180
