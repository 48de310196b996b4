"""Uploads get the defaults of an API server, and list the warnings of a run."""

import json
from typing import Any

import pytest

from kubesched_ui.ingest import IngestResult
from kubesched_ui.ingest.preflight import about_files
from kubesched_ui.ingest.store import scenario_warnings, store
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.scenarios.edits import create_version
from tests.kubesched_ui.clusters import ingested, node, pod
from tests.kubesched_ui.ingest.test_archives import listed, read, tarred

LIMITED = {
    "kind": "Pod",
    "metadata": {"name": "typed"},
    "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]},
}
WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}},
}
WEB["spec"]["template"] = {"metadata": {"labels": {"app": "web"}}, "spec": LIMITED["spec"]}


def warnings_by_code(result: IngestResult) -> dict[str, str]:
    return {remark["code"]: remark["message"] for remark in scenario_warnings(result)}


def test_defaults_are_stored_with_a_warning() -> None:
    result = ingested(node("n1"), LIMITED, pod("real"))
    typed, real = (obj["spec"] for obj in result.objects if obj["kind"] == "Pod")
    assert typed["containers"][0]["resources"]["requests"] == {"cpu": "2"}
    assert "requests from limits (1 container of 1 pod)" in warnings_by_code(result)["filled"]
    assert "restartPolicy" not in real, "it has a status"
    again = ingested(*result.objects)
    assert again.objects == result.objects
    assert not again.filled


def test_a_scenario_without_admission_gets_no_tolerations() -> None:
    spec = {"objects": [node("n1"), LIMITED], "controllers": {"admission": False}}
    document = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Scenario", "spec": spec}
    (typed,) = (o for o in ingested(document).objects if o["kind"] == "Pod")
    assert "tolerations" not in typed["spec"]
    assert typed["spec"]["restartPolicy"] == "Always"


def test_warnings_of_a_run_are_listed() -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    gone = pod("gone")
    gone["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    others = [pod("a", schedulerName="volcano"), pod("b", volumes=volumes), pod("c", priorityClassName="gold"), gone]
    messages = warnings_by_code(
        ingested(node("n1"), node("n2", taints=[{"key": "x", "effect": "NoSchedule"}]), WEB, *others)
    )
    assert messages["other-schedulers"].startswith("1 pod waits for another scheduler and is left to it: volcano (1: ")
    assert (
        "the snapshot has no claims. Add the output of `kubectl get pv,pvc,sc,csinodes -A -o json`"
        in messages["absent-claims"]
    )
    assert messages["priority-class"].startswith("1 pod names 1 PriorityClass missing from the snapshot")
    assert messages["deleting"].startswith("1 pod without a node is being deleted")
    assert messages["workloads"] == "3 pods are created for workloads without pods: Deployment default/web (3)."
    agent = WEB | {"kind": "DaemonSet", "metadata": {"name": "agent"}}
    messages = warnings_by_code(ingested(node("n1"), node("n2", taints=[{"key": "x", "effect": "NoSchedule"}]), agent))
    assert messages["workloads"] == "1 pod is created for workloads without pods: DaemonSet default/agent (1)."


@pytest.mark.parametrize("field", ["persistentVolumeClaim", "ephemeral"])
def test_bound_pods_are_part_of_the_warnings(field: str) -> None:
    volume = {"name": "v", field: {"claimName": "data"} if field == "persistentVolumeClaim" else {}}
    messages = warnings_by_code(
        ingested(
            node("n1"), pod("a", nodeName="n1", volumes=[volume]), pod("b", nodeName="n1", priorityClassName="gold")
        )
    )
    assert "the snapshot has no claims" in messages["absent-claims"]
    assert messages["priority-class"].startswith("1 pod names 1 PriorityClass")


def test_schedulers_of_the_uploaded_configuration_are_simulated() -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "mine"}],
    }
    assert "other-schedulers" not in warnings_by_code(ingested(node("n1"), pod("a", schedulerName="mine"), config))


@pytest.mark.parametrize("version", ["v1", "v1beta3", "v1beta1", "v1alpha2"])
def test_schedulers_of_a_configuration_of_any_release_are_simulated(version: str) -> None:
    """In one archive, as kube-scheduler 1.36 writes a configuration, and in older versions."""
    config = {"apiVersion": f"kubescheduler.config.k8s.io/{version}", "kind": "KubeSchedulerConfiguration"}
    config["profiles"] = [{"schedulerName": "default-scheduler"}, {"schedulerName": "packing"}]
    if version == "v1":
        plugins = {"multiPoint": {"enabled": [{"name": "NodeResourcesFit"}]}}
        config["profiles"][1]["plugins"] = plugins | {"placementGenerate": {}, "placementScore": {}}
    pods = [pod("a", schedulerName="packing"), pod("b", schedulerName="somebody-else")]
    result = read(tarred({"list.json": listed(node("n1"), *pods), "scheduler.yaml": config}))
    message = warnings_by_code(result)["other-schedulers"]
    assert "somebody-else" in message
    assert "packing" not in message


def test_a_broken_template_is_left_out_if_its_pods_would_be_created() -> None:
    broken = json.loads(json.dumps(WEB).replace('"2"', '"lots"'))
    result = ingested(node("n1"), broken)
    assert [(w.code, w.kind, w.field) for w in result.warnings] == [
        ("broken", "Deployment", "spec.template.spec.containers[0].resources.requests['cpu']")
    ]
    assert "Deployment" in ingested(node("n1"), broken | {"status": {}, "metadata": {"name": "web", "uid": "u"}}).counts


@pytest.mark.django_db
def test_an_edit_gets_defaults_and_new_warnings() -> None:
    scenario = store(ingested(node("n1"), pod("a", schedulerName="volcano"), pod("b")))
    assert [remark["code"] for remark in scenario.warnings] == ["other-schedulers"]
    changed = scenario.cluster_objects.get(name="a")
    version = create_version(scenario, changed, to_yaml(LIMITED))
    assert [remark["code"] for remark in version.warnings] == ["filled"]
    assert version.cluster_objects.get(name="typed").data["spec"]["schedulerName"] == "default-scheduler"
    removed = version.cluster_objects.get(name="b")
    version = create_version(version, removed, to_yaml(pod("b", schedulerName="volcano")))
    assert [remark["code"] for remark in version.warnings] == ["other-schedulers", "filled"]


def test_an_object_that_cannot_be_read_is_left_out_by_a_sentence() -> None:
    wrong = pod("typed")
    wrong["metadata"]["labels"] = {"app": True}
    result = ingested(node("n1"), wrong, pod("real"))
    (remark,) = about_files([one for one in scenario_warnings(result) if one["code"] == "broken"])
    assert remark["message"].startswith("Left out: a.json, ")
    assert "Pod" in remark["message"]
    assert [obj["metadata"]["name"] for obj in result.objects if obj["kind"] == "Pod"] == ["real"]
