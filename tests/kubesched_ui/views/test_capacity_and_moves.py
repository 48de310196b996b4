"""Pages of the questions capacity and moves."""

import pytest
from django.test import Client

from kubesched_ui.experiments import tasks
from kubesched_ui.experiments.models import Experiment
from kubesched_ui.models import Scenario
from tests.kubesched_ui.pages import source
from tests.kubesched_ui.recordings import ran, scenario
from tests.scheduler_core.build import node, pod, workload

pytestmark = pytest.mark.django_db


def owned(name: str, on: str, cpu: str) -> dict:
    raw = pod(name, on=on, requests={"cpu": cpu})
    raw["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": name, "uid": name, "controller": True}]
    return raw


@pytest.fixture
def cluster() -> Scenario:
    deployment = workload(
        "Deployment", "web", pod={"containers": [{"resources": {"requests": {"cpu": "1"}}}]}, replicas=0
    )
    nodes = [node("a", cpu="4"), node("b", cpu="4"), node("c", cpu="2", labels={"pool": "small"})]
    return scenario(
        *nodes, owned("old", "a", "3"), owned("small", "b", "2"), pod("big", requests={"cpu": "4"}), deployment
    )


def ask(client: Client, cluster: Scenario, question: str, **form: object) -> Experiment:
    """Post the form and compute the experiment."""
    response = client.post(f"/scenarios/{cluster.pk}/experiments/{question}/", form)
    assert response.status_code == 302, response.content.decode()[-3000:]
    while tasks.do_next_job():
        pass
    return Experiment.objects.get(pk=int(response.url.rstrip("/").rpartition("/")[2]))


CAPACITY = {"pending": "ignore", "limit": 1000}
MOVES = {"pending": "first", "most": 5, "effort": 1000}


def test_capacity_shows_bars_and_reasons_of_node_groups(client: Client, cluster: Scenario) -> None:
    experiment = ask(client, cluster, "capacity", pod_1="Deployment default/web", weight_1=1, **CAPACITY)
    assert experiment.state == "done", experiment.error
    page = source(client, f"/experiments/{experiment.pk}/")
    assert "5 more of Deployment default/web fit, then the next one stays pending." in page
    assert "small" in page
    assert "1 node, 0 pods now; then 1 lacks cpu" in page
    assert 'class="comes"' in page


@pytest.mark.parametrize(
    ("first", "name"),
    [
        ({}, "Deployment default/web"),
        ({"cpu": "500m"}, "500m cpu"),
        ({"cpu": "500m", "template": "kind: Pod\nmetadata: {name: t}"}, "t"),
    ],
)
def test_a_mix_of_pods(client: Client, cluster: Scenario, first: dict, name: str) -> None:
    form = {"pod_1": "Deployment default/web", "weight_1": 2, "pod_2": "default/big", **first}
    experiment = ask(client, cluster, "capacity", **form, **CAPACITY)
    assert [one["name"] for one in experiment.answer["rows"][0]["mix"]] == [name, "default/big"]
    assert "more pods fit" in source(client, f"/experiments/{experiment.pk}/")


def test_no_further_pod_fits(client: Client, cluster: Scenario) -> None:
    experiment = ask(client, cluster, "capacity", cpu="64", **CAPACITY)
    assert experiment.sentence.startswith("No more of 64 cpu fit. The pod requests 64 cpu; the largest node has 4.")


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({}, "Choose a pod or a workload, paste a template, or enter requests."),
        ({"cpu": "1", "weight_1": 0}, "greater than or equal to 1"),
    ],
)
def test_an_invalid_form_says_what_is_wrong(client: Client, cluster: Scenario, form: dict, problem: str) -> None:
    response = client.post(f"/scenarios/{cluster.pk}/experiments/capacity/", form | CAPACITY)
    assert response.status_code == 400
    assert problem in response.content.decode()


def test_the_forms_suggest_names_of_the_scenario(client: Client, cluster: Scenario) -> None:
    page = source(client, f"/scenarios/{cluster.pk}/experiments/capacity/")
    assert '<option value="Deployment default/web"></option>' in page  # for the further pods of a mix
    assert '<option value="Deployment default/web" selected>Deployment default/web</option>' in page
    page = source(client, f"/scenarios/{cluster.pk}/experiments/moves/?pod=default/big")
    assert '<option value="default/big" selected>default/big</option>' in page


def test_a_pod_that_the_scenario_lacks_is_refused_at_its_field(client: Client, cluster: Scenario) -> None:
    form = CAPACITY | {"pod_1": "default/<b>gone</b>"}
    response = client.post(f"/scenarios/{cluster.pk}/experiments/capacity/", form)
    assert response.status_code == 400
    assert "The scenario has no pod default/&lt;b&gt;gone" in response.content.decode()


def test_moves_shows_nodes_before_and_after_and_the_moves_in_order(client: Client, cluster: Scenario) -> None:
    experiment = ask(client, cluster, "moves", pod="default/big", **MOVES)
    assert experiment.state == "done", experiment.error
    page = source(client, f"/experiments/{experiment.pk}/")
    assert "default/big fits after 1 move, and fewer do not suffice." in page
    assert "Before the moves" in page
    assert "small → c" in page
    assert "★</span> big fits" in page
    assert "0 of 4 free" in page
    assert "1 pod disturbed, 1 restart" in page
    assert "confirmed each of them" in page


def test_moves_of_a_pod_that_no_moves_help(client: Client, cluster: Scenario) -> None:
    huge = scenario(
        node("a", cpu="4"), pod("alone", on="a", requests={"cpu": "1"}), pod("huge", requests={"cpu": "64"})
    )
    experiment = ask(client, huge, "moves", pod="default/huge", **MOVES)
    page = source(client, f"/experiments/{experiment.pk}/")
    assert "No moves of running pods let default/huge fit." in page
    assert "None of the running pods may move." in page
    assert "No controller would create it again" in page


def test_moves_needs_a_pod_or_a_group(client: Client, cluster: Scenario) -> None:
    response = client.post(f"/scenarios/{cluster.pk}/experiments/moves/", MOVES)
    assert response.status_code == 400
    assert "Choose a pending pod." in response.content.decode()


def test_the_page_of_a_pending_pod_links_to_the_form(client: Client, cluster: Scenario) -> None:
    run = ran(cluster)
    page = source(client, f"/runs/{run.pk}/pods/default/big/")
    assert f"/scenarios/{cluster.pk}/experiments/moves/?pod=default%2Fbig&run={run.pk}" in page
    experiment = ask(client, cluster, "moves", pod="default/big", run=run.pk, **MOVES)
    assert experiment.answer is not None
    assert experiment.answer["rows"][0]["release"] == run.release
