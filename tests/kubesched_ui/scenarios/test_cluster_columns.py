"""The table of nodes and pods is the same for a scenario, a live cluster and a run, and survives its columns."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from kubesched_ui.clusters.safe_columns import safe_columns
from kubesched_ui.scenarios.cluster_columns import columns_of, view_at, view_of
from kubesched_ui.scenarios.cluster_overview import ClusterView, NodeLine, PodLine, cluster_view, find_nodes
from scheduler_core.api.objects import decode
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.recording import MOVES_PART, Recorder, Recording
from scheduler_core.simulation import Simulation
from tests.kubesched_ui.recordings import node, pod
from tests.random_clusters import Chance, random_cluster

DELETED = "2026-01-01T00:00:00Z"
NOT_READY = {"type": "Ready", "status": "False", "reason": "KubeletNotReady"}


def changed(chance: Chance, objects: list[Any]) -> list[Any]:
    """Make some nodes not ready, and delete, gate, nominate or finish some pods."""
    names = [obj["metadata"]["name"] for obj in objects if obj["kind"] == "Node"]
    for obj in objects:
        if obj["kind"] == "Node" and chance.happens(0.3):
            obj["status"]["conditions"] = [NOT_READY | {"status": chance.choice(("False", "Unknown"))}]
        if obj["kind"] == "Node" and chance.happens(0.2):
            taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
            obj["spec"] = {"taints": [taint]} | obj.get("spec", {})
        if obj["kind"] == "Pod" and chance.happens(0.15):
            obj["metadata"]["deletionTimestamp"] = DELETED
        if obj["kind"] == "Pod" and not obj["spec"].get("nodeName") and chance.happens(0.2):
            obj["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        if obj["kind"] == "Pod" and not obj["spec"].get("nodeName") and chance.happens(0.2):
            obj.setdefault("status", {})["nominatedNodeName"] = chance.choice(names)
        if obj["kind"] == "Pod" and obj["spec"].get("nodeName") and chance.happens(0.05):
            obj["spec"]["nodeName"] = "missing"
    return objects


def stored(view: ClusterView) -> ClusterView:
    """Return the table after it was stored as JSON."""
    return view_of(msgspec.json.decode(msgspec.json.encode(columns_of(view))))


def run_of(objects: list[Any]) -> ClusterView:
    """Return the table of a run of these objects before its first cycle."""
    blocks = Recorder(Simulation([decode(obj) for obj in objects])).drain()
    return view_at(StateAtTimepoint(Recording([one.data for one in blocks if one.part == MOVES_PART]), 0))


def facts(view: ClusterView) -> tuple[Any, Any]:
    """Return what is the same in all views, without what only one of them knows, such as messages."""
    nodes = {
        name: (one.allocatable, one.labels, list(one.taints), one.cordoned, one.ready, one.requested, one.zone)
        for name, one in view.nodes.items()
    }
    pods = {
        key: (one.node, one.state, one.priority, one.requests, one.owner, one.nominated_node)
        for key, one in view.pods.items()
        if one.state != "finished"
    }
    on = {name: ({pod.key for pod in one.pods}, {pod.key for pod in one.nominated}) for name, one in view.nodes.items()}
    return nodes, (pods, on)


@pytest.mark.parametrize("seed", range(40))
def test_a_scenario_a_live_cluster_and_a_run_have_the_same_nodes_and_pods(seed: int) -> None:
    objects = changed(Chance(seed), random_cluster(seed)["objects"])
    scenario = cluster_view(objects)
    live = view_of(msgspec.json.decode(msgspec.json.encode(safe_columns(decode(obj) for obj in objects))))
    assert facts(live) == facts(scenario) == facts(stored(scenario))
    assert facts(run_of(objects)) == facts(scenario)


def test_the_random_clusters_have_every_state() -> None:
    views = [cluster_view(changed(Chance(seed), random_cluster(seed)["objects"])) for seed in range(40)]
    pods = [one for view in views for one in view.pods.values()]
    nodes = [one for view in views for one in view.nodes.values()]
    assert {one.state for one in pods} >= {"pending", "gated", "bound", "deleting"}
    assert {(one.state, bool(one.node)) for one in pods} >= {("deleting", True), ("deleting", False)}
    assert any(one.node == "missing" for one in pods)
    assert {one.ready for one in nodes} == {True, False}
    assert any(one.nominated for one in nodes)


def test_a_node_is_not_ready_in_the_view_of_a_live_cluster() -> None:
    """Without the condition, and with one that is True, it is ready."""
    objects = [node("no"), node("unknown"), node("yes"), node("silent")]
    for obj, status in zip(objects, ("False", "Unknown", "True"), strict=False):
        obj["status"]["conditions"] = [NOT_READY | {"status": status}]
    view = view_of(safe_columns(decode(obj) for obj in objects))
    assert {name: one.ready for name, one in view.nodes.items()} == {
        "no": False,
        "unknown": False,
        "yes": True,
        "silent": True,
    }


def test_all_labels_of_many_nodes_are_found() -> None:
    def labels(number: int) -> dict[str, str]:
        many = {f"example.com/label-{key}": f"v{key}-{number % 7}" for key in range(58)}
        return many | {"own": f"x{number}", f"only-{number}": "yes"}

    view = ClusterView({f"n{row}": NodeLine(f"n{row}", {}, labels(row)) for row in range(5000)}, {})
    columns = columns_of(view)
    found = view_of(columns)
    assert {len(one.labels) for one in found.nodes.values()} == {60}
    assert [one.name for one in find_nodes(found, q="example.com/label-57=v57-3")][:2] == ["n3", "n10"]
    assert [one.name for one in find_nodes(found, q="only-4321=yes")] == ["n4321"]
    cells = sum(len(one["of"]) for one in columns["nodes"]["labels"].values())
    assert cells == 300_000, "a label of one node takes no space for the others"


def test_deleted_and_gated_pods_keep_their_state() -> None:
    pods = [
        pod("on", nodeName="n"),
        pod("waits"),
        pod("closed", schedulingGates=[{"name": "x"}]),
        pod("runs", nodeName="n"),
    ]
    for one in pods[:2]:
        one["metadata"]["deletionTimestamp"] = DELETED
    view = stored(cluster_view([node("n"), *pods]))
    states = {one.name: one.state for one in view.pods.values()}
    assert states == {"on": "deleting", "waits": "deleting", "closed": "gated", "runs": "bound"}
    assert [one.name for one in view.nodes["n"].pods] == ["on", "runs"], "its resources are still taken"
    assert view.nodes["n"].requested["pods"] == 2
    assert not replace(view.nodes["n"], pods=[]).requested


def test_pods_on_missing_nodes_are_bound() -> None:
    view = stored(ClusterView({}, {"a/p": PodLine("a/p", "gone", "bound")}))
    assert (view.pods["a/p"].state, view.pods["a/p"].node) == ("bound", "gone")
