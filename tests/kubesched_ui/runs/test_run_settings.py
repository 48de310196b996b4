"""Settings of a run for pods, claims and templates, by API, form and command."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from kubesched_ui.exports import run_export
from kubesched_ui.models import ClusterObject, Run, Scenario
from kubesched_ui.runs.services import RunSettings, create_run
from kubesched_ui.runs.tasks import execute_run
from tests.kubesched_ui.clusters import as_list, node, pod, static_pod

pytestmark = pytest.mark.django_db

CLAIMING = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
LIMITED = {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1500m"}}}]}
SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "websocket.schema.json").read_text())


def uploaded(client: Client, *objects: Any) -> dict[str, Any]:
    answer = client.post("/api/scenarios", as_list(*objects), content_type="application/octet-stream")
    assert answer.status_code == 201, answer.content
    found: dict[str, Any] = answer.json()
    return found


def started(client: Client, scenario: dict[str, Any], status: int = 202, **settings: Any) -> dict[str, Any]:
    address = f"{scenario['url']}/runs"
    answer = client.post(address, json.dumps(settings), content_type="application/json")
    assert answer.status_code == status, answer.content
    found: dict[str, Any] = answer.json()
    return found


def ran(client: Client, scenario: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """Return a finished run whose events match their schema."""
    begun = started(client, scenario, **settings)
    execute_run(begun["id"])
    run: dict[str, Any] = client.get(begun["url"]).json()
    assert run["state"] == "done", run["error"]
    events = client.get(f"{run['url']}/events", {"limit": 10_000}).json()["events"]
    jsonschema.Draft202012Validator(SCHEMA).validate({"events": events})
    return run


def nodes_of(client: Client, run: dict[str, Any]) -> dict[str, str]:
    """Return the node of each pod, "" for none."""
    return {row["name"]: row["node"] for row in client.get(f"{run['url']}/pods").json()["pods"]}


def events_of(client: Client, run: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    events = client.get(f"{run['url']}/events", {"limit": 10_000}).json()["events"]
    return [event for event in events if event["type"] == kind]


def warned(run: dict[str, Any], words: str) -> bool:
    return any(words in warning for warning in run["warnings"])


BOTH = pytest.mark.parametrize("in_time", [False, True])


@BOTH
def test_pods_of_other_schedulers_are_ignored_or_scheduled(client: Client, in_time: bool) -> None:
    scenario = uploaded(client, node("n1"), pod("a", schedulerName="volcano"), pod("b", schedulerName="gpu"))
    (remark,) = scenario["warnings"]
    assert (remark["code"], remark["counts"]) == ("other-schedulers", {"volcano": 1, "gpu": 1})
    left = ran(client, scenario, in_time=in_time)
    assert (left["left"], left["cycles_done"]) == ({"volcano": 1, "gpu": 1}, 0)
    assert warned(left, "2 pods wait for another scheduler and are left to it: volcano (1: default/a), gpu (1: ")
    taken = ran(client, scenario, in_time=in_time, other_schedulers="take")
    assert (taken["left"], taken["other_schedulers"]) == ({}, "take")
    assert nodes_of(client, taken) == {"a": "n1", "b": "n1"}
    assert warned(taken, "2 pods of other schedulers are taken by default-scheduler: ")


def test_a_single_pod_of_another_scheduler_can_be_scheduled(client: Client) -> None:
    scenario = uploaded(client, node("n1"), pod("a", schedulerName="volcano"), pod("b"))
    run = ran(client, scenario, pods=["default/a"], other_schedulers="take")
    assert nodes_of(client, run) == {"a": "n1"}


@BOTH
def test_missing_claims_are_an_error_or_treated_as_bound(client: Client, in_time: bool) -> None:
    scenario = uploaded(client, node("n1"), pod("a", volumes=CLAIMING))
    assert [remark["code"] for remark in scenario["warnings"]] == ["absent-claims"]
    run = ran(client, scenario, in_time=in_time)
    assert nodes_of(client, run) == {"a": ""}
    assert warned(run, "kubectl get pv,pvc,sc,csinodes -A -o json")
    run = ran(client, scenario, in_time=in_time, absent_claims="bound")
    assert nodes_of(client, run) == {"a": "n1"}
    assert warned(run, "Missing claims count as bound to volumes without constraints.")
    page = client.get(f"/runs/{run['id']}/pods/default/a/why/")
    assert page.status_code == 200, "the cluster can be built again"


@pytest.mark.parametrize(("field", "value"), [("other_schedulers", "eat"), ("absent_claims", "")])
def test_invalid_choices_are_rejected(client: Client, field: str, value: str) -> None:
    scenario = uploaded(client, node("n1"), pod("a"))
    assert field in started(client, scenario, 422, **{field: value})["error"]


@BOTH
def test_priorities_are_resolved_in_both_modes(client: Client, in_time: bool) -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    pods = [pod("low", "3"), pod("boss", "3", priorityClassName="high"), pod("odd", "64", priorityClassName="gone")]
    scenario = uploaded(client, node("n1"), high, *pods)
    assert [remark["code"] for remark in scenario["warnings"]] == ["priority-class"]
    run = ran(client, scenario, in_time=in_time)
    assert nodes_of(client, run) == {"boss": "n1", "low": "", "odd": ""}
    assert warned(run, "Priority filled in from the PriorityClass for 1 pod: high (1).")
    unknown = "1 pod names 1 PriorityClass missing from the snapshot, and counts with priority 0: gone (1); "
    assert warned(run, f"{unknown}default/odd.")


def test_a_terminating_pod_is_skipped_unless_rescheduled(client: Client) -> None:
    gone, running = pod("gone"), pod("running", on="n1")
    for one in (gone, running):
        one["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    scenario = uploaded(client, node("n1"), gone, running)
    assert [remark["code"] for remark in scenario["warnings"]] == ["deleting"]
    run = ran(client, scenario)
    assert nodes_of(client, run) == {}
    assert warned(run, "skip schedule deleting pod: default/gone")
    run = ran(client, scenario, pods=["default/gone"], unbind=["default/running"])
    assert nodes_of(client, run) == {"running": "n1"}


def test_pods_without_a_scheduler_stay_on_their_nodes(client: Client) -> None:
    daemon = pod("agent", on="n1")
    daemon["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "agent", "controller": True}]
    there = [static_pod("etcd", "n1", cpu="2"), static_pod("proxy", "n1"), daemon, pod("web", "3", on="n1")]
    scenario = uploaded(client, node("n1"), node("n2"), *there)
    everything = [f"default/{one['metadata']['name']}" for one in there]
    for settings in ({"pods": everything}, {"pods": [], "unbind": everything}, {"unbind": everything}):
        run = ran(client, scenario, **settings)
        assert nodes_of(client, run) == {"web": "n2"}, "their requests still count on n1"
        assert [note.partition(",")[0] for note in run["notes"]] == [
            "2 static pods stay on their nodes",
            "1 DaemonSet pod stays on its node",
        ]
    form = client.get(f"/scenarios/{scenario['id']}/").context
    assert [line.key for line in form["bound"]] == ["default/web"]
    alone = uploaded(client, node("n1"), static_pod("etcd", "n1"))
    assert client.get(f"/scenarios/{alone['id']}/").context["form"].initial["which"] == "template"


def test_selected_pods_are_ordered_by_the_queue(client: Client) -> None:
    pods = [pod("low", "2", on="n1"), pod("high", "3", on="n1", priority=10), pod("waits", "3", priority=5)]
    scenario = uploaded(client, node("n1"), *pods)
    keys = ["default/low", "default/high"]
    queue = ["default/high", "default/low"]
    for settings, order in (
        ({"pods": [], "unbind": keys}, queue),
        ({"pods": keys}, keys),  # as conformance cases name them
        ({"pods": keys[:1], "unbind": keys[1:]}, keys),
    ):
        run = ran(client, scenario, **settings)
        assert [event["pod"] for event in events_of(client, run, "cycle.finished")][:2] == order
        first = order[0].partition("/")[2]
        assert {name for name, node in nodes_of(client, run).items() if node} == {first}
    run = ran(client, scenario, unbind=keys, template=json.dumps(pod("copy", "1", priority=20)), copies=1)
    assert nodes_of(client, run) == {"copy-1": "n1", "high": "n1", "waits": "", "low": ""}


@BOTH
def test_a_nomination_of_the_snapshot_is_kept_without_preemption(client: Client, in_time: bool) -> None:
    waits, other = pod("waits", "64"), pod("other", "64")
    waits["status"]["nominatedNodeName"] = "n1"
    scenario = uploaded(client, node("n1"), waits, other)
    run = ran(client, scenario, in_time=in_time, preemption=False)
    assert (run["unschedulable"], run["nominated"], run["evicted"]) == (2, 1, 0)
    rows = client.get(f"{run['url']}/pods", {"result": "nominated"}).json()["pods"]
    assert [(row["name"], row["nominated_node"]) for row in rows] == [("waits", "n1")]
    assert client.get(f"{run['url']}/map").json()["nominated"] == {"default/waits": "n1"}


def test_defaults_of_a_template_give_a_warning(client: Client) -> None:
    scenario = uploaded(client, node("n1"))
    template = json.dumps({"kind": "Pod", "metadata": {"name": "web"}, "spec": LIMITED})
    run = ran(client, scenario, template=template, copies=3, pods=[])
    assert nodes_of(client, run) == {"web-1": "n1", "web-2": "n1", "web-3": ""}
    assert warned(run, "requests from limits (3 containers of 3 pods)")
    page = client.get(f"/runs/{run['id']}/pods/default/web-1/").content.decode()
    assert "tolerationSeconds" in page, "the pod as it was filled in"


def workload(kind: str, name: str = "web", **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": LIMITED}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


@BOTH
def test_a_template_may_be_a_workload(client: Client, in_time: bool) -> None:
    bare = workload("Deployment", "other", replicas=2)
    scenario = uploaded(client, node("n1"), node("n2"), bare, pod("waiting", "64"))
    run = ran(client, scenario, template=json.dumps(workload("StatefulSet", replicas=3)), pods=[], in_time=in_time)
    assert nodes_of(client, run).keys() == {"web-0", "web-1", "web-2"}, "those alone were asked for"
    run = ran(client, scenario, template=json.dumps(workload("DaemonSet")), pods=[], in_time=in_time)
    assert sorted(nodes_of(client, run).values()) == ["n1", "n2"]
    assert warned(run, "2 pods are created for workloads without pods: DaemonSet default/web (2).")


@pytest.mark.parametrize(
    ("template", "copies", "says"),
    [
        ({"kind": "Service", "spec": {}}, 1, "must be one object of kind Pod, Deployment"),
        ({"kind": "CronJob", "spec": {}}, 1, "a CronJob creates Jobs on a schedule; enter the Job of its jobTemplate"),
        (workload("Deployment"), 2, "a Deployment defines its own number of pods"),
        (workload("Deployment", replicas=-1), 1, "would be -1 pods"),
        *((workload(kind, name), 1, "a name") for kind in ("Deployment", "StatefulSet") for name in ("../x", "a/b")),
        ({"kind": "Pod", "spec": {"containers": [{"resources": {"limits": {"cpu": "lots"}}}]}}, 1, "lots"),
        ({"kind": "Pod", "spec": LIMITED}, 0, "copies"),
    ],
)
def test_an_invalid_template_is_rejected_before_a_run_is_created(
    client: Client, template: dict[str, Any], copies: int, says: str
) -> None:
    scenario = uploaded(client, node("n1"))
    assert says in started(client, scenario, 400, template=json.dumps(template), copies=copies)["error"]
    assert not Run.objects.exists()


def test_a_template_copied_from_a_cluster_is_scheduled_as_new(client: Client) -> None:
    there = pod("web", on="n1")
    there["metadata"]["uid"] = "u"
    run = ran(client, uploaded(client, node("n1"), node("n2"), there), template=json.dumps(there), copies=2, pods=[])
    assert sorted(nodes_of(client, run)) == ["web-1", "web-2"]


def test_pods_of_workloads_without_pods_are_created_and_shown(client: Client) -> None:
    scenario = uploaded(client, node("n1"), node("n2"), workload("Deployment", replicas=3))
    (message, filled) = scenario["warnings"]
    assert message["message"] == "3 pods are created for workloads without pods: Deployment default/web (3)."
    assert filled["counts"]["requests from limits"] == 1
    run = ran(client, scenario)
    placed = nodes_of(client, run)
    assert (len(placed), set(placed.values())) == (3, {"n1", "n2"})
    assert ran(client, scenario)["placed"] == 3
    assert nodes_of(client, ran(client, scenario)).keys() == placed.keys(), "the same seed gives the same names"
    assert nodes_of(client, ran(client, scenario, seed=1)).keys() != placed.keys()
    name, at = next(iter(placed.items()))
    page = client.get(f"/runs/{run['id']}/pods/default/{name}/").content.decode()
    assert "pod-template-hash" in page
    assert client.get(f"/runs/{run['id']}/pods/default/{name}/why/").status_code == 200
    assert "1.5" in client.get(f"/runs/{run['id']}/nodes/{at}/").content.decode()
    exported = json.loads(b"".join(run_export.simulator(Run.objects.get(pk=run["id"]))))
    assert {item["metadata"]["name"] for item in exported["items"]} == placed.keys()
    assert all(item["spec"]["containers"] for item in exported["items"])
    timed = ran(client, scenario, in_time=True)
    assert nodes_of(client, timed).keys() == placed.keys(), "in time they have the same names"


def test_too_many_pods_are_rejected(client: Client, settings: Any) -> None:
    settings.RUN_MAX_PODS = 10
    scenario = uploaded(client, node("n1"), workload("Deployment", replicas=11))
    run = started(client, scenario)
    execute_run(run["id"])
    failed = client.get(run["url"]).json()
    assert (failed["state"], "more than 10" in failed["error"]) == ("failed", True)


FORM = {"which": "pending", "release": "1.34", "mode": "once", "config": "", "preemption": "on"}


def test_the_form_offers_the_choices_of_the_snapshot(client: Client) -> None:
    scenario = uploaded(client, node("n1"), pod("a", schedulerName="volcano", volumes=CLAIMING))
    page = client.get(f"/scenarios/{scenario['id']}/").content.decode()
    assert 'name="take_others"' in page
    assert 'name="claims_bound"' in page
    client.post(f"/scenarios/{scenario['id']}/run/", FORM | {"take_others": "on", "claims_bound": "on"})
    run = Run.objects.get()
    assert (run.other_schedulers, run.absent_claims) == ("take", "bound")
    assert run.summary.splitlines() == ["includes pods of other schedulers", "missing claims bound"]
    again = client.get(f"/scenarios/{scenario['id']}/?like={run.pk}").content.decode()
    assert re.search(r'name="take_others"\s+checked', again), "run again with these settings"
    client.post(f"/scenarios/{scenario['id']}/run/", FORM)
    assert (Run.objects.first().other_schedulers, Run.objects.first().absent_claims) == ("leave", "error")  # type: ignore[union-attr]


def test_the_form_accepts_a_workload(client: Client) -> None:
    scenario = uploaded(client, node("n1"))
    template = {"which": "template", "template": json.dumps(workload("Deployment")), "copies": "3"}
    client.post(f"/scenarios/{scenario['id']}/run/", FORM | template)
    assert (Run.objects.get().copies, Run.objects.get().summary) == (1, "Deployment web")
    broken = {"which": "template", "template": "kind: CronJob\nspec: {}", "copies": "3"}
    page = client.post(f"/scenarios/{scenario['id']}/run/", FORM | broken)
    assert (page.status_code, "enter the Job of its jobTemplate" in page.content.decode()) == (400, True)


def test_pages_show_that_pods_are_pending(client: Client) -> None:
    scenario = uploaded(client, node("n1"), pod("a", schedulerName="volcano"), pod("b", schedulerName="volcano"))
    page = client.get(f"/scenarios/{scenario['id']}/").content.decode()
    assert "No pending pods" not in page
    assert "2 pods wait for another scheduler" in page
    page = client.get(f"/runs/{ran(client, scenario)['id']}/").content.decode()
    assert "has no pending pods" not in page
    assert "2 pods wait for another scheduler" in page


@pytest.mark.django_db(transaction=True)
def test_the_command_has_the_same_choices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(as_list(node("n1"), pod("a", schedulerName="volcano", volumes=CLAIMING)))
    call_command("simulate", str(path))
    output = capsys.readouterr()
    assert "0 placed" in output.out
    assert "1 pod waits for another scheduler and is left to it: volcano (1: default/a)." in output.err
    assert "kubectl get pv,pvc,sc,csinodes -A -o json" in output.err
    assert output.err.count("waits for another scheduler") == 1
    call_command("simulate", str(path), "--take-other-schedulers", "--absent-claims", "bound")
    output = capsys.readouterr()
    assert "default/a  scheduled  n1" in output.out
    assert "taken by default-scheduler" in output.err
    assert "waits for another" not in output.err
    with pytest.raises(CommandError):
        call_command("simulate", str(path), "--absent-claims", "maybe")
    assert not Scenario.objects.exists()


@BOTH
def test_stored_objects_with_nulls_in_lists_still_run(client: Client, in_time: bool) -> None:
    scenario = Scenario.objects.create(name="old", counts={"Node": 1, "Pod": 2})
    objects: list[dict[str, Any]] = [
        node("n1", taints=[None]) | {"status": {"allocatable": {"cpu": "4", "pods": "9"}, "conditions": [None]}},
        pod("a", tolerations=[None]) | {"status": {"phase": "Pending", "conditions": [None]}},
        pod("b", volumes=[None]),
    ]
    for position, obj in enumerate(objects):
        metadata = obj["metadata"]
        about = {"kind": obj["kind"], "namespace": metadata.get("namespace", ""), "name": metadata["name"]}
        ClusterObject.objects.create(scenario=scenario, position=position, data=obj, **about)
    run = create_run(scenario, RunSettings(in_time=in_time))
    execute_run(run.pk)
    run = Run.objects.get(pk=run.pk)
    assert (run.state, run.error, run.placed) == ("done", "", 2)
    for address in (f"/runs/{run.pk}/", f"/scenarios/{scenario.pk}/", f"/runs/{run.pk}/pods/default/a/"):
        assert client.get(address).status_code == 200
