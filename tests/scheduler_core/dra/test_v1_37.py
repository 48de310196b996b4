"""What 1.37 changes for devices: taint rules, configurations of allocations, messages, counters, fractions.

Sources: k8s.io/dynamic-resource-allocation of 1.37.0-alpha.2; fractional ranges by later sources.
"""

from typing import Any

import pytest

from tests.scheduler_core.dra.objects import (
    DRIVER,
    Raw,
    allocated,
    claim,
    cycles,
    device,
    device_class,
    exactly,
    node,
    pod,
    resource_slice,
)
from tests.scheduler_core.virtual_time_runs import PlayedScenario

TAINT = {"key": "sick", "value": "yes", "effect": "NoSchedule"}


def rule(name: str = "r", taint: Raw = TAINT, **selector: str) -> Raw:
    spec: Raw = {"taint": taint} | ({"deviceSelector": selector} if selector else {})
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": name}, "spec": spec}


def got(*objects: Raw, release: str = "1.37", **wants: Any) -> list[str]:
    """Return the devices of a claim for one GPU in the pool `n` with the devices a and b."""
    there = [node("n"), device_class(), resource_slice("s", device("a"), device("b"), on="n")]
    return allocated(cycles(*there, *objects, claim("c", exactly(**wants)), pod("p", "c"), release=release)[0], "c")


@pytest.mark.parametrize(
    ("selector", "device"),
    [
        ({}, ""),
        ({"driver": DRIVER}, ""),
        ({"pool": "n", "device": "a"}, "b"),
        ({"device": "a", "driver": DRIVER}, "b"),
        ({"device": "a", "driver": "other"}, "a"),
        ({"pool": "m"}, "a"),
    ],
)
def test_a_rule_taints_the_devices_that_it_selects(selector: Raw, device: str) -> None:
    assert got(rule(**selector)) == ([f"r0:n/{device}"] if device else [])


def test_rules_are_ignored_without_their_gates_and_where_they_are_tolerated() -> None:
    assert got(rule(), release="1.36") == ["r0:n/a"]
    assert got(rule(), release="1.37 DRADeviceTaintRules=false") == ["r0:n/a"]
    assert got(rule(), release="1.36 DRADeviceTaintRules=true") == []
    assert got(rule(taint=TAINT | {"effect": "None"})) == ["r0:n/a"]
    assert got(rule(), tolerations=[{"key": "sick", "operator": "Exists"}]) == ["r0:n/a"]


def test_a_deleted_rule_wakes_a_pod_as_an_updated_slice_does() -> None:
    there = [node("n"), device_class(), resource_slice("s", device("a"), on="n"), claim("c", exactly()), pod("p", "c")]
    timeline = [
        {"at": 30, "delete": {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "name": "other"}},
        {"at": 60, "delete": {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "name": "r"}},
    ]
    rules = [rule(), rule("other", driver="another.example.com")]
    played = PlayedScenario(*there, *rules, timeline=timeline, until=100, kubernetes="1.37")
    moved = [(time, why) for time, _, why in played.moves("p") if "Slice" in why]
    assert (moved, played.times("pod.bound", "p")) == ([(60, "ResourceSliceUpdate")], [60])


OPAQUE = {"driver": DRIVER, "parameters": {"mode": "x"}}


@pytest.mark.parametrize(
    ("release", "named", "expected"),
    [
        ("1.36", ["r0", "r1"], [["r0", "r1"], ["r0", "r1"]]),
        ("1.37", ["r0", "r1"], [None]),
        ("1.37", ["r0"], [["r0"]]),
        ("1.37", [], [None]),
    ],
)
def test_a_configuration_of_all_requests_names_none(release: str, named: list[str], expected: list[Any]) -> None:
    config = [{"opaque": OPAQUE} | ({"requests": named} if named else {})]
    objects = [node("n"), device_class(), resource_slice("s", device("a"), device("b"), on="n")]
    wants = claim("c", exactly(), exactly(), config=config)
    (cycle,) = cycles(*objects, wants, pod("p", "c"), release=release)
    found = cycle["claims"]["default/c"]["allocation"]["devices"]["config"]
    assert [one.get("requests") for one in found] == expected


def test_a_subrequest_counts_as_its_request() -> None:
    """The configuration of a class names `r0/s1`, the alternative that was chosen."""
    objects = [node("n"), device_class("none", "false"), device_class(config=[{"opaque": OPAQUE}])]
    wants = claim("c", [exactly(cls="none"), exactly()])
    for release, requests in (("1.36", ["r0/s1"]), ("1.37", None)):
        slices = resource_slice("s", device("a"), on="n")
        (cycle,) = cycles(*objects, slices, wants, pod("p", "c"), release=release)
        (one,) = cycle["claims"]["default/c"]["allocation"]["devices"]["config"]
        assert (one["source"], one.get("requests")) == ("FromClass", requests)


HINT = (
    "consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional "
    "fields"
)


@pytest.mark.parametrize(
    ("release", "expression", "message"),
    [
        ("1.36", f'device.attributes["{DRIVER}"].model == "x"', "selector #0: CEL runtime error: no such key: model"),
        (
            "1.37",
            f'device.attributes["{DRIVER}"].model == "x"',
            f"selector #0 on device {DRIVER}/n/a: CEL runtime error: no such key: model. {HINT}",
        ),
        ("1.37", "1 / 0 == 1", f"selector #0 on device {DRIVER}/n/a: CEL runtime error: division by zero"),
    ],
)
def test_an_error_of_a_selector_names_the_device(release: str, expression: str, message: str) -> None:
    objects = [node("n"), device_class(), resource_slice("s", device("a"), on="n")]
    (cycle,) = cycles(*objects, claim("c", exactly(1, expression)), pod("p", "c"), release=release)
    assert cycle["error"] == 'running "DynamicResources" filter plugin: ' + f"claim default/c: {message}"


@pytest.mark.parametrize(("release", "rejects"), [("1.36", True), ("1.37", False)])
def test_only_nodes_of_a_pool_see_its_counters(release: str, rejects: bool) -> None:
    """The pool of `n` has a counter set twice, so it is invalid; 1.36 also says so on `m`."""
    twice = [{"name": "c", "counters": {"memory": {"value": "2"}}}] * 2
    pieces = [
        resource_slice("s", device("a"), on="n", count=2),
        resource_slice("k", on="n", pool="n", count=2, sharedCounters=twice),
    ]
    objects = [node("n"), node("m"), device_class(), *pieces, claim("c", exactly()), pod("p", "c")]
    (cycle,) = cycles(*objects, release=release)
    invalid = "invalid resource pools were encountered"
    reasons = {name: status["reasons"] for name, status in cycle["filter"].items()}
    assert reasons == {"n": [invalid], "m": [invalid if rejects else "cannot allocate all claims"]}


@pytest.mark.parametrize(
    ("release", "wanted", "consumed"),
    [
        ("1.36", "0.6", "1"),
        ("1.37 DRAFractionalCapacityRange=false", "0.6", "1"),
        ("1.37", "0.3", "500m"),
        ("1.37", "0.5", "500m"),
        ("1.37", "0.51", "750m"),
        ("1.37", "0.9", "1"),
    ],
)
def test_ranges_can_be_in_thousandths(release: str, wanted: str, consumed: str) -> None:
    """The range begins at 0.5 in steps of 0.25. Without fractions, min and step are rounded up to 1."""
    policy = {"validRange": {"min": "500m", "step": "250m"}, "default": "500m"}
    shared = device("a", allowMultipleAllocations=True)
    shared["capacity"] = {"slots": {"value": "2", "requestPolicy": policy}}
    wants = exactly(capacity={"requests": {"slots": wanted}})
    objects = [node("n"), device_class(), resource_slice("s", shared, on="n"), claim("c", wants), pod("p", "c")]
    (cycle,) = cycles(*objects, release=release)
    (result,) = cycle["claims"]["default/c"]["allocation"]["devices"]["results"]
    assert result["consumedCapacity"] == {"slots": consumed}
