"""What the forms of questions offer to choose, what they cost, and what they say if there is nothing to compute."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.views.experiments.pod_choice import SHOWN
from tests.kubesched_ui.pages import get, source
from tests.kubesched_ui.recordings import node, pod, ran, scenario
from tests.kubesched_ui.views.experiments.finished import finished

pytestmark = pytest.mark.django_db


def options(client: Client, address: str, name: str) -> list[str]:
    """Return the values that a list of a page offers."""
    found = re.search(rf'<select name="{name}".*?</select>', get(client, address).source, re.S)
    return [html.unescape(one) for one in re.findall(r'<option value="([^"]*)"', found[0])] if found else []


def cost_of(client: Client, address: str) -> dict[str, Any]:
    found = re.search(r'data-cost="([^"]*)"', get(client, address).source)
    assert found is not None
    cost: dict[str, Any] = json.loads(html.unescape(found[1]))
    return cost


def test_moves_offers_the_pods_that_the_latest_run_left_pending(client: Client) -> None:
    cluster = scenario(node("n1", cpu="4"), pod("fits"), pod("large", cpu="9"), pod("huge", cpu="99"))
    address = f"/scenarios/{cluster.pk}/experiments/moves/"
    assert options(client, address, "pod") == ["default/fits", "default/large", "default/huge"]
    run = ran(cluster)
    assert options(client, address, "pod") == ["default/large", "default/huge"]
    assert f"run {run.pk}</a>, whose release" in source(client, address)
    assert options(client, f"{address}?pod=other/pod", "pod")[0] == "other/pod", "what is chosen is listed"
    experiment = finished(client, cluster, "moves", pod="default/large", pending="first", most=2, effort=10, run=run.pk)
    assert "default/large" in experiment.sentence


def test_moves_offers_the_groups_of_pending_pods(client: Client) -> None:
    member = pod("a", cpu="9")
    member["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "train"}
    cluster = scenario(node("n1"), member)
    address = f"/scenarios/{cluster.pk}/experiments/moves/"
    assert options(client, address, "pod") == ["default/a", "PodGroup default/train"]
    fields = {"pending": "first", "most": 2, "effort": 10}
    assert "group: default/train" in finished(client, cluster, "moves", pod="PodGroup default/train", **fields).document


@pytest.mark.parametrize(
    ("name", "problem"), [("", "Choose a pending pod."), ("a/b", "a/b is no pending pod of the scenario.")]
)
def test_moves_names_what_is_missing(client: Client, name: str, problem: str) -> None:
    cluster = scenario(node("n1"), pod("a"))
    fields = {"pod": name, "pending": "first", "most": 2, "effort": 10}
    response = client.post(f"/scenarios/{cluster.pk}/experiments/moves/", fields)
    assert response.status_code == 400
    assert problem in response.content.decode()


def test_capacity_offers_workloads_and_pods_and_starts_as_it_is(client: Client) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}}
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}
    web["spec"] = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    cluster = scenario(node("n1"), pod("a"), web)
    address = f"/scenarios/{cluster.pk}/experiments/capacity/"
    offered = options(client, address, "pod_1")
    assert offered == ["Deployment shop/web", "default/a"]
    fields = {"pod_1": offered[0], "pending": "ignore", "limit": 10}
    assert "10 more of" in finished(client, cluster, "capacity", **fields).sentence
    requested = finished(client, cluster, "capacity", **fields | {"cpu": "1"})
    assert "of 1 cpu" in requested.sentence, "requests replace the pod of the list"
    wrong = client.post(address, fields | {"pod_1": "Deployment shop/other"})
    assert wrong.status_code == 400
    assert "The scenario has no Deployment shop/other." in wrong.content.decode()


def test_capacity_without_pods_starts_with_requests(client: Client) -> None:
    text = source(client, f"/scenarios/{scenario(node('n1')).pk}/experiments/capacity/")
    assert 'name="pod_1"' not in text
    assert re.search('<input id="cpu"[^>]*value="1"', text)


def test_a_long_list_is_bounded_and_searched(client: Client) -> None:
    cluster = scenario(node("n1"), *(pod(f"p{number}") for number in range(SHOWN + 5)))
    for question, field in (("capacity", "pod_1"), ("moves", "pod")):
        address = f"/scenarios/{cluster.pk}/experiments/{question}/"
        assert len(options(client, address, field)) == SHOWN
        assert f"{SHOWN} of {SHOWN + 5} are listed" in source(client, address)
        found = options(client, f"{address}?find=p{SHOWN + 4}", field)
        assert found == [f"default/p{SHOWN + 4}"]
        assert options(client, f"{address}?find=nothing%00", field) == []


@pytest.mark.parametrize("question", ["compare", "noise", "tune", "moves"])
def test_nothing_to_compute_is_one_sentence_without_a_form(client: Client, question: str) -> None:
    cluster = scenario(node("n1"), pod("a", nodeName="n1"))
    text = source(client, f"/scenarios/{cluster.pk}/experiments/{question}/")
    assert "All pods of the scenario have their nodes" in text or "no pod has to move" in text
    assert "Start the experiment" not in text


def test_other_questions_without_nodes_or_pods(client: Client) -> None:
    empty = scenario(pod("a"))
    for question in ("capacity", "loss", "packing", "compare"):
        text = source(client, f"/scenarios/{empty.pk}/experiments/{question}/")
        assert "The scenario has no nodes, so no pod can be placed." in text
        assert "Start the experiment" not in text
    packing = source(client, f"/scenarios/{scenario(node('n1')).pk}/experiments/packing/")
    assert "The scenario has no pods, so there is nothing to pack." in packing
    buy = source(client, f"/scenarios/{scenario(node('n1'), pod('a', nodeName='n1')).pk}/experiments/buy/")
    assert "No pod of the scenario is pending" in buy
    assert 'value="all" checked' in buy


def test_each_form_says_what_it_costs(client: Client) -> None:
    nodes = [node(f"n{number}", cpu="4") for number in range(60)]
    cluster = scenario(*nodes, node("large", cpu="8"), pod("a", nodeName="n1"), pod("b"))
    costs = {
        one: cost_of(client, f"/scenarios/{cluster.pk}/experiments/{one}/") for one in ("capacity", "loss", "moves")
    }
    assert costs["capacity"]["whole"][0] == 3, "the cluster and two groups"
    cells = {choice: number for choice, (number, _) in costs["loss"]["choices"].items()}
    assert cells == {
        "node loss": 2,
        "node drain": 2,
        "group loss": 2,
        "group drain": 2,
        "zone loss": 2,
        "zone drain": 1,
    }
    assert costs["moves"]["most"]
    assert all(seconds > 0 for _, seconds in costs["loss"]["choices"].values())
    packing = cost_of(client, f"/scenarios/{cluster.pk}/experiments/packing/")
    assert packing["field"] == "measures"
    assert packing["choices"]["replicas"][1] > 0
    fields = {"configurations": ["default"], "releases": ["1.36"], "measures": ["compaction"], "orders": 1}
    experiment = finished(client, cluster, "packing", **fields)
    known = cost_of(client, f"/scenarios/{cluster.pk}/experiments/packing/")["choices"]["compaction"]
    assert known == [1, pytest.approx(experiment.seconds)], "known from the cells before"


def test_a_workload_that_does_not_fit_cannot_grow(client: Client) -> None:
    cluster = scenario(node("n1", cpu="4"), *(pod(f"p{number}") for number in range(6)))
    fields = {"configurations": ["default"], "releases": ["1.36"], "measures": ["replicas"], "orders": 3}
    experiment = finished(client, cluster, "packing", **fields)
    assert experiment.sentence == (
        "The workload does not fit as it is: placed from scratch, 2 of 6 pods stay pending on all nodes, and none may. "
        "To measure it, leave out the pods that are pending now."
    )
    text = source(client, f"/experiments/{experiment.pk}/")
    assert "data-chart" not in text
    assert "Largest factor" not in text
    assert not re.search(r'<td class="num">0\.\d', text)
