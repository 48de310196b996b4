"""The messages that the real kube-scheduler 1.36 writes about the pods of a group are those of the group's cycle."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.commands.replay import release_of
from scheduler_core.simulation import Simulation
from tests.conformance import golden_cases, golden_decisions
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.pod_groups.test_groups import RELEASE, group, members
from tests.scheduler_core.shadow.stream import Stream

SET = "areas-1.36/gang"
DECISIONS = golden_decisions(SET)
CASES = [case for case in golden_cases(SET) if case["preempt"] and "group" in DECISIONS[case["name"]]["cycles"][0]]


def put_condition(stream: Stream, key: str, message: str, later: float) -> None:
    """Set PodScheduled=False of a pod of any namespace."""
    raw = stream.known["Pod", key]
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    stream.put(raw | {"status": {"phase": "Pending", "conditions": [why]}}, later)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_the_messages_of_the_members_are_equal(case: dict[str, Any]) -> None:
    """The first cycle of the case is that of a group; its members' messages are written one after the other."""
    cycle = DECISIONS[case["name"]]["cycles"][0]["group"]
    messages = {member["pod"]: member["message"] for member in cycle["members"] if "message" in member}
    stream = Stream(*(raw for raw in case["objects"] if raw["kind"] != "Workload"))
    for number, (key, message) in enumerate(messages.items()):
        put_condition(stream, key, message, later=0.002 if number else 10)
    judged = stream.judge(release_of(case).name)
    assert [(one.pod, one.outcome, one.ours) for one in judged] == [
        (key, "equal", [message]) for key, message in messages.items()
    ]


def expected_messages(objects: list[dict[str, Any]]) -> dict[str, str]:
    """Return the messages of the members by a run of the same group."""
    (trace,) = Simulation(objects, release=RELEASE, tie_break="name").attempts()
    return {member.trace.pod: member.message for member in trace.members}


@pytest.mark.parametrize(("count", "at_least"), [(5, 5), (87, 60)])
def test_a_gang_that_does_not_fit_changes_nothing(count: int, at_least: int) -> None:
    """Some members would fit and wait for the others, the rest has reasons; then a single pod gets the free node."""
    nodes = [node("n1", cpu="4"), node("n2", cpu="5")]
    gang = [group("g", at_least), *members("g", count)]
    messages = expected_messages([*nodes, *gang])
    assert len(set(messages.values())) == 2
    stream = Stream(*nodes, *gang)
    for key, message in messages.items():
        put_condition(stream, key, message, later=0.001)
    stream.put(pod("single", requests={"cpu": "4"}))
    stream.bind("single", "n2")
    judged = stream.judge(RELEASE)
    assert {one.outcome for one in judged[:-1]} == {"equal"}
    assert (judged[-1].pod, judged[-1].outcome) == ("default/single", "same")
    assert len(judged) == count + 1


def test_a_gang_with_too_few_pods_has_no_message() -> None:
    stream = Stream(node("n1", cpu="64"), group("g", 4), *members("g", 3))
    put_condition(stream, "default/g-0", "0/1 nodes are available: 1 Insufficient cpu.", 1)
    (judgement,) = stream.judge(RELEASE)
    assert judgement.outcome == "differs"
    assert judgement.ours == ["waiting for minCount pods from a gang to appear in scheduling queue"]
