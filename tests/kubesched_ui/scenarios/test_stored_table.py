"""The stored table of a scenario has what its objects have."""

import copy
from typing import Any

import pytest

from kubesched_ui.ingest import IngestResult
from kubesched_ui.ingest.store import store
from kubesched_ui.models import ClusterTable, Scenario
from kubesched_ui.scenarios import stored_cluster, stored_table, upload_worker
from kubesched_ui.scenarios.cluster_overview import (
    ClusterView,
    cluster_view,
    columns,
    find_nodes,
    find_pods,
    state_counts,
    totals,
)
from kubesched_ui.scenarios.stored_cluster import cluster_of_scenario
from kubesched_ui.scenarios.stored_table import packed_table, view_of_table
from tests.kubesched_ui.clusters import as_list, ingested, node, pod
from tests.kubesched_ui.scenarios.test_cluster_columns import changed
from tests.random_clusters import Chance, random_cluster


def view_of(result: IngestResult) -> ClusterView:
    view = view_of_table(packed_table(dict(result.records)))
    assert view is not None
    return view


def facts(view: ClusterView) -> list[Any]:
    """Return all that pages show of a view."""
    nodes = [
        (n.name, n.allocatable, n.labels, n.taints, n.cordoned, n.ready, n.pods, n.nominated, n.requested)
        for n in view.nodes.values()
    ]
    found = [find_nodes(view, q="1", sort="-cpu"), find_nodes(view, zone="n1"), find_pods(view, "1", "node", "bound")]
    by_name = {name: view.nodes[name].pods for name in view.nodes}, {key: view.pods[key] for key in view.pods}
    again = list(view.pods_where(lambda pod: pod.reschedulable))
    return [
        *(nodes, list(view.nodes), list(view.pods.items()), list(view.pods.values()), by_name, again),
        *(state_counts(view), columns(view), totals(view), view.zones, [[one.name for one in rows] for rows in found]),
    ]


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_table, "PART", 4)


def owned(number: int, **more: Any) -> dict[str, Any]:
    """Return a pod of one of two ReplicaSets, all of one template."""
    made = pod(f"web-{number}", **more)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"web-{number % 2}", "uid": "1", "controller": True}
    made["metadata"] |= {"ownerReferences": [owner], "uid": f"0f-{number}"}
    return made


def failed(name: str, writer: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{writer}", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": name},
        "reason": "FailedScheduling",
        "type": "Warning",
        "message": f"0/1 nodes, says {writer}",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "source": {"component": writer},
    }


def cluster() -> list[dict[str, Any]]:
    """Return pods of templates: bound, without a node, with events, finished, on a node that is absent, of a class."""
    finished = [owned(n, on="n1") for n in range(20, 26)]
    for one in finished:
        one["status"]["phase"] = "Succeeded"
    nested = [owned(n) for n in range(30, 36)]
    for one in nested:
        one["metadata"]["ownerReferences"][0]["spec"] = {}  # no field of the metadata, but of the whole text
    nominated = pod("waits")
    nominated["status"] = {"nominatedNodeName": "n2"}
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
    ]
    return [
        *(node(name, labels={"topology.kubernetes.io/zone": name}) for name in ("n1", "n2")),
        *classes,
        *(owned(n, on=f"n{n % 3}") for n in range(10)),
        *(owned(n) for n in range(10, 20)),
        *finished,
        *nested,
        nominated,
        *(pod(f"mine-{n}", priorityClassName="high") for n in range(5)),
        failed("web-13", "default-scheduler"),
        failed("web-14", "cluster-autoscaler"),
    ]


def test_pods_of_templates() -> None:
    result = ingested(*cluster())
    view = view_of(result)
    assert facts(view) == facts(cluster_view(result.objects))
    assert sum(record.model is not None for record in result.records.values()) > 10
    assert view.pods["default/web-13"].message == "0/1 nodes, says default-scheduler"
    assert {one.owner for one in view.pods.values()} == {"ReplicaSet web-0", "ReplicaSet web-1", ""}
    assert view.pods["default/mine-4"].priority == 7
    assert [one.name for one in view.nodes["n2"].nominated] == ["waits"]


def test_a_first_pod_that_is_replaced() -> None:
    """Later pods of its template do not take what the last object of its name has."""
    others = copy.deepcopy(cluster())
    later = [pod(f"web-{n}", cpu="3", on="n2") for n in range(26)]
    result = ingested(*others, *later[:12])
    assert facts(view_of(result)) == facts(cluster_view(result.objects))


@pytest.mark.parametrize("seed", range(12))
def test_random_clusters(seed: int) -> None:
    objects = changed(Chance(seed), random_cluster(seed)["objects"])
    copies = [copy.deepcopy(one) for one in objects if one["kind"] == "Pod" for _ in range(3)]
    for number, one in enumerate(copies):
        one["metadata"]["name"] += f"-{number}"
    result = ingested(*objects, *copies)
    view = view_of(result)
    assert facts(view) == facts(cluster_view(result.objects))


@pytest.fixture
def scenario(monkeypatch: pytest.MonkeyPatch) -> Scenario:
    monkeypatch.setattr(stored_table, "LARGE", 10)
    number, _ = upload_worker.read_and_store([("c.json", as_list(*cluster()))], "", "upload")
    stored_cluster._kept.cache_clear()
    return Scenario.objects.get(pk=number)


@pytest.mark.django_db
def test_the_table_of_a_large_scenario_is_read(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = cluster_view(scenario.objects_of())
    monkeypatch.setattr(Scenario, "decoded", None)  # its objects are not needed
    assert facts(cluster_of_scenario(scenario)) == facts(expected)
    scenario.delete()
    assert not ClusterTable.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("damage", ["other bytes", "cut", "other names", "other version"])
def test_without_a_readable_table_the_objects_are_read(
    scenario: Scenario, damage: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = ClusterTable.objects.get()
    if damage == "other version":
        monkeypatch.setattr(stored_table, "VERSION", "0")
    else:
        lost = stored_table.pack(stored_table.unpack(table.data).replace(b'["n1","n2","n0",""]', b'["n1"]'))
        table.data = {"other bytes": b"x" * 99, "cut": table.data[:-20], "other names": lost}[damage]
        table.save()
    assert cluster_of_scenario(scenario) == cluster_view(scenario.objects_of())
    assert ("is damaged" in caplog.text) == (damage != "other version")


@pytest.mark.django_db
def test_a_small_scenario_has_no_table() -> None:
    store(ingested(node("n1")))
    upload_worker.read_and_store([("c.json", as_list(node("n1")))], "", "upload")
    assert not ClusterTable.objects.exists()
