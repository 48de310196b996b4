"""A fork in the middle without a change decides as its run did, also if plugins remember the cycles before."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import Raw, node, pod
from tests.scheduler_core.plugins.contrib import test_coscheduling as gangs
from tests.scheduler_core.plugins.contrib import test_node_resource_topology_match as numa
from tests.scheduler_core.recording.recorded_runs import forked, played

PORT = {"ports": ({"hostPort": 80},)}


def numa_zones() -> tuple[list[Raw], Raw]:
    """The first pod takes the zone. The second evicts a pod of another scheduler, which leaves the node unknown."""
    objects = [node("n1"), node("n2"), numa.topology("n1", numa.zone("2")), numa.topology("n2", numa.zone("2"))]
    objects.append(pod("foreign", on="n1", status={"phase": "Running"}, schedulerName="other", **PORT))
    objects.append(pod("same-port", on="n2", priority=100, status={"phase": "Running"}, **PORT))
    evicting = pod("b", priority=10, **PORT)
    return [*objects, numa.guaranteed("a", "2"), evicting, numa.guaranteed("c", "1")], numa.config(
        cacheResyncPeriodSeconds=5
    )


def failed_group() -> tuple[list[Raw], Raw]:
    objects = [node("n1"), gangs.group(2), gangs.member("a", "9"), gangs.member("b", "1")]
    config = gangs.config()
    config["profiles"][0]["pluginConfig"][0]["args"]["podGroupBackoffSeconds"] = 60
    return objects, config


def checked_group() -> tuple[list[Raw], Raw]:
    """After the second pod, too little is free for the whole group, which is not checked again."""
    group = gangs.group(1, minResources={"cpu": "4"})
    other = pod("b", requests={"cpu": "2"})
    return [node("n1"), group, gangs.member("a", "1"), other, gangs.member("c", "1")], gangs.config()


@pytest.mark.parametrize(
    ("make", "results"),
    [
        (numa_zones, ["scheduled", "unschedulable", "unschedulable"]),
        (failed_group, ["unschedulable", "unschedulable"]),
        (checked_group, ["scheduled", "scheduled", "scheduled"]),
    ],
)
def test_a_fork_in_the_middle_decides_as_its_run(make: Any, results: list[str]) -> None:
    objects, config = make()
    settings = {"release": "1.34", "config": config, "tie_break": "name", "timer": lambda: 0}
    names = [f"default/{name}" for name in "abc"[: len(results)]]
    kept = played(Simulation(objects, pods=names, **settings))
    assert [trace.result for trace, _ in kept.cycles] == results
    for cycle in range(2, len(results) + 1):
        assert forked(kept, cycle, settings).decisions == kept.decisions
