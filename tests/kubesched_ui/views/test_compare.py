"""Comparison pages: the links to them and their content."""

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import Run
from kubesched_ui.presenters import charts
from kubesched_ui.runs import suggested_comparisons
from kubesched_ui.runs.tasks import execute_run
from kubesched_ui.views import compare
from scheduler_core.releases import NEWEST
from tests.kubesched_ui.pages import get
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def run() -> Run:
    return ran(
        scenario(node("n1", cpu="2"), node("n2", cpu="2"), *(pod(f"p{i}") for i in range(4)), pod("<b>", cpu="64"))
    )


def page(client: Client, address: str, status: int = 200) -> str:
    return get(client, address, status).flat


def forked(client: Client, run: Run, **form: Any) -> Run:
    answer = client.post(f"/runs/{run.pk}/fork/", form)
    assert answer.status_code == 302
    made = Run.objects.latest("pk")
    assert answer["Location"].split("?")[0] == f"/compare/{run.pk}/{made.pk}/"
    execute_run(made.pk)
    made.refresh_from_db()
    return made


def test_a_fork_and_its_comparison(client: Client, run: Run) -> None:
    assert "No pod differs" in page(client, f"/compare/{run.pk}/{run.pk}/")
    answer = client.post(f"/runs/{run.pk}/fork/", {"at": "3", "changes": '[{"cordon": "n1"}]', "pod": "default/p2"})
    made = Run.objects.latest("pk")
    assert answer["Location"] == f"/compare/{run.pk}/{made.pk}/?pod=default%2Fp2"
    waiting = page(client, answer["Location"])
    assert f'data-runs="{made.pk} "' in waiting
    assert "queued" in waiting
    execute_run(made.pk)
    text = page(client, answer["Location"])
    assert "1 pod moves and 1 loses its node; 3 of 5 pods have the same outcome." in text
    assert "NodeUnschedulable" in text
    assert '<th scope="row">Changes</th> <td class="wrap">none</td><td class="wrap">cordon n1</td>' in text
    assert "node(s) were unschedulable" in text
    assert "&lt;b&gt;" in page(client, f"/compare/{run.pk}/{made.pk}/?change=all")
    steps = text[text.index('id="pod"') :]
    assert "n1 is cordoned, only in B." in steps
    for letter, number in (("A", run.pk), ("B", made.pk)):
        assert f"<strong>{letter}:</strong> {get(client, f'/runs/{number}/pods/default/p2/').answer}" in steps
    differing, equal = steps[: steps.index("equal steps")], steps[steps.index("equal steps") :]
    assert 'title="differs">' in differing
    assert '<td class="wrap">passes</td> <td class="wrap">passes</td>' not in differing
    assert '<td class="wrap">passes</td> <td class="wrap">passes</td>' in equal, "equal steps are folded"
    head = page(client, f"/runs/{made.pk}/")
    assert f'href="/compare/{run.pk}/{made.pk}/"' in head
    run.delete()
    assert "The parent run was deleted" in page(client, f"/runs/{made.pk}/")
    assert "There is no run" in page(client, answer["Location"], 404)


def test_results_that_round_to_the_same_text_are_equal() -> None:
    shares = {"cpu": {"mean": (0.7161, 0.7164), "stddev": (0.1, 0.2), "max": (1.0, 1.0)}}
    metrics = {"nodes_used": (3, 3), "pending": (0, 0), "victims": (0, 1), "requested_share": shares, "stranded": {}}
    comparison: Any = SimpleNamespace(metrics=metrics)
    assert compare.figures(comparison) == [
        ("Nodes with a pod", "3", "3", False),
        ("Preempted pods", "0", "1", True),
        ("cpu: requested, mean", "71.6%", "71.6%", False),
        ("cpu: requested, spread", "10.0%", "20.0%", True),
        ("cpu: requested, fullest node", "100.0%", "100.0%", False),
    ]


def test_groups_filters_and_sorting(client: Client, run: Run) -> None:
    made = forked(
        client, run, at="1", changes='[{"weight": {"plugin": "ImageLocality", "weight": 9}}, {"cordon": "n1"}]'
    )
    base = f"/compare/{run.pk}/{made.pk}/"
    assert "filter NodeUnschedulable" in page(client, f"{base}?group=cause")
    assert "spec.unschedulable" not in page(client, base)  # the change says so
    assert "no owner" in page(client, f"{base}?group=owner")
    assert "No pod matches" in page(client, f"{base}?q=nothing")
    assert "No pod matches" in page(client, f"{base}?cause=score+X")
    for sort in ("pod", "-change", "a", "b", "-owner", "cause", "cycle", "nonsense"):
        page(client, f"{base}?sort={sort}&change=all&by=kubernetes.io/hostname&page=7")
    assert "Pod x/y is in neither run" in page(client, f"{base}?pod=x/y")


def test_two_runs_are_selected_in_a_list(client: Client, run: Run) -> None:
    other = ran(run.scenario, seed=2)
    assert client.get("/compare/", {"run": [other.pk, run.pk]})["Location"] == f"/compare/{run.pk}/{other.pk}/"
    assert client.get("/compare/", {"run": [run.pk]})["Location"] == "/runs/"
    text = page(client, "/runs/")
    assert "Select two runs to compare; 1 selected." in text
    assert f'name="run" value="{run.pk}"' in text


def test_suggested_comparisons_of_a_scenario(client: Client, run: Run) -> None:
    text = page(client, f"/scenarios/{run.scenario_id}/")
    offered = suggested_comparisons.offered(run.scenario)
    assert offered["b"] == NEWEST != offered["a"]
    assert all(f'value="{key}"' in text for key, _ in offered["configurations"])
    queries = [{"pair": key} for key, _ in offered["configurations"]] + [{"a": "1.27", "b": offered["b"]}]
    strategies = {"pair": "scoring", "a": "LeastAllocated", "b": "MostAllocated"}
    queries += [strategies, strategies | {"b": "LeastAllocated", "weight.ImageLocality": "7"}]
    for one in queries:
        answer = client.post(f"/scenarios/{run.scenario_id}/pair/", one)
        assert answer["Location"].startswith("/compare/"), one
        assert client.post(f"/scenarios/{run.scenario_id}/pair/", one)["Location"] == answer["Location"]
    for made in Run.objects.filter(state="queued"):
        execute_run(made.pk)
    assert set(Run.objects.values_list("state", flat=True)) == {"done"}
    assert {"MostAllocated", "ImageLocality ×7"} <= set(Run.objects.values_list("summary", flat=True))
    same = strategies | {"b": "LeastAllocated"}
    for refused in (
        same,
        strategies | {"b": "x"},
        {"pair": "x"},
        {"a": "1.27", "b": "1.27"},
        {"a": "1.27", "b": "1.2"},
        {},
    ):
        back = client.post(f"/scenarios/{run.scenario_id}/pair/", refused)["Location"]
        assert back == f"/scenarios/{run.scenario_id}/", refused
    assert client.post("/scenarios/999/pair/").status_code == 404


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"at": "x"},
        {"at": "1.5"},
        {"at": "nan"},
        {"at": "1", "changes": "{"},
        {"at": "1", "changes": '{"a": 1}'},
        {"at": "1", "changes": "[" * 5000},
        {"at": "1", "settings": "[]"},
        {"at": "1", "settings": '{"seed": "x"}'},
        {"at": "1", "settings": '{"pods": []}'},
        {"at": "1", "settings": '{"percentage": 400}'},
    ],
)
def test_an_invalid_form_is_rejected(client: Client, run: Run, form: dict[str, str]) -> None:
    assert client.post(f"/runs/{run.pk}/fork/", form)["Location"] == f"/runs/{run.pk}/"
    assert "The run was not forked." in page(client, f"/runs/{run.pk}/")
    assert Run.objects.count() == 1


def test_a_fork_with_another_scoring_strategy(client: Client, run: Run) -> None:
    made = forked(client, run, at="1", strategy="MostAllocated", **{"weight.ImageLocality": "3"})
    assert made.title == f"Run {run.pk} + MostAllocated, ImageLocality ×3"
    assert 'name="weight.ImageLocality"' in page(client, f"/runs/{run.pk}/")


def test_a_suggested_fix_can_be_forked(client: Client, run: Run) -> None:
    text = page(client, f"/runs/{run.pk}/pods/default/p1/why/?node=n1")
    assert "Place it there and compare" in text
    found = re.search(r'name="changes" value="([^"]*)"', text)
    assert found
    assert json.loads(found[1].replace("&quot;", '"'))


def test_the_width_of_a_ribbon_is_its_number_of_pods() -> None:
    drawn = charts.picture([(f"g{i}", f"g{i % 3}", i + 1) for i in range(30)] + [("", "g1", 7)])
    assert drawn
    assert sum(ribbon["pods"] for ribbon in drawn["ribbons"]) == 7 + sum(range(1, 31))
    for side in (0, 1):
        bars = [bar for bar in drawn["bars"] if (bar["x"] > drawn["width"] / 2) == bool(side)]
        assert sum(bar["pods"] for bar in bars) == 7 + sum(range(1, 31))
        assert max(bar["y"] + bar["height"] for bar in bars) <= drawn["height"] + 0.1
        assert len(bars) <= charts.MOST + 2
    assert charts.picture([]) is None


def test_a_pod_created_by_a_fork_has_a_page(client: Client, run: Run) -> None:
    made = forked(client, run, at="6", changes=json.dumps([{"create": pod("more", cpu="9")}]))
    assert "image: nginx" in page(client, f"/runs/{made.pk}/pods/default/more/")
    assert "only in B" in page(client, f"/compare/{run.pk}/{made.pk}/")


def test_two_maps_step_together(client: Client, run: Run) -> None:
    def maps(a: Run, b: Run, query: str = "") -> tuple[str, ...]:
        text = page(client, f"/compare/{a.pk}/{b.pk}/{query}")
        found = [re.search(rf'data-{name}="([^"]*)"', text) for name in ("together", "leads", "cycles")]
        return tuple(one[1] for one in found if one)

    longer = forked(client, run, at="2", changes=json.dumps([{"create": pod("more")}]))
    assert maps(run, longer) == ("cycle", "b", "6")
    assert maps(longer, run) == ("cycle", "a", "6")
    assert maps(run, longer, "?together=pod") == ("pod", "a", "5")
    assert maps(run, longer, "?together=time") == ("cycle", "b", "6"), "a single pass has no virtual time"
    timed = [ran(run.scenario, in_time=True, until=until) for until in (20, 40)]
    assert maps(*timed)[:2] == ("time", "b")
    assert maps(run, timed[0])[:2] == ("pod", "a")
    other = ran(scenario(node("n1"), pod("another")))
    assert maps(run, other)[:2] == ("cycle", "a")
    assert "The runs have no pod in common" in page(client, f"/compare/{run.pk}/{other.pk}/")
    answer = client.get(f"/runs/{run.pk}/", {"against": other.pk, "cycle": 3})
    assert (answer.status_code, answer["Location"]) == (302, f"/compare/{run.pk}/{other.pk}/?cycle=3")
    page(client, f"/runs/{run.pk}/?against=nonsense")


def test_moves_are_grouped_by_the_first_label_that_splits_the_nodes(client: Client) -> None:
    nodes = [node(f"n{i}", cpu="2", labels={"pool": f"p{i}", "os": "linux"}) for i in (1, 2)]
    a = ran(scenario(*nodes, *(pod(f"p{i}") for i in range(5))), tie_break="name")
    b = forked(client, a, at="1", changes='[{"cordon": "n1"}]')
    text = page(client, f"/compare/{a.pk}/{b.pk}/")
    assert '<option value="pool" selected>pool</option>' in text
    assert '<option value="os"' not in text
    assert [moved for moved in ("p1 → p2: 1 pod", "p1 → no node: 1 pod") if moved not in text] == []
