"""First difference between two cycles of runs that differ in one thing."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.compare.run_side import RunCycle
from scheduler_core.compare.steps import first_difference, steps
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import node, pod

OFF = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {disabled: [{name: %s}]}}}]
"""


def cycle(*objects: Any, **settings: Any) -> RunCycle:
    simulation = Simulation(list(objects), **{"tie_break": "name", "pods": ["default/p"]} | settings)
    return RunCycle(next(simulation.run()), list(simulation.nodes))


P = pod("p", requests={"cpu": "1"})
NODES = node("n1"), node("n2")
BASE = cycle(*NODES, P)


@pytest.mark.parametrize(
    ("other", "first"),
    [
        (cycle(*NODES, P), None),
        (cycle(*NODES, P, config=OFF % "TaintToleration"), ("score", "TaintToleration", "n1", 300, 0)),
        (cycle(node("n1"), node("n2", unschedulable=True), P), ("filter", "NodeUnschedulable", "n2")),
        (cycle(*NODES, node("n3"), P), ("filter", "", "n3", "is not there", "fits")),
        (cycle(node("n2"), P), ("filter", "", "n1", "fits", "is not there")),
        (cycle(node("n2"), node("n1"), P), None),  # other rows, same content
        (
            cycle(*NODES, pod("p", requests={"cpu": "1"}, schedulingGates=[{"name": "g"}])),
            ("preenqueue", "SchedulingGates"),
        ),
        (cycle(*NODES, pod("p", requests={"cpu": "1"}, nodeSelector={"a": "b"})), ("filter", "NodeAffinity", "n1")),
        (cycle(*NODES, pod("p", requests={"cpu": "2"})), ("score", "NodeResourcesFit", "n1")),
    ],
)
def test_the_first_difference(other: RunCycle, first: tuple[Any, ...] | None) -> None:
    found = first_difference(BASE, other)
    difference = None if found is None else (found.point, found.plugin, found.node, found.a, found.b)
    assert (difference and difference[: len(first or ())]) == first
    back = first_difference(other, BASE)
    assert (back and (back.a, back.b)) == (found and (found.b, found.a))


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (cycle(node("n1"), node("n2", unschedulable=True), P), "n2 is cordoned, only in B."),
        (cycle(*NODES, pod("p", requests={"cpu": "9"})), "n1 lacks cpu, only in B."),
        (cycle(*NODES, node("n3"), P), "n3 is only in B, where it fits."),
        (cycle(node("n2"), P), "n1 is only in A, where it fits."),
        (cycle(*NODES, P, config=OFF % "TaintToleration"), "TaintToleration gives n1 the score 300 in A and 0 in B."),
        (cycle(*NODES, pod("p", requests={"cpu": "1"}, schedulingGates=[{"name": "g"}])), ""),
    ],
)
def test_the_difference_in_words(other: RunCycle, text: str) -> None:
    found = first_difference(BASE, other)
    assert found is not None
    assert found.first()["text"] == text


def test_every_plugin_occurs_once() -> None:
    difference = [(step.point, step.plugin, step.part) for step in steps(BASE, BASE)]
    assert len(difference) == len(set(difference))
    assert {plugin for point, plugin, _ in difference if point == "filter" and plugin} == set(BASE.trace.verdicts)
    assert all(step.same for step in steps(BASE, BASE))


TAINT = ("dedicated", "db", "NoSchedule")
PACK = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}]
"""


def test_messages_explain_only_if_nothing_else_differs() -> None:
    """1.35 reworded the message of TaintToleration. A score decides the node."""
    nodes = node("db", taints=(TAINT,)), node("small", cpu="2"), node("large", cpu="64", memory="256Gi")
    old, new = (cycle(*nodes, P, release=release) for release in ("1.34", "1.35"))
    difference = first_difference(old, new)
    assert difference is not None
    assert (difference.plugin, difference.kind, difference.node) == ("TaintToleration", "words", "db")
    packed = first_difference(old, cycle(*nodes, P, release="1.35", config=PACK))
    assert packed is not None
    assert (packed.plugin, packed.kind) == ("NodeResourcesFit", "score")
    assert packed.node in ("small", "large")  # the selected nodes


def test_a_verdict_explains_more_than_an_earlier_score_or_message() -> None:
    nodes = node("db", taints=(TAINT,)), node("n1"), node("n2")
    closed = node("db", taints=(TAINT,)), node("n1", unschedulable=True), node("n2")
    difference = first_difference(cycle(*nodes, P, release="1.34"), cycle(*closed, P, release="1.35", config=PACK))
    assert difference is not None
    assert (difference.plugin, difference.kind, difference.node) == ("NodeUnschedulable", "verdict", "n1")


def test_evaluated_nodes_explain_nothing() -> None:
    nodes = [node(f"n{i:03}") for i in range(110)]
    few, all_ = (cycle(*nodes, P, percentage=share) for share in (5, 100))
    assert first_difference(few, all_) is None
    assert [(step.part, step.kind) for step in steps(few, all_) if not step.same] == [("looked", "evaluated")]


def test_an_extension_point_that_was_not_reached_is_a_difference() -> None:
    gated = cycle(*NODES, pod("p", schedulingGates=[{"name": "g"}]))
    difference = {step.point: (step.a, step.b) for step in steps(gated, BASE)}
    assert difference["prefilter"] == ("not reached", "passes")
    assert difference["bind"] == ("not reached", "passes")
    closed = cycle(node("n1", unschedulable=True), node("n2", unschedulable=True), P)
    difference = {step.point: step.as_dict() for step in steps(closed, closed) if step.point in ("filter", "reserve")}
    assert difference["reserve"]["a"] == "not reached"
    last = next(step.as_dict() for step in steps(closed, BASE) if step.plugin == "NodeResourcesFit")
    assert (last["a"], last["b"]) == ("not reached", "passes all")
