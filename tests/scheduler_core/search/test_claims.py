"""Claims of a pod, device by device, agree with the decision of the cycle and the allocation of Reserve."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.errors import InputError
from scheduler_core.search.claims import Claims
from scheduler_core.search.provenance import NotDecided
from tests.examples import selection
from tests.scheduler_core.dra.objects import allocation, claim, device, device_class, exactly, node, pod, resource_slice
from tests.scheduler_core.provenance.cases import cycles_of
from tests.scheduler_core.recording.core_states import params

Raw = dict[str, Any]


@pytest.mark.parametrize("case", selection(params("areas/dra", "areas-1.36/dra")[::4], 2))
def test_claims_agree_with_the_decision(case: dict[str, Any]) -> None:
    for provenance, trace, names in cycles_of(case):
        try:
            claims = Claims(provenance.framework, provenance.pod, trace)
        except NotDecided:
            continue
        if "DynamicResources" not in trace.verdicts:
            continue
        groups = claims.groups()
        assert sum(group.count for group in groups) == len(names)
        for group in groups:
            for name in group.nodes[:2]:
                one = claims.node_result(name)
                assert (one.fits, one.message) == (group.fits, group.message)
                wanted = [found for found in one.claims if found.state == "wanted" and found.requests]
                for found in wanted:
                    taken = [d for some in found.requests for request in some for d in request.devices if d.taken]
                    assert len(taken) == len(found.given)
                    assert not any(d.objections for d in taken)
                    assert bool(found.given) <= one.fits


def claims_of_last_pod(*objects: Raw, release: str = "1.36") -> Claims:
    """Return the claims of the last pod before its cycle."""
    pods = [f"default/{one['metadata']['name']}" for one in objects if one["kind"] == "Pod"]
    case = {"kubernetes": release, "objects": objects, "pods": [key for key in pods if "old" not in key]}
    *_, (provenance, trace, _) = cycles_of(case)
    return Claims(provenance.framework, provenance.pod, trace)


def reasons(claims: Claims, name: str) -> dict[str, list[str]]:
    """Return device -> its objections to the first request on a node."""
    devices = claims.node_result(name).claims[0].requests[0][0].devices
    return {one.device: [f"{objection.kind}: {objection.text}" for objection in one.objections] for one in devices}


def test_each_device_has_its_objections() -> None:
    large = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0'
    taint = {"key": "hot", "value": "very", "effect": "NoSchedule"}
    claims = claims_of_last_pod(
        node("n1"),
        device_class(),
        resource_slice(
            "s1",
            device("held", memory="80Gi"),
            device("tainted", memory="80Gi", taints=[taint]),
            device("small", memory="16Gi"),
            device("good", memory="40Gi"),
            on="n1",
        ),
        claim("old", exactly(), status=allocation("held", pool="n1", on="n1", to="old")),
        claim("new", exactly(2, large)),
        pod("p", "new"),
    )
    assert reasons(claims, "n1") == {
        "good": [],
        "held": ["taken: allocated to default/old"],
        "tainted": ["taint: hot=very:NoSchedule"],
        "small": [f"selector: selector #0: {large}"],
    }
    (group,) = claims.groups()
    (short,) = group.requests
    assert (group.fits, short.wanted, short.fitting, short.seen) == (False, 2, 1, 4)
    assert short.out == {"taken": 1, "taint": 1, "selector": 1}


def test_devices_with_a_common_attribute_are_counted() -> None:
    claims = claims_of_last_pod(
        node("n1"),
        device_class(),
        resource_slice("s1", device("a", index=0), device("b", index=1), device("c", model="x"), on="n1"),
        claim("new", exactly(2), constraints=[{"requests": ["r0"], "matchAttribute": "gpu.example.com/index"}]),
        pod("p", "new"),
    )
    one = claims.node_result("n1")
    assert (one.fits, one.wanted, one.fitting) == (False, 2, 3)
    (constraint,) = one.claims[0].constraints
    assert (constraint.same, constraint.wanted) == (True, 2)
    assert {value.value: value.devices for value in constraint.values} == {"0": 1, "1": 1, "": 1}


def test_equal_nodes_form_a_group_and_the_nearest_one_is_first() -> None:
    objects = [node(f"n{i}") for i in range(30)]
    objects += [resource_slice(f"s{i}", *(device(f"d{k}") for k in range(i % 3)), on=f"n{i}") for i in range(30)]
    claims = claims_of_last_pod(*objects, device_class(), claim("new", exactly(4)), pod("p", "new"))
    groups = claims.groups()
    assert [(group.count, group.requests[0].fitting) for group in groups] == [(10, 2), (10, 1), (10, 0)]
    presented = claims.as_dict()
    assert presented["node"].node == groups[0].nodes[0] == "n2"
    assert (presented["total"], presented["pages"]) == (3, 1)
    with pytest.raises(InputError, match="page: must be from 1 to 1, got 2"):
        claims.as_dict(page=2)
    with pytest.raises(NotDecided, match="no node 'nowhere'"):
        claims.node_result("nowhere")


def test_missing_claims_and_pods_without_claims() -> None:
    waiting = claims_of_last_pod(node("n1"), pod("p", "absent"))
    presented = waiting.as_dict()
    assert presented["message"] == 'could not find ResourceClaim "default/absent"'
    assert (presented["groups"], presented["node"]) == ([], None)
    with pytest.raises(NotDecided, match="uses no resource claims"):
        claims_of_last_pod(node("n1"), pod("p"))
    old = claim("old", exactly(), status=allocation("d", pool="n1", on="n1", to="other"))
    kept = claims_of_last_pod(node("n1"), node("n2"), old, pod("p", "old"))
    (held,) = kept.node_result("n2").claims
    assert (held.state, held.here, held.shared_with) == ("allocated", False, ["other"])
    assert [one.device for one in held.given] == ["d"]
