"""Attempts of a log in comparison with computations on a recording: what differs, and which state is compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from scheduler_core.api.objects import decode
from scheduler_core.config.loader import load
from scheduler_core.evidence.log_comparison import ComparedAttempt, LogComparison, as_recording
from scheduler_core.evidence.scheduler_log import Attempt, NodeScores, Occurrence, PluginScore, SchedulerLog
from scheduler_core.live.watch_events import Item
from scheduler_core.releases import get_release
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.shadow.stream import Stream

RELEASE = get_release("1.36")
CPU = {"requests": {"cpu": "1"}}
NO_CPU = (
    "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: "
    "2 No preemption victims found for incoming pod."
)


def added(line: int, name: str) -> Occurrence:
    return Occurrence(f"default/{name}", "added", line, line, "")


def bound(line: int, name: str, to: str, **more: Any) -> Attempt:
    return Attempt(f"default/{name}", 1, line, line, "", "scheduled", to, bound=line, **more)


def refused(line: int, name: str, message: str = NO_CPU) -> Attempt:
    return Attempt(f"default/{name}", 1, line, line, "", "unschedulable", message=message)


def compare(items: Sequence[Item], *entries: Attempt | Occurrence, **more: Any) -> list[ComparedAttempt]:
    log = log_of(*entries)
    return list(LogComparison(log, items, RELEASE, load(None, RELEASE), **more).compare())


def log_of(*entries: Attempt | Occurrence) -> SchedulerLog:
    attempts = [one for one in entries if isinstance(one, Attempt)]
    return SchedulerLog("", 0, attempts=attempts, occurrences=[one for one in entries if isinstance(one, Occurrence)])


def scored(fit: int) -> Attempt:
    """The attempt of a pod of 1 CPU on n1 with 2 and n2 with 4 CPUs. `fit`: NodeResourcesFit on n2."""
    plugins = [("n1", 73, 62), ("n2", fit, 68)]
    found = [
        NodeScores(
            name,
            None,
            {
                "TaintToleration": PluginScore(300, 100),
                "NodeResourcesFit": PluginScore(score, score),
                "NodeResourcesBalancedAllocation": PluginScore(balanced, balanced),
            },
        )
        for name, score, balanced in plugins
    ]
    return bound(2, "a", "n2", scores=found, evaluated=2, feasible=2)


def recorded() -> Stream:
    stream = Stream(node("n1", cpu="2"), node("n2", cpu="4"))
    stream.put(pod("a", **CPU))
    stream.bind("a", "n2")
    return stream


def test_node_scores_and_numbers_are_equal() -> None:
    (one,) = compare(recorded().items, added(1, "a"), scored(86))
    assert (one.outcome, one.difference, one.scores) == ("equal", "", 6)


@pytest.mark.parametrize(
    ("attempt", "difference"),
    [
        (scored(85), "score of NodeResourcesFit on n2: 85 (normalized 85) in the log, 86 (86) here"),
        (replace(scored(86), node="n1"), "the recording has it on n2"),
        (bound(2, "a", "n2", evaluated=2, feasible=1), "feasible nodes: 1 in the log, 2 here"),
        (refused(2, "a"), "message: it finds a node"),
    ],
)
def test_the_first_difference(attempt: Attempt, difference: str) -> None:
    (one,) = compare(recorded().items, added(1, "a"), attempt)
    assert (one.outcome, one.difference) == ("differs", difference)


def test_a_node_that_is_not_the_best_one() -> None:
    stream = Stream(node("n1", cpu="2"), node("n2", cpu="4"))
    stream.put(pod("a", **CPU))
    stream.bind("a", "n1")
    (one,) = compare(stream.items, added(1, "a"), bound(2, "a", "n1"))
    assert (one.outcome, one.difference) == ("differs", "best node: n2 here")


def test_pods_count_in_the_order_of_the_log() -> None:
    """b was decided first, and its binding was written last."""
    stream = Stream(node("n1", cpu="1"), node("n2", cpu="2"))
    for name in "ab":
        stream.put(pod(name, requests={"cpu": "1"}))
    stream.bind("a", "n1")
    stream.bind("b", "n2")
    order = added(1, "a"), added(2, "b"), bound(3, "b", "n2", feasible=2, evaluated=2)
    # without b on n2, that would be the better node for a
    taken = bound(4, "a", "n1", feasible=2, evaluated=2)
    assert [one.outcome for one in compare(stream.items, *order, taken)] == ["equal", "differs"]
    stream.items[0] = replace_nodes(node("n1", cpu="1"), node("n2", cpu="1"))
    assert [one.outcome for one in compare(stream.items, *order, replace(taken, feasible=1))] == ["equal", "equal"]


def replace_nodes(*nodes: Any) -> Item:
    return Stream(*nodes).items[0]


def test_changes_that_the_scheduler_knew_already() -> None:
    """A node grew before the attempt, which the lines of the log do not show."""
    stream = Stream(node("n1", cpu="1"), node("n2", cpu="1"))
    stream.put(pod("a", requests={"cpu": "3"}))
    stream.put(node("n2", cpu="4"))
    stream.bind("a", "n2")
    (one,) = compare(stream.items, added(1, "a"), bound(2, "a", "n2", feasible=1, evaluated=2))
    assert (one.outcome, one.changes) == ("equal", 1)
    assert compare(stream.items[:-2], added(1, "a"), bound(2, "a", "n2"))[0].outcome == "differs"


def test_attempts_before_the_recording() -> None:
    stream = Stream(node("n1"), pod("a", on="n1"))
    found = compare(stream.items, bound(1, "gone", "n1"), bound(2, "a", "n1"), bound(3, "other", "n1"))
    assert [one.reason for one in found] == ["it begins later", "it begins later", "it does not have the pod"]


def test_a_snapshot_of_the_end() -> None:
    raws = [node("n1", cpu="2"), node("n2", cpu="2"), pod("a", on="n1", **CPU), pod("b", requests={"cpu": "2"})]
    objects: dict[str, list[Any]] = {}
    for raw in raws:
        objects.setdefault(raw["kind"], []).append(decode(raw))
    new = Occurrence("", "node added", 5, 5, "", node="n2")
    lines = (added(1, "a"), bound(2, "a", "n1", evaluated=1, feasible=1), added(3, "gone"))
    one_node = NO_CPU.replace("2 ", "1 ").replace("0/2", "0/1")
    log = log_of(*lines, new)
    found = compare(as_recording(objects, log), *lines, refused(4, "b", one_node), new, latest=objects)
    assert [one.outcome for one in found] == ["equal", "equal"]  # n2 was not there yet
    gone = bound(4, "gone", "n1")
    found = compare(as_recording(objects, log), *lines, gone, new, refused(6, "b"), latest=objects)
    assert [one.reason for one in found] == [
        "",
        "it does not have the pod",
        "pods were on nodes then that it does not have",
    ]
    assert found[-1].difference == "message: it finds a node"
