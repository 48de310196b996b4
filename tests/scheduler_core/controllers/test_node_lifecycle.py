"""Conditions become taints; pods of nodes that are gone are collected.

Cases from https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-nodes-by-condition and
https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-garbage-collection.
"""

import pytest

from tests.scheduler_core.build import Raw, node, pod, workload
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
    played = PlayedScenario(with_conditions(*conditions), node("n2"), until=1)
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
    played = PlayedScenario(
        with_conditions(("Ready", "True")), node("n2"), timeline=[{"at": 0, "create": pod("web")}, down]
    )
    assert played.times("pod.evicted", "web") == [350]


def test_pods_stay_if_the_node_is_ready_again_in_time() -> None:
    down = {"at": 50, "update": with_conditions(("Ready", "False"))}
    up = {"at": 349, "update": with_conditions(("Ready", "True"))}
    played = PlayedScenario(
        with_conditions(("Ready", "True")), node("n2"), timeline=[{"at": 0, "create": pod("web")}, down, up]
    )
    assert played.times("pod.evicted") == []
    assert len(played.records_of("eviction.cancelled", "web")) == 1


def test_pods_of_a_deleted_node_are_collected() -> None:
    gone = {"at": 50, "delete": {"kind": "Node", "name": "n1"}}
    played = PlayedScenario(node("n1"), pod("web", on="n1"), timeline=[gone])
    assert played.times("pod.deleted", "web") == [90]
    back = {"at": 60, "create": node("n1")}
    played = PlayedScenario(node("n1"), pod("web", on="n1"), timeline=[gone, back])
    assert played.times("pod.deleted", "web") == []


# ---- rates of eviction: https://kubernetes.io/docs/concepts/architecture/nodes/#rate-limits-on-eviction


def zone_of(name: str, count: int) -> list[Raw]:
    """Return healthy nodes of a zone."""
    found = [node(f"{name}{i}", zone=name) for i in range(count)]
    for raw in found:
        raw["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return found


def turn(at: int, status: str, *names: str) -> list[Raw]:
    """Return entries of a timeline that change the condition Ready of nodes."""
    conditions = {"status": {"conditions": [{"type": "Ready", "status": status}]}}
    return [{"at": at, "patch": {"kind": "Node", "name": name, "patch": conditions}} for name in names]


def running(name: str, at: str) -> Raw:
    """Return a pod on a node that tolerates an unhealthy node for five minutes, as admission sets it."""
    keys = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    tolerations = [{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for key in keys]
    return pod(name, on=at, tolerations=tolerations)


def tainted(played: PlayedScenario) -> dict[str, float]:
    """Return node -> when it got a NoExecute taint."""
    texts = ((r, text["text"]) for r in played.records_of("node.changed") for text in r.data["what"])
    return {r.data["node"]: r.time for r, text in texts if text.endswith(":NoExecute added")}


def names(zone: str, count: int) -> list[str]:
    return [f"{zone}{i}" for i in range(count)]


def test_a_zone_without_a_healthy_node_is_tainted_at_the_normal_rate() -> None:
    """The other zone is healthy, so the pods of the first one are evicted: one node every ten seconds."""
    pods = [running(f"web-{i}", f"a{i}") for i in range(4)]
    timeline = turn(50, "Unknown", *names("a", 4))
    played = PlayedScenario(*zone_of("a", 4), *zone_of("b", 4), *pods, timeline=timeline)
    assert tainted(played) == {"a0": 50, "a1": 60, "a2": 70, "a3": 80}
    assert [played.times("pod.evicted", f"web-{i}") for i in range(4)] == [[350], [360], [370], [380]]


@pytest.mark.parametrize(("down", "count"), [(3, 0), (2, 2)])
def test_a_small_zone_stops_evictions_at_55_percent(down: int, count: int) -> None:
    played = PlayedScenario(*zone_of("a", 5), *zone_of("b", 1), timeline=turn(50, "Unknown", *names("a", down)))
    assert len(tainted(played)) == count


def test_two_unhealthy_nodes_are_no_disruption() -> None:
    played = PlayedScenario(*zone_of("a", 3), timeline=turn(50, "False", "a0", "a1"))
    assert tainted(played) == {"a0": 50, "a1": 60}


def test_evictions_continue_when_fewer_nodes_are_unhealthy() -> None:
    timeline = [*turn(50, "Unknown", *names("a", 3)), *turn(100, "True", "a0")]
    played = PlayedScenario(*zone_of("a", 5), timeline=timeline)
    assert tainted(played) == {"a1": 110, "a2": 120}


def test_a_large_zone_evicts_slowly() -> None:
    played = PlayedScenario(*zone_of("a", 60), timeline=turn(50, "Unknown", *names("a", 33)), until=400)
    assert sorted(tainted(played).values()) == [50, 150, 250, 350]


def test_no_evictions_if_all_nodes_are_unhealthy() -> None:
    """The taints of the first node are removed, and pods stay; when a node is healthy again, evictions begin anew."""
    timeline = [*turn(10, "Unknown", "a0"), *turn(50, "Unknown", "a1", "b0"), *turn(400, "True", "b0")]
    played = PlayedScenario(*zone_of("a", 2), *zone_of("b", 1), running("web", "a0"), timeline=timeline, until=1000)
    assert tainted(played) == {"a1": 410, "a0": 420}
    assert played.times("pod.evicted", "web") == [720]


def test_excluded_nodes_do_not_count() -> None:
    healthy = node("b0", zone="b", labels={"node.kubernetes.io/exclude-disruption": ""})
    played = PlayedScenario(*zone_of("a", 1), healthy, timeline=turn(50, "Unknown", "a0"))
    assert tainted(played) == {}


def test_an_unreachable_kubelet_does_not_confirm_deletions() -> None:
    """The pod stays terminating until its node returns. A StatefulSet creates its successor only then."""
    db = workload("StatefulSet", "db", pod={"containers": [{"name": "c"}]}, replicas=1)
    timeline = [*turn(50, "Unknown", "a0"), *turn(1000, "True", "a0")]
    spare = node("b0", zone="b", unschedulable=True)
    uncordon = {"at": 40, "uncordon": "b0"}
    played = PlayedScenario(*zone_of("a", 1), spare, db, timeline=[uncordon, *timeline], until=1100)
    assert played.times("pod.evicted", "db-0") == [350]
    assert played.times("pod.deleted", "db-0") == [1000]
    assert played.times("pod.bound", "db-0") == [0, 1000]


def test_a_node_that_is_not_ready_confirms_deletions() -> None:
    played = PlayedScenario(*zone_of("a", 2), running("web", "a0"), timeline=turn(50, "False", "a0"))
    assert played.times("pod.deleted", "web") == [380]
