"""Page and requests of the scenario editor: text in; analysis, edits, scenarios and runs out."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.editor import limits
from kubesched_ui.editor.analysis import analyze
from kubesched_ui.event_log.log import RunLog
from kubesched_ui.ingest import ingest_files
from kubesched_ui.ingest.store import store
from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs.tasks import record
from kubesched_ui.scenarios.samples import load_samples
from tests.clusters import CLUSTERS, cluster_id
from tests.kubesched_ui.editor.sample_texts import MIXED
from tests.kubesched_ui.ingest.test_neighbours import WORKLOAD, about_pod
from tests.kubesched_ui.recordings import node, pod, scenario

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def post(client: Client, what: str, body: Any) -> tuple[int, dict[str, Any]]:
    sent = body if isinstance(body, str | bytes) else json.dumps(body)
    response = client.post(f"/compose/{what}/", sent, content_type="application/json")
    return response.status_code, response.json()


def test_the_page_opens_empty_with_a_text_and_with_a_scenario(client: Client) -> None:
    assert b"Compose a scenario" in client.get("/compose/").content
    page = client.post("/compose/", {"text": "a: </textarea><script>alert(1)</script>"}).content.decode()
    assert "&lt;/textarea&gt;&lt;script&gt;" in page
    stored = scenario(node("n1"), pod("p1"))
    page = client.get(f"/compose/?scenario={stored.pk}").content.decode()
    assert "name: n1" in page
    assert "A copy of" in page
    assert client.get("/compose/?scenario=99999").status_code == 404
    assert client.get("/compose/?scenario=x").status_code == 200


@pytest.mark.long
@pytest.mark.parametrize("path", CLUSTERS[::8], ids=cluster_id)
def test_a_real_cluster_opens_without_errors_and_unchanged(client: Client, path: Path) -> None:
    found = store(ingest_files([(path.name, path)]), path.name)
    analysis = analyze(text := client.get(f"/compose/?scenario={found.pk}").context["text"])
    assert [one for one in analysis["problems"] if one["severity"] == "error"] == []
    again = ingest_files([("again.yaml", text.encode())])
    assert again.counts == ingest_files([(path.name, path)]).counts
    assert again.kubernetes == found.kubernetes


def test_objects_that_only_waits_read_and_events_stay(client: Client) -> None:
    nominated = about_pod("p", "Nominated")
    group = {"kind": "PodGroup", "metadata": {"name": "g", "namespace": "a"}}
    groups = [group | {"apiVersion": f"scheduling.{api}"} for api in ("x-k8s.io/v1alpha1", "volcano.sh/v1beta1")]
    stored = scenario(node("n1"), pod("p"), WORKLOAD | {"spec": {"queueName": "q"}}, nominated, *groups)
    text = client.get(f"/compose/?scenario={stored.pk}").context["text"]
    assert [one["message"] for one in analyze(text)["problems"] if one["severity"] == "error"] == []
    assert post(client, "save", {"text": text})[0] == 200
    again = Scenario.objects.latest("id")
    assert (again.pk > stored.pk, again.counts) == (True, stored.counts)
    wrong = analyze(text.replace("queueName: q", "queueName: 7"))["problems"]
    assert "spec.queueName: Expected `str`, got `int`" in [one["message"] for one in wrong]


def test_an_old_cluster_opens_without_errors(client: Client) -> None:
    """Its version is not supported, and its empty lists are null."""
    drivers = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "n1"}, "spec": {}}
    stored = scenario(node("n1"), drivers)
    Scenario.objects.filter(pk=stored.pk).update(kubernetes="v1.13.5")
    text = client.get(f"/compose/?scenario={stored.pk}").context["text"]
    assert [one["message"] for one in analyze(text)["problems"]] == []
    assert ingest_files([("again.yaml", text.encode())]).counts == {"Node": 1, "CSINode": 1}


@pytest.mark.long
def test_every_sample_opens_without_errors_and_unchanged(client: Client) -> None:
    load_samples()
    for sample in Scenario.objects.filter(origin=Scenario.Origin.SAMPLE):
        text = client.get(f"/compose/?scenario={sample.pk}").context["text"]
        status, read = post(client, "read", text.encode())
        assert (status, read["errors"]) == (200, 0), (sample.name, read["problems"])
        status, saved = post(client, "save", {"text": text})
        assert status == 200, saved
        again = Scenario.objects.latest("id")
        assert (again.name, again.description, again.time) == (sample.name, sample.description, sample.time)
        assert list(again.objects_of()) == list(sample.objects_of())


def test_an_edit_is_returned_as_lines(client: Client) -> None:
    status, answer = post(client, "change", {"text": "a: 1\n", "changes": [{"thing": 0, "value": {"a": 2}}]})
    assert (status, answer) == (200, {"edit": {"first": 0, "last": 0, "lines": ["a: 2"]}})


def test_a_text_is_run(client: Client) -> None:
    status, answer = post(client, "run", {"text": MIXED, "tries": []})
    assert status == 200, answer
    run = Run.objects.latest("id")
    assert answer == {"url": f"/runs/{run.pk}/", "scenario": run.scenario_id}
    assert run.in_time
    assert (run.scenario.origin, run.scenario.name) == ("composed", "Three zones")


def test_a_single_pass_deployment_becomes_its_replicas(client: Client) -> None:
    text = MIXED[MIXED.index("---\n") + 4 :]  # without the fields that select virtual time
    status, answer = post(client, "run", {"text": text})
    assert status == 200, answer
    run = Run.objects.latest("id")
    assert not run.in_time
    claimed = Run.objects.claim(run.pk, "test")
    assert claimed
    record(claimed, RunLog(claimed))
    results = list(run.pod_results.all())
    assert [(one.result, one.node) for one in results] == [("scheduled", "n1")] * 3
    owners = {one.name.rpartition("-")[0] for one in results}
    assert len(owners) == 1, "pods of one ReplicaSet"
    assert owners.pop().startswith("web-")


def test_only_the_latest_trial_runs_are_kept(client: Client) -> None:
    tries: list[int] = []
    for _ in range(7):
        _, answer = post(client, "run", {"text": MIXED, "tries": tries})
        tries.append(answer["scenario"])
        Run.objects.filter(scenario_id=tries[-1]).update(finished_at="2026-01-01T00:00Z", state="done")
        if len(tries) == 1:
            Scenario.objects.filter(pk=tries[0]).update(pinned=True)
    assert list(Scenario.objects.order_by("id").values_list("id", flat=True)) == [tries[0], *tries[2:]]
    uploaded = scenario(node("n1"))
    post(client, "run", {"text": MIXED, "tries": [uploaded.pk, *tries]})
    assert Scenario.objects.filter(pk=uploaded.pk).exists(), "what was not composed stays"


@pytest.mark.parametrize("what", ["run", "save"])
def test_a_text_with_an_error_is_neither_run_nor_saved(client: Client, what: str) -> None:
    status, answer = post(client, what, {"text": MIXED.replace("cpu: 500m", "cpu: much")})
    assert status == 400
    assert "1 error to fix, the first in line 30: spec.template.spec.containers[0]" in answer["error"]
    assert post(client, what, {"text": ""})[0] == 400
    assert not Scenario.objects.exists()


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("read", "#" * (limits.MAX_BYTES + 1)), ("change", "{"), ("change", "[]"), ("change", "{}"), ("run", "3"),
        ("change", '{"text": 3, "changes": []}'), ("save", "[" * 100_000), ("change", b"\xff\xfe"),
        ("change", '"' + "x" * limits.MAX_BODY + '"'), ("run", '{"text": "\\ud800"}'),
    ],
)  # fmt: skip
def test_invalid_requests_are_rejected_with_a_message(client: Client, what: str, body: Any) -> None:
    status, answer = post(client, what, body)
    assert status == 400, answer
    assert answer["error"]


def test_a_too_large_scenario_gives_a_message(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubesched_ui.editor.try_runs.MAX_BYTES", 100)
    stored = scenario(node("n1"))
    page = client.get(f"/compose/?scenario={stored.pk}").content.decode()
    assert "the limit of the editor" in page


def test_the_fields_are_served(client: Client) -> None:
    found = client.get("/compose/fields.json").json()
    assert found["types"]["PodSpec"]["fields"]["nodeSelector"][0] == "{text}"
    assert found["kinds"]["Scenario"] == {"kubesched.dev/v1alpha1": "Scenario"}
    assert found["types"]["ScenarioSpec"]["fields"]["timeline"][0] == "[ScenarioTimelineEntry]"
    assert found["types"]["ScenarioTimelineEntry"]["fields"]["taint"][0] == "ScenarioNodeTaint"
    assert client.get("/compose/read/").status_code == 405
    old, new = (client.get(f"/compose/scoring/?release={name}").content.decode() for name in ("1.18", "<b>"))
    assert "weight.NodeResourcesLeastAllocated" in old
    assert "weight.NodeResourcesFit" in new
