"""Behaviours that patch releases change: a case on both sides of each patch release.

The clusters are those of the pull requests that releases/behaviors/ names, or of their tests.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.releases import get_release
from scheduler_core.releases.changelog_page import patch_changes
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import HOSTNAME, REQUIRED, Raw, claim, mounts, node, pod, volume
from tests.scheduler_core.dra import objects as dra
from tests.scheduler_core.virtual_time.test_binding import GANG, group, member
from tests.scheduler_core.virtual_time_runs import PlayedScenario

BUDGETED = {"low": {"app": "low"}, "mid": {"app": "mid"}}


def last(objects: Sequence[Raw], release: str, config: Raw | None = None) -> CycleTrace:
    """Return the cycle of the last pod."""
    return list(Simulation(list(objects), release=release, tie_break="name", config=config).run())[-1]


def budget(name: str) -> Raw:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": BUDGETED[name]}},
        "status": {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
    }


def wants(*names: str) -> Raw:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} for name in names]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}


def container(name: str, **fields: Any) -> Raw:
    return {"name": name, **fields}


VICTIMS = [
    *(node("w1", cpu="2"), node("w2", cpu="2"), budget("low"), budget("mid")),
    pod("high-a", on="w1", requests={"cpu": "1"}, priority=1000),
    pod("low-a", on="w1", requests={"cpu": "1"}, priority=10, labels=BUDGETED["low"]),
    pod("mid-b", on="w2", requests={"cpu": "2"}, priority=100, labels=BUDGETED["mid"]),
    pod("boss", requests={"cpu": "2"}, priority=100_000),
]
BOUND: Raw = {"local": {"path": "/d"}, "claimRef": {"namespace": "default", "name": "data"}}
LOCAL = volume("pv", "local", at={HOSTNAME: ["host-1"]}, **BOUND)
HOSTNAMES = [
    *(node("node-a", labels={HOSTNAME: "host-1"}), node("node-b", labels={HOSTNAME: "host-2"})),
    *(LOCAL, claim("data", "local", volume="pv"), pod("db", volumes=mounts("data"))),
]
ONE_ABSENT = [node("a"), node("b"), pod("p", affinity=wants("ghost", "b"))]
ALL_ABSENT = [node("a"), node("b"), pod("p", affinity=wants("ghost"))]
EXCLUDED = [
    *(node("a", cpu="1"), node("b"), pod("low", on="b", requests={"cpu": "4"}, priority=-1)),
    pod("p", requests={"cpu": "2"}, affinity=wants("a")),
]
ABSENT_CLAIM = [node("a"), node("b"), pod("p", priority=5, volumes=mounts("ghost"))]
TAINTED = [node("a", taints=(("k", "v", "NoSchedule"),)), pod("p")]
HIGH = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100}
PORT = [{"hostPort": 80, "containerPort": 80, "protocol": "TCP"}]
SIDECAR = [container("proxy", restartPolicy="Always", ports=PORT)]
PORTS = [node("a"), pod("q", on="a", initContainers=SIDECAR), pod("p", initContainers=SIDECAR)]
RESIZED = {"containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}
CRASHING = [node("a"), pod("w", on="a", status=RESIZED), pod("p", requests={"cpu": "3"})]
MIXED = [
    *(dra.node("n1"), dra.node("n2"), dra.device_class()),
    *(dra.resource_slice("s1", dra.device("d0"), on="n1"), dra.resource_slice("s2", dra.device("d0"), on="n2")),
    dra.resource_slice("f", dra.device("f0"), pool="fabric", allNodes=True),
    dra.device_class("fabric", 'device.driver == "gpu.example.com"'),
    dra.claim("shared", dra.exactly(), status=dra.allocation("f0", pool="fabric", to="first")),
    *(dra.claim("own", dra.exactly()), dra.pod("p", "shared", "own")),
]
COUNTERS: Raw = {"sharedCounters": [{"name": "c", "counters": {"memory": {"value": "8Gi"}}}]}
CONSUMES = {"consumesCounters": [{"counterSet": "c", "counters": {"memory": {"value": "8Gi"}}}]}
SHARED: Raw = {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "8Gi"}}}
POOL: Raw = {"pool": "n1", "on": "n1", "count": 2}
ALL_DEVICES = [
    *(dra.node("n1"), dra.device_class()),
    dra.resource_slice("s1", dra.device("d0", **CONSUMES), **POOL),
    dra.resource_slice("s2", **POOL, **COUNTERS),
    *(dra.claim("c", dra.everything()), dra.pod("p", "c")),
]
IN_USE = dra.allocation("d0", pool="n1", to="other")
IN_USE["allocation"]["devices"]["results"][0] |= {"shareID": "s", "consumedCapacity": {"memory": "1Gi"}}
SHARED_DEVICE = [
    *(dra.node("n1"), dra.device_class()),
    dra.resource_slice(
        "s1", dra.device("d0", index=0, **CONSUMES, **SHARED), dra.device("d1", index=1, **CONSUMES), **POOL
    ),
    dra.resource_slice("s2", **POOL, **COUNTERS),
    dra.claim("used", dra.exactly(), status=IN_USE),
    *(dra.claim("c", dra.exactly(1, 'device.attributes["gpu.example.com"].index == 1')), dra.pod("p", "c")),
]
CONFIGURED = [
    *(dra.node("n1"), dra.resource_slice("s1", dra.device("d0"), on="n1")),
    dra.device_class(config=[{"opaque": {"driver": dra.DRIVER, "parameters": {"a": 1}}}]),
    *(dra.claim("c", dra.exactly()), dra.pod("p", "c")),
]
THREE = [("NodeResourcesBalancedAllocation", 1), ("TaintToleration", 1), ("NodeResourcesFit", 4)]
MULTIPOINT = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"score": {"enabled": [{"name": n, "weight": w} for n, w in THREE]}}}],
}
WEIGHED = [
    *(node("n1", cpu="8", labels={"disk": "fast"}), node("n2", cpu="8")),
    pod("busy", on="n1", requests={"cpu": "4", "memory": "4Gi"}),
    pod("p", requests={"cpu": "1", "memory": "1Gi"}),
]
ONE_SCORE = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality"}]}}}],
}
DISK = [node("a"), pod("p", volumes=[{"name": "v", "gcePersistentDisk": {"pdName": "d"}}])]
REFUSED = [node("a", cpu="1", taints=(("k", "v", "NoSchedule"),)), pod("p", requests={"cpu": "2"})]
NO_REQUESTS = [
    *(node("a", cpu="200m", memory="2Gi"), node("b", cpu="200m", memory="8Gi"), pod("w", on="a"), pod("v", on="b")),
    pod("p"),
]


def place(trace: CycleTrace) -> str:
    return trace.node or trace.nominated_node


def points(trace: CycleTrace) -> list[int]:
    return [int(score) for score in trace.scores["NodeResourcesBalancedAllocation"].normalized]


def fit_points(trace: CycleTrace) -> int:
    return int((trace.scores["NodeResourcesFit"].normalized * trace.scores["NodeResourcesFit"].weight)[0])


class Sides(NamedTuple):
    """A cluster, what to look at in the cycle of its last pod, and what it is with and without the behaviour.

    `having`, `lacking`: releases, those next to each other first. `config`: of the scheduler.
    """

    objects: list[Raw]
    look: Callable[[CycleTrace], Any]
    with_it: Any
    without: Any
    having: str
    lacking: str
    config: Raw | None = None


CRASH = "runtime error: invalid memory address or nil pointer dereference"
NOT_FOUND = 'nodeinfo not found for node name "ghost"'
NOT_HELPFUL = "1 Preemption is not helpful for scheduling"

SIDES = {
    "victims_by_importance": Sides(
        *(VICTIMS, place, "w2", "w1"),
        *("1.29.11 1.30.7 1.31.3 1.31.8 1.32", "1.29.10 1.30.6 1.31.2 1.28.15"),
    ),
    "local_volumes_prefilter_nodes": Sides(
        *(HOSTNAMES, place, "", "node-a"),
        *("1.29.10 1.30.6 1.31.2 1.28.15", "1.29.11 1.30.7 1.31.3 1.31.8 1.26"),
    ),
    "prefilter_missing_node_fails": Sides(
        *(ONE_ABSENT, lambda trace: trace.node or trace.error, NOT_FOUND, "b"),
        *("1.27.13 1.28.9 1.29.4 1.26.15", "1.27.14 1.28.10 1.29.5 1.30.0 1.29.6"),
    ),
    "unresolvable_prefilter_preempts": Sides(
        *(ABSENT_CLAIM, lambda trace: "2 No preemption victims found" in trace.message, True, False),
        *("1.26.8 1.27.5 1.28.1 1.26.0", "1.26.9 1.27.6 1.28.2 1.29.0 1.25.16"),
    ),
    "start_index_wraps_at_filtered_nodes": Sides(
        *(ALL_ABSENT, lambda trace: trace.error, "runtime error: integer divide by zero", ""),
        *("1.27.14 1.28.10 1.29.5 1.30.0 1.30.1", "1.27.15 1.28.11 1.29.6 1.30.2 1.31.0"),
    ),
    "excluded_nodes_have_status": Sides(
        *(EXCLUDED, lambda trace: "filtered out" in trace.message or "satisfy" in trace.message, True, False),
        *("1.27.14 1.28.10 1.29.5 1.30.0 1.32.0", "1.27.13 1.27.15 1.28.11 1.29.4 1.29.6 1.30.2 1.31.14"),
    ),
    "absent_nodes_unresolvable": Sides(
        *(EXCLUDED, lambda trace: NOT_HELPFUL in trace.message, True, False),
        *("1.27.15 1.28.11 1.29.6 1.30.2 1.31.0", "1.27.13 1.28.9 1.29.4"),
    ),
    "taint_reason_names_taint": Sides(
        *(TAINTED, lambda trace: "untolerated taint {k: v}" in trace.message, True, False),
        *("1.34.0 1.34.1 1.33.12", "1.34.2 1.35.0"),
    ),
    "merges_filter_statuses": Sides(
        *(REFUSED, lambda trace: "Insufficient cpu" in trace.message, True, False),
        *("1.24.9 1.25.5 1.26.0", "1.24.10 1.25.6 1.26.1 1.23.17"),
    ),
    "override_repeats_score_plugins": Sides(
        *(WEIGHED, fit_points, 296, 148),
        *("1.26.12 1.27.9 1.28.5 1.29.0", "1.26.13 1.27.10 1.28.6 1.29.1"),
        MULTIPOINT,
    ),
    # In 1.27 no plugin of the default profile skips Score.
    "skipped_scores_crash": Sides(
        *(WEIGHED, lambda trace: trace.error, "runtime error: makeslice: cap out of range", ""),
        *("1.28.0 1.28.4", "1.28.5 1.29.0", ONE_SCORE),
    ),
    "missing_csi_node_crashes": Sides(
        *(DISK, lambda trace: trace.node or trace.error[-len(CRASH) :], CRASH, "a"),
        *("1.25.0 1.25.6 1.26.0 1.26.1", "1.24.17 1.25.7 1.26.2 1.27.0"),
    ),
    "sidecar_ports": Sides(PORTS, place, "", "a", "1.33.6 1.34.0", "1.33.5 1.32.13"),
    "status_without_request_crashes": Sides(
        *(CRASHING, lambda trace: trace.error, "assignment to entry in nil map", ""),
        "1.33.0 1.33.3",
        "1.33.4 1.34.0 1.32.13",
    ),
    "mixed_claims_score_fails": Sides(
        *(MIXED, lambda trace: "is smaller than number of claims" in trace.error, True, False),
        *("1.35.0 1.35.5 1.36.1", "1.35.6 1.36.2 1.34.10"),
    ),
    "all_devices_with_counters_crash": Sides(
        *(ALL_DEVICES, lambda trace: trace.node or trace.error[-len(CRASH) :], CRASH, "n1"), "1.36.0 1.36.1", "1.36.2"
    ),
    "shared_devices_leave_counters": Sides(SHARED_DEVICE, place, "n1", "", "1.36.1", "1.36.2"),
    "balanced_uses_default_requests": Sides(
        *(NO_REQUESTS, points, [59, 52], [100, 100]), "1.22.0 1.22.3", "1.22.4 1.23.0"
    ),
    "balanced_caps_shares": Sides(
        *(NO_REQUESTS, lambda trace: points(trace)[0] > 0, True, False),
        *("1.19.13 1.20.9 1.21.3 1.21.5", "1.19.12 1.19.16 1.20.12 1.21.6"),
    ),
}


@pytest.mark.parametrize("name", SIDES)
def test_both_sides_of_a_patch_release(name: str) -> None:
    sides = SIDES[name]
    found = {
        release: (getattr(get_release(release), name), sides.look(last(sides.objects, release, sides.config)))
        for release in f"{sides.having} {sides.lacking}".split()
    }
    expected = dict.fromkeys(sides.having.split(), (True, sides.with_it))
    assert found == expected | dict.fromkeys(sides.lacking.split(), (False, sides.without))


@pytest.mark.parametrize(("release", "fails"), [("1.27.5", True), ("1.27.6", False)])
def test_evicting_after_a_rejection_of_prefilter_fails(release: str, fails: bool) -> None:
    """PodTopologySpread has no state, because VolumeBinding has rejected the pod before it."""
    trace = last([*ABSENT_CLAIM[:2], pod("low", on="a", priority=-1), ABSENT_CLAIM[2]], release)
    text = 'running RemovePod on PreFilter plugin "'
    assert (text in trace.message) == fails
    assert ("2 Preemption is not helpful for scheduling" in trace.message) != fails


@pytest.mark.parametrize(
    ("release", "requests"), [("1.34.0", []), ("1.34.1", []), ("1.34.2", ["r0"]), ("1.35.0", ["r0"])]
)
def test_the_configuration_of_a_class_names_its_requests(release: str, requests: list[str]) -> None:
    (cycle,) = dra.cycles(*CONFIGURED, release=release)
    (config,) = cycle["claims"]["default/c"]["allocation"]["devices"]["config"]
    assert config.get("requests", []) == requests


@pytest.mark.parametrize(
    ("release", "plugin"),
    [
        *(("1.27.0", "PodTopologySpread"), ("1.27.16", "PodTopologySpread"), ("1.28.1", "VolumeRestrictions")),
        *(("1.28.2", "PodTopologySpread"), ("1.29.10", "PodTopologySpread"), ("1.30.0", "")),
    ],
)
def test_evicting_after_prefilter_left_no_node_fails(release: str, plugin: str) -> None:
    """NodeAffinity and VolumeBinding leave no node. PodTopologySpread, which comes later, has no state.

    From 1.28 on VolumeRestrictions returns Skip, which 1.28.0 and 1.28.1 forget.
    """
    low = [pod(f"low-{at}", on=f"node-{at}", priority=-1) for at in "ab"]
    objects = [node("node-a"), node("node-b"), volume("pv", "local", at={HOSTNAME: ["node-a"]}, **BOUND), HOSTNAMES[3]]
    trace = last([*objects, *low, pod("db", volumes=mounts("data"), affinity=wants("node-b"))], release)
    assert "simultaneously" in trace.message
    found = re.findall(r'running RemovePod on PreFilter plugin "(\w+)"', trace.message)
    assert found == ([plugin] if plugin else [])


@pytest.mark.parametrize(
    ("release", "plugin"), [("1.27.5", "PodTopologySpread"), ("1.28.1", "VolumeRestrictions"), ("1.28.2", "")]
)
def test_evicting_after_volume_binding_has_rejected_the_pod_fails(release: str, plugin: str) -> None:
    unbound = claim("data", "local")
    trace = last([node("a"), unbound, pod("low", on="a", priority=-1), pod("db", volumes=mounts("data"))], release)
    found = re.findall(r'running RemovePod on PreFilter plugin "(\w+)"', trace.message)
    assert found == ([plugin] if plugin else [])


LOW = pod("low", on="a", priority=-1, requests={"cpu": "4"}, terminationGracePeriodSeconds=10)
BEST_EFFORT = [node("a", pods=1), pod("low", on="a", priority=-1, terminationGracePeriodSeconds=10)]
BURSTABLE = [node("a"), LOW]


@pytest.mark.parametrize(
    ("release", "stays"),
    [
        *(("1.28.3", False), ("1.28.4", True), ("1.28.13", True), ("1.28.14", False), ("1.29.8", True)),
        *(("1.29.9", False), ("1.30.4", True), ("1.30.5", False), ("1.31.0", True), ("1.31.1", False)),
    ],
)
def test_a_victim_of_another_class_stays_terminating(release: str, stays: bool) -> None:
    """The preempting pod waits for it without end."""

    def node_of(*objects: Raw) -> str:
        boss = pod("boss", requests={"cpu": "1"})
        return PlayedScenario(*objects, boss, kubernetes=release, gracePeriods=True).node_of("boss")

    assert node_of(*BEST_EFFORT) == ("" if stays else "a")
    assert node_of(*BURSTABLE) == "a", "victim and preempting pod are burstable"


@pytest.mark.parametrize(
    ("release", "waits"),
    [("1.33.13", True), ("1.34.0", False), ("1.34.1", False), ("1.34.2", True), ("1.34.10", True), ("1.35.0", False)],
)
def test_a_victim_that_terminates_already(release: str, waits: bool) -> None:
    """Somebody deletes a pod, whose place a pod of higher priority then waits for. Another node becomes cheaper.

    Source: pkg/scheduler/framework/preemption/preemption.go (prepareCandidate), default_preemption.go
    (PodEligibleToPreemptOthers).
    """
    low = pod("low", on="a", priority=0, requests={"cpu": "4"}, terminationGracePeriodSeconds=100)
    lower = pod("lower", on="b", priority=-1, requests={"cpu": "4"}, terminationGracePeriodSeconds=10)
    boss = pod("boss", requests={"cpu": "4"}, priorityClassName="high")
    del boss["spec"]["priority"]
    timeline = [
        {"at": 10, "delete": {"kind": "Pod", "namespace": "default", "name": "low"}},
        {"at": 20, "create": boss},
        {"at": 40, "patch": {"kind": "Node", "name": "b", "patch": {"spec": {"unschedulable": False}}}},
    ]
    objects = [node("a"), node("b", unschedulable=True), low, lower, HIGH]
    played = PlayedScenario(*objects, timeline=timeline, kubernetes=release, gracePeriods=True)
    assert [record.data["pod"] for record in played.records_of("pod.evicted")] == ([] if waits else ["default/lower"])
    assert played.node_of("boss") == ("a" if waits else "b")


@pytest.mark.parametrize(
    ("release", "clears"),
    [
        *(("1.32.0", True), ("1.33.13", True), ("1.34.0", False), ("1.34.1", False), ("1.34.2", True)),
        *(("1.34.1 SchedulerAsyncPreemption=false", True), ("1.35.0", False)),
        *(("1.36.2", False), ("1.36.2 SchedulerAsyncPreemption=false", True)),
    ],
)
def test_the_nomination_of_a_pod_that_waits_for_the_same_terminating_victim(release: str, clears: bool) -> None:
    """Source: pkg/scheduler/framework/preemption/executor.go (prepareCandidateAsync, prepareCandidate)."""
    low = pod("low", on="a", priority=0, requests={"cpu": "4"}, terminationGracePeriodSeconds=100)
    high, top = (pod(name, priority=value, requests={"cpu": "4"}) for name, value in (("high", 1), ("top", 2)))
    timeline = [{"at": 10, "create": high}, {"at": 20, "create": top}]
    spec: Raw = {"timeline": timeline, "controllers": {"admission": False}, "until": 30}
    played = PlayedScenario(node("a"), low, kubernetes=release, gracePeriods=True, **spec)
    nominated = [(record.data["pod"], record.data["node"]) for record in played.records_of("pod.nominated")]
    lost = [("default/high", "")] if clears else []
    assert nominated == [("default/high", "a"), *lost, ("default/top", "a")]

    low["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    high["status"] = {"nominatedNodeName": "a"}
    simulation = Simulation([node("a"), low, high, top], release=release)
    assert next(simulation.run()).victims == ["default/low"]
    assert [one.name for one in simulation.cluster.nominator.on("a")] == (["top"] if clears else ["high", "top"])


@pytest.mark.parametrize(("release", "backs_off"), [("1.28.0", False), ("1.28.4", False), ("1.28.5", True)])
def test_events_before_permit_rejects(release: str, backs_off: bool) -> None:
    """Without hints, any event sends a pod to backoffQ; with hints, one that the rejecting plugin registered.

    Source: pkg/scheduler/internal/queue/scheduling_queue.go (AddUnschedulableIfNotPresent).
    """
    label = {"at": 10, "patch": {"kind": "Node", "name": "a", "patch": {"metadata": {"labels": {"x": "y"}}}}}
    objects = [node("a"), group(2), member("p", 2)]
    played = PlayedScenario(*objects, timeline=[label], config=GANG, kubernetes=release, until=60)
    (move,) = [(queue, event) for at, queue, event in played.moves("p") if at == 30]
    assert move == ("backoff" if backs_off else "unschedulable", "ScheduleAttemptFailure")


@pytest.mark.parametrize("release", ["1.28.4", "1.28.5", "1.32.0"])
def test_an_update_of_the_pod_itself(release: str) -> None:
    """Before 1.31 it requeues a waiting pod, with and without hints.

    Source: pkg/scheduler/internal/queue/scheduling_queue.go (Update).
    """
    tainted = node("a", taints=(("k", "v", "NoSchedule"),))
    patch = {"kind": "Pod", "namespace": "default", "name": "p", "patch": {"metadata": {"annotations": {"x": "y"}}}}
    played = PlayedScenario(tainted, pod("p"), timeline=[{"at": 60, "patch": patch}], kubernetes=release, until=100)
    assert (60 in played.times("attempt", "p")) == (release != "1.32.0")


@pytest.mark.parametrize(
    ("release", "hints"), [("1.27.16", False), ("1.28.0", True), ("1.28.4", True), ("1.28.5", False), ("1.32.0", True)]
)
def test_queueing_hints_are_on_by_default(release: str, hints: bool) -> None:
    assert get_release(release).queueing_hints == hints


ELSEWHERE = {"attempts_forget_rejections", "extender_rejections_requeue", "queueing_hints", "victims_of_other_qos_stay"}
ELSEWHERE |= {"class_configuration_names_requests", "skips_kept_after_rejection", "skips_terminating_victims"}


def test_every_change_between_patch_releases_has_a_case() -> None:
    assert set(patch_changes()) <= SIDES.keys() | ELSEWHERE
