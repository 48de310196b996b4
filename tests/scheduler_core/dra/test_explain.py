"""Objections to each device for a claim."""

from scheduler_core.dra.devices import Devices
from scheduler_core.dra.explain import node_report
from scheduler_core.simulation import Simulation
from tests.scheduler_core.dra.objects import allocation, claim, device, device_class, exactly, node, pod, resource_slice


def test_objections_to_each_device() -> None:
    hot = {"key": "hot", "value": "yes", "effect": "NoSchedule"}
    part = device("part", index=1, consumesCounters=[{"counterSet": "c", "counters": {"memory": {"value": "3"}}}])
    there = [{"name": "c", "counters": {"memory": {"value": "2"}}}]
    wants = claim("c", exactly(1, 'device.attributes["gpu.example.com"].index > 0'))
    simulation = Simulation(
        [
            node("n"),
            device_class(),
            resource_slice(
                "s", device("taken", index=1), device("low", index=0), device("hot", index=1, taints=[hot]), on="n"
            ),
            resource_slice("p", part, device("free", index=2), on="n", pool="q", count=2),
            resource_slice("k", on="n", pool="q", count=2, sharedCounters=there),
            claim("other", exactly(), status=allocation("taken", pool="n", to="x")),
            wants,
            pod("p", "c"),
        ],
        release="1.36",
    )
    cluster = simulation.cluster
    found = node_report(Devices.of_cluster(cluster), 0, [cluster.device_claims["default/c"]])
    ((request,),) = found.claims[0].requests
    objections = {one.device: [(o.kind, o.text) for o in one.objections] for one in request.devices}
    assert objections["taken"] == [("taken", "allocated to default/other")]
    assert objections["low"] == [("selector", 'selector #0: device.attributes["gpu.example.com"].index > 0')]
    assert objections["hot"] == [("taint", "hot=yes:NoSchedule")]
    assert objections["part"] == [("counters", "needs 3 of memory of c, 2 are left")]
    assert objections["free"] == []
    assert (request.wanted, request.fitting) == (1, 1)
    assert [(pool.pool, pool.left) for pool in found.pools] == [("n", []), ("q", [("c", "memory", 2.0)])]
