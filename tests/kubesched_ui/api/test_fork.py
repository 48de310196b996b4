"""Forks over HTTP. A fork starts with the rows of its parent; without changes it equals its parent."""

import random
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import Cycle, PodResult, Run
from kubesched_ui.queries.recording_cache import recording_of
from kubesched_ui.runs import fork_create
from kubesched_ui.runs.tasks import execute_run
from kubesched_ui.scenarios.samples import FOLDER
from scheduler_core.recording.cluster_state import StateAtTimepoint
from tests.examples import selection
from tests.kubesched_ui.api.run_records import assert_alike, cycles_of, events_of, lose_worker
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.http_api import forked, post, ran

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def request_fork(client: Client, run: Run, status: int = 202, **wanted: Any) -> Any:
    return post(client, f"{run.url}/fork", wanted, status)


# A fork within the cycle of a pod group starts at the group: tests/kubesched_ui/runs/test_groups.py.
SAMPLES = sorted(path for path in FOLDER.glob("*.yaml") if path.stem != "20-pod-group")


@pytest.mark.parametrize("path", selection(SAMPLES, 10), ids=lambda path: path.stem)
def test_a_fork_without_changes_equals_its_parent(client: Client, path: Any) -> None:
    run = ran(client, path.read_bytes(), seed=3)
    chance = random.Random(path.stem)
    for at in {chance.randint(1, run.cycles_done + 1), run.cycles_done + 1}:
        fork = forked(client, run, at=at)
        assert_alike(fork, run)
        assert cycles_of(fork, at) == cycles_of(run, at), "byte for byte"
    name = (run.node_names or ["none"])[0]
    at = chance.randint(1, run.cycles_done + 1)
    changed = forked(client, run, at=at, changes=[{"cordon": name}], name="  try it ")
    assert cycles_of(changed, at) == cycles_of(run, at)
    assert (changed.parent, changed.fork_at, changed.name) == (run, at, "try it")
    detail = client.get(changed.url).json()
    assert (detail["parent"], detail["fork_at"], detail["changes"]) == (run.pk, at, [{"cordon": name}])
    recording = recording_of(changed)
    state = StateAtTimepoint(recording, recording.end).as_dict()
    assert next(n for n in state["nodes"] if n["name"] == name)["unschedulable"]
    # a fork of the fork at another cycle includes its changes
    assert_alike(forked(client, changed, at=chance.randint(1, changed.cycles_done + 1)), changed)


@pytest.fixture
def small(client: Client) -> Run:
    pods = [pod(f"p{i}", cpu="1") for i in range(4)]
    return ran(client, as_list(node("n1", cpu="2"), node("n2", cpu="2"), *pods), tie_break="name")


def nodes_of(run: Run) -> list[str]:
    return list(PodResult.objects.filter(run=run).order_by("name").values_list("node", flat=True))


def test_changes_and_settings(client: Client, small: Run) -> None:
    assert nodes_of(small) == ["n1", "n2", "n1", "n2"]
    placed = forked(client, small, at=3, changes=[{"place": {"pod": "default/p2", "node": "n2"}}])
    assert nodes_of(placed) == ["n1", "n2", "n2", "n1"]
    made = forked(client, small, at=5, changes=[{"create": node("n3", cpu="8")}, {"create": pod("more", cpu="4")}])
    assert made.cycles_done == made.cycles_total == 5
    assert nodes_of(made) == ["n3", "n1", "n2", "n1", "n2"]
    end = forked(client, small, at=5, changes=[{"delete": {"kind": "Pod", "namespace": "default", "name": "p0"}}])
    recording = recording_of(end)
    assert StateAtTimepoint(recording, recording.end).as_dict()["nodes"][0]["pods"] == ["default/p2"]
    older = forked(client, small, at=2, settings={"release": "1.27", "seed": 4, "tie_break": "seed", "percentage": 50})
    assert (older.release, older.seed, older.tie_break, older.percentage) == ("1.27", 4, "seed", 50)
    assert older.stages == [
        {
            "at": 2,
            "t": None,
            "changes": [],
            "settings": {"release": "1.27", "seed": 4, "tie_break": "seed", "percentage": 50},
        }
    ]
    assert_alike(forked(client, older, at=4), older)
    assert_alike(forked(client, older, at=1), older)


def test_a_fork_by_time(client: Client) -> None:
    run = ran(client, sorted(FOLDER.glob("13-*.yaml"))[0].read_bytes(), until=60)
    fork = forked(client, run, t=20.5, changes=[{"cordon": run.node_names[0]}], settings={"until": 90})
    (step,) = [e for e in events_of(fork) if e["type"] == "scenario.step" and e["data"]["step"] == 0]
    assert step["t"] == 20.5
    assert [e for e in events_of(fork) if e["seq"] < step["seq"]] == [
        e for e in events_of(run) if e["seq"] < step["seq"]
    ]
    assert (fork.until, fork.clock) == (90, 90)
    assert request_fork(client, run, 400, t=61.0)["error"] == "Fork: t: must be in 0..60, got 61"


def test_a_fork_survives_a_lost_worker(
    client: Client, small: Run, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.RUN_BATCH_CYCLES = 1
    number = request_fork(client, small, at=2, changes=[{"cordon": "n1"}])["id"]
    lose_worker(monkeypatch, number, after=2)
    parent = small.pk
    whole = forked(client, small, at=2, changes=[{"cordon": "n1"}])
    Run.objects.filter(pk=parent).delete()
    execute_run(number)
    fork = Run.objects.get(pk=number)
    assert (fork.state, fork.starts, fork.parent_id) == ("done", 2, None)
    assert_alike(fork, whole)


def test_a_fork_of_a_deleted_parent(client: Client, small: Run) -> None:
    number = request_fork(client, small, at=2)["id"]
    done = forked(client, small, at=2)
    small.delete()
    execute_run(number)
    waiting = Run.objects.get(pk=number)
    assert (waiting.state, "was deleted before the fork started" in waiting.error) == ("failed", True)
    done.refresh_from_db()
    assert (done.parent, done.is_fork) == (None, True)
    assert_alike(forked(client, done, at=3), done)


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({}, "Fork: at: or t is required, but not both"),
        ({"at": 1, "t": 1}, "Fork: at: or t is required, but not both"),
        ({"at": 6}, "Fork: at: must be in 1..5, got 6"),
        ({"t": 1}, "Fork: t: is only for runs in virtual time; use at (a cycle number)"),
        ({"at": 1, "changes": [{"explode": "n1"}]}, "changes[0]"),
        ({"at": 1, "changes": [{}]}, "changes[0]: must have exactly one of"),
        ({"at": 1, "settings": {"release": "0.1"}}, "'0.1' is not available"),
        ({"at": 1, "settings": {"config": "kind: Nonsense"}}, "kind"),
        ({"at": 1, "settings": {"until": 5}}, "Run: until: is only for runs in virtual time"),
    ],
)
def test_invalid_requests_are_rejected(client: Client, small: Run, wanted: Any, problem: str) -> None:
    assert problem in request_fork(client, small, 400, **wanted)["error"]
    assert Run.objects.count() == 1


def test_an_impossible_change_is_rejected(client: Client, small: Run) -> None:
    number = request_fork(client, small, at=3, changes=[{"cordon": "n1"}, {"cordon": "nowhere"}])["id"]
    execute_run(number)
    fork = Run.objects.get(pk=number)
    assert (fork.state, fork.error) == ("failed", "changes[1]: cordon: Node nowhere: does not exist")


def test_limits(client: Client, small: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_create, "MOST_STAGES", 2)
    deep = forked(client, forked(client, small, at=2), at=3)
    assert "at the limit of" in request_fork(client, deep, 400, at=1)["error"]
    monkeypatch.setattr(fork_create, "MOST_FORKS", 1)
    assert "delete some" in request_fork(client, small, 400, at=1)["error"]
    queued = Run.objects.create(scenario=small.scenario)
    assert "still running" in request_fork(client, queued, 400, at=1)["error"]
    assert request_fork(client, Run(pk=10**9), 404, at=1)["error"].startswith("There is no run")
    assert "at: Input should be" in request_fork(client, small, 422, at=0)["error"]


def test_a_fork_is_compared_with_its_parent(client: Client, small: Run) -> None:
    fork = forked(client, small, at=3, changes=[{"skip": {"pod": None, "plugin": "NodeResourcesFit"}}])
    comparison = client.get("/api/compare", {"a": small.pk, "b": fork.pk}).json()
    assert {"path": "changes[0].skip", "a": None, "b": {"pod": None, "plugin": "NodeResourcesFit"}} in comparison[
        "settings"
    ]
    assert comparison["divergence"] is None or comparison["divergence"]["cycle"] >= 3


def test_added_nodes_have_unique_names(client: Client) -> None:
    run = ran(client, as_list(node("n1", cpu="1"), pod("p0"), *(pod(f"p{i}") for i in (1, 2, 3))))
    fork = forked(client, run, at=2, changes=[{"create": node("a0", cpu="1")}, {"create": node("z9", cpu="1")}])
    before, *after = Cycle.objects.filter(run=fork).order_by("number")
    assert before.nodes == ["n1"]
    assert {name for row in after for name in row.nodes} == {"n1", "a0", "z9"}
    placed = dict(PodResult.objects.filter(run=fork, result="scheduled").values_list("name", "node"))
    assert set(placed.values()) == {"n1", "a0", "z9"}
    again = forked(client, fork, at=4, changes=[{"create": node("last", cpu="1")}])
    rows = list(Cycle.objects.filter(run=again).order_by("number"))
    assert [len(row.nodes) for row in rows] == [1, 3, 3, 4]
    assert PodResult.objects.get(run=again, name="p3").node == "last"
    for one in (fork, again):
        assert client.get(f"/compare/{run.pk}/{one.pk}/").status_code == 200
