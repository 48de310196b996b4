"""Events that requeue a pod, and the releases whose hints notice them. Else it waits for the flush at 330 s."""

from typing import Any

import pytest

from scheduler_core.api.objects import CSINode, VolumeAttachment, decode
from scheduler_core.plugins.node_volume_limits import NodeVolumeLimits
from scheduler_core.queue.scheduling_queue import event_of
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import HOSTNAME, REQUIRED, Raw, claim, mounts, node, pod, volume
from tests.scheduler_core.virtual_time_runs import PlayedScenario

HINTS = ["1.32", "1.33", "1.34", "1.35", "1.36", "1.37"]
NEVER, AT_ONCE = 330.0, 60.0
X = {"app": "x"}


def apart(labels: dict[str, str]) -> Raw:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": labels}}
    return {"podAntiAffinity": {REQUIRED: [term]}}


def placed_at(release: str, name: str, timeline: list[Raw], *objects: Raw, **spec: Any) -> float:
    """Return when the pod is bound."""
    run = PlayedScenario(*objects, timeline=timeline, until=480, kubernetes=release, gracePeriods=False, **spec)
    (time,) = run.times("pod.bound", name)
    return time


def since(release: str, first: str) -> float:
    return AT_ONCE if HINTS.index(release) >= HINTS.index(first) else NEVER


def create(at: float, obj: Raw) -> Raw:
    return {"at": at, "create": {"apiVersion": "v1", **obj}}


def delete(name: str) -> Raw:
    return {"at": 60, "delete": {"kind": "Pod", "namespace": "default", "name": name}}


@pytest.mark.parametrize("release", HINTS)
def test_a_deleted_pod_had_the_anti_affinity(release: str) -> None:
    timeline = [create(10, pod("p", labels=X)), delete("e")]
    assert placed_at(release, "p", timeline, node("n1"), pod("e", on="n1", affinity=apart(X))) == since(release, "1.36")


@pytest.mark.parametrize("release", HINTS)
def test_the_own_labels_change(release: str) -> None:
    patch = {"kind": "Pod", "namespace": "default", "name": "p", "patch": {"metadata": {"labels": {"app": "z"}}}}
    timeline = [create(10, pod("p", labels=X)), {"at": 60, "patch": patch}]
    assert placed_at(release, "p", timeline, node("n1"), pod("e", on="n1", affinity=apart(X))) == since(release, "1.36")


def classed(name: str, priority: str, **spec: Any) -> Raw:
    """Return a pod with a priority class, whose number the API server computes."""
    made = pod(name, priorityClassName=priority, **spec)
    del made["spec"]["priority"]
    return made


def priority_class(name: str, value: int) -> Raw:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


CLASSES = [priority_class("high", 100), priority_class("mid", 50)]


def nominated(**spec: Any) -> list[Raw]:
    """Return a timeline: `first` is nominated while its victim terminates, then it is deleted."""
    labels = spec.pop("labels", {})
    return [create(10, classed("first", "high", labels=labels, requests={"cpu": "2"}, **spec)), delete("first")]


VICTIM = pod("v", on="n1", requests={"cpu": "4"}, terminationGracePeriodSeconds=600)


@pytest.mark.parametrize(
    ("waits", "first"),
    [
        ({"labels": {"app": "y"}, "affinity": apart(X)}, "1.36"),
        (
            {
                "labels": X,
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "minDomains": 2,
                        "topologyKey": HOSTNAME,
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchLabels": X},
                    }
                ],
            },
            "1.36",
        ),
        ({"requests": {"cpu": "3"}}, "1.33"),
        ({"ports": ({"containerPort": 80, "hostPort": 80},)}, "1.33"),
    ],
)
@pytest.mark.parametrize("release", HINTS)
def test_a_nominated_pod_is_deleted(release: str, waits: dict[str, Any], first: str) -> None:
    """The pod of lower priority waits for the nominated one; the victim still terminates."""
    timeline = nominated(labels=X, ports=({"containerPort": 80, "hostPort": 80},))
    timeline.insert(1, create(20, classed("later", "mid", **waits)))
    big = pod("big", on="n1", requests={"cpu": "3"}, terminationGracePeriodSeconds=600)
    run = PlayedScenario(*CLASSES, node("n1"), big, timeline=timeline, until=480, kubernetes=release)
    woken = [time for time, to, event in run.moves("later") if event == "AssignedPodDelete"]
    assert (woken[:1] == [AT_ONCE]) == (since(release, first) == AT_ONCE)


@pytest.mark.parametrize("release", HINTS)
def test_a_nominated_pod_with_volumes_is_deleted(release: str) -> None:
    driver = {"name": "d.lab", "nodeID": "n1", "allocatable": {"count": 1}}
    csi_node = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "n1"}}
    disks = [
        one
        for i in (1, 2)
        for one in (
            volume(f"pv{i}", "s", csi={"driver": "d.lab", "volumeHandle": f"h{i}"}, phase="Bound"),
            claim(f"c{i}", "s", f"pv{i}"),
        )
    ]
    timeline = nominated(volumes=mounts("c1"))
    timeline.insert(1, create(20, classed("later", "mid", volumes=mounts("c2"))))
    objects = [*CLASSES, node("n1"), {**csi_node, "spec": {"drivers": [driver]}}, *disks, VICTIM]
    run = PlayedScenario(*objects, timeline=timeline, until=480, kubernetes=release)
    assert run.times("pod.bound", "later") == [since(release, "1.33")]


@pytest.mark.parametrize("release", ["1.31", "1.32", "1.33"])
def test_events_of_node_volume_limits(release: str) -> None:
    simulation = Simulation([node("n"), pod("p", volumes=mounts("c")), pod("q")], release=release)
    registered = NodeVolumeLimits(None, simulation.cluster).events_to_register()
    hints = {(one.event.resource, one.event.action): one.hint for one in registered}
    labels = {f"{one.event.label}" for one in registered}
    assert ("VolumeAttachmentDelete" in labels) == (release != "1.31")
    assert ("CSINodeUpdate" in labels) == (release == "1.33")
    waiting, plain = simulation.pending

    def deleted(*volumes: Raw, on: str = "n") -> Any:
        other = Simulation([node("n"), pod("w", on=on, volumes=list(volumes))], release=release)
        return other.cluster.pods["default/w"]

    after_delete = next(hint for (resource, _), hint in hints.items() if resource == "Pod")
    assert after_delete is not None
    assert after_delete(waiting, deleted(*mounts("x")), None)
    assert not after_delete(waiting, deleted({"name": "e", "emptyDir": {}}), None)
    if release != "1.33":
        return
    detached = next(hint for (resource, _), hint in hints.items() if resource == "VolumeAttachment")
    attachment = decode({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "a"}})
    assert isinstance(attachment, VolumeAttachment)
    assert detached is not None
    assert detached(waiting, attachment, None)
    assert not detached(plain, attachment, None)
    changed = next(
        hint for one, hint in zip(registered, hints.values(), strict=True) if one.event.label == "CSINodeUpdate"
    )

    def limited(**limits: int) -> CSINode:
        drivers = [{"name": name, "allocatable": {"count": count}} for name, count in limits.items()]
        made = decode(
            {
                "kind": "CSINode",
                "apiVersion": "storage.k8s.io/v1",
                "metadata": {"name": "n"},
                "spec": {"drivers": drivers},
            }
        )
        assert isinstance(made, CSINode)
        return made

    assert changed is not None
    assert changed(waiting, limited(a=1), limited(a=2))
    assert changed(waiting, limited(a=1), limited(a=1, b=1))
    assert not changed(waiting, limited(a=2), limited(a=1))


@pytest.mark.parametrize(("release", "time"), [("1.28", AT_ONCE), ("1.30", AT_ONCE), ("1.31", NEVER)])
def test_plugins_without_hints_requeue_after_any_registered_event(release: str, time: float) -> None:
    """With the gate SchedulerQueueingHints, off by default until 1.31: InterPodAffinity has a hint from 1.31 on."""
    gates = {"SchedulerQueueingHints": True}
    timeline = [create(10, pod("p", labels=X)), delete("e")]
    objects = [node("n1"), pod("e", on="n1", affinity=apart(X))]
    assert placed_at(release, "p", timeline, *objects, featureGates=gates) == time


@pytest.mark.parametrize("release", HINTS)
def test_one_of_several_anti_affinity_terms_matches(release: str) -> None:
    """The deleted pod matched one of the two terms of `p`; before 1.37 it must match both."""
    terms = [{"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": app}}} for app in "xy"]
    timeline = [create(10, pod("p", affinity={"podAntiAffinity": {REQUIRED: terms}})), delete("e")]
    assert placed_at(release, "p", timeline, node("n1"), pod("e", on="n1", labels=X)) == since(release, "1.37")


@pytest.mark.parametrize(("release", "requeues"), [("1.36", True), ("1.37", False)])
def test_a_taint_wakes_pods_of_plugins_that_register_for_nodes(release: str, requeues: bool) -> None:
    """NodeResourcesFit, which rejects the pod, registers for added nodes, but not for taints."""
    patch = {"kind": "Node", "name": "n1", "patch": {"spec": {"taints": []}}}
    tainted = node("n1", cpu="1", taints=(("k", "", "PreferNoSchedule"),))
    timeline = [create(10, pod("p", requests={"cpu": "2"})), {"at": 60, "patch": patch}]
    run = PlayedScenario(tainted, timeline=timeline, until=100, kubernetes=release)
    assert ("NodeUpdateNodeTaint" in [event for _, _, event in run.moves("p")]) == requeues


@pytest.mark.parametrize(("release", "label"), [("1.36", "UnschedulablePodUpdate"), ("1.37", "TargetPodUpdate")])
def test_events_name_the_pod_itself(release: str, label: str) -> None:
    patch = {"kind": "Pod", "namespace": "default", "name": "p"}
    patch |= {"patch": {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}}}
    tainted = node("n1", taints=(("k", "", "NoSchedule"),))
    run = PlayedScenario(
        tainted, pod("p"), timeline=[{"at": 60, "patch": patch}], until=100, kubernetes=release, gracePeriods=False
    )
    moves = [event for _, _, event in run.moves("p")]
    assert moves[0] == {"1.36": "UnschedulablePodAdd", "1.37": "UnscheduledPodAdd"}[release]
    assert f"{label}PodToleration" in moves
    assert event_of(f"{label}PodToleration") == event_of("UnschedulablePodUpdatePodToleration")


@pytest.mark.parametrize(("release", "node_of_later"), [("1.36", "n1"), ("1.37", "")])
def test_a_gated_pod_holds_its_nomination(release: str, node_of_later: str) -> None:
    """n1 is too small for `first`, which is nominated to it and gated, and for `later`, of lower priority."""
    first = classed("first", "high", requests={"cpu": "3"}, schedulingGates=[{"name": "hold"}])
    first["status"] = {"nominatedNodeName": "n1"}
    timeline = [create(5, first), create(10, classed("later", "mid", requests={"cpu": "2"}))]
    run = PlayedScenario(*CLASSES, node("n1"), timeline=timeline, until=60, kubernetes=release)
    assert (run.node_of("first"), run.node_of("later")) == ("", node_of_later)
