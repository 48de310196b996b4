"""The NUMA zones of a node, with a pod that fits in one of them or in none."""

from __future__ import annotations

from typing import Any

from scheduler_core.api.objects import Node, Pod, decode
from scheduler_core.api.scheduler_plugins import NodeResourceTopology
from scheduler_core.explain.node_zones import NodeZones, zones_of_node
from tests.scheduler_core.build import Raw, node
from tests.scheduler_core.plugins.contrib.test_node_resource_topology_match import guaranteed, topology, zone


def view(raw: Raw, pod: Raw | None = None, **more: Any) -> NodeZones:
    found, of = decode(raw), decode(node(raw["metadata"]["name"]))
    wanted = decode(pod) if pod is not None else None
    assert isinstance(found, NodeResourceTopology)
    assert isinstance(of, Node)
    assert wanted is None or isinstance(wanted, Pod)
    return zones_of_node(found, of, wanted, **more)


def test_zones_without_a_pod() -> None:
    raw = topology("n1", zone("2"), zone("4"))
    raw["zones"][0]["resources"][0] |= {"allocatable": "8"}
    shown = view(raw)
    assert (shown.policy, shown.scope, shown.sentence, shown.more) == ("single-numa-node", "pod", "", 0)
    cpu = shown.zones[0].resources[0]
    assert (cpu.text, cpu.used, cpu.fits) == ("2 of 8 available", 75.0, True)
    assert shown.zones[1].resources[1].text == "4Gi of 4Gi available"
    assert "refuses no pod" in view(topology("n1", zone("2"), policy="BestEffortPodLevel")).sentence


def test_a_pod_that_no_zone_holds() -> None:
    shown = view(topology("n1", zone("2"), zone("4", "1Mi")), guaranteed("p", "3"))
    assert shown.sentence == "No zone holds default/p, which requests 3 of cpu and 1Gi of memory."
    assert shown.tone == "bad"
    assert [[use.fits for use in one.resources] for one in shown.zones] == [[False, True], [True, False]]
    assert shown.zones[0].resources[0].text == "2 of 2 available; requests 3, does not fit"
    assert [part.zone for part in shown.parts] == [""]


def test_a_pod_that_fits() -> None:
    shown = view(topology("n1", zone("2"), zone("4")), guaranteed("p", "3"))
    assert (shown.sentence, shown.tone) == ("default/p fits in node-1.", "ok")
    assert [one.takes for one in shown.zones] == [[], ["the pod"]]
    assert (shown.zones[1].resources[0].comes, shown.zones[0].resources[0].comes) == (75.0, 0.0)
    assert view(topology("n1", zone("2")), guaranteed("p", "4")).zones[0].resources[0][1:5] == (0.0, 0.0, 100.0, 50.0)


def test_containers_at_container_scope() -> None:
    raw = guaranteed("p", "2")
    raw["spec"]["containers"].append(raw["spec"]["containers"][0] | {"name": "second"})
    shown = view(topology("n1", zone("3"), zone("1"), policy="SingleNUMANodeContainerLevel"), raw)
    assert shown.sentence.startswith("No zone holds container second of default/p")
    assert [(part.name, part.zone) for part in shown.parts] == [("container main", "node-0"), ("container second", "")]
    assert shown.zones[0].takes == ["container main"]


def test_a_resource_that_only_other_zones_have_and_objects_on_which_upstream_crashes() -> None:
    pod = guaranteed("p", "1")
    for kind in ("requests", "limits"):
        pod["spec"]["containers"][0]["resources"][kind]["example.com/nic"] = "2"
    n1 = node("n1", more={"example.com/nic": "4"})
    raw = topology("n1", zone("2"), zone("2") | {"example.com/nic": "1"})
    found, of, wanted = decode(raw), decode(n1), decode(pod)
    assert isinstance(found, NodeResourceTopology)
    assert isinstance(of, Node)
    assert isinstance(wanted, Pod)
    shown = zones_of_node(found, of, wanted)
    assert shown.zones[0].resources[-1].text == "not in this zone; requests 2"
    assert not shown.zones[1].resources[-1].fits
    crashing = view(topology("n1", zone("2"), numbers=[64]), guaranteed("p", "1"))
    assert crashing.sentence.startswith("NodeResourceTopology n1 is not consistent: kube-scheduler would crash here")
