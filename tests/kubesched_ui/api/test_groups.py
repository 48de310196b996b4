"""Pod groups of stored runs: API and pages."""

from typing import Any

import pytest
from django.test import Client
from django.utils.html import strip_tags

from kubesched_ui.models import Run
from kubesched_ui.scenarios.samples import FOLDER
from tests.conformance import golden_cases
from tests.examples import selection
from tests.kubesched_ui.clusters import as_list
from tests.kubesched_ui.http_api import exported, imported, page_text, ran

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

CASES = golden_cases("areas-1.36/gang")[:10]
TRAIN = "Gang team/train: 3 of 4 fit; the fourth, train-3, lacks 2 cpu on every node. It takes 4. None is bound."
QUESTIONS = (
    ("filter", "NodeResourcesFit"),
    ("permit", "GangScheduling"),
    ("preenqueue", "GangScheduling"),
    ("total", ""),
    ("preemption", "DefaultPreemption"),
)


@pytest.fixture
def run(client: Client) -> Run:
    return ran(client, (FOLDER / "20-pod-group.yaml").read_bytes(), tie_break="name")


def test_the_list_has_the_outcome_of_each_group(client: Client, run: Run) -> None:
    answer = client.get(f"/api/runs/{run.pk}/groups").json()
    assert answer["total"] == 4
    found = {group["name"]: group for group in answer["groups"]}
    assert [*found] == ["team/render", "team/train", "team/pair", "team/web"]
    assert found["team/train"]["sentence"] == TRAIN
    assert (found["team/web"]["policy"], found["team/web"]["fit"], found["team/web"]["bound"]) == ("basic", 1, 1)
    page = page_text(client, f"/runs/{run.pk}/")
    assert TRAIN in page
    assert f'<a href="/runs/{run.pk}/groups/team/train/?cycle=4">team/train</a>' in page


def test_a_group_has_its_members(client: Client, run: Run) -> None:
    answer = client.get(f"/api/runs/{run.pk}/groups/team/train").json()
    assert (answer["sentence"], answer["first"], answer["last"], answer["attempt"]) == (TRAIN, 4, 7, 1)
    assert [(one["pod"], one["node"], one["fits"]) for one in answer["members"]] == [
        *(("team/train-0", "n1", True), ("team/train-1", "n2", True), ("team/train-2", "n3", True)),
        ("team/train-3", "", False),
    ]
    assert answer["status"]["reasons"][0].endswith("minCount (4) cannot be satisfied: 3 scheduled, 0 remaining")
    page = page_text(client, f"/runs/{run.pk}/groups/team/train/")
    assert TRAIN in page
    assert f'<a href="/runs/{run.pk}/pods/team/train-3/?cycle=7"> train-3 </a>' in page
    pair = client.get(f"/api/runs/{run.pk}/groups/team/pair").json()
    assert [(one["name"], one["nodes"], one["placed"]) for one in pair["placements"]] == [("a", 2, 2), ("b", 1, 2)]
    assert "Domains tried" in page_text(client, f"/runs/{run.pk}/groups/team/pair/")


def test_the_page_of_a_member_shows_its_group_first(client: Client, run: Run) -> None:
    page = strip_tags(page_text(client, f"/runs/{run.pk}/pods/team/train-3/"))
    answer = page.index("Its gang team/train needs 4 pods at once, and only 1 fits.")
    assert page.index("the fourth, train-3, lacks 2 cpu on every node") < answer < page.index("n1, n2 and n3 lack")
    fits = strip_tags(page_text(client, f"/runs/{run.pk}/pods/team/train-0/"))
    assert "It fits on n1, but its group team/train is not scheduled as a whole, so it stays pending." in fits
    assert "pod group not scheduled" in fits  # at Permit
    why = page_text(client, f"/runs/{run.pk}/pods/team/train-0/why/")
    assert "n1 is feasible for this pod. The pod is pending because of its group, team/train." in why
    assert "schedules the whole group team/train again" in page_text(client, f"/runs/{run.pk}/pods/team/train-3/why/")
    pair = page_text(client, f"/runs/{run.pk}/pods/team/pair-0/", point="filter")
    assert "2 of 3 nodes are outside the topology domain that was evaluated for the pod group." in pair


def test_missing_groups_are_404(client: Client, run: Run) -> None:
    answer = client.get(f"/api/runs/{run.pk}/groups/team/missing")
    assert (answer.status_code, answer.json()["error"]) == (
        404,
        f"Run {run.pk} has no cycle of a pod group team/missing.",
    )
    assert client.get(f"/api/runs/{run.pk}/groups/team/train", {"cycle": 1}).status_code == 404
    page_text(client, f"/runs/{run.pk}/groups/team/missing/", status=404)
    page_text(client, f"/runs/{run.pk}/groups/team/train/", status=404, cycle=99)


def test_a_run_file_keeps_the_groups(client: Client, run: Run) -> None:
    again = imported(client, exported(client, run))
    assert [group.told for group in again.group_cycles.all()] == [group.told for group in run.group_cycles.all()]
    assert again.imported["differs"] == 0


def test_a_waiting_pod_shows_its_group(client: Client) -> None:
    from tests.scheduler_core.build import node
    from tests.scheduler_core.pod_groups.test_groups import group, members

    some = members("g", 3)
    some[2]["spec"]["schedulingGates"] = [{"name": "wait"}]
    gates = {"GenericWorkload": True, "GangScheduling": True}  # 1.37 gates the whole group
    run = ran(client, as_list(node("n1", cpu="8"), group("g", 3), *some), release="1.36", feature_gates=gates)
    page = page_text(client, f"/runs/{run.pk}/pods/default/g-2/")
    assert "both fit. It takes 3; g-2 is gated. None is bound." in page
    assert "SchedulingGates" in page


@pytest.mark.parametrize("case", selection(CASES, 10), ids=lambda case: str(case["name"]))
def test_every_query_about_a_member_is_answered(client: Client, case: dict[str, Any]) -> None:
    settings = {"release": "1.36", "feature_gates": case["feature_gates"], "tie_break": "name"}
    run = ran(client, as_list(*case["objects"]), preemption=case["preempt"], percentage=case["percentage"], **settings)
    for address in (f"/runs/{run.pk}/", f"/runs/{run.pk}/together/", f"/api/runs/{run.pk}/map"):
        page_text(client, address)
    page_text(client, f"/api/runs/{run.pk}/find", where="result == 'unschedulable'")
    for group in run.group_cycles.all():
        page_text(client, f"/runs/{run.pk}/groups/{group.key}/")
        answer = client.get(f"/api/runs/{run.pk}/groups/{group.key}").json()
        assert answer["bound"] == sum(member["result"] == "scheduled" for member in answer["members"])
    for cycle in run.cycles.all():
        pod = f"pods/{cycle.namespace}/{cycle.name}"
        page_text(client, f"/api/runs/{run.pk}/state", cycle=cycle.number)
        for part in ("", "why/", "trials/"):
            page_text(client, f"/runs/{run.pk}/{pod}/{part}")
        for point, plugin in QUESTIONS:
            answer = client.get(f"/api/runs/{run.pk}/{pod}/provenance", {"point": point, "plugin": plugin})
            assert answer.status_code in (200, 400, 404)
            assert answer.status_code == 200 or answer.json()["error"]
