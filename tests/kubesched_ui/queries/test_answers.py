"""Why the pods of a run have no node: what is stored at its end, and what is computed when it is opened."""

from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import PodResult, RecordingBlock, Run, WorkloadAnswer
from kubesched_ui.queries import answers
from kubesched_ui.queries.answers import answer_of_pod, answers_of_run
from kubesched_ui.runs import pending_answers
from scheduler_core.stations import snapshots
from tests.kubesched_ui.ingest.test_neighbours import about_pod
from tests.kubesched_ui.pages import get
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db


def owned(name: str, by: str, **spec: Any) -> dict[str, Any]:
    made = pod(name, **spec)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": by, "uid": by, "controller": True}
    made["metadata"] |= {"ownerReferences": [owner], "labels": {"app": by}}
    return made


def mixed(**settings: Any) -> Run:
    """Return a run with three pods of one workload and one other pod without a node."""
    large = [owned(f"cache-{i}", "cache", cpu="9") for i in range(3)]
    return ran(scenario(node("n1"), pod("fits"), pod("ssd", nodeSelector={"disk": "ssd"}), *large), **settings)


def summary(run: Run) -> list[tuple[str, str, int, list[str]]]:
    rows = WorkloadAnswer.objects.filter(run=run).order_by("-number", "pk")
    return [(row.kind, row.name, row.number, row.pods) for row in rows]


ALL = [
    ("StatefulSet", "cache", 3, [f"default/cache-{i}" for i in range(3)]),
    ("Pod", "ssd", 1, ["default/ssd"]),
]


@pytest.mark.parametrize("choices", [{}, {"in_time": True, "until": 30}])
def test_a_run_stores_the_answers_at_its_end(choices: dict[str, Any]) -> None:
    run = mixed(**choices)
    assert summary(run) == ALL
    assert answer_of_pod(run, "default", "fits") is None
    found = answer_of_pod(run, "default", "cache-2")
    assert found is not None
    assert (found["pod"], found["workload"]["pending"]) == ("default/cache-2", 3)
    assert found["message"] == PodResult.objects.get(run=run, name="cache-0").message
    assert found["sentence"] == WorkloadAnswer.objects.get(pod="default/cache-0").sentence


@pytest.mark.parametrize("choices", [{}, {"in_time": True, "until": 30}])
def test_answers_that_are_not_stored_are_computed_and_equal(choices: dict[str, Any]) -> None:
    run = mixed(**choices)
    stored = [(row.pods, row.answer) for row in answers_of_run(run)]
    WorkloadAnswer.objects.all().delete()
    assert answer_of_pod(run, "default", "cache-1") == dict(stored[0][1]) | {"pod": "default/cache-1"}
    assert summary(run) == ALL[:1], "only the pods that are like it"
    assert [(row.pods, row.answer) for row in answers_of_run(run)] == stored


def test_the_most_frequent_answers_are_stored_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_answers, "CYCLES_TIMES_NODES", 1)
    run = mixed()
    assert summary(run) == ALL[:1]
    assert len(answers_of_run(run)) == 2


def test_pods_that_the_run_did_not_try_have_no_answer() -> None:
    run = ran(scenario(node("n1"), pod("a", "9"), pod("b", "9")), pods=["default/a"])
    assert summary(run) == [("Pod", "a", 1, ["default/a"])]


def test_a_run_without_a_recording_is_explained_from_its_cycles() -> None:
    run = mixed()
    before = {row.pod: row.sentence for row in answers_of_run(run)}
    WorkloadAnswer.objects.all().delete()
    RecordingBlock.objects.filter(run=run).delete()
    rows = answers_of_run(run)
    assert sum(row.number for row in rows) == PodResult.objects.filter(run=run).without_node().count() == 4
    assert {row.pod for row in rows} == set(before)
    assert all(row.sentence for row in rows)


def test_the_api_returns_answers(client: Client) -> None:
    run = mixed()
    found = client.get(f"/api/runs/{run.pk}/answers").json()
    assert [one["pods"] for one in found] == [pods for *_, pods in ALL]
    assert found[0]["workload"] == {"kind": "StatefulSet", "namespace": "default", "name": "cache", "pending": 3}
    assert found[0]["node"] is None
    for one in found:
        alone = client.get(f"/api/runs/{run.pk}/pods/{one['pod']}/answer").json()
        assert alone | {"pods": one["pods"]} == one
    assert all(WorkloadAnswer.objects.filter(run=run).values_list("fixed", flat=True))
    placed = client.get(f"/api/runs/{run.pk}/pods/default/fits/answer").json()
    assert (placed["node"], placed["result"]) == ("n1", "scheduled")
    assert client.get(f"/api/runs/{run.pk}/pods/default/none/answer").status_code == 404
    assert client.get("/api/runs/999/answers").status_code == 404


def ladder(client: Client, run: Run, name: str, query: str = "") -> Any:
    response = client.get(f"/api/runs/{run.pk}/pods/default/{name}/ladder{query}")
    assert response.status_code == 200, response.content
    return response.json()


@pytest.mark.parametrize("recorded", [True, False])
def test_the_ladder_has_all_nodes_at_the_end_and_before_a_cycle(client: Client, recorded: bool) -> None:
    nodes = [node(f"n{i}", cpu="4") for i in range(7)] + [node("large", cpu="8"), node("out", unschedulable=True)]
    run = ran(scenario(*nodes, pod("huge", cpu="7"), pod("big", cpu="7")), tie_break="name")
    if not recorded:
        RecordingBlock.objects.all().delete()
    placed = ladder(client, run, "huge")
    assert placed["sentence"].startswith("Placed on large")
    assert [(rung["changes"], rung["nodes"]) for rung in placed["ladder"][:1]] == [(0, ["large"])]
    found = ladder(client, run, "big")["ladder"]
    assert {name for rung in found for name in rung["nodes"]} == {one["metadata"]["name"] for one in nodes}
    assert (found[0]["changes"], found[0]["nodes"][0], found[0]["each"]) == (1, "large", "lacks cpu")
    if recorded:  # else the sizes of the nodes are unknown
        assert found[0]["nodes"] == ["large"]
        assert found[-1]["changes"] is None
        assert found[-1]["each"] == "is smaller than the request of 7 cpu"
    cycle = run.cycles.get(name="big").number
    assert ladder(client, run, "big", f"?cycle={cycle}")["ladder"] == found
    assert client.get(f"/api/runs/{run.pk}/pods/default/big/ladder?cycle=1").status_code == 404
    assert client.get(f"/api/runs/{run.pk}/pods/default/none/ladder").status_code == 404


def test_answers_beyond_the_first_get_their_fixes_when_a_page_is_opened(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "FIXED", 1)
    run = mixed()
    part = get(client, f"/runs/{run.pk}/together/").flat
    assert part.count('class="fix"') == 1
    assert "The page of a pod searches what places it." in part
    assert dict(WorkloadAnswer.objects.filter(run=run).values_list("name", "fixed")) == {"cache": True, "ssd": False}
    assert "data-load" not in get(client, f"/runs/{run.pk}/").flat.partition('id="together"')[2].partition(">")[0]
    assert "disk=ssd" in get(client, f"/runs/{run.pk}/pods/default/ssd/why/").flat.partition("What places it")[2]
    assert WorkloadAnswer.objects.get(run=run, name="ssd").fixed
    assert client.get(f"/api/runs/{run.pk}/pods/default/ssd/answer").json()["fixes"]


def test_alike_pods_that_wait_for_different_things_have_answers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    pods = [owned(f"cache-{i}", "cache", cpu="9") for i in range(5)]
    promises = [about_pod(f"cache-{i}", "Nominated", i, message=f"nodeclaim/nc-{i}") for i in (1, 2, 3)]
    for promise in promises:
        promise["involvedObject"]["uid"] = ""
    run = ran(scenario(node("n1"), *pods, *promises))
    assert [(number, [key[-1] for key in keys]) for _, _, number, keys in summary(run)] == [
        *((2, ["0", "4"]), (1, ["1"]), (1, ["2"]), (1, ["3"]))
    ]
    promised = WorkloadAnswer.objects.get(pod="default/cache-2")
    assert (promised.answer["station"], promised.fixed, promised.cause) == (
        "node-coming",
        True,
        "request-exceeds-nodes",
    )
    assert "nc-2" in promised.sentence
    WorkloadAnswer.objects.all().delete()
    monkeypatch.setattr(snapshots, "MOST_PARTS", 1)
    found = answer_of_pod(run, "default", "cache-3")
    assert found is not None
    assert "nc-3" in found["sentence"]
