"""Site search over all objects of the viewer, with a bounded number of rows."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from kubesched_ui.models import Run
from kubesched_ui.site_search import services
from kubesched_ui.site_search.services import Place
from tests.kubesched_ui.pages import get
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db
NOWHERE = Place()


@pytest.fixture
def run() -> Run:
    stored = scenario(
        node("worker-1"), node("worker-2"), pod("old", nodeName="worker-2"), pod("web-1"), name="Prod 50%"
    )
    return ran(stored)


def found(text: str, place: Place = NOWHERE) -> dict[str, list[tuple[str, str]]]:
    """Return (title, URL) of the results by kind."""
    groups = services.search(text, place, lambda address: True)
    return {group.title: [(hit.title, hit.address) for hit in group.hits] for group in groups}


def test_each_kind_is_found_by_name(run: Run) -> None:
    assert found("web")["Pods"] == [("web-1", f"/runs/{run.pk}/pods/default/web-1/")]
    assert found("ult/web-1")["Pods"] == found("default WEB")["Pods"] == found("web")["Pods"]
    assert found("worker")["Nodes"] == [
        ("worker-1", f"/runs/{run.pk}/nodes/worker-1/"), ("worker-2", f"/runs/{run.pk}/nodes/worker-2/"),
    ]  # fmt: skip
    assert found("old")["Pods"][0] == ("old", f"/runs/{run.pk}/pods/default/old/"), "pods that were not scheduled"
    assert found("50%")["Scenarios"] == [("Prod 50%", f"/scenarios/{run.scenario_id}/")]
    assert found(f"run {run.pk}")["Runs"] == [(f"Run {run.pk}", f"/runs/{run.pk}/")]
    assert ("Taints and tolerations", "/learn/taints-and-tolerations/") in found("toleration")["Lessons"]
    assert found("suggested fixes")["Documentation"][0] == ("Suggested fixes", "/docs/debugger/#suggested-fixes")
    assert found("upgrade")["Actions"][0] == ("Preview an upgrade", "/#t-plan")
    assert found("nothing-has-this-name") == found("\0 web-1 zebra") == {}


def test_database_wildcards_are_plain_text(run: Run) -> None:
    assert "Pods" not in found("w%1")
    assert "Pods" not in found("web_1")


def test_the_run_page_is_the_first_result(run: Run) -> None:
    other = ran(scenario(node("worker-1"), pod("web-1"), name="other"))
    assert found("web-1")["Pods"][0][1] == f"/runs/{other.pk}/pods/default/web-1/"
    here = services.place_of(f"/runs/{run.pk}/pods/default/web-1/")
    assert here == Place(run.pk, run.scenario_id)
    assert found("web-1", here)["Pods"][0][1] == f"/runs/{run.pk}/pods/default/web-1/"
    assert found("export", here)["Actions"][0] == ("Export this run", f"/runs/{run.pk}/export/")
    assert services.place_of("/runs/999/") == services.place_of("/runs/x/") == Place()


def test_exact_names_are_first_and_results_are_few(run: Run) -> None:
    stored = scenario(node("n1"), *(pod(f"api-{i}") for i in range(20)), pod("my-api"), pod("api"), name="many")
    assert [title for title, _ in found("api")["Pods"]][:2] == ["api", "api-0"]
    assert len(found("api")["Pods"]) == services.MOST
    assert found("my-api")["Pods"] == [("my-api", f"/scenarios/{stored.pk}/object/Pod/default/my-api/")]


def test_a_search_reads_a_bounded_number_of_rows(
    run: Run, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    newer = ran(scenario(node("worker-9"), pod("web-9"), name="newer"))
    with django_assert_max_num_queries(14):
        assert len(found("web")["Pods"]) == 2
    with CaptureQueriesContext(connection) as queries:
        assert "Pods" not in found("nothing-has-this-name")
    assert [query["sql"] for query in queries if "podresult" in query["sql"] and "LIMIT" not in query["sql"]] == []
    monkeypatch.setattr(services, "ROWS", 1)
    assert found("web")["Pods"] == [("web-9", f"/runs/{newer.pk}/pods/default/web-9/")]


def test_the_page_works_without_javascript(client: Client, run: Run) -> None:
    page = get(client, f"/search/?q=web&from=/runs/{run.pk}/").flat
    assert f'<a href="/runs/{run.pk}/pods/default/web-1/">web-1</a>' in page
    assert "default · on worker-1 · Run" in page
    assert "Nothing matches “&lt;b&gt;”" in get(client, "/search/?q=<b>").source
    assert "Upload a cluster" in get(client, "/search/").source
