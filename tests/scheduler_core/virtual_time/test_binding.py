"""Permit, slow and failing bindings, and preemption with grace periods, in virtual time.

Source: pkg/scheduler/schedule_one.go, pkg/scheduler/framework/runtime/waiting_pods_map.go.
"""

from typing import Any

from scheduler_core.plugins.contrib.coscheduling import POD_GROUP
from tests.scheduler_core.build import Raw, node, pod
from tests.scheduler_core.virtual_time_runs import PlayedScenario

HIGH = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100}
TOP = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "top"}, "value": 200}
GANG = {
    "profiles": [
        {
            "plugins": {point: {"enabled": [{"name": "Coscheduling"}]} for point in ("reserve", "permit")},
            "pluginConfig": [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 30}}],
        }
    ]
}


def created(at: float, raw: Raw) -> Raw:
    raw["spec"].pop("priority", None)
    return {"at": at, "create": raw}


def group(least: int) -> Raw:
    meta = {"name": f"of-{least}", "namespace": "default"}
    kind = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    return {**kind, "metadata": meta, "spec": {"minMember": least}}


def member(name: str, least: int = 3, cpu: str = "1") -> Raw:
    return pod(name, labels={POD_GROUP: f"of-{least}"}, requests={"cpu": cpu})


def test_a_group_is_bound_when_it_is_complete() -> None:
    timeline = [created(0, member("a")), created(5, member("b")), created(9, member("c"))]
    played = PlayedScenario(node("n1"), group(2), group(3), config=GANG, timeline=timeline)
    assert played.times("permit.waiting") == [0, 5]
    assert played.times("pod.bound") == [9, 9, 9]
    assert played.run.api.lifecycle.assumed() == []


def test_an_incomplete_group_releases_its_nodes() -> None:
    timeline = [created(0, member("a")), created(5, member("b"))]
    played = PlayedScenario(node("n1"), group(2), group(3), config=GANG, timeline=timeline, until=33)
    first = played.records_of("permit.rejected")
    assert [(r.time, r.data["pod"]) for r in first] == [(30, "default/a"), (30, "default/b")]
    assert first[0].data["message"] == "rejected due to timeout after waiting 30s at plugin Coscheduling"
    assert first[1].data["message"] == "rejection in Unreserve"
    assert played.node_of("a") == ""
    assert played.times("pod.bound") == []


def test_waiting_pods_hold_their_resources_and_release_them() -> None:
    timeline = [created(0, member("a", 2, cpu="4")), created(1, pod("other", requests={"cpu": "4"}))]
    played = PlayedScenario(node("n1", cpu="4"), group(2), group(3), config=GANG, timeline=timeline, until=40)
    assert [r.data["result"] for r in played.records_of("attempt", "other")] == ["unschedulable", "scheduled"]
    assert played.times("pod.bound", "other") == [30]


def test_a_deleted_waiting_pod_does_not_return() -> None:
    gone = {"at": 7, "delete": {"kind": "Pod", "name": "a", "namespace": "default"}}
    played = PlayedScenario(node("n1"), group(2), group(3), config=GANG, timeline=[created(0, member("a")), gone])
    assert played.times("permit.rejected") == [7]
    assert len(played.records_of("attempt")) == 1
    assert played.run.api.cluster.pods == {}


def binding(seconds: float, **failures: int) -> dict[str, Any]:
    failing = [{"pod": f"default/{name}", "times": times} for name, times in failures.items()]
    return {"binding": {"seconds": seconds, "failures": failing}}


def test_resources_are_reserved_during_a_slow_binding() -> None:
    timeline = [created(0, pod("a", requests={"cpu": "3"})), created(1, pod("b", requests={"cpu": "3"}))]
    played = PlayedScenario(node("n1", cpu="4"), timeline=timeline, **binding(5))
    assert played.times("pod.bound") == [5]
    assert played.records_of("attempt", "b")[0].data["result"] == "unschedulable"


def test_a_failed_binding_is_an_error_and_is_retried() -> None:
    played = PlayedScenario(node("n1"), timeline=[created(0, pod("a"))], **binding(0.5, a=2))
    assert played.times("bind.failed") == [0.5, 2.5]
    # errors back off 1 s, then 2 s; v1.34 waits until the second after that is over
    assert [r.time for r in played.records_of("attempt")] == [0, 2, 5]
    assert played.times("pod.bound") == [5.5]


def test_a_failed_binding_wakes_pods_that_need_the_node() -> None:
    timeline = [created(0, pod("a", requests={"cpu": "3"})), created(1, pod("b", requests={"cpu": "3"}))]
    played = PlayedScenario(node("n1", cpu="4"), timeline=timeline, **binding(5, a=1))
    woken = next(r for r in played.records_of("queue.moved", "b") if r.data["event"] == "AssignedPodDelete")
    failed = played.records_of("bind.failed")[0]
    assert (woken.time, woken.cause) == (5, failed.seq)


def test_victims_take_their_grace_period_and_the_preemptor_waits() -> None:
    small = pod("small", on="n1", requests={"cpu": "3"}, terminationGracePeriodSeconds=20)
    big = created(10, pod("big", requests={"cpu": "3"}, priorityClassName="high"))
    played = PlayedScenario(node("n1", cpu="4"), HIGH, small, timeline=[big])
    first, second = played.records_of("attempt", "big")
    assert first.data["nominated_node"] == "n1"
    assert first.data["victims"] == ["default/small"]
    evicted = played.records_of("pod.evicted")[0]
    assert (evicted.cause, evicted.data["by"]) == (first.seq, "default/big")
    assert played.times("pod.deleted", "small") == [30]
    assert (second.time, second.data["node"]) == (30, "n1")


def test_a_preemptor_does_not_preempt_again_while_its_victims_terminate() -> None:
    small = pod("small", on="n1", requests={"cpu": "2"}, terminationGracePeriodSeconds=60)
    other = pod("other", on="n1", requests={"cpu": "2"}, terminationGracePeriodSeconds=60)
    big = created(10, pod("big", requests={"cpu": "2"}, priorityClassName="high"))
    wake = {"at": 20, "update": node("n1", cpu="4100m")}
    played = PlayedScenario(node("n1", cpu="4"), HIGH, small, other, timeline=[big, wake])
    assert len(played.records_of("pod.evicted")) == 1
    again = played.records_of("attempt", "big")[1]
    assert again.time == 20
    assert "not eligible due to a terminating pod on the nominated node" in again.data["message"]


def test_a_pod_of_higher_priority_takes_the_node_of_a_nominated_one() -> None:
    small = pod("small", on="n1", requests={"cpu": "3"}, terminationGracePeriodSeconds=30)
    big = created(10, pod("big", requests={"cpu": "3"}, priorityClassName="high"))
    bigger = created(20, pod("bigger", requests={"cpu": "3"}, priorityClassName="top"))
    played = PlayedScenario(node("n1", cpu="4"), HIGH, TOP, small, timeline=[big, bigger])
    assert played.node_of("bigger") == "n1"
    assert played.node_of("big") == ""
    assert played.times("pod.bound", "bigger") == [40]


def test_a_lower_nomination_on_the_node_is_cleared() -> None:
    ends = {"terminationGracePeriodSeconds": 30}
    small, other = (pod(name, on="n1", requests={"cpu": "2"}, **ends) for name in ("small", "other"))
    big = created(10, pod("big", requests={"cpu": "2"}, priorityClassName="high"))
    bigger = created(20, pod("bigger", requests={"cpu": "4"}, priorityClassName="top"))
    played = PlayedScenario(node("n1", cpu="4"), HIGH, TOP, small, other, timeline=[big, bigger], until=25)
    nominations = [(r.data["pod"], r.data["node"]) for r in played.records_of("pod.nominated")]
    assert nominations[:1] == [("default/big", "n1")]
    assert ("default/big", "") in nominations
    assert nominations[-1] == ("default/bigger", "n1")
