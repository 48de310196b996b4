"""Device by device: what is against giving it to a claim."""

from scheduler_core.dra.devices import Devices
from scheduler_core.dra.explain import node_report
from scheduler_core.simulation import Simulation
from tests.scheduler_core.dra.made import claim, device, device_class, exactly, given, node, piece, pod


def test_what_is_against_each_device() -> None:
    hot = {"key": "hot", "value": "yes", "effect": "NoSchedule"}
    part = device("part", index=1, consumesCounters=[{"counterSet": "c", "counters": {"memory": {"value": "3"}}}])
    there = [{"name": "c", "counters": {"memory": {"value": "2"}}}]
    wants = claim("c", exactly(1, 'device.attributes["gpu.example.com"].index > 0'))
    simulation = Simulation(
        [
            node("n"),
            device_class(),
            piece("s", device("taken", index=1), device("low", index=0), device("hot", index=1, taints=[hot]), on="n"),
            piece("p", part, device("free", index=2), on="n", pool="q", count=2),
            piece("k", on="n", pool="q", count=2, sharedCounters=there),
            claim("other", exactly(), status=given("taken", pool="n", to="x")),
            wants,
            pod("p", "c"),
        ],
        release="1.36",
    )
    cluster = simulation.cluster
    found = node_report(Devices.of_cluster(cluster), 0, [cluster.device_claims["default/c"]])
    ((request,),) = found.claims[0].requests
    said = {one.device: [(o.kind, o.text) for o in one.objections] for one in request.devices}
    assert said["taken"] == [("taken", "allocated to default/other")]
    assert said["low"] == [("selector", 'selector #0: device.attributes["gpu.example.com"].index > 0')]
    assert said["hot"] == [("taint", "hot=yes:NoSchedule")]
    assert said["part"] == [("counters", "needs 3 of memory of c, 2 are left")]
    assert said["free"] == []
    assert (request.wanted, request.fitting) == (1, 1)
    assert [(pool.pool, pool.left) for pool in found.pools] == [("n", []), ("q", [("c", "memory", 2.0)])]
