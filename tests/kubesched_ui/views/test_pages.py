"""Pages of recorded runs: each responds, shows what it should and escapes names."""

import ast
import html
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from kubesched_ui.ingest import ingest_files
from kubesched_ui.ingest.store import store
from kubesched_ui.models import Cycle, Run, Scenario
from kubesched_ui.presenters import cycle_rows
from kubesched_ui.runs.services import defaults
from kubesched_ui.scenarios.samples import load_samples
from tests.kubesched_ui.pages import Page, get
from tests.kubesched_ui.recordings import node, pod, ran, scenario
from tests.scheduler_core.evidence.test_recorded_decisions import audit_log

pytestmark = pytest.mark.django_db

CHECKOUT = Path(__file__).parents[3]
EVIL = '<script>alert("x")</script>'
TEMPLATE = "{kind: Pod, metadata: {name: web}, spec: {containers: [{name: c}]}}"


@pytest.fixture
def small() -> Scenario:
    """Two nodes. One pod fits on one node, one on none, one is gated, one runs."""
    return scenario(
        node("n1", cpu="4"),
        node("n2", cpu="1", taints=[{"key": "dedicated", "value": "a", "effect": "NoSchedule"}]),
        pod("runs", cpu="500m", nodeName="n1", status={"phase": "Running"}),
        pod("fits"),
        pod("big", cpu="4"),
        pod("gated", schedulingGates=[{"name": "example.com/quota"}]),
    )


@pytest.fixture
def run(small: Scenario) -> Run:
    return ran(small)


# ------------------------------------------------------------------------------------------------ every page


@pytest.mark.long
@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.long)])
def test_every_page_of_every_sample(client: Client, every: int) -> None:
    load_samples()
    for sample in Scenario.objects.all()[::every]:
        found = ran(sample, **{"config": sample.config} | defaults(sample))
        for part in ("", "nodes/", "pods/", "objects/"):
            get(client, f"/scenarios/{sample.pk}/{part}")
        get(client, f"/runs/{found.pk}/")
        for result in found.pod_results.all():
            page = get(client, reverse("pod", args=[found.pk, result.namespace, result.name]))
            assert page.answer, f"{sample} {result.name}"
            assert len(page.open_panels) == 1
            assert len(page.ids) == len(set(page.ids))
        for name in found.node_names or []:
            get(client, reverse("node", args=[found.pk, name]))


def test_no_page_has_inline_scripts(client: Client, run: Run) -> None:
    addresses = ["/", "/scenarios/", "/runs/", "/nowhere/"]
    addresses += [f"/scenarios/{run.scenario_id}/{part}" for part in ("", "nodes/", "pods/", "objects/")]
    addresses += [f"/runs/{run.pk}/", f"/runs/{run.pk}/pods/default/big/", f"/runs/{run.pk}/nodes/n1/"]
    for address in addresses:
        response = client.get(address)
        assert Page(response).inline == []
        policy = dict(part.strip().partition(" ")[::2] for part in response["Content-Security-Policy"].split(";"))
        assert policy["script-src"] == "'self'"
        assert policy["default-src"] == "'none'"
        assert policy["frame-ancestors"] == "'none'"


def test_empty_pages_say_what_to_do_next(client: Client) -> None:
    assert "No scenarios yet" in get(client, "/scenarios/").source
    assert "No runs yet" in get(client, "/runs/").source


def test_run_without_pods(client: Client) -> None:
    found = ran(scenario(node("n1")))
    assert "No pod was scheduled" in get(client, f"/runs/{found.pk}/").source


def test_cluster_without_nodes(client: Client) -> None:
    found = ran(scenario(pod("alone")))
    assert get(client, f"/runs/{found.pk}/pods/default/alone/").answer
    assert "no nodes" in get(client, f"/scenarios/{found.scenario_id}/nodes/").source
    assert "no pod can be placed" in get(client, f"/runs/{found.pk}/").source


@pytest.mark.parametrize(
    "address",
    [
        "/nowhere/",
        "/runs/9999/",
        "/runs/9999/pods/a/b/",
        "/runs/99999999999999999999999/",
        "/scenarios/9999/",
        "/scenarios/9999/nodes/",
        "/scenarios/9999/objects/1/",
        "/scenarios/9999/object/Pod/a/b/",
    ],
)
def test_missing_pages_are_404(client: Client, address: str) -> None:
    page = get(client, address, 404)
    assert "Not found" in page.source
    assert "Traceback" not in page.source


def test_charts_are_separate_requests(client: Client, run: Run) -> None:
    page = get(client, f"/runs/{run.pk}/").source
    assert f'data-source="/runs/{run.pk}/charts/gaps/"' in page
    assert "/charts/waited/" not in page
    before, after = client.get(f"/runs/{run.pk}/charts/fullness/").json()["data"]
    assert sum(before["y"]) == sum(after["y"]) == 2, "nodes"
    assert sum(client.get(f"/runs/{run.pk}/charts/gaps/").json()["data"][0]["y"]) <= run.placed
    for address in (f"/runs/{run.pk}/charts/waited/", f"/runs/{run.pk}/charts/nothing/"):
        get(client, address, 404)
    assert len(client.get(f"/compare/{run.pk}/{run.pk}/chart/").json()["data"]) == 2


def test_unknown_pod_and_node_of_a_run(client: Client, run: Run) -> None:
    assert "has no pod default/missing" in get(client, f"/runs/{run.pk}/pods/default/missing/", 404).source
    assert "has no node missing" in get(client, f"/runs/{run.pk}/nodes/missing/", 404).source


def test_an_internal_error_shows_no_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("kubesched_ui.presenters.run_answer.answer_of", broken)
    response = Client(raise_request_exception=False).get(f"/runs/{run.pk}/")
    assert response.status_code == 500
    assert "Internal error" in response.content.decode()
    assert "secret detail" not in response.content.decode()


def test_a_form_without_its_token_is_rejected(run: Run) -> None:
    response = Client(enforce_csrf_checks=True).post(f"/runs/{run.pk}/delete/")
    assert response.status_code == 403
    assert "Reload the page" in response.content.decode()


def test_a_form_that_is_too_large_is_rejected(client: Client, small: Scenario) -> None:
    response = client.post(f"/scenarios/{small.pk}/run/", {"template": "x" * (11 * 1024 * 1024)})
    assert response.status_code in (400, 413)
    assert "too large" in response.content.decode() or "Upload a file" in response.content.decode()


# ------------------------------------------------------------------------------------------------ pod and node


def test_pod_pages_answer_the_question(client: Client, run: Run) -> None:
    base = f"/runs/{run.pk}/pods/default"
    fits, big, gated = (get(client, f"{base}/{name}/").answer for name in ("fits", "big", "gated"))
    assert fits == ("Placed on n1, the only one that fits: 1 has the untolerated taint dedicated=a.")
    assert big.startswith(
        "n1 is the only node that suits the pod, but it is short by 1.5 cpu (requests 4, 2.5 of 4 free)."
    )
    assert gated.startswith("It waits until the scheduling gate example.com/quota is removed.")
    assert '<span class="badge warn"> after admission </span>' in get(client, f"{base}/gated/").flat


@pytest.mark.parametrize(
    ("parameter", "opened"),
    [
        ("postfilter", "postfilter"),
        ("prefilter", "prefilter"),
        ("bind", "filter"),
        ("nonsense", "filter"),
        ("", "filter"),
    ],
)
def test_the_extension_point_is_in_the_url(client: Client, run: Run, parameter: str, opened: str) -> None:
    assert get(client, f"/runs/{run.pk}/pods/default/big/?point={parameter}").open_panels == [opened]


def test_the_matrix_marks_the_decisive_rejection(client: Client, run: Run) -> None:
    source = get(client, f"/runs/{run.pk}/pods/default/big/").source
    assert 'title="TaintToleration: decisive: rejects (node(s) had untolerated taint {dedicated: a})"' in source
    assert 'title="NodeResourcesFit: would also reject (Insufficient cpu)"' in source
    assert 'title="NodeResourcesFit: decisive: rejects (Insufficient cpu)"' in source


def test_suggested_fixes_of_a_pod(client: Client, run: Run) -> None:
    page = get(client, f"/runs/{run.pk}/pods/default/big/")
    parameter = re.search(r'data-load="([^"]+)"', page.source)
    assert parameter
    fragment = html.unescape(get(client, html.unescape(parameter[1])).source)
    assert "Add 1 node in a (4 cpu, 8Gi memory)." in fragment
    assert "Places 1 of 1 pod" in fragment
    assert '"create"' in fragment, "the changes, as a fork takes them"
    assert "Prove it" in fragment
    ladder = page.source.partition('class="ladder')[2].partition("</ol>")[0]
    assert f'href="/runs/{run.pk}/nodes/n1/"' in ladder
    assert "never" in ladder
    fits = get(client, f"/runs/{run.pk}/pods/default/fits/").source
    assert 'id="why"' not in fits
    assert "Why not" in fits
    to_n2 = get(client, f"/runs/{run.pk}/pods/default/fits/why/?node=n2").source
    assert "How to place it on n2" in to_n2
    assert "dedicated" in to_n2
    assert "does not exist" in get(client, f"/runs/{run.pk}/pods/default/fits/why/?node=n9").source
    assert "example.com/quota" in get(client, f"/runs/{run.pk}/pods/default/gated/why/").source
    get(client, f"/runs/{run.pk}/pods/default/runs/why/", 404)
    get(client, f"/runs/{run.pk}/pods/default/big/why/?attempt=7", 404)


def test_the_page_shows_the_cluster_at_the_time_of_the_cycle(client: Client) -> None:
    """The second pod sees the first one as placed, in whatever order the pages are opened."""
    found = ran(scenario(node("n1", cpu="4"), pod("one", cpu="9"), pod("two", cpu="3"), pod("three", cpu="3")))
    for _ in range(2):
        assert "requests 9, 4 of 4 free" in get(client, f"/runs/{found.pk}/pods/default/one/").source
        assert "requests 3, 1 of 4 free" in get(client, f"/runs/{found.pk}/pods/default/three/").source


def test_a_recording_of_an_unknown_version(client: Client, run: Run) -> None:
    Cycle.objects.update(trace=b"\xffnonsense")
    for address in (f"/runs/{run.pk}/pods/default/big/", f"/runs/{run.pk}/nodes/n1/"):
        assert "Run it again" in get(client, address, 500).source


def test_scores_can_be_searched_and_compared(client: Client) -> None:
    found = ran(scenario(*(node(f"n{i}", cpu=str(4 + i)) for i in range(60)), pod("p")))
    address = f"/runs/{found.pk}/pods/default/p/"
    page = get(client, address)
    assert "60 nodes scored" in page.source
    assert page.open_panels == ["score"]
    assert "1–25 of 60" in page.source
    result = found.pod_results.get()
    assert f"{result.node} against n" in page.source
    assert f"{result.node} against n3<" in get(client, f"{address}?node=n3").source
    assert "26–50 of 60" in get(client, f"{address}?page=2").source
    assert get(client, f"{address}?q=n11").source.count('title="Compare with the winner"') == 1


def test_pages_of_a_virtual_time_run_show_queue_and_timeline(client: Client, small: Scenario) -> None:
    in_time, once = ran(small, in_time=True, until=60.0), ran(small)
    page = get(client, f"/runs/{in_time.pk}/")
    assert "lanes" in page.ids
    assert f'data-src="/api/runs/{in_time.pk}"' in page.source
    assert "virtual time until 60 s" in page.source
    assert "The scenario has no nodes" not in page.source
    page = get(client, f"/runs/{in_time.pk}/pods/default/big/?t=0")
    assert "way" in page.ids
    assert f'data-src="/api/runs/{in_time.pk}/pods/default/big/history"' in page.source
    assert page.inline == []
    assert "lanes" not in get(client, f"/runs/{once.pk}/").ids
    assert "way" not in get(client, f"/runs/{once.pk}/pods/default/big/").ids


def test_a_preemptor_without_a_node_shows_its_nomination(client: Client) -> None:
    found = ran(
        scenario(
            node("n1", cpu="2"),
            pod("low", cpu="2", nodeName="n1", priority=1, status={"phase": "Running"}),
            pod("high", cpu="2", priority=10),
        )
    )
    row = get(client, f"/runs/{found.pk}/").flat.rpartition("default/high</a>")[2].partition("</tr>")[0]
    assert "nominated </span>" in row
    assert 'title="n1"' in row
    assert "nominated n1 </span>" in get(client, f"/runs/{found.pk}/pods/default/high/").flat


def test_preemption_is_shown(client: Client) -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    found = ran(
        scenario(node("n1", cpu="2"), high, pod("low", cpu="2", nodeName="n1"), pod("vip", cpu="2", priority=1000))
    )
    page = get(client, f"/runs/{found.pk}/pods/default/vip/?attempt=1&point=postfilter")
    assert 'data-plugin="DefaultPreemption"' in page.source
    assert "by evicting 1 pod (default/low)." in page.answer
    assert "default/low · 0" in page.flat
    assert "the only candidate" in page.source
    assert "gone" in get(client, f"/runs/{found.pk}/nodes/n1/").source


def test_the_node_of_the_real_cluster_is_shown(client: Client, small: Scenario) -> None:
    found = ran(small, unbind=["default/runs"], pods=[])
    page = get(client, f"/runs/{found.pk}/pods/default/runs/")
    assert "This run chose the same node." in page.source


def test_a_message_recorded_in_the_cluster_is_shown(client: Client) -> None:
    value = {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/9 nodes, it said"}]}
    found = ran(scenario(node("n1"), pod("p", cpu="9", status=value)))
    page = get(client, f"/runs/{found.pk}/pods/default/p/")
    assert "0/9 nodes, it said" in page.source
    assert "0/1 nodes are available" in page.source


def test_a_pod_that_was_not_tried_yet(client: Client, small: Scenario) -> None:
    waiting = Run.objects.create(scenario=small)
    page = get(client, f"/runs/{waiting.pk}/pods/default/fits/")
    assert "Not scheduled yet" in page.source
    assert f'data-live="/ws/runs/{waiting.pk}"' in page.source


def test_the_node_page_lists_the_verdict_for_each_pod(client: Client, run: Run) -> None:
    source = get(client, f"/runs/{run.pk}/nodes/n2/").source
    assert source.count("rejected</span>") == 2
    assert source.count("not evaluated") == 1
    source = get(client, f"/runs/{run.pk}/nodes/n1/").source
    assert "chosen" in source
    assert "placed by this run" in source
    assert "1.5 of 4" in source


# ------------------------------------------------------------------------------------------------ run and lists


def rows(page: Page) -> list[str]:
    return re.findall(r"/pods/default/([^/\"]+)/\" ?> ?default/", page.flat)


def test_the_pod_table_is_searched_filtered_sorted_and_paginated(client: Client, run: Run) -> None:
    address = f"/runs/{run.pk}/"
    assert set(rows(get(client, address))) == {"fits", "big", "gated"}
    assert rows(get(client, f"{address}?q=fit")) == ["fits"]
    assert rows(get(client, f"{address}?result=gated")) == ["gated"]
    assert rows(get(client, f"{address}?sort=-name")) == ["gated", "fits", "big"]
    assert rows(get(client, f"{address}?sort=drop+table")) == rows(get(client, address))
    assert "No pod matches" in get(client, f"{address}?q=nothing").source


def test_the_run_page_of_150_pods_is_paginated(client: Client) -> None:
    found = ran(scenario(node("n1", cpu="200", memory="200Gi"), *(pod(f"p{i:03}", cpu="1m") for i in range(150))))
    assert len(rows(get(client, f"/runs/{found.pk}/"))) == 100
    assert len(rows(get(client, f"/runs/{found.pk}/?page=2"))) == 50
    assert len(rows(get(client, f"/runs/{found.pk}/?page=999"))) == 50


def test_scenario_pages_search_and_sort(client: Client, small: Scenario) -> None:
    base = f"/scenarios/{small.pk}"
    assert "dedicated=a:NoSchedule" in get(client, f"{base}/nodes/?q=dedicated").source
    assert "No node matches" in get(client, f"{base}/nodes/?q=nothing").source
    assert "default/gated" in get(client, f"{base}/pods/?state=gated").source
    assert "default/fits" not in get(client, f"{base}/pods/?state=gated").source
    assert get(client, f"{base}/objects/?kind=Node").flat.count("<tr> <td>Node</td>") == 2
    assert client.get(f"{base}/object/Node/n1/").status_code == 302
    assert client.get(f"{base}/object/Pod/default/fits/").status_code == 302


def test_warnings_about_the_configuration_are_shown(client: Client, small: Scenario) -> None:
    config = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"
    found = ran(small, config=config)
    [warning] = cycle_rows.warnings_of(found)
    assert "v1beta3 is read by kube-scheduler" in warning
    assert html.escape(warning) in get(client, f"/runs/{found.pk}/").source


@pytest.mark.parametrize(
    ("kubernetes", "words"),
    [
        ("", "scheduler 1.34 (verified as 1.34.1), the default"),
        ("v1.34.1-eks-1", "scheduler 1.34 (verified as 1.34.1), the version of the cluster, the default"),
        ("v1.34.6-eks-1", "scheduler 1.34 (verified as 1.34.1); the cluster runs v1.34.6-eks-1, the default"),
        ("v1.27.3", "scheduler 1.34 (verified as 1.34.1); the cluster runs v1.27.3, the default"),
        ("v1.3.0", "scheduler 1.34 (verified as 1.34.1); the cluster runs v1.3.0, the default"),
    ],
)
def test_the_release_of_a_run_and_of_its_cluster(client: Client, small: Scenario, kubernetes: str, words: str) -> None:
    Scenario.objects.filter(pk=small.pk).update(kubernetes=kubernetes)
    made = Run.objects.create(scenario=small, release="1.34")
    assert words in " ".join(client.get(f"/runs/{made.pk}/").content.decode().split())
    assert "1.34 (verified as 1.34.1)" in client.get(f"/scenarios/{small.pk}/").content.decode(), "the chooser"


def test_a_failed_run_shows_the_reason(client: Client, small: Scenario) -> None:
    failed = Run.objects.create(scenario=small, state=Run.State.FAILED, error="profiles[0]: is wrong")
    assert "profiles[0]: is wrong" in get(client, f"/runs/{failed.pk}/").source


# ------------------------------------------------------------------------------------------------ writes


def test_upload_of_files_and_text(client: Client) -> None:
    first = SimpleUploadedFile("a.yaml", b"{apiVersion: v1, kind: Node, metadata: {name: n1}}")
    second = SimpleUploadedFile("b.yaml", b"{apiVersion: v1, kind: Node, metadata: {name: n2}}")
    response = client.post("/upload/", {"file": [first, second]})
    made = Scenario.objects.get()
    assert response["Location"] == f"/scenarios/{made.pk}/"
    assert made.counts == {"Node": 2}
    client.post("/upload/", {"text": "{apiVersion: v1, kind: Node, metadata: {name: n1}}"})
    assert Scenario.objects.count() == 2


def test_an_unreadable_upload_names_the_file_and_keeps_the_text(client: Client) -> None:
    response = client.post("/upload/", {"file": SimpleUploadedFile("broken.yaml", b"a: [")})
    assert response.status_code == 400
    assert "broken.yaml" in response.content.decode()
    response = client.post("/upload/", {"text": "kind: [mine"})
    assert "kind: [mine" in response.content.decode()
    assert not Scenario.objects.exists()


@pytest.mark.parametrize(
    ("fields", "stored"),
    [
        (
            {"seed": "7", "percentage": "50", "release": "1.27"},
            {"pods": None, "seed": 7, "percentage": 50, "release": "1.27", "preemption": True},
        ),
        (
            {"which": "unbind", "pod": ["default/runs"], "unbind": "default/runs\n"},
            {"pods": [], "unbind": ["default/runs"]},
        ),
        ({"which": "template", "template": TEMPLATE, "copies": "3"}, {"pods": [], "copies": 3, "template": TEMPLATE}),
        ({"mode": "time", "until": "30m"}, {"in_time": True, "until": 1800.0}),
        ({"mode": "time"}, {"in_time": True, "until": 600.0}),
        ({"mode": "once", "until": "30m"}, {"in_time": False, "until": None}),
    ],
)
def test_start_a_run(client: Client, small: Scenario, fields: dict[str, Any], stored: dict[str, Any]) -> None:
    given = {"which": "pending", "release": "1.34", "tie_break": "seed", "preemption": "on"} | fields
    response = client.post(f"/scenarios/{small.pk}/run/", given)
    made = Run.objects.get()
    assert response["Location"] == f"/runs/{made.pk}/"
    assert {name: getattr(made, name) for name in stored} == stored


def test_an_edit_creates_a_new_version(client: Client, small: Scenario) -> None:
    obj = small.cluster_objects.get(kind="Node", name="n1")
    address = f"/scenarios/{small.pk}/objects/{obj.pk}/"
    text = html.unescape(re.search(r"<textarea[^>]*>(.*?)</textarea>", get(client, address).source, re.S)[1])  # type: ignore[index]
    response = client.post(address, {"text": text.replace("cpu: '4'", "cpu: '16'")})
    made = Scenario.objects.exclude(pk=small.pk).get()
    assert response["Location"] == f"/scenarios/{made.pk}/"
    assert (made.parent, made.origin, made.counts) == (small, Scenario.Origin.EDIT, small.counts)
    changed = made.cluster_objects.get(kind="Node", name="n1")
    assert changed.data["status"]["allocatable"]["cpu"] == "16"
    assert changed.position == obj.position
    assert small.cluster_objects.get(kind="Node", name="n1").data["status"]["allocatable"]["cpu"] == "4"
    assert made.cluster_objects.count() == small.cluster_objects.count()


def test_removing_an_object_creates_a_new_version(client: Client, small: Scenario) -> None:
    obj = small.cluster_objects.get(kind="Node", name="n2")
    client.post(f"/scenarios/{small.pk}/objects/{obj.pk}/", {"text": "", "remove": "1"})
    made = Scenario.objects.exclude(pk=small.pk).get()
    assert made.counts["Node"] == 1
    assert not made.cluster_objects.filter(name="n2").exists()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: [", "the text"),
        ("", "the text"),
        ("{apiVersion: v1, kind: Node, metadata: {name: n2}}", "already has Node"),
        (
            "{apiVersion: v1, kind: Node, metadata: {name: n8}}\n---\n"
            "{apiVersion: v1, kind: Node, metadata: {name: n9}}",
            "exactly one",
        ),
        ("{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: lots}}}", "cpu"),
    ],
)
def test_an_invalid_edit_keeps_the_text(client: Client, small: Scenario, text: str, value: str) -> None:
    obj = small.cluster_objects.get(kind="Node", name="n1")
    response = client.post(f"/scenarios/{small.pk}/objects/{obj.pk}/", {"text": text})
    page = html.unescape(response.content.decode())
    assert response.status_code == 400
    assert value in page
    assert text in page
    assert Scenario.objects.count() == 1


def test_cancel_and_delete(client: Client, small: Scenario) -> None:
    waiting = Run.objects.create(scenario=small)
    client.post(f"/runs/{waiting.pk}/cancel/")
    waiting.refresh_from_db()
    assert waiting.state == Run.State.CANCELLED
    assert client.get(f"/runs/{waiting.pk}/delete/").status_code == 405
    client.post(f"/runs/{waiting.pk}/delete/")
    assert not Run.objects.exists()
    client.post(f"/scenarios/{small.pk}/delete/")
    assert not Scenario.objects.exists()


# ------------------------------------------------------------------------------------------------ hostile text


def test_hostile_text_is_escaped_everywhere(client: Client) -> None:
    evil_pod = pod("p", cpu="9", status={"conditions": [{"type": "PodScheduled", "status": "False", "message": EVIL}]})
    evil_pod["metadata"] |= {"labels": {"a": EVIL}, "annotations": {"b": EVIL}}
    evil_node = node("n1", taints=[{"key": "k", "value": EVIL, "effect": "NoSchedule"}])
    evil_node["metadata"]["labels"] |= {"topology.kubernetes.io/zone": EVIL}
    odd = "<img src=x onerror=alert(1)>\"'&{{7*7}}"
    other = pod("q")
    other["metadata"]["name"] = odd
    stored = scenario(evil_node, node("<svg onload=alert(1)>"), evil_pod, other, name=EVIL)
    Scenario.objects.filter(pk=stored.pk).update(description=EVIL, warnings=[{"code": "x", "message": EVIL}])
    found = ran(stored)
    addresses = ["/", "/scenarios/", "/runs/", f"/runs/{found.pk}/", f"/runs/{found.pk}/pods/default/p/"]
    addresses += [f"/scenarios/{stored.pk}/{part}" for part in ("", "nodes/", "pods/", "objects/")]
    addresses += [f"/scenarios/{stored.pk}/objects/{obj.pk}/" for obj in stored.cluster_objects.all()]
    addresses += [
        f"/runs/{found.pk}/?q={EVIL}&result={EVIL}&sort={EVIL}",
        reverse("pod", args=[found.pk, "default", odd]),
    ]
    addresses += [reverse("node", args=[found.pk, name]) for name in found.node_names or []]
    addresses += [f"/runs/{found.pk}/pods/default/p/?point={EVIL}&plugin={EVIL}&node={EVIL}&q={EVIL}&attempt={EVIL}"]
    for address in addresses:
        page = get(client, address)
        assert page.inline == [], address
        assert EVIL not in page.source, address
        assert "<img" not in page.source, address
        assert "<svg onload" not in page.source, address
        assert "<script>alert" not in page.source, address


def test_nul_characters_in_queries(client: Client, run: Run) -> None:
    for address in (f"/runs/{run.pk}/?q=%00", f"/scenarios/{run.scenario_id}/objects/?q=%00&kind=%00"):
        get(client, address)
    get(client, f"/runs/{run.pk}/pods/default/%00/", 404)


# ------------------------------------------------------------------------------------------------ source code


def test_views_are_short() -> None:
    for path in (CHECKOUT / "kubesched_ui" / "views").glob("*.py"):
        for found in ast.walk(ast.parse(path.read_text())):
            if isinstance(found, ast.FunctionDef) and "request" in [arg.arg for arg in found.args.args[:1]]:
                assert (found.end_lineno or 0) - found.lineno < 20, f"{path.name}: {found.name}"


def test_a_decision_that_differs_links_to_its_second(client: Client) -> None:
    stored = store(ingest_files([("audit.log", audit_log("n1"))]), name="recorded")
    page = get(client, f"/scenarios/{stored.pk}/")
    assert page.flat.count('<a href="#t-answer">Run the scenario to see this second</a>') == 1
    assert "t-answer" in page.ids
    ran(stored)  # a single pass has no seconds
    assert "#fork-t" not in get(client, f"/scenarios/{stored.pk}/").source
    run = ran(stored, in_time=True, until=20)
    page = get(client, f"/scenarios/{stored.pk}/")
    assert "#t-answer" not in page.source
    for part in ("lanes", "fork-t"):
        assert page.source.count(f'<a href="/runs/{run.pk}/?t=3.0#{part}">') == 1
        assert part in get(client, f"/runs/{run.pk}/?t=3.0").ids


@pytest.mark.parametrize(
    ("text", "second"),
    [("3.25", "3.250"), ("3.0", "3"), ("0", "0"), *((text, "") for text in ("", "nan", "-1", "1e12", "x"))],
)
def test_the_fork_form_has_the_second_of_the_address(client: Client, text: str, second: str) -> None:
    run = ran(scenario(node("n1"), pod("a")), in_time=True, until=20)
    page = get(client, f"/runs/{run.pk}/?t={text}").flat
    assert f'step="any" max="20" value="{second}"' in page
    assert re.search(r'id="fork-at"[^>]*value="1"', page) if second == "" else 'id="fork-at"' in page


def test_templates_mark_nothing_as_safe() -> None:
    for path in (CHECKOUT / "templates").rglob("*.html"):
        assert not re.search(r"\|\s*safe\b|autoescape off", path.read_text()), path


def test_templates_have_short_lines() -> None:
    """djangofmt wraps at 120. Lines that it cannot wrap (a long attribute, a line of `<pre>`) end soon after."""
    for path in (CHECKOUT / "templates").rglob("*.html"):
        lines = path.read_text().splitlines()
        assert max(map(len, lines)) <= 160, path
        assert len(lines) <= 160, path


def test_scripts_build_no_markup_from_text() -> None:
    for path in (CHECKOUT / "static" / "js").rglob("*.js"):
        text = path.read_text()
        assert not re.search(r"insertAdjacentHTML|document\.write|\beval\(|new Function", text), path
        assigned = [line for line in text.splitlines() if re.search(r"innerHTML\s*=(?!=)", line)]
        # The only place that sets markup takes it from a page of the product, already escaped.
        assert all("now.innerHTML" in line for line in assigned), path
