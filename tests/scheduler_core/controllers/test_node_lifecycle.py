"""Conditions become taints; pods of nodes that are gone are collected.

Cases from https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-nodes-by-condition and
https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-garbage-collection.
"""

import pytest

from tests.scheduler_core.build import Raw, node, pod
from tests.scheduler_core.virtual_time_runs import PlayedScenario


def with_conditions(*conditions: tuple[str, str], **more: bool) -> Raw:
    raw = node("n1", unschedulable=more.get("unschedulable", False))
    raw["status"]["conditions"] = [{"type": kind, "status": status} for kind, status in conditions]
    return raw


@pytest.mark.parametrize(
    ("conditions", "taints"),
    [
        ([("Ready", "True")], set()),
        ([("Ready", "False")], {("not-ready", "NoSchedule"), ("not-ready", "NoExecute")}),
        ([("Ready", "Unknown")], {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}),
        ([("Ready", "True"), ("MemoryPressure", "True")], {("memory-pressure", "NoSchedule")}),
        ([("Ready", "True"), ("DiskPressure", "True")], {("disk-pressure", "NoSchedule")}),
        ([("Ready", "True"), ("PIDPressure", "True")], {("pid-pressure", "NoSchedule")}),
        ([("NetworkUnavailable", "True")], {("network-unavailable", "NoSchedule")}),
        ([("MemoryPressure", "Unknown")], set()),
    ],
)
def test_taints_of_conditions(conditions: list[tuple[str, str]], taints: set[tuple[str, str]]) -> None:
    played = PlayedScenario(with_conditions(*conditions), until=1)
    stored = played.run.api.cluster.nodes.nodes[0]
    assert {(t.key.rpartition("/")[2], t.effect) for t in stored.spec.taints} == taints


def test_cordoning_adds_a_taint_and_uncordoning_removes_it() -> None:
    timeline = [{"at": 5, "cordon": "n1"}, {"at": 10, "uncordon": "n1"}]
    played = PlayedScenario(node("n1"), timeline=timeline, until=6)
    assert [t.key for t in played.run.api.cluster.nodes.nodes[0].spec.taints] == ["node.kubernetes.io/unschedulable"]
    played = PlayedScenario(node("n1"), timeline=timeline)
    assert played.run.api.cluster.nodes.nodes[0].spec.taints == []


def test_pods_leave_a_node_that_is_not_ready_after_five_minutes() -> None:
    down = {"at": 50, "update": with_conditions(("Ready", "False"))}
    played = PlayedScenario(with_conditions(("Ready", "True")), timeline=[{"at": 0, "create": pod("web")}, down])
    assert played.times("pod.evicted", "web") == [350]


def test_pods_stay_if_the_node_is_ready_again_in_time() -> None:
    down = {"at": 50, "update": with_conditions(("Ready", "False"))}
    up = {"at": 349, "update": with_conditions(("Ready", "True"))}
    played = PlayedScenario(with_conditions(("Ready", "True")), timeline=[{"at": 0, "create": pod("web")}, down, up])
    assert played.times("pod.evicted") == []
    assert len(played.records_of("eviction.cancelled", "web")) == 1


def test_pods_of_a_deleted_node_are_collected() -> None:
    gone = {"at": 50, "delete": {"kind": "Node", "name": "n1"}}
    played = PlayedScenario(node("n1"), pod("web", on="n1"), timeline=[gone])
    assert played.times("pod.deleted", "web") == [90]
    back = {"at": 60, "create": node("n1")}
    played = PlayedScenario(node("n1"), pod("web", on="n1"), timeline=[gone, back])
    assert played.times("pod.deleted", "web") == []
