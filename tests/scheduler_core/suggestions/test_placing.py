"""Dry placement of pods one after another, with added nodes."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.objects import Node, decode
from scheduler_core.forks.add_node import another, shape
from scheduler_core.forks.mutations import Change
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.placing import Placing, fewest
from tests.scheduler_core.suggestions.small_clusters import node, pod

Raw = dict[str, Any]
PODS, CAPACITY = 400, 4  # of 1 cpu each, on a node of 4


def added(number: int) -> list[Change]:
    return [Change(create=another(("n1",), one_node(), i)) for i in range(1, number + 1)]


def one_node() -> Node:
    found = decode(node("n1"))
    assert isinstance(found, Node)
    return found


def full(*waiting: Raw) -> Simulation:
    """Return a cluster of one full node."""
    return Simulation([node("n1"), *(pod(f"old-{i}", on="n1") for i in range(CAPACITY)), *waiting], release="1.34")


def test_the_fewest_nodes_that_place_the_most_pods() -> None:
    simulation = full(*(pod(f"web-{i}", labels={"app": "web"}) for i in range(PODS)))
    placing = Placing(simulation, 10_000)

    def places(pods: int) -> tuple[int, int]:
        number, nodes = fewest(lambda number: placing.place(added(number), simulation.pending[:pods]), pods)
        return number, len(nodes)

    assert places(PODS) == (16, 16 * CAPACITY)
    assert places(4 * CAPACITY + 1) == (5, 4 * CAPACITY + 1)
    assert fewest(lambda _: [], 3) == (0, [])


def test_equal_pods_are_not_retried_until_another_was_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation, tried = full(*(pod(f"web-{i}", labels={"app": "web"}) for i in range(PODS))), []
    once = simulation.scheduler.try_pod

    def counted(pod: Any, attempt: int = 1) -> Any:
        tried.append(pod.key)
        return once(pod, attempt)

    monkeypatch.setattr(simulation.scheduler, "try_pod", counted)
    assert len(Placing(simulation, 10_000).place(added(2), simulation.pending)) == 2 * CAPACITY
    assert len(tried) == 2 * CAPACITY + 1


def test_nodes_of_one_machine_type_have_one_shape() -> None:
    """Their memory differs by a little, and each driver has a label for the zone."""

    def shape_of(zone: str, memory: str, size: str = "m") -> object:
        labels = {"topology.cinder.csi.openstack.org/zone": zone, "node.kubernetes.io/instance-type": size}
        raw = node("n", **labels)
        raw["status"]["allocatable"]["memory"] = memory
        return shape(decode(raw))

    assert shape_of("az1", "3903516Ki") == shape_of("az2", "3903508Ki")
    assert shape_of("az1", "3903516Ki") != shape_of("az1", "7903516Ki")
    assert shape_of("az1", "3903516Ki") != shape_of("az1", "3903516Ki", "l")


def test_placing_another_pod_may_make_pods_feasible() -> None:
    """Pods that follow another fit only after that one is placed, though equal pods failed before."""
    leader = pod("leader", labels={"app": "leader"}, priority=5, cpu="2")
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "leader"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    first = pod("first", affinity=affinity, priority=9)
    rest = [pod(f"rest-{i}", affinity=affinity) for i in range(2)]
    simulation = full(first, leader, *rest)
    placed = Placing(simulation, 100).place(added(1), simulation.pending)
    assert len(placed) == 3  # leader, then its followers; the first came too early
