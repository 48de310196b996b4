"""The form and the page of the question noise."""

import msgspec
import pytest
from django.test import Client

from kubesched_ui.views.experiments.noise import range_text
from tests.kubesched_ui.pages import Page, source
from tests.kubesched_ui.recordings import node, pod, scenario
from tests.kubesched_ui.views.experiments.finished import finished

pytestmark = pytest.mark.django_db


def test_page_counts_the_pods_that_depend_on_the_seed(client: Client) -> None:
    cluster = scenario(node("n1", cpu="2"), node("n2", cpu="2"), pod("a"), pod("b"), pod("huge", cpu="9"))
    assert "How much does chance decide?" in source(client, f"/scenarios/{cluster.pk}/experiments/noise/")
    experiment = finished(client, cluster, "noise", seeds=12)
    assert experiment.sentence == "The same 2 of 3 pods are placed with each of 12 seeds; 2 of them change their node."
    text = source(client, f"/experiments/{experiment.pk}/")
    assert "<dt>always placed, on several nodes</dt> <dd>2 pods</dd>" in text
    assert "<dt>never placed</dt> <dd>1 pod</dd>" in text
    assert "default/a and 1 equal" in text
    assert "which of its pods is where" in text
    figure = msgspec.json.decode(client.get(f"/experiments/{experiment.pk}/charts/outcomes/").content)
    assert figure["layout"]["yaxis"]["dtick"] == 1, "no half pods"
    assert {trace["name"]: dict(zip(trace["x"], trace["y"], strict=True)) for trace in figure["data"]} == {
        "always placed": {"1": 0, "2": 2},
        "never placed": {"1": 1, "2": 0},
    }
    assert client.get(f"/experiments/{experiment.pk}/charts/other/").status_code == 404


def test_nothing_depends_on_the_seed(client: Client) -> None:
    experiment = finished(client, scenario(node("n1"), pod("a")), "noise", seeds=2)
    text = source(client, f"/experiments/{experiment.pk}/")
    assert "Nothing is luck" in text
    assert "Every metric is the same with all 2 seeds." in text


def test_without_pending_pods_the_page_says_what_to_do(client: Client) -> None:
    cluster = scenario(node("n1"), pod("a", nodeName="n1"))
    experiment = finished(client, cluster, "noise", seeds=2)
    assert experiment.sentence == "No pod waits for a node, so no seed decides anything."
    text = source(client, f"/experiments/{experiment.pk}/")
    assert f'<a href="/compose/?scenario={cluster.pk}">add pending pods</a>' in text
    assert "data-chart" not in text
    assert "Metrics that depend on the seed" not in text


@pytest.mark.parametrize(("seeds", "problem"), [("1", "or equal to 2"), ("1001", "or equal to 1000"), ("x", "number")])
def test_refused_numbers_of_seeds(client: Client, seeds: str, problem: str) -> None:
    cluster = scenario(node("n1"), pod("a"))
    response = client.post(f"/scenarios/{cluster.pk}/experiments/noise/", {"seeds": seeds})
    assert response.status_code == 400
    assert problem in Page(response).flat


def test_ranges_as_text() -> None:
    assert range_text([5, 6.5, 9]) == "5 to 9, mean 6.5"
    assert range_text([5, 5, 5]) == "5"
