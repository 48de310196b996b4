"""Suggested fixes for claims: each is proved, and the smallest is first."""

from __future__ import annotations

from typing import Any

from scheduler_core.debugger.suggestions.search import remedies
from scheduler_core.debugger.suggestions.steps import Remedy
from scheduler_core.simulation import Simulation
from tests.scheduler_core.dra.objects import allocation, claim, device, device_class, exactly, node, pod, resource_slice

Raw = dict[str, Any]
TAINT = {"key": "hot", "value": "very", "effect": "NoSchedule"}
A100 = 'device.attributes["gpu.example.com"].model == "a100"'


def suggestions(*objects: Raw) -> list[Remedy]:
    """Return the fixes for the pod p."""
    simulation = Simulation([node("n1"), device_class(), *objects], release="1.36", tie_break="name")
    found = remedies(simulation, "default/p")
    assert all(remedy.proved and remedy.node == "n1" for remedy in found)
    return found


def texts(*objects: Raw) -> list[str]:
    return [remedy.text for remedy in suggestions(*objects)]


def test_fewer_devices() -> None:
    found = texts(resource_slice("s1", device("a"), device("b"), on="n1"), claim("new", exactly(3)), pod("p", "new"))
    assert found[0] == "request 2 devices instead of 3 (request r0 of claim default/new)"
    assert not any("without" in text for text in found)


def test_a_selector_is_removed() -> None:
    wanted = claim("new", exactly(1, A100, 'device.driver == "gpu.example.com"'))
    found = texts(resource_slice("s1", device("a", model="t4"), on="n1"), wanted, pod("p", "new"))
    assert found[0] == f"drop selector #0, {A100} (request r0 of claim default/new)"
    assert not any("#1" in text for text in found)


def test_a_taint_is_tolerated() -> None:
    found = suggestions(
        resource_slice("s1", device("a", taints=[TAINT]), on="n1"), claim("new", exactly()), pod("p", "new")
    )
    assert found[0].text == "tolerate hot=very:NoSchedule (request r0 of claim default/new)"
    request = found[0].changes[0]["patch"]["patch"]["spec"]["devices"]["requests"][0]["exactly"]
    assert request["tolerations"] == [{"key": "hot", "operator": "Exists", "effect": "NoSchedule"}]


def test_a_constraint_is_removed() -> None:
    same = [{"matchAttribute": "gpu.example.com/index"}]
    devices = resource_slice("s1", device("a", index=0), device("b", index=1), on="n1")
    found = texts(devices, claim("new", exactly(2), constraints=same), pod("p", "new"))
    assert "take devices without the same gpu.example.com/index (claim default/new)" in found
    assert "request 1 device instead of 2 (request r0 of claim default/new)" in found


def test_a_pod_that_has_the_device_is_deleted() -> None:
    found = suggestions(
        resource_slice("s1", device("a"), on="n1"),
        claim("old", exactly(), status=allocation("a", pool="n1", on="n1", to="user")),
        {**pod("user", "old"), "spec": {**pod("user", "old")["spec"], "nodeName": "n1"}},
        claim("new", exactly()),
        pod("p", "new"),
    )
    evicting = [remedy for remedy in found if remedy.kind == "evict"]
    assert evicting[0].text == "delete pod default/user: claim default/old has devices on n1"
    assert evicting[0].disturbs["pods"] == 1


def test_an_unused_claim_is_deleted() -> None:
    found = suggestions(
        resource_slice("s1", device("a"), on="n1"),
        claim("old", exactly(), status=allocation("a", pool="n1", on="n1")),
        claim("new", exactly()),
        pod("p", "new"),
    )
    evicting = [remedy for remedy in found if remedy.kind == "evict"]
    assert evicting[0].text == "delete claim default/old: claim default/old has devices on n1"
