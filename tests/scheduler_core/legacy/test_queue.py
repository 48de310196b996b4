"""Queue of 1.16 in virtual time. It has no conformance cases; the expected results follow from upstream's sources.

Source: release-1.16, pkg/scheduler (eventhandlers.go, scheduler.go, factory), pkg/scheduler/internal/queue.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.scheduler_core.build import HOSTNAME, Raw, node, pod
from tests.scheduler_core.virtual_time_runs import PlayedScenario

BIG: dict[str, Any] = {"requests": {"cpu": "8"}}
NEAR_DB = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": HOSTNAME}
        ]
    }
}
CLASSES = [
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
    for name, value in (("high", 100), ("top", 200))
]


def played(*objects: Raw, timeline: list[tuple[float, Raw]] = [], **spec: Any) -> PlayedScenario:  # noqa: B006
    entries = [{"at": at, **operation} for at, operation in timeline]
    return PlayedScenario(*objects, kubernetes="1.16", timeline=entries, **spec)


def labelled(number: int) -> Raw:
    """Return an update of n1 that is an event without an effect."""
    return {"update": node("n1", labels={"x": str(number)})}


def updated(raw: Raw) -> Raw:
    return {"update": raw}


def tries(ran: PlayedScenario, name: str) -> list[float]:
    return ran.times("attempt", name)


def of_kind(kind: str, name: str, **fields: Any) -> Raw:
    return {"kind": kind, "metadata": {"name": name}, **fields}


def classy(name: str, class_name: str, **spec: Any) -> Raw:
    raw = pod(name, priorityClassName=class_name, **spec)
    del raw["spec"]["priority"]
    return raw


# ---- which events move the unschedulable pods: eventhandlers.go

EVENTS: list[tuple[str, Raw, str]] = [
    # addNodeToCache, updateNodeInCache with nodeSchedulingPropertiesChanged: all pods
    ("a node too small", {"create": node("n2", cpu="1")}, "NodeAdd"),
    ("a label that no pod selects", labelled(1), "NodeLabelChange"),
    ("still too small", updated(node("n1", cpu="5")), "NodeAllocatableChange"),
    ("a taint more", updated(node("n1", taints=(("a", "", "NoSchedule"),))), "NodeTaintChange"),
    # only the end of spec.unschedulable counts, but the taint that a controller adds then is another update
    ("a cordon", {"cordon": "n1"}, "NodeTaintChange"),
    # deleteNodeFromCache only updates the cache
    ("a node goes", {"delete": {"kind": "Node", "name": "n0"}}, ""),
    # onServiceAdd, onPvAdd, onPvcAdd, onStorageClassAdd: only classes that wait for their first consumer
    ("a service", {"create": of_kind("Service", "s", spec={"selector": {"a": "b"}})}, "ServiceAdd"),
    ("a class at once", {"create": of_kind("StorageClass", "c", provisioner="p")}, ""),
    (
        "a class that waits",
        {"create": of_kind("StorageClass", "c", provisioner="p", volumeBindingMode="WaitForFirstConsumer")},
        "StorageClassAdd",
    ),
    ("a volume", {"create": of_kind("PersistentVolume", "v", spec={"capacity": {"storage": "1Gi"}})}, "PvAdd"),
    (
        "a claim",
        {"create": of_kind("PersistentVolumeClaim", "v", spec={"resources": {"requests": {"storage": "1Gi"}}})},
        "PvcAdd",
    ),
    # no handler
    ("a budget", {"create": of_kind("PodDisruptionBudget", "b", spec={"selector": {}})}, ""),
    # addPodToCache, updatePodInCache: pods with a matching term only; deletePodFromCache: all pods
    ("a pod comes to run", {"create": pod("db", on="n1", labels={"app": "db"})}, ""),
    ("a pod goes", {"delete": {"kind": "Pod", "name": "old", "namespace": "default"}}, "AssignedPodDelete"),
]


@pytest.mark.parametrize(("event", "label"), [pytest.param(*case[1:], id=case[0]) for case in EVENTS])
def test_events_that_wake_pods(event: Raw, label: str) -> None:
    kinds = {"Service": "v1", "StorageClass": "storage.k8s.io/v1", "PodDisruptionBudget": "policy/v1"}
    obj = event.get("create", {})
    obj.setdefault("apiVersion", kinds.get(obj.get("kind", ""), "v1"))
    old = pod("old", on="n1", terminationGracePeriodSeconds=0)
    ran = played(node("n0"), node("n1"), old, pod("a", **BIG), timeline=[(20, event)], until=25)
    woken = ran.moves("a")[3:]
    assert woken == ([] if not label else [(20, "active", label), (20, "popped", "Pop"), woken[-1]])


def test_a_pod_with_affinity_is_woken_by_matching_pods() -> None:
    """getUnschedulablePodsWithMatchingAffinityTerm: when one starts to run and when its labels change."""
    ran = played(
        node("n1"),
        pod("a", affinity=NEAR_DB, **BIG),
        timeline=[
            (20, {"create": pod("web", on="n1", labels={"app": "web"})}),
            (30, {"create": pod("db", on="n1", labels={"app": "db"})}),
            (40, {"update": pod("web", on="n1", labels={"app": "db"})}),
        ],
        until=45,
    )
    woken = [(t, event) for t, to, event in ran.moves("a") if to == "active"][1:]
    assert woken == [(30, "AssignedPodAdd"), (40, "AssignedPodUpdate")]


# ---- backoff: pod_backoff.go


def test_backoff_doubles_and_is_forgotten() -> None:
    """1, 2, 4, 8 and 10 s. Entries as old as the longest backoff are forgotten when any pod fails, so after 10 s
    comes 1 s again (CleanupPodsCompletesBackingoff, as in 1.16.6).
    """
    events = [(t + 0.25, labelled(n)) for n, t in enumerate((0, 1, 3, 7, 15, 25, 26))]
    ran = played(node("n1"), pod("a", **BIG), timeline=events, until=29)
    assert tries(ran, "a") == [0, 1, 3, 7, 15, 25, 26, 28]
    moved = [(0.25, "backoff", "NodeLabelChange"), (1, "active", "BackoffComplete"), (1, "popped", "Pop")]
    assert ran.moves("a")[3:6] == moved


def test_an_old_failure_is_forgotten() -> None:
    ran = played(node("n1"), pod("a", **BIG), timeline=[(11, labelled(1)), (11.5, labelled(2))], until=20)
    assert tries(ran, "a") == [0, 11, 12]
    ran = played(node("n1"), pod("a", **BIG), timeline=[(9, labelled(1)), (9.5, labelled(2))], until=20)
    assert tries(ran, "a") == [0, 9, 11]


@pytest.mark.parametrize(("first", "then"), [(labelled(1), 4), (None, 3)])
def test_backoff_is_stored_by_name(first: Raw | None, then: float) -> None:
    """PriorityQueue.Delete forgets the backoff of a pod that is not in activeQ. Otherwise the next pod of that name
    inherits it.
    """
    gone = {"delete": {"kind": "Pod", "name": "a", "namespace": "default"}}
    again = {"create": pod("a", **BIG)}
    timeline = [(2.0, first)] if first else []
    timeline += [(2, gone), (2, again), (2.5, labelled(2))]
    ran = played(node("n1"), pod("a", **BIG), timeline=timeline, until=10)
    assert tries(ran, "a") == [0, 2, then]


# ---- leftovers


def test_leftover_pods_are_retried_after_more_than_a_minute() -> None:
    """flushUnschedulableQLeftover every 30 s, strictly more than 60 s."""
    ran = played(node("n1"), pod("a", **BIG), until=200)
    assert tries(ran, "a") == [0, 90, 180]
    assert ran.moves("a")[3] == (90, "active", "UnschedulableTimeout")


# ---- updates of the pod itself: PriorityQueue.Update


def test_an_update_moves_an_unschedulable_pod_to_active() -> None:
    """Its backoff is cleared, so the next one is the first again."""
    ran = played(
        node("n1"),
        pod("a", **BIG),
        timeline=[(0.5, updated(pod("a", labels={"x": "y"}, **BIG))), (0.75, labelled(1))],
        until=10,
    )
    assert ran.moves("a")[3] == (0.5, "active", "PodUpdate")
    assert tries(ran, "a") == [0, 0.5, 2]  # until 1.5, which is noticed at 2


def test_an_update_moves_a_pod_from_backoff_to_active() -> None:
    """Its backoff is not cleared: it still backs off, so another failure changes nothing (backoffPod)."""
    ran = played(
        node("n1"),
        pod("a", **BIG),
        timeline=[(0.25, labelled(1)), (0.5, updated(pod("a", labels={"x": "y"}, **BIG))), (0.75, labelled(2))],
        until=10,
    )
    assert ran.moves("a")[3:5] == [(0.25, "backoff", "NodeLabelChange"), (0.5, "active", "PodUpdate")]
    assert tries(ran, "a") == [0, 0.5, 1]


def test_active_pods_are_ordered_by_priority_and_time() -> None:
    """activeQComp: priority, then the start of waiting, which a failure resets."""
    pods = [pod("a", **BIG), pod("b"), classy("c", "high")]
    ran = played(*CLASSES, node("n1"), *pods, timeline=[(5, {"create": pod("d", **BIG)}), (7, labelled(1))], until=8)
    assert [r.data["pod"][8:] for r in ran.records_of("attempt")] == ["c", "a", "b", "d", "a", "d"]


# ---- preemption: scheduler.preempt


def test_deleted_victims_move_the_preemptor_to_backoff() -> None:
    """recordSchedulingFailure queues it first, then its nomination is written, then the victims are deleted. That moves
    it, and it backs off.
    """
    ran = played(
        *CLASSES,
        node("n1"),
        pod("low", on="n1", requests={"cpu": "4"}, terminationGracePeriodSeconds=0),
        timeline=[(3, {"create": classy("boss", "high", requests={"cpu": "4"})})],
        until=10,
    )
    assert ran.moves("boss")[2:] == [
        (3, "unschedulable", "ScheduleAttemptFailure"),
        (3, "backoff", "AssignedPodDelete"),
        (4, "active", "BackoffComplete"),
        (4, "popped", "Pop"),
    ]
    kinds = [r.kind for r in ran.records if r.time == 3]
    assert kinds.index("pod.nominated") < kinds.index("pod.evicted") < kinds.index("pod.deleted")
    assert ran.node_of("boss") == "n1"


def test_a_removed_nomination_wakes_a_pod_in_backoff() -> None:
    """nominatedPodsToClear: the status of pods of lower priority is updated, and an update ends podBackoffQ."""
    ran = played(
        *CLASSES,
        node("n1"),
        pod("low", on="n1", requests={"cpu": "4"}),
        timeline=[
            (3, {"create": classy("boss", "high", requests={"cpu": "4"})}),
            (3.25, labelled(1)),
            (3.5, {"create": classy("king", "top", requests={"cpu": "4"})}),
        ],
        until=50,
    )
    nominated = [(r.time, r.data["pod"], r.data["node"]) for r in ran.records_of("pod.nominated")]
    assert nominated == [(3, "default/boss", "n1"), (3.5, "default/king", "n1"), (3.5, "default/boss", "")]
    assert (3.5, "active", "PodUpdate") in ran.moves("boss")
    assert ran.node_of("king") == "n1"
    assert ran.times("pod.bound", "king") == [33]


def test_a_preemptor_keeps_its_nomination_while_its_victims_terminate() -> None:
    """podEligibleToPreemptOthers returns false, and nothing is cleared."""
    ran = played(
        *CLASSES,
        node("n1"),
        pod("low", on="n1", requests={"cpu": "4"}),
        timeline=[(3, {"create": classy("boss", "high", requests={"cpu": "4"})}), (10, labelled(1))],
        until=50,
    )
    assert tries(ran, "boss") == [3, 10, 33]
    assert len(ran.records_of("pod.nominated")) == 1
    assert len(ran.records_of("pod.evicted")) == 1


# ---- failures of other causes


def test_without_nodes_a_pod_waits_for_an_event() -> None:
    ran = played(pod("a"), timeline=[(0.5, {"create": node("n1")})], until=10)
    assert ran.moves("a")[2:5] == [
        (0, "unschedulable", "ScheduleAttemptFailure"),
        (0.5, "backoff", "NodeAdd"),
        (1, "active", "BackoffComplete"),
    ]


def binding(seconds: float) -> dict[str, Any]:
    return {"binding": {"seconds": seconds, "failures": [{"pod": "default/a", "times": 1}]}}


def test_a_failed_binding_wakes_no_pod() -> None:
    """ForgetPod does not notify the queue. The pod waits for an event or its minute."""
    ran = played(node("n1"), pod("a", requests={"cpu": "3"}), pod("b", requests={"cpu": "3"}), until=100, **binding(0))
    assert tries(ran, "a")[:2] == [0, 90]
    assert ran.moves("a")[2][1] == "unschedulable"
    assert ran.node_of("b") == "n1"  # the pod that was next when the node was free again


def test_a_move_during_a_failing_binding_sends_the_pod_to_backoff() -> None:
    """moveRequestCycle >= podSchedulingCycle: podBackoffQ. The written condition is then an update, which moves it to
    activeQ at once.
    """
    ran = played(node("n1"), pod("a"), timeline=[(1, labelled(1))], until=30, **binding(2))
    assert ran.moves("a")[2:] == [
        (2, "backoff", "ScheduleAttemptFailure"),
        (2, "active", "PodUpdate"),
        (2, "popped", "Pop"),
    ]
    assert ran.times("pod.bound", "a") == [4]


def test_no_pod_stays_longer_than_allowed() -> None:
    """Whatever happens, a pod that is not tried for 90 s is bound or deleted."""
    ran = played(node("n1"), pod("a", **BIG), pod("b", **BIG), timeline=[(70, labelled(1))], until=600)
    for name in "ab":
        assert all(later - earlier <= 90 for earlier, later in pairwise(tries(ran, name)))
