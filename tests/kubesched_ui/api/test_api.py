"""HTTP API: scenarios, runs, exports and errors."""

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kubesched_ui.exports import run_export
from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs.tasks import execute_run
from scheduler_core.simulation import Simulation
from tests.conformance import golden_cases, golden_decisions
from tests.examples import selection
from tests.kubesched_ui.clusters import as_list, every_outcome, node, pod
from tests.kubesched_ui.http_api import body, get, post, upload

pytestmark = pytest.mark.django_db

CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
CUT_OFF = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc'


def run(client: Client, scenario: int, **settings: Any) -> dict[str, Any]:
    """Return a finished run."""
    started = post(client, f"/api/scenarios/{scenario}/runs", settings)
    assert started.keys() == {"id", "url", "ws_url", "notes"}
    execute_run(started["id"])
    found: dict[str, Any] = get(client, started["url"])
    return found


# ------------------------------------------------------------------------------------------------ scenarios


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_upload_as_body_and_as_form(client: Client, pack: Any) -> None:
    data = pack(every_outcome())
    first = client.get(f"/api/scenarios/{upload(client, data)}").json()
    form = {"file": [SimpleUploadedFile("a.json", pack(as_list(node("x")))), SimpleUploadedFile("b.json", data)]}
    second = client.post("/api/scenarios", form).json()
    assert first["counts"] == {"Node": 4, "Pod": 6}
    assert second["counts"] == {"Node": 5, "Pod": 6}
    assert (first["name"], second["name"]) == ("upload", "a.json")
    assert [s["id"] for s in client.get("/api/scenarios").json()] == [second["id"], first["id"]]


def test_a_scenario_is_exported_with_its_metadata_and_uploaded_again(client: Client) -> None:
    metadata = {"name": 'My "cluster"', "description": "Look\nhere", "kubernetes": "v1.30.1", "config": CONFIG}
    first = Scenario.objects.get(pk=upload(client, every_outcome()))
    for field, text in metadata.items():
        setattr(first, field, text)
    first.save()
    exported = client.get(f"/api/scenarios/{first.pk}/export").content
    assert json.loads(exported)["kind"] == "List"
    answer = client.post("/api/scenarios", {"file": SimpleUploadedFile("export.json", exported)})
    assert answer.json() | metadata == answer.json()
    assert list(Scenario.objects.get(pk=answer.json()["id"]).objects_of()) == list(first.objects_of())


@pytest.mark.parametrize("annotations", ["x", {"kubesched.dev/name": 5}, {"kubesched.dev/config": "a: [\0"}, None])
def test_invalid_annotations_of_a_list_are_rejected_or_ignored(client: Client, annotations: Any) -> None:
    metadata = {"annotations": annotations, "name": "kubesched.dev/"}
    body = json.dumps({"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": [node("n1")]})
    answer = client.post("/api/scenarios", body.encode(), content_type="application/octet-stream")
    assert answer.status_code in (201, 400)


def test_deleting_a_scenario_deletes_its_runs(client: Client) -> None:
    scenario = upload(client, every_outcome())
    run(client, scenario)
    assert client.delete(f"/api/scenarios/{scenario}").status_code == 204
    assert not Run.objects.exists()
    assert client.get(f"/api/scenarios/{scenario}").status_code == 404


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "application/octet-stream"),
        (b"{", "application/octet-stream"),
        (b"\x00\x01\x02", "application/octet-stream"),
        (b"[" * 100_000, "application/json"),
        (b"no: kubernetes", "application/yaml"),
        (b"--x--", "multipart/form-data; boundary=x"),
        (b"garbage", "multipart/form-data"),
        *((CUT_OFF, f"multipart/form-data{end}") for end in ("; boundary=x", "", "; boundary=\xff")),
    ],
)
def test_an_invalid_upload_is_rejected_with_a_sentence(client: Client, body: bytes, kind: str) -> None:
    answer = client.generic("POST", "/api/scenarios", body, content_type=kind)
    assert 400 <= answer.status_code < 500
    assert len(answer.json()["error"]) > 10
    assert not Scenario.objects.exists()


# ------------------------------------------------------------------------------------------------ runs


def test_the_simulator_export_is_streamed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """It contains all pods as submitted, with at most one chunk of them in memory."""
    monkeypatch.setattr(run_export, "CHUNK", 10)
    annotations = {"long": "x" * 100_000}
    pods = [pod(f"p{n}") for n in range(80)]
    for one in pods:
        one["metadata"]["annotations"] = annotations
    scenario = upload(client, as_list(node("n1", "400"), *pods, pod("bound", on="n1")))
    template = "kind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: nginx}]}\n"
    chosen = [f"default/p{n}" for n in range(80)]
    found = run(client, scenario, pods=chosen, unbind=["default/bound"], template=template, copies=1)
    parts = run_export.simulator(Run.objects.get(pk=found["id"]))
    tracemalloc.start()
    size = sum(map(len, parts))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size > 80 * 100_000
    assert peak < size / 2
    items = json.loads(b"".join(run_export.simulator(Run.objects.get(pk=found["id"]))))["items"]
    assert [item["metadata"]["name"] for item in items] == [*(f"p{n}" for n in range(80)), "bound", "web-1"]
    assert [item["status"]["phase"] for item in items if item["metadata"]["name"] == "bound"] == ["Pending"]
    assert items[0]["metadata"]["annotations"]["long"] == annotations["long"]


def test_a_run_from_start_to_result(client: Client) -> None:
    found = run(client, upload(client, every_outcome()), seed=1)
    assert (found["state"], found["error"]) == ("done", "")
    assert (found["cycles_done"], found["cycles_total"]) == (5, 5)
    assert (found["placed"], found["unschedulable"], found["gated"], found["errors"]) == (2, 2, 1, 0)
    assert (found["nominated"], found["evicted"]) == (1, 1)
    for result, names in (
        ("nominated", {"important"}),
        ("no-node", {"nowhere"}),
        ("unschedulable", {"important", "nowhere"}),
    ):
        assert {row["name"] for row in client.get(f"{found['url']}/pods", {"result": result}).json()["pods"]} == names
    assert sorted(found["node_names"]) == ["n1", "n2", "n3", "n4"]
    page = client.get(f"{found['url']}/pods").json()
    results = {p["name"]: p for p in page["pods"]}
    assert page["total"] == 5
    assert results["gated"]["result"] == "gated"
    assert results["important"]["nominated_node"] == "n3"
    assert "64" not in results["nowhere"]["message"]
    assert {"plugin": "NodeResourcesFit", "reason": "Insufficient cpu", "nodes": 3} in results["nowhere"]["reasons"]


def test_the_pod_table_is_filtered_sorted_and_paginated(client: Client) -> None:
    url = run(client, upload(client, as_list(node("n1", "8"), *(pod(f"p{n:02}") for n in range(12)))))["url"] + "/pods"

    def names(query: str) -> list[str]:
        return [p["name"] for p in client.get(f"{url}?{query}").json()["pods"]]

    assert names("result=scheduled&sort=name&page_size=3&page=2") == ["p03", "p04", "p05"]
    assert names("result=unschedulable&sort=-name") == ["p11", "p10", "p09", "p08"]
    assert names("q=P07") == names("q=default/p07") == ["p07"]
    assert names("q=insufficient&page_size=1") == ["p08"]
    assert names("node=n1&namespace=default&page_size=2") == ["p00", "p01"]
    assert names("q=%25") == names("q=_") == []
    assert client.get(f"{url}?result=scheduled&page=9").json() == {"total": 8, "page": 9, "pods": []}


def test_events_are_read_in_pages(client: Client) -> None:
    found = run(client, upload(client, every_outcome()))
    everything = client.get(f"{found['url']}/events?limit=10000").json()
    assert [e["seq"] for e in everything["events"]] == list(range(1, found["last_seq"] + 1))
    assert everything["active"] is False
    portions, since = [], 0
    while part := client.get(f"{found['url']}/events?since={since}&limit=7").json():
        assert len(part["events"]) <= 7
        if not part["events"]:
            break
        portions += part["events"]
        since = part["last_seq"]
    assert portions == everything["events"]
    pods = {e["pod"] for e in client.get(f"{found['url']}/events?pod=default/only").json()["events"]}
    assert pods == {"", "default/only"}


def test_selected_pods_bound_pods_and_copies(client: Client) -> None:
    scenario = upload(client, every_outcome())
    template = "kind: Pod\nmetadata: {name: web-}\nspec: {containers: [{name: c, image: nginx}]}\n"
    found = run(client, scenario, pods=["default/only", "default/bound"], template=template, copies=2)
    done = [e["pod"] for e in client.get(f"{found['url']}/events").json()["events"] if e["type"] == "cycle.finished"]
    assert done == ["default/only", "default/bound", "default/web-1", "default/web-2"]
    found = run(client, scenario, unbind=["default/bound"])
    assert found["cycles_total"] == 6
    found = run(client, scenario, pods=["default/bound"], unbind=["default/bound"])
    assert (found["cycles_total"], found["unbind"]) == (1, [])


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"release": "1.2"}, "1.2"),
        ({"config": "kind: Wrong"}, "Wrong"),
        ({"config": "[" * 100}, ""),
        ({"config": CONFIG + "profiles: [{plugins: {score: {enabled: [{name: Nothing}]}}}]"}, "Nothing"),
        ({"seed": "x"}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"tie_break": "age"}, "tie_break"),
        ({"percentage": 101}, "percentage"),
        ({"pods": ["default/missing"]}, "default/missing"),
        ({"pods": ["default/only", "default/only"]}, "twice"),
        ({"pods": ["a\x00b"]}, "pods"),
        ({"pods": "default/only"}, "pods"),
        ({"copies": 3}, "template"),
        ({"template": "kind: Node", "copies": 1}, "Pod"),
        ({"template": "kind: Pod\nspec: {}", "copies": -1}, "copies"),
        ({"speed": 1}, "speed"),
        ([], ""),
    ],
)
def test_invalid_settings_are_rejected_before_the_start(client: Client, wanted: Any, says: str) -> None:
    address = f"/api/scenarios/{upload(client, every_outcome())}/runs"
    answer = client.post(address, json.dumps(wanted), content_type="application/json")
    assert 400 <= answer.status_code < 500
    assert says in answer.json()["error"]
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/scenarios/99"),
        ("DELETE", "/api/scenarios/99"),
        ("GET", "/api/scenarios/" + "9" * 40),
        ("POST", "/api/scenarios/99/runs"),
        ("GET", "/api/runs/99"),
        ("GET", "/api/runs/99/events"),
        ("GET", "/api/runs/99/pods"),
        ("GET", "/api/runs/99/pods/a/b"),
        ("GET", "/api/runs/99/export"),
        ("POST", "/api/runs/99/cancel"),
        ("DELETE", "/api/runs/99"),
    ],
)
def test_missing_objects_are_404(client: Client, method: str, path: str) -> None:
    answer = client.generic(method, path, "{}", content_type="application/json")
    assert answer.status_code == 404
    assert "There is no" in answer.json()["error"]


def test_invalid_queries_are_422(client: Client) -> None:
    url = run(client, upload(client, as_list(node("n1"), pod("a"))))["url"]
    for query in ("events?since=-1", "events?since=x", "events?limit=0", "pods?page=0", "pods?sort=password"):
        assert get(client, f"{url}/{query}", 422)["error"], query
    assert get(client, f"{url}/export?format=xml", 422)["error"]


def test_a_queued_run_is_cancelled_immediately(client: Client) -> None:
    started = post(client, f"/api/scenarios/{upload(client, every_outcome())}/runs", {})
    assert client.post(started["url"] + "/cancel").json()["state"] == "cancelled"
    execute_run(started["id"])
    assert client.get(started["url"]).json()["cycles_done"] == 0


def test_an_input_error_of_the_core_fails_the_run_with_its_message(client: Client) -> None:
    scenario = upload(client, as_list(node("n1"), pod("a", schedulerName="other")))
    found = run(client, scenario, pods=["default/a"])
    assert found["state"] == "failed"
    assert "default/a" in found["error"]
    assert client.get(f"{found['url']}/events").json()["events"][-1]["data"]["error"] == found["error"]


def test_an_internal_error_shows_no_traceback(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Any) -> Iterator[Any]:
        raise ZeroDivisionError("secret detail")
        yield

    monkeypatch.setattr(Simulation, "run", broken)
    found = run(client, upload(client, every_outcome()))
    assert found["state"] == "failed"
    assert "ZeroDivisionError" in found["error"]
    assert "secret detail" not in found["error"]


# ------------------------------------------------------------------------------------------------ recorded data


@pytest.mark.parametrize("release", selection(["v1.34", "v1.27"], 2))
def test_a_conformance_case_has_the_expected_result_over_the_api(client: Client, release: str) -> None:
    chosen = {case["name"].partition("-")[0]: case for case in golden_cases(release)}
    wanted = golden_decisions(release)
    for case in list(chosen.values())[::3]:
        cycles = decide(client, case)
        assert len(cycles) == len(case["pods"])
        for ours, theirs in zip(cycles, wanted[case["name"]]["cycles"], strict=True):
            assert comparable(ours) == comparable(theirs), case["name"]


def decide(client: Client, case: dict[str, Any]) -> list[dict[str, Any]]:
    """Upload and run a case, and return its cycles over HTTP."""
    found = run(
        client,
        upload(client, as_list(*case["objects"]), case["name"]),
        release=case["kubernetes"],
        config=json.dumps(case["config"]) if case.get("config") else None,
        tie_break="name",
        preemption=bool(case.get("preempt")),
        percentage=case.get("percentage"),
        pods=case["pods"],
    )
    assert found["state"] == "done", (case["name"], found["error"])
    return [cycle for pod in case["pods"] for cycle in client.get(f"{found['url']}/pods/{pod}").json()["cycles"]]


def comparable(value: Any) -> Any:
    """Sort lists and drop empty values, as the comparison of conformance cases does."""
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items() if item not in (None, [], {}, "")}
    return sorted((comparable(item) for item in value), key=str) if isinstance(value, list) else value


def test_the_jsonl_export_has_every_cycle(client: Client) -> None:
    found = run(client, upload(client, every_outcome()))
    lines = [json.loads(line) for line in body(client.get(f"{found['url']}/export")).splitlines()]
    assert lines[0]["node_order"] == found["node_names"]
    for line in lines[1:]:
        detail = client.get(f"{found['url']}/pods/{line['pod']}").json()
        assert line in detail["cycles"]
    assert len(lines) == 6


def test_the_simulator_export_annotates_pods_as_the_simulator_does(client: Client) -> None:
    found = run(client, upload(client, every_outcome()))
    pods = {
        p["metadata"]["name"]: p
        for p in json.loads(body(client.get(f"{found['url']}/export?format=simulator")))["items"]
    }
    prefix = "kube-scheduler-simulator.sigs.k8s.io/"
    scored = {k.removeprefix(prefix): v for k, v in pods["scored"]["metadata"]["annotations"].items()}
    node_name = pods["scored"]["spec"]["nodeName"]
    assert scored["selected-node"] == node_name
    final = json.loads(scored["finalscore-result"])
    assert all(isinstance(value, str) for value in final[node_name].values())
    cycle = client.get(f"{found['url']}/pods/default/scored").json()["cycles"][0]
    assert sum(map(int, final[node_name].values())) == cycle["total"][node_name]
    assert json.loads(scored["bind-result"]) == {"DefaultBinder": "success"}
    refused = json.loads(pods["nowhere"]["metadata"]["annotations"][prefix + "filter-result"])
    assert refused["n1"]["NodeResourcesFit"] == "Insufficient cpu"
    assert refused["n4"]["TaintToleration"].startswith("node(s) had untolerated taint")
    assert "nodeName" not in pods["nowhere"]["spec"]


def test_the_openapi_document_and_its_pages_are_served(client: Client) -> None:
    document = client.get("/api/openapi.json").json()
    assert "/api/scenarios/{scenario_id}/runs" in document["paths"]
    page = client.get("/api/docs")
    assert page.status_code == 200
    assert b"cdn." not in page.content
