"""Suggested fixes that the API server refuses in place name where to make them."""

from typing import Any

import pytest

from scheduler_core.api.objects import Pod, decode
from scheduler_core.debugger.suggestions.immutable_fields import remark
from tests.scheduler_core.build import pod

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5", "uid": "u", "controller": True}
OLD = {"key": "dedicated", "operator": "Equal", "value": "bd", "effect": "NoSchedule"}
MORE = {"key": "spot", "operator": "Exists"}


def remark_on(spec: dict[str, Any], owned: bool = False, kind: str = "Pod", **patched: Any) -> str:
    raw = pod("web", **spec)
    if owned:
        raw["metadata"] |= {"ownerReferences": [OWNER], "labels": {"pod-template-hash": "5"}}
    found = decode(raw)
    assert isinstance(found, Pod)
    patch = {"kind": kind, "namespace": "default", "name": "web", "patch": {"spec": patched}}
    return remark(found, [{"patch": patch}])


@pytest.mark.parametrize(
    ("spec", "patched"),
    [
        ({}, {"nodeSelector": None}),
        ({}, {"affinity": {"nodeAffinity": None}}),
        ({}, {"topologySpreadConstraints": []}),
        ({}, {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}),
        ({}, {"priorityClassName": "high"}),
        ({"tolerations": [OLD]}, {"tolerations": [{**OLD, "value": "db"}]}),
    ],
)
def test_fields_that_cannot_change(spec: dict[str, Any], patched: dict[str, Any]) -> None:
    assert remark_on(spec, **patched) == " (in a new pod: the spec of a pod cannot change)"
    of_owner = " (in the template of Deployment web: the spec of a pod cannot change)"
    assert remark_on(spec, owned=True, **patched) == of_owner


@pytest.mark.parametrize(
    ("spec", "patched"),
    [
        ({"schedulingGates": [{"name": "wait"}]}, {"schedulingGates": None}),
        ({"tolerations": [OLD]}, {"tolerations": [OLD, MORE]}),
        ({}, {"tolerations": [MORE]}),
        ({}, {}),
    ],
)
def test_fields_that_change_in_place(spec: dict[str, Any], patched: dict[str, Any]) -> None:
    assert remark_on(spec, **patched) == ""


def test_other_objects() -> None:
    claim = remark_on({}, kind="PersistentVolumeClaim", storageClassName="fast")
    assert claim == " (in a new claim: these fields of a claim cannot change)"
    assert remark_on({}, kind="Node", unschedulable=False) == ""
