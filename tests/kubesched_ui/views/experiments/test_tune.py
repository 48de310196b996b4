"""The form and the page of the question tune."""

from typing import Any

import msgspec
import pytest
from django.test import Client

from kubesched_ui.models import Scenario
from scheduler_core.releases import NEWEST
from tests.kubesched_ui.pages import Page, get, source
from tests.kubesched_ui.recordings import node, pod, scenario
from tests.kubesched_ui.views.experiments.finished import example_document, finished

pytestmark = pytest.mark.django_db
ADDRESS = "/scenarios/{}/experiments/tune/"
FORM = {"aim_1": "nodes_used", "strategies": ["LeastAllocated", "MostAllocated"], "trials": 4, "batch": 2,
        "max_weight": 10, "seeds": 1}  # fmt: skip


@pytest.fixture
def cluster(db: None) -> Scenario:
    """Three pods fit on one of three nodes."""
    return scenario(*(node(f"n{i}", cpu="4") for i in range(3)), *(pod(f"p{i}") for i in range(3)), name="<b>three</b>")


def test_form_searches_and_the_page_answers(client: Client, cluster: Scenario) -> None:
    assert "Which scheduler settings serve an aim best?" in source(client, ADDRESS.format(cluster.pk))
    experiment = finished(client, cluster, "tune", **FORM)
    assert experiment.cells_total == 4
    assert experiment.sentence == "The best of 4 configurations changes Nodes with pods from 3 to 1."
    address = f"/experiments/{experiment.pk}/"
    page = get(client, address)
    assert page.inline == []
    text = source(client, address)
    assert "type: MostAllocated" in text
    assert 'data-copy="tuned-configuration"' in text
    assert '<span class="badge ok">better</span>' in text
    assert '<span class="badge bad">worse</span>' in text
    assert "Pareto front of the aims" not in text
    assert client.get(f"{address}charts/front/").status_code == 404
    figure = msgspec.json.decode(client.get(f"{address}charts/history/").content)
    assert figure["data"][0]["y"][:2] == [3, 1]
    assert figure["data"][1]["y"] == [3, 1, 1, 1]


def test_the_front_of_several_aims_and_another_configuration(client: Client, cluster: Scenario) -> None:
    aims = {"aim_2": "requested_share:cpu:stddev", "aim_3": "hole_filling", "front": "on"}
    experiment = finished(client, cluster, "tune", **FORM | aims)
    address = f"/experiments/{experiment.pk}/"
    text = source(client, address)
    assert "Pareto front of the aims" in text
    assert f"Of 4 configurations, {len(experiment.answer['choices'])} are a Pareto front of Nodes with pods," in text
    figure = msgspec.json.decode(client.get(f"{address}charts/front/").content)
    assert figure["layout"]["xaxis"]["title"]["text"] == "Nodes with pods<br>(lower is better)"
    drawn = sum(len(trace["x"]) for trace in figure["data"])
    assert f"4 configurations have {drawn} different results, each of which is one point." in text
    query = "x=hole_filling&y=nonsense"
    other = msgspec.json.decode(client.get(f"{address}charts/front/?{query}").content)
    assert other["layout"]["xaxis"]["title"]["text"].startswith("Mean pods that still fit")
    assert "The given configuration </h2>" in source(client, f"{address}?trial=0")
    assert "The best configuration </h2>" in source(client, f"{address}?trial=999")


def test_nothing_to_tune_is_one_sentence(client: Client) -> None:
    cluster = scenario(node("n1"), pod("p"))
    experiment = finished(client, cluster, "tune", **FORM | {"aim_2": "pending"})
    text = source(client, f"/experiments/{experiment.pk}/")
    assert "There is nothing to tune: all 4 configurations give the same values" in text
    assert "data-chart" not in text
    assert "tuned-configuration" not in text


def test_a_scenario_of_an_old_release_has_no_form(client: Client, cluster: Scenario) -> None:
    problem = "Kubernetes 1.20.4 has no scoring strategies; tune needs 1.22 or newer"
    Scenario.objects.filter(pk=cluster.pk).update(kubernetes="v1.20.4")
    text = source(client, ADDRESS.format(cluster.pk))
    assert f"{problem}." in text
    assert 'name="aim_1"' not in text
    response = client.post(ADDRESS.format(cluster.pk), FORM)
    assert response.status_code == 400
    assert problem in Page(response).flat
    link = f"/experiments/?example=tune&scenario={cluster.pk}"
    assert f'"{link}#t-document"' in text
    example = example_document(client, link)
    assert client.post("/experiments/", {"document": example}).status_code == 302
    body = example.replace(NEWEST, "1.20.4")
    refused = client.post("/api/experiments", body, content_type="application/yaml")
    assert (refused.status_code, problem in refused.json()["error"]) == (400, True)
    assert cluster.experiments.count() == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"aim_1": ""}, "This field is required"),
        ({"aim_1": "speed"}, "Select a valid choice"),
        ({"aim_2": "nodes_used"}, "Each aim must be another metric."),
        ({"front": "on"}, "A Pareto front needs at least two aims."),
        ({"trials": 10**9}, "less than or equal to 1000"),
        ({"weight_1": 0}, "greater than or equal to 0.001"),
        ({"strategies": ["Fast"]}, "Fast is not one of the available choices"),
    ],
)
def test_refused_forms_name_the_field(client: Client, cluster: Scenario, change: Any, problem: str) -> None:
    response = client.post(ADDRESS.format(cluster.pk), FORM | change)
    assert response.status_code == 400
    assert problem in Page(response).flat
    assert cluster.experiments.count() == 0
