"""Shortfall of all pending pods, and the nodes that would place them."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api.objects import decode
from scheduler_core.debugger.suggestions.add_node import shape
from scheduler_core.debugger.suggestions.pending import all_pending
from scheduler_core.simulation import Simulation
from tests.scheduler_core.debugger.test_suggestions import node, pod

PODS, CAPACITY = 400, 4  # of 1 cpu each, on a node of 4


def full(spare: int = 0) -> Simulation:
    """Return a cluster of one node, full except for `spare` cpu, after a run that placed no other pod."""
    running = [pod(f"old-{i}", on="n1") for i in range(CAPACITY - spare)]
    objects = [
        decode(raw) for raw in (node("n1"), *running, *(pod(f"web-{i}", labels={"app": "web"}) for i in range(PODS)))
    ]
    return Simulation([found for found in objects if found is not None], release="1.34")


def test_added_nodes_and_the_pods_that_they_place() -> None:
    found = all_pending(full())
    assert [(b.plugin, b.reason, b.pods) for b in found.bottlenecks] == [("NodeResourcesFit", "Insufficient cpu", PODS)]
    assert [(more.count, more.places) for more in found.remedies] == [(16, 16 * CAPACITY)]


def test_equal_pods_are_not_retried_until_another_was_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation, tried = full(), []
    once = simulation.scheduler.try_pod

    def counted(pod: Any, attempt: int = 1) -> Any:
        tried.append(pod.key)
        return once(pod, attempt)

    monkeypatch.setattr(simulation.scheduler, "try_pod", counted)
    all_pending(simulation)
    places = 1 + 2 + 4 + 8 + 16 + 12 + 14 + 15 + 16  # numbers of nodes tried in turn: doubled, then halved
    assert len(tried) <= CAPACITY * places + 2 * 10


def test_nodes_that_differ_only_by_zone_are_one_line() -> None:
    """The one that places the most pods; the others are its alternatives."""
    zone = "topology.kubernetes.io/zone"
    nodes = [node(f"n{i}", **{zone: f"z{i}"}) for i in range(4)] + [node("big", cpu="8", **{zone: "z0"})]
    waiting = [pod(f"p{i}", cpu="4") for i in range(2)] + [pod("z2", cpu="4", nodeSelector={zone: "z2"})]
    objects = [*nodes, *(pod(f"old-{one['metadata']['name']}", on=one["metadata"]["name"]) for one in nodes)]
    big = pod("old", cpu="7", on="big")
    found = all_pending(Simulation([*objects, big, *waiting], release="1.34"))
    assert [(more.like, more.count, more.places) for more in found.remedies] == [("n2", 3, 3), ("big", 1, 2)]
    assert [other.like for other in found.remedies[0].alternatives] == ["n0", "n1", "n3"]


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
    objects = [decode(raw) for raw in (node("n1"), *(pod(f"old-{i}", on="n1") for i in range(4)), first, leader, *rest)]
    simulation = Simulation([found for found in objects if found is not None], release="1.34")
    (more,) = all_pending(simulation).remedies
    assert (more.count, more.places) == (1, 3)  # leader, then its followers; the first came too early
