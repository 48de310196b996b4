"""The form and the page of the question buy."""

from typing import Any

import msgspec
import pytest
from django.test import Client

from kubesched_ui.models import Scenario
from kubesched_ui.presenters import purchase_charts
from tests.kubesched_ui.pages import Page, get, source
from tests.kubesched_ui.recordings import node, pod, scenario
from tests.kubesched_ui.views.experiments.finished import finished

pytestmark = pytest.mark.django_db
ADDRESS = "/scenarios/{}/experiments/buy/"


@pytest.fixture
def cluster(db: None) -> Scenario:
    """Six pods of 3 CPU do not fit, and a seventh is too large for every node."""
    pods = [pod(f"p{number}", cpu="3") for number in range(6)]
    return scenario(node("n1", cpu="1"), *pods, pod("huge", cpu="90"), name="<b>two</b>")


def form(*types: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the data of the form with these node types."""
    fields = {"types-TOTAL_FORMS": len(types), "types-INITIAL_FORMS": 0, "workload": "pending", "seconds": 5}
    for number, one in enumerate(types):
        whole = {"offered": "on", "memory": "64Gi", **one}
        fields |= {f"types-{number}-{name}": value for name, value in whole.items()}
    return fields | {"currency": "$"} | more


SMALL = {"name": "small", "price": "1", "cpu": "4"}
LARGE = {"name": "<i>large</i>", "price": "3.50", "cpu": "16"}


def test_presets_are_the_nodes_of_the_scenario(client: Client, cluster: Scenario) -> None:
    text = source(client, ADDRESS.format(cluster.pk))
    assert "Which nodes should be bought?" in text
    assert 'name="types-0-name"' in text
    assert 'name="types-2-name"' in text  # two rows are empty
    assert 'name="types-3-name"' not in text
    assert 'value="1cpu-' in text


def test_nothing_to_buy_says_what_to_do(client: Client) -> None:
    cluster = scenario(node("n1"), pod("a", nodeName="n1"))
    text = source(client, f"/experiments/{finished(client, cluster, 'buy', **form(SMALL)).pk}/")
    assert f'<a href="/compose/?scenario={cluster.pk}">Add pending pods</a>' in text
    address = f"{ADDRESS.format(cluster.pk)}?workload=all"
    assert f'href="{address}"' in text
    assert "data-chart" not in text
    assert 'value="all" checked' in source(client, address)


def test_form_buys_and_the_page_answers(client: Client, cluster: Scenario) -> None:
    experiment = finished(client, cluster, "buy", **form(SMALL, LARGE, {"name": ""}))
    assert experiment.sentence == "2 nodes for $4.50 per hour place 6 of 7 pods; no set costs less."
    address = f"/experiments/{experiment.pk}/"
    page = get(client, address)
    assert page.inline == []
    assert "<i>large</i>" not in page.source
    text = source(client, address)
    assert "No set of these node types costs less than $4.50 per hour (shaded)." in text
    assert "NodeResourcesFit: Insufficient cpu" in text
    assert "<i>large</i>" in text  # as text
    figure = msgspec.json.decode(client.get(f"{address}charts/prices/").content)
    shown = dict(zip(figure["data"][0]["y"], figure["data"][0]["text"], strict=True))
    assert (shown["Proved bound"], shown["This set"]) == ("$4.50", "$4.50")
    assert figure["layout"]["shapes"][0]["x1"] == 4.5
    count = msgspec.json.decode(client.get(f"{address}charts/counts/").content)
    assert count["data"][0]["x"] == ["small", "&lt;i>large&lt;/i>"]
    assert count["data"][0]["y"] == [1, 1]
    full = msgspec.json.decode(client.get(f"{address}charts/fullness/").content)
    assert full["data"][0]["y"] == [75.0, 93.8]
    assert client.get(f"{address}charts/other/").status_code == 404


def test_other_resources_labels_and_taints_are_read(client: Client, cluster: Scenario) -> None:
    gpu = {"other": "nvidia.com/gpu=2, hugepages-2Mi=0", "labels": "a=b, c=", "taints": "x=y:NoSchedule, z:NoExecute"}
    experiment = finished(client, cluster, "buy", **form({**SMALL, **gpu, "max_count": "3"}, seconds=1))
    [chosen] = msgspec.yaml.decode(experiment.document)["spec"]["buy"]["catalog"]
    assert chosen["allocatable"] == {"cpu": "4", "memory": "64Gi", "nvidia.com/gpu": "2", "hugepages-2Mi": "0"}
    assert chosen["labels"] == {"a": "b", "c": ""}
    assert chosen["maxCount"] == 3
    assert [(one["key"], one.get("value", ""), one["effect"]) for one in chosen["taints"]] == [
        ("x", "y", "NoSchedule"),
        ("z", "", "NoExecute"),
    ]
    assert experiment.sentence == "No set of these node types places any of the 7 pending pods."


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"price": ""}, "This field is required"),
        ({"price": "-1"}, "greater than or equal to 0"),
        ({"cpu": "four"}, "allocatable.cpu"),
        ({"labels": "nothing"}, "'nothing' is not of the form name=value."),
        ({"taints": "a=b"}, "'a=b' is not of the form key=value:effect"),
        ({"name": ""}, "Offer at least one node type."),
        ({"name": "small"}, "The name small occurs twice."),
    ],
)
def test_refused_forms_name_the_field(client: Client, cluster: Scenario, change: Any, problem: str) -> None:
    types = [{**SMALL, **change}] if change.get("name") != "small" else [SMALL, SMALL]
    response = client.post(ADDRESS.format(cluster.pk), form(*types))
    assert response.status_code == 400
    assert problem in Page(response).flat.replace("&#x27;", "'")
    assert cluster.experiments.count() == 0


def test_too_many_rows_and_a_form_without_rows_are_refused(client: Client, cluster: Scenario) -> None:
    address = ADDRESS.format(cluster.pk)
    assert client.post(address, form(SMALL) | {"types-TOTAL_FORMS": 10**6}).status_code == 400
    assert client.post(address, {"workload": "pending", "seconds": 5}).status_code == 400


def test_nothing_pending_has_no_picture_of_nodes(client: Client) -> None:
    experiment = finished(client, scenario(node("n1")), "buy", **form(SMALL))
    assert experiment.sentence == "Nothing to buy: no pod is pending."
    assert "Nodes to buy, by type" not in source(client, f"/experiments/{experiment.pk}/")


def test_prices_of_a_case_without_first_fit() -> None:
    row = {"resource_bound": 1.0, "bound": 2.0, "price": 3.0, "first_fit": None, "own": {"price": 4.0, "pending": 1}}
    figure = purchase_charts.prices(row, "$")
    assert figure["data"][0]["y"] == ["This set", "Proved bound", "Bound of resources"]
