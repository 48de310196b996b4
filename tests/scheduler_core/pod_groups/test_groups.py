"""Pod groups of 1.36 as a single pass: all or none, waiting, in one domain, preemption as a whole."""

from typing import Any

import pytest

from scheduler_core.api.objects import decode_all
from scheduler_core.errors import InputError
from scheduler_core.pod_groups.trace import GroupTrace
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import ZONE, node, pod

RELEASE = "1.36 GangScheduling=true,GenericWorkload=true"
TOPOLOGY = "1.36 GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
WHOLE = "1.36 GangScheduling=true,GenericWorkload=true,WorkloadAwarePreemption=true"
IN_ZONE = {"topology": [{"key": ZONE}]}


def group(name: str, at_least: int = 0, **spec: Any) -> dict[str, Any]:
    policy: dict[str, Any] = {"gang": {"minCount": at_least}} if at_least else {"basic": {}}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def members(name: str, count: int, cpu: str = "2", **more: Any) -> list[dict[str, Any]]:
    named = {"schedulingGroup": {"podGroupName": name}}
    return [pod(f"{name}-{number}", requests={"cpu": cpu}, **more, **named) for number in range(count)]


def run(objects: list[Any], release: str = RELEASE) -> list[Any]:
    return list(Simulation(objects, release=release, tie_break="name").attempts())


def places(trace: GroupTrace) -> list[str]:
    return [member.trace.node if member.trace.result == "scheduled" else "" for member in trace.members]


def test_running_members_count() -> None:
    there = {**members("g", 1)[0]}
    there["spec"] = {**there["spec"], "nodeName": "n1"}
    (trace,) = run([node("n1", cpu="4"), group("g", 2), there, *members("g", 2)[1:]])
    assert places(trace) == ["n1"]


def test_no_node_has_the_label_of_the_domain() -> None:
    (trace,) = run([node("n1"), group("g", schedulingConstraints=IN_ZONE), *members("g", 2)], TOPOLOGY)
    assert places(trace) == ["", ""]
    assert trace.condition["message"] == trace.members[1].message == "no feasible placements found"


def test_a_group_that_may_not_preempt() -> None:
    small = [pod(f"s{number}", on=f"n{number}", requests={"cpu": "2"}) for number in (1, 2)]
    objects = [node("n1", cpu="2"), node("n2", cpu="2"), *small, group("g", 2, priority=10)]
    (never,) = run([*objects, *members("g", 2, priority=10, preemptionPolicy="Never")], WHOLE)
    assert never.victims == []
    assert "preemptionPolicy=Never" in never.condition["message"]


def test_the_gates_are_off_by_default() -> None:
    traces = list(Simulation([node("n1"), group("g", 9), *members("g", 2)], release="1.36", tie_break="name").run())
    assert [trace.node for trace in traces] == ["n1", "n1"]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"schedulingPolicy": {"gang": {"minCount": 0}}}, "minCount: must be 1 or more"),
        ({"disruptionMode": "Never"}, "'Never' is not one of Pod, PodGroup"),
    ],
)
def test_invalid_groups_are_rejected(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        decode_all([group("g", **spec)])


def test_a_group_without_nodes() -> None:
    """It once divided by the number of nodes."""
    (trace,) = run([group("g", 2), *members("g", 2)])
    assert {member.trace.message for member in trace.members} == {"no nodes available to schedule pods"}


UNITS = "1.37 GenericWorkload=true"


def test_the_cycle_ends_when_the_minimum_is_out_of_reach() -> None:
    (trace,) = run([node("n1", cpu="4"), group("g", 4), *members("g", 4)], UNITS)
    assert [bool(member.trace.verdicts) for member in trace.members] == [True, True, True, False]
    assert [member.trace.has_looked(0) for member in trace.members] == [True, True, True, False]
    why = "minCount (4) cannot be satisfied: 2 scheduled, 1 remaining"
    refusal = "pod group preemption: No preemption victims found for incoming preemptor"
    assert trace.status.reasons == (why, refusal)
    held = f"pod group is unschedulable, {why}, {refusal}"
    assert [member.message for member in trace.members[:2]] == [held, held]
    assert trace.members[2].message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert trace.members[3].message == why


def test_members_are_nominated_for_the_nodes_that_the_group_frees() -> None:
    small = [pod(f"s{number}", on=f"n{number}", requests={"cpu": "2"}) for number in (1, 2)]
    objects = [node("n1", cpu="2"), node("n2", cpu="2"), *small, group("g", 1, priority=10)]
    (trace,) = run([*objects, *members("g", 2, priority=10)], UNITS)
    assert (trace.waits_for_preemption, sorted(trace.victims)) == (True, ["default/s1", "default/s2"])
    assert [member.nominated for member in trace.members] == ["n1", "n2"]


def test_a_gated_member_gates_the_group() -> None:
    gated = pod("g-1", schedulingGates=[{"name": "x"}], schedulingGroup={"podGroupName": "g"})
    traces = run([node("n1"), group("g"), *members("g", 1), gated], UNITS)
    assert [trace.result for trace in traces] == ["gated", "gated"]
    assert [trace.preenqueue.plugin for trace in traces] == ["SchedulingGates", "SchedulingGates"]
