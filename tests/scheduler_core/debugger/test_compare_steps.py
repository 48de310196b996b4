"""What differs first between two cycles: against every pair of runs of a cluster that differ in one thing."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.debugger.compare.run_side import RunCycle
from scheduler_core.debugger.compare.steps import first_difference, steps
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
        (cycle(node("n2"), node("n1"), P), None),  # in other rows, but all the same
        (
            cycle(*NODES, pod("p", requests={"cpu": "1"}, schedulingGates=[{"name": "g"}])),
            ("preenqueue", "SchedulingGates"),
        ),
        (cycle(*NODES, pod("p", requests={"cpu": "1"}, nodeSelector={"a": "b"})), ("filter", "NodeAffinity", "n1")),
        (cycle(*NODES, pod("p", requests={"cpu": "2"})), ("score", "NodeResourcesFit", "n1")),
    ],
)
def test_first(other: RunCycle, first: tuple[Any, ...] | None) -> None:
    found = first_difference(BASE, other)
    told = None if found is None else (found.point, found.plugin, found.node, found.a, found.b)
    assert (told and told[: len(first or ())]) == first
    back = first_difference(other, BASE)
    assert (back and (back.a, back.b)) == (found and (found.b, found.a))


def test_every_plugin_is_told_once() -> None:
    told = [(step.point, step.plugin, step.part) for step in steps(BASE, BASE)]
    assert len(told) == len(set(told))
    assert {plugin for point, plugin, _ in told if point == "filter" and plugin} == set(BASE.trace.verdicts)
    assert all(step.same for step in steps(BASE, BASE))
