"""Which devices a claim is given."""

import pytest

from tests.scheduler_core.dra.made import (
    claim,
    cycles,
    device,
    device_class,
    everything,
    exactly,
    given,
    got,
    node,
    piece,
    pod,
)

HOME = 'device.attributes["gpu.example.com"]'


def test_the_first_free_device_that_is_selected() -> None:
    devices = [device("a", index=0, model="x"), device("b", index=1, model="y"), device("c", index=2, model="y")]
    asks = [claim(name, exactly(1, f'{HOME}.model == "y"')) for name in ("one", "two", "three")]
    pods = [pod("p", "one"), pod("q", "two"), pod("r", "three")]
    first, second, third = cycles(node("n"), device_class(), piece("s", *devices, on="n"), *asks, *pods)
    assert got(first, "one") == ["r0:n/b"]
    assert got(second, "two") == ["r0:n/c"]
    assert third["filter"]["n"]["reasons"] == ["cannot allocate all claims"]
    assert third["claims"] == {"default/three": {}}


def test_a_claim_that_pods_share_is_allocated_once() -> None:
    found = cycles(
        node("n"),
        node("m"),
        device_class(),
        piece("s", device("a"), on="n"),
        claim("c", exactly()),
        pod("p", "c"),
        pod("q", "c"),
    )
    assert [cycle.get("selected") for cycle in found] == ["n", "n"]
    assert found[1]["filter"]["m"]["reasons"] == ["resourceclaim not available on the node"]
    assert [one["name"] for one in found[1]["claims"]["default/c"]["reservedFor"]] == ["p", "q"]


def test_admin_access_takes_what_others_have_and_leaves_it_to_them() -> None:
    taken = claim("taken", exactly(), status=given("a", pool="n", to="x"))
    admin, other = claim("admin", exactly(1, adminAccess=True)), claim("other", exactly())
    objects = (node("n"), device_class(), piece("s", device("a"), device("b"), on="n"), taken, admin, other)
    first, second = cycles(*objects, pod("p", "admin"), pod("q", "other"))
    assert got(first, "admin") == ["r0:n/a"]
    assert first["claims"]["default/admin"]["allocation"]["devices"]["results"][0]["adminAccess"] is True
    assert got(second, "other") == ["r0:n/b"]


def test_all_devices_that_are_selected_or_none() -> None:
    objects = (
        node("n"),
        device_class(),
        piece("s", device("a", index=0), device("b", index=1), device("c", index=5), on="n"),
    )
    few = claim("few", everything(f"{HOME}.index < 2"))
    assert got(cycles(*objects, few, pod("p", "few"))[0], "few") == ["r0:n/a", "r0:n/b"]
    taken = claim("taken", exactly(), status=given("a", pool="n", to="x"))
    assert cycles(*objects, taken, few, pod("p", "few"))[0]["feasible"] == []


def test_the_first_alternative_that_can_be_had() -> None:
    objects = (node("n"), device_class(), piece("s", device("a"), device("b"), on="n"))
    wants = claim("c", [exactly(3), exactly(2), exactly(1)])
    assert got(cycles(*objects, wants, pod("p", "c"))[0], "c") == ["r0/s1:n/a", "r0/s1:n/b"]


def test_it_goes_back_where_it_must() -> None:
    """The first request could have any device; the second only the first one."""
    wants = claim("c", exactly(), exactly(1, f"{HOME}.index == 0"))
    (found,) = cycles(
        node("n"), device_class(), piece("s", device("a", index=0), device("b", index=1), on="n"), wants, pod("p", "c")
    )
    assert got(found, "c") == ["r0:n/b", "r1:n/a"]


def test_devices_that_have_an_attribute_in_common() -> None:
    devices = [device("a", root="1"), device("b", root="2"), device("c"), device("d", root="2")]
    wants = claim("c", exactly(2), constraints=[{"matchAttribute": "gpu.example.com/root"}])
    (found,) = cycles(node("n"), device_class(), piece("s", *devices, on="n"), wants, pod("p", "c"))
    assert got(found, "c") == ["r0:n/b", "r0:n/d"]


def test_a_constraint_is_of_the_requests_that_it_names() -> None:
    devices = [device("a", root="1"), device("b", root="2"), device("c", root="3"), device("d", root="3")]
    wants = claim(
        "c", exactly(1), exactly(2), constraints=[{"matchAttribute": "gpu.example.com/root", "requests": ["r1"]}]
    )
    (found,) = cycles(node("n"), device_class(), piece("s", *devices, on="n"), wants, pod("p", "c"))
    assert got(found, "c") == ["r0:n/a", "r1:n/c", "r1:n/d"]


def test_not_more_devices_than_a_claim_may_have() -> None:
    devices = [device(f"d{i:02}") for i in range(40)]
    objects = (node("n"), device_class(), piece("s", *devices, on="n"))
    assert len(got(cycles(*objects, claim("c", exactly(32)), pod("p", "c"))[0], "c")) == 32
    (found,) = cycles(*objects, claim("c", exactly(33)), pod("p", "c"))
    assert "number of requested devices 33 exceeds the claim limit of 32" in found["error"]


def test_pools() -> None:
    """Of an older generation nothing is taken; of a pool whose slices are not all there only before 1.35."""
    old, new = piece("old", device("a"), on="n", pool="p"), piece("new", device("b"), on="n", pool="p", generation=2)
    (found,) = cycles(node("n"), device_class(), old, new, claim("c", exactly()), pod("p", "c"))
    assert got(found, "c") == ["r0:p/b"]
    part = piece("part", device("a"), on="n", count=2)
    (found,) = cycles(node("n"), device_class(), part, claim("c", exactly()), pod("p", "c"))
    assert got(found, "c") == ["r0:n/a"]
    (found,) = cycles(node("n"), device_class(), part, claim("c", everything()), pod("p", "c"))
    assert found["error"].endswith(
        "asks for all devices, but resource pool gpu.example.com/n is currently being updated"
    )
    twice = piece("twice", device("a"), device("a"), on="n")
    (found,) = cycles(node("n"), device_class(), twice, claim("c", exactly()), pod("p", "c"))
    assert found["feasible"] == []


IN_ZONE = {"key": "z", "operator": "In", "values": ["1"]}


@pytest.mark.parametrize(
    ("where", "nodes"),
    [
        ({"allNodes": True}, ["a", "b"]),
        (
            {
                "nodeSelector": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "z", "operator": "In", "values": ["1"]}]}]
                }
            },
            ["a"],
        ),
        ({"nodeName": "b"}, ["b"]),
        ({}, []),
    ],
)
def test_for_which_nodes_a_slice_is(where: dict[str, object], nodes: list[str]) -> None:
    network = piece("s", device("d"), **where)
    (found,) = cycles(node("a", z="1"), node("b", z="2"), device_class(), network, claim("c", exactly()), pod("p", "c"))
    assert found["feasible"] == nodes


def test_an_allocation_that_suits_no_node_is_taken_away() -> None:
    """By PostFilter, of a claim that nobody else uses; the pod has to come again."""
    gone = claim("c", exactly(), status=given("a", pool="n", on="gone"))
    (found,) = cycles(node("n"), device_class(), piece("s", device("a"), on="n"), gone, pod("p", "c"))
    assert found["postfilter"]["status"]["reasons"][0] == "deallocation of ResourceClaim completed"
    assert found["claims"] == {"default/c": {}}
    used = claim("c", exactly(), status=given("a", pool="n", on="gone", to="other"))
    (found,) = cycles(node("n"), device_class(), piece("s", device("a"), on="n"), used, pod("p", "c"))
    assert found["postfilter"]["status"]["reasons"][0] == "still not schedulable"


def test_configurations_of_class_and_claim_come_along() -> None:
    said = {"opaque": {"driver": "gpu.example.com", "parameters": {"share": True}}}
    cls = device_class("gpu", config=[said])
    (found,) = cycles(
        node("n"), cls, piece("s", device("a"), on="n"), claim("c", exactly(), config=[said]), pod("p", "c")
    )
    config = found["claims"]["default/c"]["allocation"]["devices"]["config"]
    assert [one["source"] for one in config] == ["FromClass", "FromClaim"]
    assert all(one["opaque"] == said["opaque"] for one in config)
