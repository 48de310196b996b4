"""Fields that are not simulated, or of clusters newer than the newest release, are named with their effect."""

from typing import Any

import msgspec
import pytest

from scheduler_core.api.fields import types, unknown_fields
from scheduler_core.api.newer_fields import NOT_SIMULATED, newer_fields
from scheduler_core.releases import NEWEST
from scheduler_core.snapshot.files import read_snapshot
from tests.scheduler_core.build import Raw, node, pod

GATED = "; without the feature gate {}, which is off by default, it has no effect"


def device(**fields: Any) -> Raw:
    return {"spec": {"devices": [{"name": "d", **fields}]}}


def request(**fields: Any) -> Raw:
    return {"spec": {"devices": {"requests": [{"name": "r", "exactly": fields}]}}}


@pytest.mark.parametrize(
    ("kind", "obj", "path", "gate"),
    [
        (
            "Node",
            {"spec": {"podPreemptionPolicy": {"disableResizePreemption": ["a/b"]}}},
            "spec.podPreemptionPolicy",
            "In",
        ),
        ("Pod", {"spec": {"evictionResponders": [{"name": "a"}]}}, "spec.evictionResponders", ""),
        ("Job", {"spec": {"scheduling": {"schedulingPolicy": {}}}}, "spec.scheduling", ""),
        (
            "ResourceSlice",
            device(nodeAllocatableResources={"cpu": {}}),
            "spec.devices[].nodeAllocatableResources",
            "DRAN",
        ),
        ("ResourceSlice", device(attributes={"x": {"ints": [1]}}), "spec.devices[].attributes['x'].ints", "DRAList"),
        (
            "ResourceSlice",
            device(consumesCounters=[{"counterSet": "c", "compatibilityGroups": ["mig"]}]),
            "spec.devices[].consumesCounters[].compatibilityGroups",
            "DRADeviceComp",
        ),
        ("ResourceSlice", {"spec": {"skipNodeOperations": ["*"]}}, "spec.skipNodeOperations", "DRAOptional"),
        (
            "ResourceClaim",
            request(derivedAttributes=[{"name": "n"}]),
            "spec.devices.requests[].exactly.derivedAttributes",
            "DRADerived",
        ),
        ("PodGroup.scheduling.k8s.io", {"spec": {"preemptionPolicy": "Never"}}, "spec.preemptionPolicy", "PodGroupPre"),
    ],
)
def test_a_field_that_is_not_simulated_has_its_effect(kind: str, obj: Raw, path: str, gate: str) -> None:
    (found,) = newer_fields(obj, kind)
    assert found.path == path
    assert found.problem.startswith("is not simulated: ")
    assert (f"; without the feature gate {gate}" in found.problem) == bool(gate)
    assert list(unknown_fields(obj, kind)) == [], "the API of 1.37 has it"


def test_fields_without_a_value_are_not_named() -> None:
    assert list(newer_fields({"spec": {"podPreemptionPolicy": None}}, "Node")) == []
    assert list(newer_fields(device(attributes={"ints": {"int": 1}}), "ResourceSlice")) == [], (
        "the name of an attribute"
    )


def test_the_api_has_the_fields_that_are_not_simulated() -> None:
    for kind, fields in NOT_SIMULATED.items():
        assert fields.keys() <= types()[kind].keys(), kind


def snapshot(version: str) -> bytes:
    first, second = node("n1"), node("n2")
    first["spec"]["podPreemptionPolicy"] = second["spec"]["podPreemptionPolicy"] = {"disableResizePreemption": ["a/b"]}
    for one in (first, second):
        one["status"]["nodeInfo"] = {"kubeletVersion": version}
    later = pod("p", futureField=1)
    items = [{"apiVersion": "v1", **one} for one in (first, second, later)]
    return msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items})


def test_a_snapshot_of_a_newer_cluster_names_what_is_not_known() -> None:
    major, minor = NEWEST.split(".")
    for version, unknown in ((f"v{NEWEST}.2", False), (f"v{major}.{int(minor) + 1}.0", True)):
        known, *rest = read_snapshot(snapshot(version), "c.json").notes
        assert known.startswith("spec.podPreemptionPolicy of 2 Nodes is not simulated: kube-scheduler may evict pods")
        assert len(rest) == unknown
        assert all(
            note.startswith("spec.futureField of 1 Pod is not known: the cluster is newer than") for note in rest
        )
