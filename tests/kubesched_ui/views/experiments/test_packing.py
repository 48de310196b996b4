"""The form and the page of the question packing."""

import msgspec
import pytest
from django.test import Client

from kubesched_ui.models import Scenario
from kubesched_ui.presenters import experiment_charts
from tests.kubesched_ui.pages import Page, get, source
from tests.kubesched_ui.recordings import node, pod, scenario
from tests.kubesched_ui.views.experiments.finished import finished

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(db: None) -> Scenario:
    return scenario(*(node(f"n{i}", cpu="4") for i in range(4)), *(pod(f"p{i}", cpu="1") for i in range(4)))


def test_the_form_starts_cells_and_the_page_answers(client: Client, cluster: Scenario) -> None:
    form = source(client, f"/scenarios/{cluster.pk}/experiments/packing/")
    assert "How few nodes are enough?" in form
    assert form.count('name="measures"') == 3
    assert 'name="seeds"' not in form
    chosen = ["default", "MostAllocated"]
    fields = {"configurations": chosen, "releases": ["1.36"], "measures": ["compaction", "replicas"], "orders": 2}
    experiment = finished(client, cluster, "packing", **fields)
    assert experiment.cells_total == 8
    assert experiment.sentence.startswith("The 4 pods fit on 1 of 4 nodes, so 75% of the nodes are not needed")
    address = f"/experiments/{experiment.pk}/"
    assert get(client, address).inline == []
    text = source(client, address)
    assert "Nodes that the workload needs" in text
    assert "Largest factor of the requests" not in text
    figure = msgspec.json.decode(client.get(f"{address}charts/replicas/").content)
    assert figure["data"][0]["y"] == ["default", "default", "MostAllocated", "MostAllocated"]
    assert figure["data"][1]["x"] == [4, 4]
    assert client.get(f"{address}charts/requests/").status_code == 404


def test_the_page_says_why_there_is_no_answer(client: Client) -> None:
    cluster = scenario(node("n1", cpu="4"), pod("a", cpu="1"), pod("b", cpu="9"))
    fields = {"configurations": ["default"], "releases": ["1.36"], "orders": 1}
    experiment = finished(client, cluster, "packing", measures=["compaction"], **fields)
    text = source(client, f"/experiments/{experiment.pk}/")
    assert "1 of 2 pods stays pending on all nodes, and none may" in text
    assert "data-chart" not in text
    running = finished(client, cluster, "packing", measures=["compaction"], running_only="on", **fields)
    assert "no pods that could be placed" in running.sentence


def test_refused_forms_name_the_field(client: Client, cluster: Scenario) -> None:
    good = {"configurations": ["default"], "releases": ["1.36"], "measures": ["compaction"], "orders": 1}
    for change, problem in (
        ({"measures": []}, "This field is required"),
        ({"measures": ["other"]}, "other is not one of the available choices"),
        ({"orders": 0}, "greater than or equal to 1"),
        ({"orders": 10**9}, "less than or equal to 100"),
        ({"configurations": []}, "Select at least one configuration"),
    ):
        response = client.post(f"/scenarios/{cluster.pk}/experiments/packing/", good | change)
        assert response.status_code == 400
        assert problem in Page(response).flat
    assert cluster.experiments.count() == 0


def test_a_strip_chart_escapes_labels() -> None:
    figure = experiment_charts.strips([("<b>a", [1, 2], 2), ("b", [3], 3)], "nodes", True)
    assert figure["data"][0]["y"] == ["&lt;b>a", "&lt;b>a", "b"]
    assert figure["data"][1]["text"] == ["2", "3"]
    assert figure["layout"]["xaxis"]["rangemode"] == "tozero"
