"""Nodes and pods of a scenario in the lists of pages."""

from collections import Counter
from typing import Any

import pytest

from kubesched_ui.models import ClusterObject
from kubesched_ui.scenarios import cluster_overview, stored_cluster
from kubesched_ui.scenarios.cluster_columns import columns_of
from kubesched_ui.scenarios.cluster_overview import cluster_view, find_nodes, find_pods
from tests.kubesched_ui.recordings import node, pod, scenario


def taint(key: str) -> dict[str, Any]:
    return {"key": key, "value": "v", "effect": "NoSchedule"}


OBJECTS = [
    node("a", cpu="4", taints=[taint("gpu")]),
    node("b", cpu="2", unschedulable=True),
    pod("on-a", cpu="3", nodeName="a"),
    pod("waits", status={"conditions": [{"type": "PodScheduled", "status": "False", "message": "no room"}]}),
    pod("gated", schedulingGates=[{"name": "x"}]),
    pod("over", nodeName="a", status={"phase": "Succeeded"}),
    pod("important", priorityClassName="high"),
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000},
    {"kind": "Event", "involvedObject": {"namespace": "default", "name": "gated"}, "message": "the event"},
]
VIEW = cluster_view(OBJECTS)


def test_states() -> None:
    assert {entry["state"]: entry["count"] for entry in cluster_overview.state_counts(VIEW)} == {
        "pending": 2,
        "gated": 1,
        "bound": 1,
        "finished": 1,
    }


def test_requests_of_finished_pods_do_not_count() -> None:
    assert VIEW.nodes["a"].requested == Counter({"cpu": 3000, "memory": 2**30, "pods": 1})
    assert VIEW.nodes["a"].use("cpu") == 75


def test_messages_of_conditions_and_events() -> None:
    assert VIEW.pods["default/waits"].message == "no room"
    assert VIEW.pods["default/gated"].message == "the event"


def test_the_priority_comes_from_the_class() -> None:
    assert VIEW.pods["default/important"].priority == 1000


def test_find_nodes() -> None:
    assert [n.name for n in find_nodes(VIEW, q="gpu=v")] == ["a"]
    assert [n.name for n in find_nodes(VIEW, sort="-cpu")] == ["a", "b"]
    assert [n.name for n in find_nodes(VIEW, sort="-name")] == ["b", "a"]
    assert find_nodes(VIEW, zone="elsewhere") == []
    assert VIEW.nodes["b"].cordoned


def test_find_pods() -> None:
    assert [p.name for p in find_pods(VIEW, q="NO ROOM")] == ["waits"]
    assert [p.name for p in find_pods(VIEW, state="bound")] == ["on-a"]
    assert find_pods(VIEW, sort="-priority")[0].name == "important"


@pytest.mark.django_db
def test_a_stored_cluster_is_decoded_without_its_invalid_objects() -> None:
    """Earlier versions stored objects that today's checks refuse."""
    stored = scenario(*OBJECTS)
    wrong = [pod("unreadable", nodeName=7), pod("unknown-quantity", cpu="1x", nodeName="a"), node("unknown", cpu="1x")]
    for position, obj in enumerate(wrong, len(OBJECTS)):
        name, namespace = obj["metadata"]["name"], obj["metadata"].get("namespace", "")
        row = {"kind": obj["kind"], "namespace": namespace, "name": name, "data": obj}
        ClusterObject.objects.create(scenario=stored, position=position, **row)
    view = stored_cluster.cluster_of_scenario(stored)
    assert view == cluster_view(stored.objects_of())
    assert (list(view.nodes), view.nodes["a"].requested["pods"]) == (["a", "b"], 1)
    assert not {"default/unreadable", "default/unknown-quantity"} & set(view.pods)
    columns = columns_of(view)
    assert columns["pods"]["key"] == [pod.key for pod in view.pods.values() if pod.state != "finished"]
