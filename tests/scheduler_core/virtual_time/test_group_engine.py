"""Pod groups of 1.36 and 1.37 in virtual time: gates, cycles, backoff, members and groups that come and go.

No recorded cases have groups over time; each scenario names the source of what it expects. Sources of v1.36:
S: pkg/scheduler/schedule_one_podgroup.go; Q: pkg/scheduler/backend/queue/scheduling_queue.go; E: pkg/scheduler/
eventhandlers.go; G: pkg/scheduler/framework/plugins/gangscheduling; P: pkg/scheduler/framework/preemption. Cases of
1.37 follow 1.37.0-alpha.2.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from scheduler_core.api.objects import decode_all
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.engine import Engine
from scheduler_core.virtual_time.group_engine import GroupEngine
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.pod_groups.test_groups import IN_ZONE, RELEASE, TOPOLOGY, WHOLE, group, members

Plan = list[tuple[float, Callable[[Engine], None]]]


def create(*objects: Any) -> Callable[[Engine], None]:
    def act(engine: Engine) -> None:
        for obj in decode_all(list(objects)):
            engine.api.create(obj)

    return act


def delete(obj: Any) -> Callable[[Engine], None]:
    return lambda engine: engine.api.delete(decode_all([obj])[0])


def update(obj: Any) -> Callable[[Engine], None]:
    return lambda engine: engine.api.update(decode_all([obj])[0])


def story(objects: list[Any], plan: Plan, until: float, release: str = RELEASE, **options: Any) -> list[str]:
    """Return what happened, without the moves between active queue and backoff."""
    simulation = Simulation(objects, release=release, tie_break="name", config=options.pop("config", None))
    engine = GroupEngine(simulation, **options)
    for time, action in plan:
        engine.at(time, partial(action, engine))
    found = []
    for record in engine.run(until):
        at, data = f"{record.time:g}", record.data
        name = data.get("pod", "").partition("/")[2]
        match record.kind:
            case "group.finished":
                found.append(f"{at} {data['group'].partition('/')[2]}: {data['result']}")
            case "attempt" if data["result"] == "error":
                found.append(f"{at} {name} error")
            case "attempt" if "group" not in data:
                found.append(f"{at} {name} alone: {data['result']}")
            case "pod.bound":
                found.append(f"{at} {name} on {data['node']}")
            case "pod.nominated":
                found.append(f"{at} {name} nominated: {data['node'] or 'no'}")
            case "pod.evicted":
                found.append(f"{at} {name} evicted by {data['by'].partition('/')[2]}")
            case "queue.moved" if data["to"] == "gated":
                found.append(f"{at} {name} gated")
            case "bind.failed" | "permit.rejected" | "pod.skipped":
                found.append(f"{at} {name} {record.kind}: {data['message']}")
    return found


def having(obj: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {**obj, "spec": {**obj["spec"], **spec}}


def on(obj: dict[str, Any], where: str) -> dict[str, Any]:
    return having(obj, nodeName=where)


def small(name: str, where: str, **more: Any) -> dict[str, Any]:
    return pod(name, on=where, requests={"cpu": "2"}, **more)


@dataclass
class Case:
    """A scenario. `events`: what happens, in order; `source`: what it follows from."""

    name: str
    source: str
    objects: list[Any]
    plan: Plan
    until: float
    events: list[str]
    release: str = RELEASE
    options: dict[str, Any] = field(default_factory=dict)


ONE = node("n1", cpu="4")
SMALL = [node("n1", cpu="2"), node("n2", cpu="2")]
ZONES = [node("a1", zone="a", cpu="2"), node("a2", zone="a", cpu="2"), node("b1", zone="b", cpu="2")]
PAIR, THREE, HIGH = members("g", 2), members("g", 3), members("g", 2, priority=10)
IN_ONE_ZONE = group("g", 2, schedulingConstraints=IN_ZONE)
ELSEWHERE = {**group("g", 1), "metadata": {"name": "g", "namespace": "other"}}
SECOND = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "second"}],
}
UNITS = "1.37 GenericWorkload=true"  # the queue holds groups as units
CASES = [
    Case(
        "waits for its PodGroup",
        "G PreEnqueue, isSchedulableAfterPodGroupAdded: both gated members wake; Q PopSpecificPod",
        [ONE, *PAIR],
        [(2, create(group("g", 2)))],
        5,
        ["0 g-0 gated", "0 g-1 gated", "2 g-1 on n1", "2 g: scheduled", "2 g-0 on n1"],
    ),
    Case(
        "gang waits for pods",
        "G PreEnqueue, isSchedulableAfterPodAdded; E addPodToSchedulingQueue: the new pod enters, then wakes others",
        [ONE, group("g", 2), PAIR[0]],
        [(3, create(PAIR[1]))],
        5,
        ["0 g-0 gated", "3 g-0 on n1", "3 g: scheduled", "3 g-1 on n1"],
    ),
    Case(
        "PodGroup of another namespace",
        "G isSchedulableAfterPodGroupAdded",
        [ONE, *PAIR],
        [(2, create(ELSEWHERE))],
        5,
        ["0 g-0 gated", "0 g-1 gated"],
    ),
    Case(
        "pod of another group",
        "G isSchedulableAfterPodAdded",
        [ONE, group("g", 2), group("h"), PAIR[0]],
        [(2, create(*members("h", 1)))],
        4,
        ["0 g-0 gated", "2 h-0 on n1", "2 h: scheduled"],
    ),
    Case(
        "basic group does not wait",
        "G PreEnqueue: only gangs count their pods",
        [ONE, group("g"), PAIR[0]],
        [],
        4,
        ["0 g-0 on n1", "0 g: scheduled"],
    ),
    Case(
        "gated member",
        "S podGroupInfoForPod: a gated member is not popped; G Permit: one of two is too few",
        [ONE, group("g", 2), PAIR[0], having(PAIR[1], schedulingGates=[{"name": "x"}])],
        [(2.5, update(PAIR[1]))],
        6,
        [
            "0 g-0 gated",
            "0 g-1 gated",
            "0 g: unschedulable",
            "2 g: unschedulable",
            "2.5 g-1 on n1",
            "2.5 g: scheduled",
            "2.5 g-0 on n1",
        ],
    ),
    Case(
        "pod without group",
        "S ScheduleOne: pods without a group have cycles of their own",
        [ONE, group("g", 2), PAIR[0], pod("a")],
        [],
        3,
        ["0 g-0 gated", "0 a alone: scheduled", "0 a on n1"],
    ),
    Case(
        "gate GangScheduling off",
        "features: without the gate there is no plugin that waits, even without minCount pods",
        [ONE, group("g", 9), PAIR[0]],
        [],
        3,
        ["0 g-0 on n1", "0 g: scheduled"],
        release="1.36 GenericWorkload=true",
    ),
    Case(
        "bound member counts",
        "G PreEnqueue counts all pods, Permit assumed and assigned ones",
        [ONE, group("g", 2), on(PAIR[0], "n1")],
        [(1, create(PAIR[1]))],
        3,
        ["1 g-1 on n1", "1 g: scheduled"],
    ),
    Case(
        "member deleted, gated again",
        "Q moveToBackoffQ runs PreEnqueue: the gang is incomplete again until a third pod comes",
        [node("n1", cpu="2"), group("g", 2), *PAIR],
        [
            (1.5, delete(PAIR[0])),
            (3.5, create(ONE | {"metadata": {**ONE["metadata"], "name": "n2"}})),
            (4.5, create(*members("g", 3)[2:])),
        ],
        7,
        [
            "0 g-0 gated",
            "0 g: unschedulable",
            "2 g-1 gated",
            "2 g: unschedulable",
            "4.5 g-2 on n2",
            "4.5 g: scheduled",
            "4.5 g-1 on n2",
        ],
    ),
    Case(
        "priority order",
        "S podGroupInfoForPod sorts by priority; one member of a basic group is enough",
        [node("n1", cpu="2"), group("g"), PAIR[0], having(PAIR[1], priority=5)],
        [],
        1,
        ["0 g-1 on n1", "0 g: scheduled", "0 g: unschedulable"],
    ),
    Case(
        "completing pod first",
        "S podGroupInfoForPod sorts by InitialAttemptTimestamp: the pod that completes the gang was active first",
        [node("n1", cpu="4"), node("n0", cpu="2"), group("g", 3), *THREE[:2]],
        [(1, create(THREE[2]))],
        2,
        ["0 g-0 gated", "0 g-1 gated", "1 g-1 on n0", "1 g: scheduled", "1 g-2 on n1", "1 g-0 on n1"],
    ),
    Case(
        "all or none",
        "S: no member is bound; Q determineSchedulingHintForInFlightPod: backoff alone, 1 s, then 2 s",
        [node("n1", cpu="2"), group("g", 2), *PAIR],
        [],
        9,
        ["0 g-0 gated", "0 g: unschedulable", "2 g: unschedulable", "5 g: unschedulable"],
    ),
    Case(
        "rest alone",
        "S: members that fit are bound at minCount, the other one has cycles of its own",
        [ONE, group("g", 2), *THREE],
        [(4.5, create(node("n2", cpu="2")))],
        6,
        [
            "0 g-0 gated",
            "0 g-0 on n1",
            "0 g: scheduled",
            "0 g-1 on n1",
            "0 g: unschedulable",
            "3 g: unschedulable",
            "4.5 g-2 on n2",
            "4.5 g: scheduled",
        ],
    ),
    Case(
        "node added",
        "Q: a rejected member is popped early once something has changed",
        [node("n1", cpu="2"), group("g", 2), *PAIR],
        [(4.5, create(node("n2", cpu="2")))],
        6,
        [
            "0 g-0 gated",
            "0 g: unschedulable",
            "2 g: unschedulable",
            "4.5 g-0 on n2",
            "4.5 g: scheduled",
            "4.5 g-1 on n1",
        ],
    ),
    Case(
        "pod deleted",
        "as above, after the deletion of a pod",
        [ONE, pod("a", on="n1", requests={"cpu": "2"}), group("g", 2), *PAIR],
        [(2.5, delete(pod("a")))],
        6,
        [
            "0 g-0 gated",
            "0 g: unschedulable",
            "2 g: unschedulable",
            "2.5 g-0 on n1",
            "2.5 g: scheduled",
            "2.5 g-1 on n1",
        ],
    ),
    Case(
        "two groups by priority",
        "Q: the queue's order is that of pods",
        [ONE, group("g", 2), group("h", 2), *PAIR, *members("h", 2, priority=5)],
        [],
        3,
        [
            "0 g-0 gated",
            "0 h-0 gated",
            "0 h-0 on n1",
            "0 h: scheduled",
            "0 h-1 on n1",
            "0 g: unschedulable",
            "2 g: unschedulable",
        ],
    ),
    Case(
        "pod between",
        "S: between its attempts a group holds nothing",
        [node("n1", cpu="2"), group("g", 2), *PAIR],
        [(1.5, create(pod("a", requests={"cpu": "1"}))), (5.5, create(node("n2", cpu="4")))],
        7,
        [
            "0 g-0 gated",
            "0 g: unschedulable",
            "1.5 a alone: scheduled",
            "1.5 a on n1",
            "1.5 g: unschedulable",
            "3 g: unschedulable",
            "5.5 g-0 on n2",
            "5.5 g: scheduled",
            "5.5 g-1 on n2",
        ],
    ),
    Case(
        "podgroup deleted in backoff",
        "G Permit: an error without the PodGroup, for all members; Q: then PreEnqueue gates them",
        [node("n1", cpu="2"), group("g", 2), *PAIR],
        [(1.5, delete(group("g", 2))), (6.5, create(group("g", 1)))],
        9,
        [
            "0 g-0 gated",
            "0 g: unschedulable",
            "1.5 g-1 error",
            "1.5 g-0 error",
            "1.5 g-1 gated",
            "1.5 g-0 gated",
            "1.5 g: unschedulable",
            "6.5 g-1 on n1",
            "6.5 g: scheduled",
            "6.5 g: unschedulable",
        ],
    ),
    Case(
        "bind failure",
        "schedule_one.go handleBindingCycleError: the member alone is tried again, and its group is met",
        [ONE, group("g", 2), *PAIR],
        [],
        5,
        [
            "0 g-0 gated",
            "0 g-0 bind.failed: the binding was made to fail by the scenario",
            "0 g: scheduled",
            "0 g-1 on n1",
            "2 g-0 on n1",
            "2 g: scheduled",
        ],
        options={"bind_failures": {"default/g-0": 1}},
    ),
    Case(
        "slow binding",
        "G Permit: the members wait for each other, then are bound at the same time",
        [ONE, group("g", 2), *PAIR],
        [],
        5,
        ["0 g-0 gated", "0 g: scheduled", "2 g-0 on n1", "2 g-1 on n1"],
        options={"bind_seconds": 2.0},
    ),
    Case(
        "members preempt",
        "S: every member needs victims, so all are nominated and the group waits; P prepareCandidate",
        [*SMALL, small("s1", "n1"), small("s2", "n2"), group("g", 2), *HIGH],
        [],
        5,
        [
            "0 g-0 gated",
            "0 g-1 nominated: n1",
            "0 g-0 nominated: n2",
            "0 g: waiting",
            "0 s1 evicted by g-1",
            "0 s2 evicted by g-0",
            "0 g-0 on n2",
            "0 g: scheduled",
            "0 g-1 on n1",
        ],
    ),
    Case(
        "graceful victims",
        "P PodEligibleToPreemptOthers: while victims terminate, the nominations stay",
        [
            *SMALL,
            small("s1", "n1", terminationGracePeriodSeconds=3),
            small("s2", "n2", terminationGracePeriodSeconds=3),
            group("g", 2),
            *HIGH,
        ],
        [],
        8,
        [
            "0 g-0 gated",
            "0 g-1 nominated: n1",
            "0 g-0 nominated: n2",
            "0 g: waiting",
            "0 s1 evicted by g-1",
            "0 s2 evicted by g-0",
            "0 g: unschedulable",
            "3 g-0 on n2",
            "3 g: scheduled",
            "3 g-1 on n1",
        ],
        options={"graceful": True},
    ),
    Case(
        "victims of a group that fails",
        "S: PostFilter has evicted for a member before the group fails; its nomination is cleared",
        [*SMALL, small("s1", "n1"), small("s2", "n2", priority=20), group("g", 2), *HIGH],
        [],
        5,
        ["0 g-0 gated", "0 g: unschedulable", "0 s1 evicted by g-1", "0 g: unschedulable", "3 g: unschedulable"],
    ),
    Case(
        "whole",
        "S runWorkloadAwarePreemption: victims of the whole group, no nomination of single members",
        [*SMALL, small("s1", "n1"), small("s2", "n2"), group("g", 2, priority=10), *HIGH],
        [],
        5,
        [
            "0 g-0 gated",
            "0 g: waiting",
            "0 s1 evicted by g-0",
            "0 s2 evicted by g-0",
            "0 g-0 on n2",
            "0 g: scheduled",
            "0 g-1 on n1",
        ],
        release=WHOLE,
    ),
    Case(
        "whole, not enough",
        "P: no victims if the group does not fit without them",
        [*SMALL, small("s1", "n1"), small("s2", "n2", priority=20), group("g", 2, priority=10), *HIGH],
        [],
        5,
        ["0 g-0 gated", "0 g: unschedulable", "2 g: unschedulable", "5 g: unschedulable"],
        release=WHOLE,
    ),
    Case(
        "never",
        "P: preemptionPolicy Never",
        [
            *SMALL,
            small("s1", "n1"),
            small("s2", "n2"),
            group("g", 2),
            *members("g", 2, priority=10, preemptionPolicy="Never"),
        ],
        [],
        1.5,
        ["0 g-0 gated", "0 g: unschedulable"],
    ),
    Case(
        "lower nomination lost",
        "P prepareCandidate: nominations of pods with lower priority are cleared",
        [
            node("n1", cpu="2"),
            small("s1", "n1", terminationGracePeriodSeconds=5),
            pod("m", requests={"cpu": "2"}, priority=5),
            group("g", 1),
        ],
        [(1.5, create(*members("g", 1, priority=10)))],
        8,
        [
            "0 m alone: unschedulable",
            "0 s1 evicted by m",
            "0 m nominated: n1",
            "1.5 g-0 nominated: n1",
            "1.5 g: waiting",
            "1.5 m nominated: no",
            "1.5 m alone: unschedulable",
            "1.5 g: unschedulable",
            "4 g: unschedulable",
            "5 m alone: unschedulable",
            "5 g-0 on n1",
            "5 g: scheduled",
            "5 m alone: unschedulable",
        ],
        release=f"{RELEASE},SchedulerAsyncPreemption=false",
        options={"graceful": True},
    ),
    Case(
        "lower nomination kept",
        "P prepareCandidateAsync: without a victim to evict, nominations of pods with lower priority stay",
        [
            node("n1", cpu="2"),
            small("s1", "n1", terminationGracePeriodSeconds=5),
            pod("m", requests={"cpu": "2"}, priority=5),
            group("g", 1),
        ],
        [(1.5, create(*members("g", 1, priority=10)))],
        8,
        [
            "0 m alone: unschedulable",
            "0 s1 evicted by m",
            "0 m nominated: n1",
            "1.5 g-0 nominated: n1",
            "1.5 g: waiting",
            "1.5 g: unschedulable",
            "4 g: unschedulable",
            "5 m alone: unschedulable",
            "5 m nominated: no",
            "5 m alone: unschedulable",
            "5 g-0 on n1",
            "5 g: scheduled",
            "5 m alone: unschedulable",
        ],
        options={"graceful": True},
    ),
    Case(
        "nomination holds",
        "runtime RunFilterPluginsWithNominatedPods: the nominated member counts for a pod of lower priority",
        [
            node("n1", cpu="2"),
            small("s1", "n1", terminationGracePeriodSeconds=3),
            group("g", 1),
            *members("g", 1, priority=10),
        ],
        [(1.5, create(pod("m", requests={"cpu": "2"}, priority=5)))],
        6,
        [
            "0 g-0 nominated: n1",
            "0 g: waiting",
            "0 s1 evicted by g-0",
            "0 g: unschedulable",
            "1.5 m alone: unschedulable",
            "1.5 g: unschedulable",
            "3 m alone: unschedulable",
            "3 g-0 on n1",
            "3 g: scheduled",
            "3 m alone: unschedulable",
        ],
        options={"graceful": True},
    ),
    Case(
        "zone",
        "S podGroupSchedulingPlacementAlgorithm: both members in one domain",
        [*ZONES, IN_ONE_ZONE, *PAIR],
        [],
        1,
        ["0 g-0 on a1", "0 g-1 on a2", "0 g: scheduled"],
        release=TOPOLOGY,
    ),
    Case(
        "zone full",
        "topologyaware: the domain of the scheduled member is the only placement",
        [*ZONES[1:], IN_ONE_ZONE, *PAIR],
        [(2.5, create(node("b2", zone="b", cpu="2")))],
        4,
        ["0 g-0 on a2", "0 g: scheduled", "0 g: unschedulable", "2.5 g: unschedulable"],
        release=TOPOLOGY,
    ),
    Case(
        "zone of running",
        "topologyaware getScheduledPodsTopologyDomain",
        [*ZONES, node("b2", zone="b", cpu="2"), IN_ONE_ZONE, on(THREE[2], "b1"), *PAIR],
        [(2.5, create(node("b3", zone="b", cpu="2")))],
        4,
        ["0 g-0 on b2", "0 g: scheduled", "0 g: unschedulable", "2.5 g-1 on b3", "2.5 g: scheduled"],
        release=TOPOLOGY,
    ),
    Case(
        "no zone",
        "S: no placement is a rejection without a plugin, so the members wait in the error backoff",
        [node("n1"), IN_ONE_ZONE, *PAIR],
        [(2.5, create(node("a1", zone="a", cpu="4")))],
        4,
        ["0 g: unschedulable", "2 g: unschedulable"],
        release=TOPOLOGY,
    ),
    Case(
        "podgroup missing in topology",
        "topologyaware GeneratePlacements: an error, and no member is tried",
        [*ZONES[1:], IN_ONE_ZONE, *PAIR],
        [(1.5, delete(IN_ONE_ZONE))],
        4,
        [
            "0 g-0 on a2",
            "0 g: scheduled",
            "0 g: unschedulable",
            "1.5 g-1 error",
            "1.5 g: unschedulable",
            "3 g-1 error",
            "3 g: unschedulable",
        ],
        release=TOPOLOGY,
    ),
    Case(
        "terminating",
        "S skipPodGroupPodSchedule",
        [
            ONE,
            group("g", 2),
            *PAIR,
            pod("g-2", requests={"cpu": "1"}, deleted=True, schedulingGroup={"podGroupName": "g"}),
        ],
        [],
        2,
        [
            "0 g-0 gated",
            "0 g-2 pod.skipped: skip schedule deleting pod: default/g-2",
            "0 g-0 on n1",
            "0 g: scheduled",
            "0 g-1 on n1",
        ],
    ),
    Case(
        "schedulers",
        "S frameworkForPodGroup",
        [ONE, group("g", 2), PAIR[0], having(PAIR[1], schedulerName="second")],
        [],
        2,
        [
            "0 g-0 gated",
            "0 g-1 error",
            "0 g-0 error",
            "0 g: unschedulable",
            "2 g-1 error",
            "2 g-0 error",
            "2 g: unschedulable",
        ],
        options={"config": SECOND},
    ),
    Case(
        "foreign scheduler",
        "E responsibleForPod: the gang never has two pods of this scheduler",
        [ONE, group("g", 2), PAIR[0], having(PAIR[1], schedulerName="other")],
        [],
        2,
        ["0 g-0 gated"],
    ),
    Case(
        "no nodes",
        "schedule_one.go ErrNoNodesAvailable: a rejection of each member",
        [group("g", 2), *PAIR],
        [(2.5, create(ONE))],
        5,
        ["0 g-0 gated", "0 g: unschedulable", "2 g: unschedulable", "5 g-0 on n1", "5 g: scheduled", "5 g-1 on n1"],
    ),
    Case(
        "new member of a scheduled group",
        "S: a later member is tried with the scheduled ones counted",
        [ONE, group("g", 2), *PAIR],
        [(1, create(*members("g", 3, cpu="1")[2:])), (3.5, create(node("n2")))],
        5,
        [
            "0 g-0 gated",
            "0 g-0 on n1",
            "0 g: scheduled",
            "0 g-1 on n1",
            "1 g: unschedulable",
            "3 g: unschedulable",
            "3.5 g-2 on n2",
            "3.5 g: scheduled",
        ],
    ),
    Case(
        "group of none",
        "E: a PodGroup alone does nothing",
        [ONE],
        [(1, create(group("g", 1))), (2, create(PAIR[0]))],
        3,
        ["2 g-0 on n1", "2 g: scheduled"],
    ),
    Case(
        "deleted group, new group",
        "G PreEnqueue: a running member does not replace the PodGroup",
        [ONE, group("g", 1), PAIR[0]],
        [(1, delete(group("g", 1))), (2, create(PAIR[1])), (3, create(group("g", 5)))],
        4,
        ["0 g-0 on n1", "0 g: scheduled", "2 g-1 gated"],
    ),
    Case(
        "two groups wait for one node",
        "S: groups do not share what is free",
        [node("n1", cpu="2"), group("g", 2), group("h", 2), *PAIR, *members("h", 2)],
        [(2.5, create(node("n2", cpu="2"))), (3.5, create(node("n3", cpu="4")))],
        5,
        [
            "0 g-0 gated",
            "0 h-0 gated",
            "0 g: unschedulable",
            "0 h: unschedulable",
            "2 g: unschedulable",
            "2 h: unschedulable",
            "2.5 g-0 on n2",
            "2.5 g: scheduled",
            "2.5 g-1 on n1",
            "2.5 h: unschedulable",
            "3.5 h-0 on n3",
            "3.5 h: scheduled",
            "3.5 h-1 on n3",
        ],
    ),
    Case(
        "slow binding, member deleted",
        "E handleAssumedPodDeletion: the other member keeps its node",
        [ONE, group("g", 2), *PAIR],
        [(1, delete(PAIR[0]))],
        5,
        ["0 g-0 gated", "0 g: scheduled", '1 g-0 bind.failed: pods "g-0" not found', "2 g-1 on n1"],
        options={"bind_seconds": 2.0},
    ),
    Case(
        "node deleted while waiting",
        "S: an attempt without nodes",
        [node("n1", cpu="2"), group("g", 2), *PAIR],
        [(1.5, delete(node("n1", cpu="2")))],
        5,
        ["0 g-0 gated", "0 g: unschedulable", "1.5 g: unschedulable", "3 g: unschedulable"],
    ),
    Case(
        "gang waits for pods, 1.37",
        "Q addPodGroupMember: the new pod joins the gated group, then its event wakes the group",
        [ONE, group("g", 2), PAIR[0]],
        [(3, create(PAIR[1]))],
        5,
        ["0 g-0 gated", "3 g-1 gated", "3 g-1 on n1", "3 g: scheduled", "3 g-0 on n1"],
        release=UNITS,
    ),
    Case(
        "gated member, 1.37",
        "Q runPreEnqueuePlugins: a gated member gates the group",
        [ONE, group("g", 2), PAIR[0], having(PAIR[1], schedulingGates=[{"name": "x"}])],
        [(2.5, update(PAIR[1]))],
        6,
        ["0 g-0 gated", "0 g-1 gated", "2.5 g-1 on n1", "2.5 g: scheduled", "2.5 g-0 on n1"],
        release=UNITS,
    ),
    Case(
        "member deleted, 1.37",
        "Q deletePodGroupMember: the rest of the group is requeued, and PreEnqueue gates it",
        [node("n1", cpu="2"), group("g", 2), *PAIR],
        [(1.5, delete(PAIR[0])), (3.5, create(*members("g", 3, cpu="1")[2:]))],
        5,
        ["0 g-0 gated", "0 g-1 gated", "0 g: unschedulable", "1.5 g-1 gated", "3.5 g-2 gated", "3.5 g: unschedulable"],
        release=UNITS,
    ),
    Case(
        "rest of a group, 1.37",
        "Q AddAttemptedPodGroupIfNeeded: the group backs off with the member that is left",
        [ONE, group("g", 2), *THREE],
        [(4.5, create(node("n2", cpu="2")))],
        6,
        [
            "0 g-0 gated",
            "0 g-1 gated",
            "0 g-1 on n1",
            "0 g: scheduled",
            "0 g-0 on n1",
            "2 g: unschedulable",
            "5 g-2 on n2",
            "5 g: scheduled",
        ],
        release=UNITS,
    ),
    Case(
        "node added, 1.37",
        "Q: backoffQ.add puts groups, which have no plugins, where nothing is popped early",
        [node("n1", cpu="2"), group("g", 2), *PAIR],
        [(2.5, create(node("n2", cpu="2")))],
        6,
        [
            "0 g-0 gated",
            "0 g-1 gated",
            "0 g: unschedulable",
            "2 g: unschedulable",
            "5 g-1 on n2",
            "5 g: scheduled",
            "5 g-0 on n1",
        ],
        release=UNITS,
    ),
    Case(
        "backoff by size, 1.37",
        "Q calculateBackoffDuration: at most 10 s times the root of the size, here 20 s",
        [node("n1", cpu="2"), group("g", 4), *members("g", 4)],
        [],
        60,
        [
            "0 g-0 gated",
            "0 g-1 gated",
            "0 g-2 gated",
            "0 g-3 gated",
            "0 g: unschedulable",
            "2 g: unschedulable",
            "5 g: unschedulable",
            "10 g: unschedulable",
            "19 g: unschedulable",
            "36 g: unschedulable",
            "57 g: unschedulable",
        ],
        release=UNITS,
    ),
    Case(
        "bind failure, 1.37",
        "Q addPodGroupMember: no group is in the queue, so a new one is active at once",
        [ONE, group("g", 2), *PAIR],
        [],
        5,
        [
            "0 g-0 gated",
            "0 g-1 gated",
            "0 g-1 on n1",
            "0 g: scheduled",
            "0 g-0 bind.failed: the binding was made to fail by the scenario",
            "0 g-0 on n1",
            "0 g: scheduled",
        ],
        release=UNITS,
        options={"bind_failures": {"default/g-0": 1}},
    ),
    Case(
        "preemption, 1.37",
        "S runWorkloadAwarePreemption: always for the whole group, and all members are nominated",
        [*SMALL, small("s1", "n1"), small("s2", "n2"), group("g", 2, priority=10), *HIGH],
        [],
        5,
        [
            "0 g-0 gated",
            "0 g-1 gated",
            "0 g-0 nominated: n1",
            "0 g-1 nominated: n2",
            "0 g: waiting",
            "0 s1 evicted by g-1",
            "0 s2 evicted by g-1",
            "2 g-1 on n2",
            "2 g: scheduled",
            "2 g-0 on n1",
        ],
        release=UNITS,
    ),
    Case(
        "graceful victims, 1.37",
        "P preemptorEligibleToPreemptOthers: no second preemption while victims terminate",
        [
            *SMALL,
            *(small(f"s{n}", f"n{n}", terminationGracePeriodSeconds=4) for n in (1, 2)),
            group("g", 2, priority=10),
            *HIGH,
        ],
        [],
        8,
        [
            "0 g-0 gated",
            "0 g-1 gated",
            "0 g-0 nominated: n1",
            "0 g-1 nominated: n2",
            "0 g: waiting",
            "0 s1 evicted by g-1",
            "0 s2 evicted by g-1",
            "2 g: unschedulable",
            "5 g-1 on n2",
            "5 g: scheduled",
            "5 g-0 on n1",
        ],
        release=UNITS,
        options={"graceful": True},
    ),
    Case(
        "victims for all members, 1.37",
        "P selectVictimsOnDomain: one member would do, but no victim is spared that costs another",
        [*SMALL, small("s1", "n1"), small("s2", "n2"), group("g", 1, priority=10), *HIGH],
        [],
        5,
        [
            "0 g-0 nominated: n1",
            "0 g-1 nominated: n2",
            "0 g: waiting",
            "0 s1 evicted by g-1",
            "0 s2 evicted by g-1",
            "2 g-0 on n1",
            "2 g-1 on n2",
            "2 g: scheduled",
        ],
        release=UNITS,
    ),
    Case(
        "minCount falls, 1.37",
        "G isSchedulableAfterPodGroupUpdated",
        [node("n1", cpu="2"), group("g", 3), *PAIR],
        [(2.5, update(group("g", 1)))],
        4,
        ["0 g-0 gated", "0 g-1 gated", "2.5 g-0 on n1", "2.5 g: scheduled", "4 g: unschedulable"],
        release=UNITS,
    ),
    Case(
        "basic group, 1.37",
        "S: a basic group is scheduled if one member is; the other backs off with it",
        [node("n1", cpu="2"), group("g"), *PAIR],
        [],
        6,
        ["0 g-0 on n1", "0 g: scheduled", "2 g: unschedulable", "5 g: unschedulable"],
        release=UNITS,
    ),
    Case(
        "group deleted, 1.37",
        "G PlacementFeasible: an error without the PodGroup, before any member is assumed",
        [node("n1", cpu="2"), group("g", 2), *PAIR],
        [(1.5, delete(group("g", 2))), (6.5, create(group("g", 1)))],
        9,
        [
            "0 g-0 gated",
            "0 g-1 gated",
            "0 g: unschedulable",
            "2 g-0 error",
            "2 g-1 error",
            "2 g: unschedulable",
            "2 g-0 gated",
            "2 g-1 gated",
            "6.5 g-0 on n1",
            "6.5 g: scheduled",
            "8 g: unschedulable",
        ],
        release=UNITS,
    ),
    Case(
        "new member, 1.37",
        "Q: a later member is a group of its own in the queue, with the scheduled ones counted",
        [ONE, group("g", 2), *PAIR],
        [(1, create(*members("g", 3, cpu="1")[2:])), (3.5, create(node("n2")))],
        7,
        [
            "0 g-0 gated",
            "0 g-1 gated",
            "0 g-1 on n1",
            "0 g: scheduled",
            "0 g-0 on n1",
            "1 g: unschedulable",
            "3 g: unschedulable",
            "6 g-2 on n2",
            "6 g: scheduled",
        ],
        release=UNITS,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_groups_over_time(case: Case) -> None:
    assert story(case.objects, case.plan, case.until, case.release, **case.options) == case.events, case.source


def test_messages_without_the_group() -> None:
    """The first member that finds a node fails with the error of Permit, the others with that of the group."""
    engine = GroupEngine(Simulation([ONE, group("g", 2), *PAIR], release=RELEASE, tie_break="name"))
    engine.at(0, partial(delete(group("g", 2)), engine))  # after the pods are active
    missing = 'failed to get podGroup default/g: podgroup.scheduling.k8s.io "g" not found'
    records = list(engine.run(0.5))
    assert [record.data["message"] for record in records if record.kind == "attempt"] == [
        missing,
        f"failed to schedule other pod from a pod group: {missing}",
    ]
    (cycle,) = [record.group for record in records if record.group is not None]
    assert (cycle.status.code, cycle.condition) == ("Error", {})


def test_the_condition_stays_true() -> None:
    engine = GroupEngine(Simulation([ONE, group("g", 2), *THREE], release=RELEASE, tie_break="name"))
    cycles = [record.group for record in engine.run(3) if record.group is not None]
    assert [cycle.status.code for cycle in cycles] == ["Success", "Unschedulable", "Unschedulable"]
    assert {cycle.condition["status"] for cycle in cycles} == {"True"}
