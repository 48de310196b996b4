"""Device allocation in cases that the conformance cases lack."""

from typing import Any

import pytest

from tests.scheduler_core.dra.objects import (
    DRIVER,
    allocated,
    allocation,
    claim,
    cycles,
    device,
    device_class,
    everything,
    exactly,
    node,
    pod,
    resource_slice,
)

HOT = {"key": "hot", "value": "yes", "effect": "NoSchedule"}
IN_ZONE = {"matchExpressions": [{"key": "z", "operator": "In", "values": ["1"]}]}


def newer(*objects: dict[str, Any]) -> list[dict[str, Any]]:
    return cycles(*objects, release="1.36")


def test_a_claim_has_a_limited_number_of_devices() -> None:
    devices = [device(f"d{i:02}") for i in range(40)]
    objects = (node("n"), device_class(), resource_slice("s", *devices, on="n"))
    assert len(allocated(cycles(*objects, claim("c", exactly(32)), pod("p", "c"))[0], "c")) == 32
    (found,) = cycles(*objects, claim("c", exactly(33)), pod("p", "c"))
    assert "number of requested devices 33 exceeds the claim limit of 32" in found["error"]


def test_pools() -> None:
    """Slices of an older generation are not used. Incomplete pools are used only before 1.35."""
    old, new = (
        resource_slice("old", device("a"), on="n", pool="p"),
        resource_slice("new", device("b"), on="n", pool="p", generation=2),
    )
    (found,) = cycles(node("n"), device_class(), old, new, claim("c", exactly()), pod("p", "c"))
    assert allocated(found, "c") == ["r0:p/b"]
    part = resource_slice("part", device("a"), on="n", count=2)
    (found,) = cycles(node("n"), device_class(), part, claim("c", exactly()), pod("p", "c"))
    assert allocated(found, "c") == ["r0:n/a"]
    (found,) = cycles(node("n"), device_class(), part, claim("c", everything()), pod("p", "c"))
    assert found["error"].endswith(
        "asks for all devices, but resource pool gpu.example.com/n is currently being updated"
    )
    twice = resource_slice("twice", device("a"), device("a"), on="n")
    (found,) = cycles(node("n"), device_class(), twice, claim("c", exactly()), pod("p", "c"))
    assert found["feasible"] == []


@pytest.mark.parametrize(
    ("where", "nodes"),
    [
        ({"allNodes": True}, ["a", "b"]),
        ({"nodeSelector": {"nodeSelectorTerms": [IN_ZONE]}}, ["a"]),
        ({"nodeName": "b"}, ["b"]),
        ({}, []),
    ],
)
def test_the_nodes_of_a_slice(where: dict[str, object], nodes: list[str]) -> None:
    network = resource_slice("s", device("d"), **where)
    (found,) = cycles(node("a", z="1"), node("b", z="2"), device_class(), network, claim("c", exactly()), pod("p", "c"))
    assert found["feasible"] == nodes


def test_an_allocation_that_suits_no_node_is_removed() -> None:
    """PostFilter removes it from a claim without other users. The pod is tried again."""
    gone = claim("c", exactly(), status=allocation("a", pool="n", on="gone"))
    (found,) = cycles(node("n"), device_class(), resource_slice("s", device("a"), on="n"), gone, pod("p", "c"))
    assert found["postfilter"]["status"]["reasons"][0] == "deallocation of ResourceClaim completed"
    assert found["claims"] == {"default/c": {}}
    used = claim("c", exactly(), status=allocation("a", pool="n", on="gone", to="other"))
    (found,) = cycles(node("n"), device_class(), resource_slice("s", device("a"), on="n"), used, pod("p", "c"))
    assert found["postfilter"]["status"]["reasons"][0] == "still not schedulable"


# ---- 1.36


def test_claims_share_the_capacity_of_a_device() -> None:
    policy = {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}
    shared = device("a", allowMultipleAllocations=True)
    shared["capacity"] = {"memory": {"value": "4Gi", "requestPolicy": policy}}
    asks = [claim(name, exactly(1, capacity={"requests": {"memory": "1500Mi"}})) for name in "xyz"]
    objects = (node("n"), device_class(), resource_slice("s", shared, on="n"), *asks)
    first, second, third = newer(*objects, pod("p", "x"), pod("q", "y"), pod("r", "z"))
    taken = first["claims"]["default/x"]["allocation"]["devices"]["results"][0]["consumedCapacity"]
    assert taken == {"memory": "2Gi"}
    assert allocated(second, "y") == ["r0:n/a"]
    assert third["feasible"] == []


def test_an_updating_pool_is_not_used() -> None:
    part = resource_slice("part", device("a"), on="n", count=2)
    (found,) = newer(node("n"), device_class(), part, claim("c", exactly()), pod("p", "c"))
    assert found["feasible"] == []
    twice = resource_slice("twice", device("a"), device("a"), on="n")
    (found,) = newer(node("n"), device_class(), twice, claim("c", exactly()), pod("p", "c"))
    assert found["filter"]["n"]["reasons"] == ["invalid resource pools were encountered"]


def requesting(resource: str, amount: str) -> dict[str, Any]:
    requests = {"cpu": "1", resource: amount}
    return {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": requests, "limits": {resource: amount}}}]
    }


def test_a_class_provides_an_extended_resource() -> None:
    """On nodes with the resource, a device plugin provides it. Elsewhere the scheduler creates a claim."""
    own = node("own")
    own["status"]["allocatable"]["example.com/gpu"] = "1"
    objects = (own, node("n"), node("m"), device_class(extendedResourceName="example.com/gpu"))
    first, second, third = newer(
        *objects,
        resource_slice("s", device("a"), on="n"),
        *(pod(name, **requesting("example.com/gpu", "1")) for name in "pqr"),
    )
    assert sorted(first["feasible"]) == ["n", "own"]
    assert {first["selected"], second["selected"]} == {"n", "own"}
    made = next(cycle for cycle in (first, second) if cycle["selected"] == "n")
    (name,) = made["claims"]
    assert name.startswith(f"{made['pod']}-extended-resources-")
    assert allocated(made, name.partition("/")[2]) == ["container-0-request-1:n/a"]
    assert third["filter"]["m"] == {
        "plugin": "DynamicResources",
        "code": "UnschedulableAndUnresolvable",
        "reasons": ["cannot allocate all claims"],
    }
    assert third["filter"]["own"]["reasons"] == ["Insufficient example.com/gpu"]


def test_finished_init_containers_release_their_devices() -> None:
    init = {"name": "i", "image": "i", "resources": {"requests": {"example.com/gpu": "3"}}}
    spec = requesting("example.com/gpu", "2")
    devices = [device(name) for name in "abcd"]
    objects = (node("n"), device_class(extendedResourceName="example.com/gpu"), resource_slice("s", *devices, on="n"))
    (found,) = newer(*objects, pod("p", **spec, initContainers=[init]))
    (status,) = found["claims"].values()
    requests = [one["request"] for one in status["allocation"]["devices"]["results"]]
    assert requests == ["container-0-request-0", "container-1-request-1", "container-1-request-1"]


def test_a_device_that_never_becomes_ready() -> None:
    """There is no driver. The binding fails as after a timeout, and the next attempt removes the allocation."""
    slow = device("a", bindingConditions=["ready"], bindingFailureConditions=["broken"])
    objects = (node("n"), device_class(), resource_slice("s", slow, on="n"), claim("c", exactly()))
    first, second = newer(*objects, pod("p", "c"), pod("q", "c"))
    assert first["error"] == "device binding timeout"
    assert second["postfilter"]["status"]["reasons"][0] == "deallocation of ResourceClaim completed"


def test_a_device_that_its_driver_reports_as_ready() -> None:
    slow = device("a", bindingConditions=["ready"], bindingFailureConditions=["broken"])
    status = allocation("a", pool="n")
    status["allocation"]["devices"]["results"][0] |= {
        "bindingConditions": ["ready"],
        "bindingFailureConditions": ["broken"],
    }
    status["devices"] = [
        {"driver": DRIVER, "pool": "n", "device": "a", "conditions": [{"type": "ready", "status": "True"}]}
    ]
    objects = (node("n"), device_class(), resource_slice("s", slow, on="n"), claim("c", exactly(), status=status))
    assert newer(*objects, pod("p", "c"))[0]["selected"] == "n"
    status["devices"][0]["conditions"] = [{"type": "broken", "status": "True"}]
    assert newer(*objects, pod("p", "c"))[0]["filter"]["n"]["reasons"] == ["resourceclaim not available on the node"]


def test_all_devices_of_a_node_if_all_are_tolerated() -> None:
    objects = (node("n"), device_class(), resource_slice("s", device("a"), device("b", taints=[HOT]), on="n"))
    (found,) = newer(*objects, claim("c", everything()), pod("p", "c"))
    assert found["feasible"] == []
    (found,) = cycles(*objects, claim("c", everything()), pod("p", "c"))
    assert allocated(found, "c") == ["r0:n/a", "r0:n/b"]  # 1.34 ignores taints
