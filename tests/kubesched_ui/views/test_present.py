"""Presentation mode: a run slide by slide, for every kind of run, without later results."""

import html
import json
import re
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import Run
from tests.kubesched_ui.clusters import every_outcome
from tests.kubesched_ui.pages import Page
from tests.kubesched_ui.recordings import node, pod, ran, scenario
from tests.kubesched_ui.views.test_pod_context import sample

pytestmark = pytest.mark.django_db


class Slide:
    """Heading, text without tags, rail and key targets of a slide."""

    def __init__(self, client: Client, run: Run, query: str = "") -> None:
        response = client.get(f"/runs/{run.pk}/present/{query}")
        assert response.status_code == 200, query
        self.page = Page(response)
        flat = self.page.flat
        self.sent = html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", flat)))
        heading = re.search(r'<h1 id="t-slide".*?>(.*?)</h1>', flat)
        assert heading, query
        self.heading = html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>|​", "", heading[1]))).strip()
        rail = flat.partition('class="rail"')[2].partition("</nav>")[0]
        self.rail = [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", one)).strip() for one in re.findall("<a.*?</a>", rail)]
        self.to = {key: html.unescape(to) for key, to in re.findall(r'id="go-([\w-]+)"[^>]*?href="([^"]*)"', flat)}

    @property
    def cycle(self) -> dict[str, Any]:
        """Return the cycle as far as the map shows it."""
        data = re.search(r'<script type="application/json">(.*?)</script>', self.page.source, re.DOTALL)
        assert data
        found: dict[str, Any] = json.loads(data[1])["cycle"]
        return found

    @property
    def decisive(self) -> dict[str, list[list[int]]]:
        """Return plugin -> ranges of the nodes that it rejects on the map."""
        return {one["plugin"]: one["decisive"][0]["rows"] for one in self.cycle["filters"] if one["decisive"]}


def slides(client: Client, run: Run, query: str = "", most: int = 200) -> list[Slide]:
    """Return all slides in the order of the arrow key."""
    found = [Slide(client, run, query)]
    while (to := found[-1].to.get("after")) and len(found) < most:
        found.append(Slide(client, run, to))
    return found


@pytest.fixture
def run() -> Run:
    return ran(scenario(*json.loads(every_outcome())["items"]))


@pytest.mark.long
def test_a_run_forwards_and_back(client: Client, run: Run) -> None:
    found = slides(client, run)
    assert found[0].heading == "test"
    assert "4 nodes" in found[0].sent
    assert found[-1].heading == "Final outcome"
    assert [one.heading for one in found].count("The decision") == run.cycles_done == 5
    back, at = [], found[-1]
    while to := at.to.get("before"):
        at = Slide(client, run, to)
        back.append(at.heading)
    assert back[::-1] == [one.heading for one in found[:-1]]
    assert all(one.page.inline == [] for one in found)


@pytest.mark.long
def test_each_slide_shows_one_thing(client: Client, run: Run) -> None:
    number = run.cycles.get(name="scored").number
    headings = [one.heading for one in slides(client, run) if f"pod {number} of 5" in one.sent]
    assert headings == [
        "scored",
        "The cluster before the pod is scheduled",
        "TaintToleration 1 out",
        "NodeResourcesFit 1 out",
        "Feasible nodes 2 of 4",
        "TaintToleration × 3",
        "NodeResourcesFit × 1",
        "NodeResourcesBalancedAllocation × 1",
        "ImageLocality × 1",
        "Total scores",
        "The decision",
    ]


def test_each_plugin_removes_its_nodes(client: Client, run: Run) -> None:
    number = run.cycles.get(name="scored").number
    at = f"?cycle={number}&point=filter&plugin="
    first = Slide(client, run, f"{at}TaintToleration")
    assert first.decisive == {"TaintToleration": [[3, 3]]}
    second = Slide(client, run, f"{at}NodeResourcesFit")
    assert second.decisive == {"TaintToleration": [[3, 3]]}
    assert [(one["row"], one["status"]["plugin"]) for one in second.cycle["nominated"]] == [(2, "NodeResourcesFit")]
    assert "requests 1, 0 of 2 free" in second.sent
    left = Slide(client, run, f"?cycle={number}&point=fits")
    assert left.cycle["feasible"] == [[0, 1]]
    assert left.cycle["points"] == {}
    assert Slide(client, run, f"?cycle={number}&point=result").cycle["node"] == "n1"


def test_a_plugin_without_a_slide_opens_the_remaining_nodes(client: Client, run: Run) -> None:
    for query in ("point=filter&plugin=NodeName", "point=filter", "point=prescore"):
        assert Slide(client, run, f"?cycle=1&{query}").heading.startswith("Feasible nodes")
    assert Slide(client, run, "?cycle=1&point=bind").heading == "The decision"
    assert Slide(client, run, "?cycle=1&point=<script>").heading == run.cycles.get(number=1).name


def test_preemption(client: Client, run: Run) -> None:
    number = run.cycles.get(name="important").number
    found = Slide(client, run, f"?cycle={number}&point=postfilter")
    assert found.heading == "Would preemption help?"
    assert [one["node"] for one in found.cycle["postfilter"]["candidates"]] == ["n3"]
    assert found.cycle["victims"] == []
    victims = Slide(client, run, found.to["after"])
    assert victims.heading == "Victims"
    assert "bound" in victims.sent
    assert len(victims.cycle["victims"]) == 1
    nowhere = run.cycles.get(name="nowhere").number
    assert "On no node." in Slide(client, run, f"?cycle={nowhere}&point=candidates").sent


def test_a_gated_pod(client: Client, run: Run) -> None:
    number = run.cycles.get(name="gated").number
    found = [
        Slide(client, run, f"?cycle={number}&point=preenqueue"),
        Slide(client, run, f"?cycle={number}&point=result"),
    ]
    assert found[0].heading == "PreEnqueue rejects the pod"
    assert "SchedulingGates" in found[0].sent


def test_later_results_are_not_sent(client: Client) -> None:
    """Each decision first appears on the slide that shows it."""
    run = ran(scenario(node("zz-first", "2"), node("zz-second"), pod("web"), pod("big", "40")))
    where = run.pod_results.get(name="web").node
    assert where == "zz-second"
    reached = False
    for one in slides(client, run, "?hide=1"):
        if one.heading == "Total scores":
            reached = True
        if not reached:
            assert "chosen" not in one.sent
            assert "best" not in one.sent
            assert "stage-map" not in one.page.source or not one.cycle.get("total")
            assert f"on {where}" not in one.sent
        if "pod 1 of" in one.sent:
            assert "Insufficient" not in one.sent, "that is the next pod's"
    assert reached


def test_the_rail_ends_at_the_current_slide_while_results_are_hidden(client: Client, run: Run) -> None:
    number = run.cycles.get(name="scored").number
    hidden = Slide(client, run, f"?cycle={number}&point=nodes&hide=1")
    assert hidden.rail == ["The pod", "The cluster before the cycle"]
    assert "A guess" not in hidden.sent
    guess = Slide(client, run, hidden.to["after"])
    assert guess.heading == "Which nodes are feasible?"
    assert guess.cycle["steps"] == []
    assert "hide" not in guess.to["toggle"]
    open_one = Slide(client, run, f"?cycle={number}&point=nodes")
    assert len(open_one.rail) == 11
    assert "hide=1" in open_one.to["toggle"]
    assert all("hide=1" in to for key, to in guess.to.items() if key not in ("toggle", "leave"))


def test_scores_add_up_and_ties_are_not_revealed(client: Client, run: Run) -> None:
    number = run.cycles.get(name="scored").number
    sums = Slide(client, run, f"?cycle={number}&point=total")
    assert "★" not in sums.sent
    last = Slide(client, run, sums.to["before"])
    so_far = re.findall(r'class="mono">(n\d)</th>.*?class="num">([\d,]+)</span>', last.page.flat)
    total = run.pod_results.get(name="scored").score
    assert max(int(number.replace(",", "")) for _, number in so_far) == total


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["16-preemption-in-time", "20-pod-group", "21-predicates",
             *(pytest.param(name, marks=pytest.mark.long)
               for name in ("07-volume-zone", "14-backoff", "18-gang", "24-preemption-then"))]
)  # fmt: skip
def test_every_kind_of_run(client: Client, name: str) -> None:
    """The slides of its first cycles, and its last slides."""
    query = "?hide=1" if name in ("16-preemption-in-time", "20-pod-group") else ""
    run = sample(name, tie_break="name")
    found = slides(client, run, query, most=40)
    if found[-1].heading != "Final outcome":
        last = f"?cycle={run.cycles_done}&point=result{query.replace('?', '&')}"
        found += slides(client, run, last)
    assert found[-1].heading == "Final outcome"
    assert "The decision" in {one.heading for one in found}


def test_virtual_time_slides_show_the_time_and_the_cause(client: Client) -> None:
    run = sample("16-preemption-in-time")
    again = run.cycles.filter(name="boss", attempt=3).first()
    assert again
    sent = Slide(client, run, f"?cycle={again.number}").sent
    assert "Attempt 3 at 50 s: default/worker left n1" in sent


def test_1_16_has_predicates(client: Client) -> None:
    run = sample("21-predicates")
    headings = {one.heading for one in slides(client, run)}
    assert any(
        "PodFitsResources" in one or "GeneralPredicates" in one or "MatchNodeSelector" in one for one in headings
    )


def test_a_run_without_cycles_says_what_to_do(client: Client) -> None:
    idle = ran(scenario(node("n1")))
    assert "no cycles to present" in Slide(client, idle).sent
    failed = Run.objects.create(scenario=idle.scenario, state=Run.State.FAILED, error="It went wrong.")
    found = Slide(client, failed, "?cycle=3")
    assert "It went wrong." in found.sent
    assert "Start again" in found.sent
    waiting = Run.objects.create(scenario=idle.scenario, state=Run.State.QUEUED)
    assert "Reload" in Slide(client, waiting, "?point=end").sent


def test_missing_slides_are_404(client: Client, run: Run) -> None:
    assert client.get(f"/runs/{run.pk}/present/?cycle=99").status_code == 404
    assert client.get("/runs/999999/present/").status_code == 404
    assert Slide(client, run, "?cycle=minus").heading == "test"


@pytest.mark.long
def test_without_a_recording_the_text_remains(client: Client, run: Run) -> None:
    run.recording_blocks.all().delete()
    found = [one.heading for one in slides(client, run)]
    assert "The cluster before the pod is scheduled" not in found
    assert found.count("The decision") == 5


def test_run_and_pod_pages_link_to_the_slides(client: Client, run: Run) -> None:
    assert f'href="/runs/{run.pk}/present/"' in client.get(f"/runs/{run.pk}/").content.decode()
    row = run.cycles.get(name="scored")
    pod_page = client.get(f"/runs/{run.pk}/pods/default/scored/").content.decode()
    assert f'href="/runs/{run.pk}/present/?cycle={row.number}"' in pod_page
