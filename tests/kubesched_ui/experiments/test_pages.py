"""Pages of experiments: questions, forms, the list, an experiment, its cells, downloads, cells as runs."""

import csv
import io
import json
import re
from dataclasses import replace

import pytest
from django.test import Client

from kubesched_ui.experiments import services
from kubesched_ui.experiments.models import Experiment
from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs.services import run_finished
from kubesched_ui.runs.tasks import execute_run
from kubesched_ui.views.experiments.registry import PAGES
from scheduler_core.releases import NEWEST
from tests.kubesched_ui.experiments.documents import document
from tests.kubesched_ui.experiments.questions import Squares
from tests.kubesched_ui.experiments.test_experiments import create, finish
from tests.kubesched_ui.recordings import node, pod, scenario

pytestmark = pytest.mark.django_db

CORDON = [{"name": "unchanged"}, {"name": "without n1", "changes": [{"cordon": "n1"}]}]


@pytest.fixture(autouse=True)
def page_without_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show no answer of `compare`, which these tests replace."""
    monkeypatch.setitem(PAGES, "compare", replace(PAGES["compare"], context=lambda experiment, query: {}))


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer.content[:2000]
    return re.sub(r"\s+", " ", answer.content.decode())


@pytest.fixture
def finished(cluster: Scenario, squares: Squares) -> Experiment:
    return finish(create(cluster, seeds=[3, 1, 2], changes=CORDON))


def test_a_scenario_links_to_each_question(client: Client, cluster: Scenario) -> None:
    for address in (f"/scenarios/{cluster.pk}/", f"/scenarios/{cluster.pk}/experiments/"):
        shown = page(client, address)
        for question in PAGES.values():
            assert f'href="/scenarios/{cluster.pk}/experiments/{question.slug}/"' in shown
            assert question.title in shown
    for question in PAGES.values():
        assert question.sentence
        assert "Start the experiment" in page(client, f"/scenarios/{cluster.pk}/experiments/{question.slug}/")
    assert client.get(f"/scenarios/{cluster.pk}/experiments/why/").status_code == 404


def test_the_list_starts_a_document_and_names_what_is_wrong(
    client: Client, cluster: Scenario, squares: Squares
) -> None:
    shown = page(client, "/experiments/")
    for question in PAGES.values():  # the latest scenario is chosen
        assert f'<a href="/scenarios/{cluster.pk}/experiments/{question.slug}/">{question.title}</a>' in shown
    assert '<details class="card" >' in shown, "the document is folded"
    wrong = client.post("/experiments/", {"document": "kind: Pod"})
    assert wrong.status_code == 400
    assert b"kind: Pod</textarea>" in wrong.content
    assert b"experiment: " in wrong.content
    started = client.post("/experiments/", {"document": json.dumps(document(cluster.pk))})
    file = io.BytesIO(json.dumps(document(cluster.pk)).encode())
    file.name = "e.json"
    uploaded = client.post("/experiments/", {"file": file})
    numbers = sorted(Experiment.objects.values_list("pk", flat=True))
    assert [started.headers["Location"], uploaded.headers["Location"]] == [f"/experiments/{one}/" for one in numbers]
    shown = page(client, "/experiments/?state=queued")
    assert f"/experiments/{numbers[0]}/" in shown
    assert "No experiment matches" in page(client, "/experiments/?q=nothing")


def test_the_page_shows_progress_until_the_answer(client: Client, cluster: Scenario, squares: Squares) -> None:
    experiment = create(cluster, seeds=[1, 2])
    shown = page(client, f"/experiments/{experiment.pk}/")
    assert "Planning the computations" in shown
    assert "data-active" in shown
    finish(experiment)
    Experiment.objects.update(answer=None)
    assert "data-active" not in page(client, f"/experiments/{experiment.pk}/")
    cancelled = create(cluster, seeds=[3])
    assert client.post(f"/experiments/{cancelled.pk}/cancel/").status_code == 302
    shown = page(client, f"/experiments/{cancelled.pk}/")
    assert "computations that are done are not computed again" in shown
    again = f"/experiments/?like={cancelled.pk}#t-document"
    assert f'href="{again}"' in shown
    assert "kind: Experiment" in page(client, again).partition("<textarea")[2]
    assert client.get("/experiments/?like=999999").status_code == 404
    assert client.post(f"/experiments/{cancelled.pk}/delete/").status_code == 302
    assert not Experiment.objects.filter(pk=cancelled.pk).exists()


def test_the_cells_are_sorted_by_metric_and_downloaded(client: Client, finished: Experiment) -> None:
    def order(sort: str) -> list[int]:
        found = client.get(f"/experiments/{finished.pk}/?sort={sort}").context["cells"]
        return [cell.number for cell, _, _ in found]

    assert order("") == [1, 2, 3, 4, 5, 6]
    assert order("square") == [2, 5, 3, 6, 1, 4]
    assert order("-square") == [1, 4, 3, 6, 2, 5]
    assert order("nothing") == [1, 2, 3, 4, 5, 6]
    text = client.get(f"/experiments/{finished.pk}/cells.csv").content.decode("utf-8-sig")
    row = list(csv.DictReader(io.StringIO(text)))[3]
    assert [row[name] for name in ("number", "seed", "changes", "square")] == ["4", "3", "without n1", "9"]
    data = client.get(f"/experiments/{finished.pk}/cells.json").json()
    assert (data[1]["metrics"], data[1]["labels"]["seed"], data[1]["state"]) == ({"square": 1}, "1", "done")
    assert client.get(f"/experiments/{finished.pk}/cells.xml").status_code == 404


def test_failed_cells_are_named_with_their_reason(client: Client, cluster: Scenario, squares: Squares) -> None:
    squares.errors = {2: [ValueError("x")] * 3}
    experiment = finish(create(cluster, seeds=[1, 2]))
    shown = page(client, f"/experiments/{experiment.pk}/")
    assert "1 computation failed" in shown
    assert "Computation 2</a>: Internal error (ValueError)" in shown
    failed = page(client, f"/experiments/{experiment.pk}/cells/2/")
    assert "Internal error (ValueError)" in failed
    assert "Open as run" not in failed
    assert client.get(f"/experiments/{experiment.pk}/cells/3/").status_code == 404


def test_equal_reasons_of_failed_cells_are_shown_once(client: Client, cluster: Scenario, squares: Squares) -> None:
    squares.errors = {number: [ValueError("x")] * 3 for number in (1, 3, 4)}
    shown = page(client, f"/experiments/{finish(create(cluster, seeds=[1, 2, 3, 4])).pk}/")
    assert "3 computations failed" in shown
    assert "Computation 1</a> and 2 others: Internal error (ValueError)" in shown
    assert shown.count("Internal error (ValueError)") == 1


def test_a_cell_opens_as_a_run_with_its_settings(client: Client, finished: Experiment) -> None:
    assert "Open as run" in page(client, f"/experiments/{finished.pk}/cells/1/")
    opened = client.post(f"/experiments/{finished.pk}/cells/1/open/")
    run = Run.objects.get()
    assert opened.headers["Location"] == f"/runs/{run.pk}/"
    assert (run.seed, run.tie_break, run.release, run.config, run.in_time) == (3, "seed", NEWEST, "", False)
    assert f"Show run {run.pk}" in page(client, f"/experiments/{finished.pk}/cells/1/")
    client.post(f"/experiments/{finished.pk}/cells/1/open/")
    assert Run.objects.count() == 1


def test_a_cell_with_changes_opens_as_a_fork(client: Client, finished: Experiment) -> None:
    address = f"/experiments/{finished.pk}/cells/4/"
    assert client.post(f"{address}open/").headers["Location"] == address
    run = Run.objects.get()
    assert f"Run {run.pk}</a>, without the changes of this computation, is queued" in page(client, address)
    execute_run(run.pk)
    run_finished.send(sender=Run, run_id=run.pk)
    fork = Run.objects.get(parent=run)
    assert (fork.changes, fork.fork_at, fork.seed) == ([{"cordon": "n1"}], 1, 3)
    execute_run(fork.pk)
    fork.refresh_from_db()
    assert (fork.state, fork.placed) == ("done", 0), "its only node is cordoned"
    assert client.post(f"{address}open/").headers["Location"] == f"/runs/{fork.pk}/"


def test_two_cells_are_compared_as_runs(client: Client, finished: Experiment) -> None:
    address = f"/experiments/{finished.pk}/compare/"
    assert client.post(address, {"cell": [1]}).headers["Location"] == f"/experiments/{finished.pk}/"
    answer = client.post(address, {"cell": [1, 2]})
    first, second = Run.objects.order_by("pk")
    assert answer.headers["Location"] == f"/compare/{first.pk}/{second.pk}/"
    assert (first.seed, second.seed) == (3, 1)
    waits = client.post(address, {"cell": [1, 4]})
    assert waits.headers["Location"] == f"/experiments/{finished.pk}/cells/4/"
    execute_run(first.pk)
    again = client.post(address, {"cell": [1, 4]})
    assert again.headers["Location"] == f"/compare/{first.pk}/{Run.objects.get(parent=first).pk}/"


def test_the_search_finds_experiments(client: Client, cluster: Scenario, squares: Squares) -> None:
    experiment = services.create_experiment(document(cluster.pk) | {"metadata": {"name": "packed or spread"}})
    shown = page(client, "/search/?q=packed")
    assert f'href="/experiments/{experiment.pk}/"' in shown


def test_forms_say_what_the_scenario_lacks(client: Client, cluster: Scenario) -> None:
    forms = f"/scenarios/{cluster.pk}/experiments/"
    assert "has no nodes" not in page(client, f"{forms}loss/")
    Scenario.objects.update(counts={"Pod": 1})
    shown = page(client, f"{forms}loss/")
    assert "has no nodes" in shown
    assert f'<a href="/compose/?scenario={cluster.pk}">' in shown
    assert "has no nodes" not in page(client, f"{forms}buy/"), "it needs none"


def test_moves_need_a_pending_pod(client: Client, cluster: Scenario) -> None:
    none = "No pod of the scenario is pending"
    assert none not in page(client, f"/scenarios/{cluster.pk}/experiments/moves/")
    settled = scenario(node("n1"), pod("a", nodeName="n1"))
    assert none in page(client, f"/scenarios/{settled.pk}/experiments/moves/")
