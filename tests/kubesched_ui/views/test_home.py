"""Home page: an example result, actions, and samples by topic."""

import html
import json
import re
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import Run, Scenario, WorkloadAnswer
from kubesched_ui.runs.default_run import default_run
from kubesched_ui.scenarios.samples import GROUPS, OTHERS, grouped, load_samples
from kubesched_ui.views import home_example
from scheduler_core.releases import NEWEST
from tests.kubesched_ui.pages import Page, get
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    home_example.example_of.cache_clear()  # from the database of another test


def hero(page: Page) -> str:
    return page.flat.partition('id="example"')[2].partition("</section>")[0]


def test_the_example_opens_at_its_main_step(client: Client) -> None:
    load_samples()
    example = hero(get(client, "/"))
    assert Run.objects.count() == 0
    assert "“large” requests 6 CPU. Which node is chosen?" in example
    run = ran(Scenario.objects.filter(origin=Scenario.Origin.SAMPLE).order_by("id")[0], release=NEWEST)
    (answer,) = WorkloadAnswer.objects.filter(run=run)
    assert answer.sentence in html.unescape(example), "as on the page of a run"
    assert re.findall(r">(\S+) of 4 free", example) == ["1", "1.5", "0.75"]
    assert re.findall(r"</span> (\S+) short", example) == ["5", "4.5", "5.25"]
    assert re.findall(r'class="mono">([\w-]+)</span> <span class="badge (\w+)', example) == [
        ("small", "ok"),
        ("medium", "ok"),
        ("large", "bad"),
    ]


def test_another_pod_of_the_example(client: Client) -> None:
    load_samples()
    example = hero(get(client, "/?pod=medium"))
    assert "“medium” requests 2 CPU" in example
    assert example.count("★") == 1
    assert example.count("✕") == 2 + 1  # nodes, and the badge of large
    assert "“large” requests" in hero(get(client, "/?pod=nobody"))


def test_the_page_has_one_primary_action(client: Client) -> None:
    load_samples()
    page = get(client, "/")
    places = [page.source.index(one) for one in ('id="upload"', 'id="example"', 'id="message"', 'class="entries"')]
    assert places == sorted(places)
    first = page.source.partition("<main")[2].partition("<details")[0]
    assert first.count("primary") == 1  # without scripts; the browser's own button for files otherwise
    assert 'class="primary' not in hero(page)
    assert "Continue the course" not in page.source  # known to the browser only


def test_start_here_creates_one_run_and_opens_its_decision(client: Client) -> None:
    load_samples()
    answer = client.post("/start/", {"pod": "medium"})
    run = Run.objects.get()
    assert answer["Location"] == f"/runs/{run.pk}/pods/default/medium/"
    assert (run.pods, run.preemption, run.in_time, run.name) == (None, True, False, "Start here")
    assert client.post("/start/", {"pod": "large"})["Location"] == f"/runs/{run.pk}/pods/default/large/"
    assert client.post("/start/", {"pod": "<script>"})["Location"] == f"/runs/{run.pk}/pods/default/large/"
    Run.objects.update(state=Run.State.FAILED)
    client.post("/start/")
    assert Run.objects.count() == 2
    assert client.get("/start/")["Location"] == "/"


CLUSTER = """
{apiVersion: v1, kind: List, items: [
  {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}},
  {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}]}
"""


def test_an_upload_with_pending_pods_opens_their_run(client: Client, settings: Any) -> None:
    answer = client.post("/upload/", {"text": CLUSTER})
    run = Run.objects.get()
    assert answer["Location"] == f"/runs/{run.pk}/"
    assert (run.pods, run.release, run.config, run.in_time) == (None, NEWEST, "", False)
    again = client.post(f"/scenarios/{run.scenario_id}/answer/")
    assert (again["Location"], Run.objects.count()) == (f"/runs/{run.pk}/", 1), "the same run is the answer"
    assert client.get(f"/scenarios/{run.scenario_id}/answer/")["Location"] == f"/scenarios/{run.scenario_id}/"
    settings.QUOTA_RUNS = 1
    full = client.post("/upload/", {"text": CLUSTER}, follow=True)
    assert full.redirect_chain == [(f"/scenarios/{Scenario.objects.latest('pk').pk}/", 302)]
    assert "The default run was not started. You have 1 of 1 runs." in full.content.decode()


def test_the_default_run_uses_release_and_configuration_of_the_cluster() -> None:
    own = scenario(node("n1"), pod("p"))
    own.kubernetes = "v1.30.2"
    own.config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    own.save()
    run = default_run(own)
    assert run is not None
    assert (run.release, run.config) == ("1.30.2", own.config)
    assert default_run(own) == run
    assert default_run(scenario(node("n1"))) is None


def test_the_api_starts_the_default_run_on_request(client: Client, settings: Any) -> None:
    def post(query: str) -> Any:
        return client.post(f"/api/scenarios{query}", CLUSTER.encode(), content_type="application/octet-stream")

    assert post("").json()["runs"] == []
    assert post("?run=true").json()["runs"] == [Run.objects.get().pk]
    settings.QUOTA_RUNS, stored = 1, Scenario.objects.count()
    assert (post("?run=true").status_code, Scenario.objects.count()) == (400, stored), "nothing is stored"


def test_without_samples_and_runs_the_page_says_what_to_do(client: Client) -> None:
    page = get(client, "/")
    assert "Start here: drop a snapshot of your cluster" in page.flat
    assert "No samples are loaded" in page.source
    assert "No runs yet" in page.source
    assert 'id="example"' not in page.source
    assert client.post("/start/")["Location"] == "/"


def test_runs_are_listed_before_samples(client: Client) -> None:
    load_samples()
    assert (page := get(client, "/").source).index('id="samples"') < page.index('id="recent"')
    client.post("/start/")
    assert (page := get(client, "/").source).index('id="recent"') < page.index('id="samples"')


def test_a_rejected_upload_shows_the_error_first(client: Client) -> None:
    load_samples()
    page = Page(client.post("/upload/", {"text": "{kind: Node"}))
    assert 'role="alert"' in page.source
    assert 'id="example"' not in page.source


def test_samples_and_recent_runs_have_maps(client: Client) -> None:
    load_samples()
    small, large = (ran(scenario(*(node(f"n{i}") for i in range(count)), pod("p"))) for count in (1, 501))
    page = get(client, "/").source
    assert re.findall(r'data-map="(.*?)"', page) == [f"/api/runs/{small.pk}/map"]
    maps = json.loads(page.partition('id="sample-maps" type="application/json">')[2].partition("</script>")[0])
    samples = Scenario.objects.filter(origin="sample")
    assert sorted(re.findall(r'data-sample="(\d+)"', page)) == sorted(maps) == sorted(str(one.pk) for one in samples)
    fit = samples.get(name__startswith="Fit")
    assert maps[str(fit.pk)] == client.get(f"/api/scenarios/{fit.pk}/map").json()
    assert "3 nodes, 6 pods, 3 pending" in get(client, "/").flat
    assert client.get(f"/api/runs/{small.pk}/map").status_code == 200
    assert "data-map" not in get(client, "/runs/").source
    assert large.cycles_done


def test_samples_are_folded_by_subject(client: Client) -> None:
    load_samples()
    page = get(client, "/").flat
    assert re.findall(r'<details class="card samples">', page) == ['<details class="card samples">'] * len(GROUPS)


def test_a_message_can_be_pasted(client: Client) -> None:
    page = get(client, "/").flat
    form = page.partition('id="message"')[2].partition("</form>")[0]
    assert 'action="/message/"' in form
    assert 'name="text"' in form


def test_samples_are_grouped(client: Client) -> None:
    load_samples()
    groups = grouped(Scenario.objects.order_by("id"))
    assert list(groups) == list(GROUPS)
    new = Scenario(name="Something new")
    assert grouped([new]) == {OTHERS: [new]}


def test_a_large_run_or_one_without_pending_pods_is_no_example() -> None:
    large = scenario(*(node(f"n{i}") for i in range(50)), pod("p"))
    idle = scenario(node("n1"))
    assert home_example.example_of(large.pk) is None
    assert home_example.example_of(idle.pk) is None


def test_links_lead_to_the_main_tasks(client: Client) -> None:
    load_samples()
    page = get(client, "/")
    links = page.flat.partition('class="entries"')[2].partition('id="samples"')[0]
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", links) == [
        "I plan an upgrade", "I tune the scheduler", "I teach or learn",
    ]  # fmt: skip
    for goal in ("/compose/", "/learn/", "/join/", "/runs/", "/docs/debugger/#fork"):
        assert f'href="{goal}"' in links
    sample = Scenario.objects.order_by("id")[0].pk
    own = scenario(node("n1"), name="Mine")
    assert re.findall(r'<optgroup label="([^"]*)"> <option value="(\d+)"', get(client, "/").flat) == [
        ("Your clusters", str(own.pk)), ("Samples", str(sample)),
    ] * 2  # fmt: skip


@pytest.mark.parametrize("section", ["upgrade", "pairs"])
def test_a_link_opens_the_section_of_the_cluster(client: Client, section: str) -> None:
    stored = scenario(node("n1"))
    answer = client.get("/scenarios/section/", {"scenario": stored.pk, "section": section})
    assert answer["Location"] == f"/scenarios/{stored.pk}/#{section}"
    assert f'id="{section}"' in get(client, f"/scenarios/{stored.pk}/").source
    for wrong in ({}, {"scenario": "x", "section": section}, {"scenario": "1", "section": "//evil"}):
        assert client.get("/scenarios/section/", wrong)["Location"] == "/"
