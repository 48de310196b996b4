"""Objects and events that only answers about waits read: which are stored, which of their fields, and how many."""

import json
from typing import Any

import pytest

from kubesched_ui.ingest import IngestError, events, ingest_files
from kubesched_ui.ingest.kinds import KINDS, NEIGHBOURS, neighbour
from scheduler_core.live.objects import TYPES
from scheduler_core.stations.extra_kinds import LONGEST_TEXT, extra_kind
from tests.kubesched_ui.clusters import ingested, node, pod

Raw = dict[str, Any]
WORKLOAD = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata": {"name": "w", "namespace": "a"}}
STATUS = "cluster-autoscaler-status"


def about_pod(name: str, reason: str, number: int = 0, **more: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason}.{number}", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": name, "uid": "u"},
        "reason": reason,
        "message": f"message {number}",
        "source": {"component": "karpenter"},
        "lastTimestamp": f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z",
    } | more


def config_map(name: str, namespace: str = "kube-system", **data: str) -> Raw:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def events_of(*objects: Raw) -> list[str]:
    return [obj["metadata"]["name"] for obj in ingested(*objects).objects if obj["kind"] == "Event"]


def test_all_kinds_that_waits_are_read_from_are_stored() -> None:
    assert set(TYPES) <= KINDS.keys() | NEIGHBOURS.keys()
    for kind in NEIGHBOURS.values():
        metadata = {"name": STATUS, "namespace": "kube-system"}
        raw = {"apiVersion": kind.api_version, "kind": kind.served, "metadata": metadata}
        assert extra_kind(raw) == kind.name
        (stored,) = ingested(node("n1"), raw).objects[1:]
        assert (stored["apiVersion"], stored["kind"]) == (kind.api_version, kind.served)
        assert neighbour(kind.served, "example.org/v1", "") is None


def test_only_fields_that_are_read_are_stored() -> None:
    container = {"name": "c", "env": [{"name": "PASSWORD", "value": "hunter2"}]}
    template = {"spec": {"template": {"spec": {"containers": [container]}}}}
    annotations = {
        "kubectl.kubernetes.io/last-applied-configuration": "hunter2",
        "kueue.x-k8s.io/workload": "w",
        "notes": "hunter2" * 1000,
    }
    metadata = {"name": "js", "namespace": "a", "annotations": annotations, "managedFields": [{"manager": "hunter2"}]}
    job_set = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": metadata,
        "spec": {"suspend": True, "replicatedJobs": [{"name": "r", "template": template}]},
        "status": {"conditions": [{"type": "Failed", "status": "True", "message": "m" * 100_000}]},
    }
    (stored,) = ingested(node("n1"), job_set).objects[1:]
    assert "hunter2" not in json.dumps(stored)
    assert stored["metadata"]["annotations"] == {"kueue.x-k8s.io/workload": "w"}
    assert stored["spec"] == {"suspend": True}
    assert len(stored["status"]["conditions"][0]["message"]) == LONGEST_TEXT


def test_only_the_published_state_of_cluster_autoscaler_is_kept_of_config_maps() -> None:
    maps = [config_map(STATUS, status="time: x", token="hunter2"), config_map(STATUS, "other", status="hunter2")]
    result = ingested(node("n1"), *maps, config_map("settings", status="hunter2"))
    (stored,) = result.objects[1:]
    assert stored["data"] == {"status": "time: x"}
    assert result.dropped["ConfigMap"] == 2


def test_namesakes_of_other_groups_are_all_stored() -> None:
    groups = ("scheduling.x-k8s.io/v1alpha1", "scheduling.volcano.sh/v1beta1", "scheduling.run.ai/v2alpha2")
    metadata = {"name": "g", "namespace": "a"}
    result = ingested(node("n1"), *({"apiVersion": g, "kind": "PodGroup", "metadata": metadata} for g in groups))
    assert [kind for kind, _, _ in result.records][1:] == [
        *("PodGroup", "PodGroup.scheduling.volcano.sh", "PodGroup.scheduling.run.ai")
    ]


def test_an_unreadable_object_is_left_out_with_its_field() -> None:
    result = ingested(node("n1"), WORKLOAD | {"spec": {"active": "no"}})
    assert len(result.records) == 1
    (warning,) = [warning for warning in result.warnings if warning.code == "broken"]
    assert "Workload a/w" in warning.message
    assert "spec.active" in warning.message


def test_a_single_object_can_be_edited() -> None:
    assert len(ingest_files([("the text", json.dumps(WORKLOAD).encode())]).records) == 1
    with pytest.raises(IngestError, match="1 Topology"):
        ingested(WORKLOAD | {"kind": "Topology"})


def test_events_of_pods_that_wait_are_stored() -> None:
    running = pod("runs", on="n1") | {"status": {"phase": "Running"}}
    starting = pod("starts", on="n1") | {"status": {"phase": "Pending"}}
    names = ("waits", "starts", "runs", "absent")
    found = [about_pod(name, "FailedMount") for name in names] + [about_pod("waits", "Created")]
    assert events_of(node("n1"), pod("waits"), starting, running, *found) == [
        "waits.FailedMount.0",
        "starts.FailedMount.0",
    ]


def test_the_newest_event_of_each_writer_and_reason_is_stored() -> None:
    found = [about_pod("p", reason, number) for number in (1, 3, 2) for reason in ("Nominated", "FailedMount")]
    found += [about_pod("p", "Nominated", 9, source={"component": "other"})]
    for order in (found, found[::-1]):
        assert sorted(events_of(pod("p"), *order)) == ["p.FailedMount.3", "p.Nominated.3", "p.Nominated.9"]


def test_the_last_act_of_each_scheduler_is_stored() -> None:
    running = pod("runs", on="n1") | {"status": {"phase": "Running"}}
    acts = [about_pod("runs", "Scheduled", n, source={"component": "volcano"}) for n in range(5)]
    assert events_of(node("n1"), running, *acts) == ["runs.Scheduled.4"]


def test_events_about_other_objects_of_the_upload_are_stored() -> None:
    claim = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "nc"}}
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    group |= {"metadata": {"name": "g", "namespace": "default"}}
    abouts = {
        "claim": {"kind": "NodeClaim", "name": "nc"},
        "group": {"kind": "PodGroup", "namespace": "default", "name": "g"},
        "absent": {"kind": "NodeClaim", "name": "gone"},
        "autoscaler": {"kind": "ConfigMap", "namespace": "kube-system", "name": STATUS},
        "settings": {"kind": "ConfigMap", "namespace": "kube-system", "name": "settings"},
    }
    found = [
        about_pod("x", "InsufficientCapacityError", involvedObject=about, metadata={"name": name})
        for name, about in abouts.items()
    ]
    assert events_of(node("n1"), claim, group, *found) == ["claim", "group", "autoscaler"]


def test_events_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [about_pod("p", "Nominated", n, source={"component": f"w{n}"}) for n in range(30)]
    assert len(events_of(pod("p"), *many)) == events.MOST_OTHERS
    long = about_pod("p", "Nominated", message="m" * 100_000)
    (stored,) = [obj for obj in ingested(pod("p"), long).objects if obj["kind"] == "Event"]
    assert len(stored["message"]) == LONGEST_TEXT
    monkeypatch.setattr(events, "MOST_EVENTS", 5)
    pods = [pod(f"p{n}") for n in range(9)]
    assert len(events_of(*pods, *(about_pod(f"p{n}", "Nominated") for n in range(9)))) == 5
