"""Trials leave alone what plugins of scheduler-plugins remember: a question before a run does not change the run."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from scheduler_core.forks.mutations import read_changes
from scheduler_core.plugins.contrib.trimaran import set_load
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.answers import answers_of
from scheduler_core.suggestions.what_if import WhatIf, changed
from tests.scheduler_core.build import Raw, node, pod
from tests.scheduler_core.plugins.contrib import test_coscheduling as gangs
from tests.scheduler_core.plugins.contrib import test_node_resource_topology_match as numa

MADE = {"create": {"kind": "Node", "metadata": {"name": "new"}, "status": {"allocatable": {"cpu": "9", "pods": 9}}}}
TAINTED = {"create": MADE["create"] | {"spec": {"taints": [{"key": "own", "effect": "NoSchedule"}]}}}
FOREIGN = {"create": pod("foreign", on="n1", requests={"cpu": "1"}, schedulerName="other")}
GONE = {"delete": {"kind": "Pod", "namespace": "default", "name": "old"}}


def gang() -> list[Raw]:
    return [node("n1", cpu="1"), gangs.group(2, minResources={"cpu": "4"}), *(gangs.member(name, "2") for name in "ab")]


def aligned() -> list[Raw]:
    return [node("n1"), numa.topology("n1", numa.zone("4")), numa.guaranteed("p", "1")]


def loaded(name: str) -> Raw:
    plugins = {"score": {"enabled": [{"name": name}], "disabled": [{"name": "*"}]}}
    return {"profiles": [{"plugins": plugins}]}


def filled() -> list[Raw]:
    running = pod("old", on="n1", requests={"cpu": "2"}, status={"phase": "Running"})
    other = pod("more", on="n1", requests={"cpu": "1"}, status={"phase": "Running"})
    return [node("n1"), node("n2"), running, other, pod("p", requests={"cpu": "1"})]


CASES: dict[str, tuple[list[Raw], Raw, Raw]] = {
    "a group that a tainted node lets pass": (gang(), gangs.config(), TAINTED),
    "a group that is placed": (gang(), gangs.config(), MADE),
    "a pod of another scheduler": (aligned(), numa.config(cacheResyncPeriodSeconds=5), FOREIGN),
    "a pod that was measured": (filled(), loaded("TargetLoadPacking"), GONE),
    "a pod that makes system calls": (filled(), loaded("SySched"), GONE),
}


def begun(objects: list[Raw], config: Raw) -> Simulation:
    simulation = Simulation(copy.deepcopy(objects), config=config, release="1.34", tie_break="name")
    set_load(simulation.cluster, {"window": {"end": 1}, "data": {"NodeMetricsMap": {}}})
    return simulation


def memory(simulation: Simulation) -> dict[str, Any]:
    """Return the attributes of the plugins that are not arguments, the cluster, or caches by version."""
    found = {}
    for plugin in simulation.scheduler.profiles["default-scheduler"].plugins:
        for name in ("_checked", "_backed_off", "_failed", "_foreign", "_schedulers", "_came", "_pods"):
            if hasattr(plugin, name):
                found[f"{plugin.name}.{name}"] = (
                    copy.deepcopy(getattr(plugin, name))
                    if name != "_pods"
                    else {node: [pod.key for pod in pods] for node, pods in getattr(plugin, name).items()}
                )
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_trial_leaves_the_memory_and_the_run_as_they_were(name: str) -> None:
    objects, config, change = CASES[name]
    simulation = begun(objects, config)
    before = memory(simulation)
    assert before
    now = simulation.cluster.now
    simulation.cluster.now = lambda: now() + 5  # a pod that is added again would be seen later
    for pod_ in list(simulation.to_try):
        WhatIf(simulation, pod_.key).run(read_changes([change]))
        with changed(simulation, read_changes([change])):
            pass
    answers_of(simulation)
    simulation.cluster.now = now
    assert memory(simulation) == before
    after = [(t.pod, t.result, t.node, t.message, _scores(t)) for t in simulation.run()]
    assert after == [(t.pod, t.result, t.node, t.message, _scores(t)) for t in begun(objects, config).run()]


def _scores(trace: Any) -> dict[str, list[int]]:
    return {name: score.raw.tolist() for name, score in trace.scores.items()}
