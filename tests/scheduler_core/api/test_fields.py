"""Unknown fields are found everywhere, with suggestions for misspelt ones."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.api import objects
from scheduler_core.api.fields import types, unknown_fields

GPU = {"requests": {"example.com/gpu": 1}, "limits": {"example.com/gpu": 1}}


def pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def found_in(obj: Any) -> list[str]:
    return [str(unknown) for unknown in unknown_fields(obj)]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"nodeSelectorr": {"a": "b"}}, "spec.nodeSelectorr is not a field of PodSpec; did you mean nodeSelector?"),
        ({"nodeselector": {}}, "spec.nodeselector is not a field of PodSpec; did you mean nodeSelector?"),
        (
            {"containers": [{"name": "c"}, {"name": "d", "nodeSelector": {}}]},
            "spec.containers[1].nodeSelector is not a field of Container; PodSpec has a field with this name",
        ),
        (
            {"affinity": {"nodeAffinity": {"required": {}}}},
            "spec.affinity.nodeAffinity.required is not a field of NodeAffinity",
        ),
        (
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimname": "c"}}]},
            "spec.volumes[0].persistentVolumeClaim.claimname is not a field of PersistentVolumeClaimVolumeSource; "
            "did you mean claimName?",
        ),
        ({"zzz": 1}, "spec.zzz is not a field of PodSpec"),
    ],
)
def test_an_unknown_field_gives_a_suggestion(spec: dict[str, Any], message: str) -> None:
    assert found_in(pod(**spec)) == [message]


def test_known_fields_are_accepted() -> None:
    full = pod(
        nodeSelector={"any.example/key": "v"},
        containers=[{"name": "c", "resources": GPU, "env": [{"name": "A"}]}],
        topologySpreadConstraints=[{"maxSkew": 1, "matchLabelKeys": ["a"], "nodeTaintsPolicy": "Honor"}],
        hostUsers=False,
        schedulingGates=[{"name": "x"}],
    )
    full["metadata"] |= {"labels": {"x": "y"}, "annotations": {"z": "w"}, "ownerReferences": [{"uid": "1"}]}
    assert found_in(full) == []


def test_templates_of_workloads() -> None:
    made = {"kind": "Deployment", "spec": {"template": {"spec": {"tolerationz": []}}, "replica": 1}}
    assert found_in(made) == [
        "spec.template.spec.tolerationz is not a field of PodSpec; did you mean tolerations?",
        "spec.replica is not a field of DeploymentSpec; did you mean replicas?",
    ]


@pytest.mark.parametrize("odd", [None, 3, [], {}, {"kind": "Widget", "x": 1}, {"kind": ["Pod"]}, pod(containers="x")])
def test_values_that_are_no_objects_have_no_fields(odd: Any) -> None:
    assert found_in(odd) == []


def test_deep_objects_end_the_search() -> None:
    deep: dict[str, Any] = {}
    deep |= {"template": deep}
    assert found_in({"kind": "Deployment", "spec": deep}) is not None


def test_the_table_has_every_field_that_the_core_reads() -> None:
    """The fields of each struct in objects.py that has the name of an API type exist in the API."""
    seen = 0
    for name, fields in types().items():
        struct = getattr(objects, name, None)
        if struct is None:
            continue
        read = set(struct.__struct_encode_fields__) - {"status"}
        assert read <= set(fields) | {"apiVersion", "kind"}, name
        seen += 1
    assert seen > 20


@pytest.mark.parametrize(
    ("resources", "messages"),
    [
        ({"requests": {"cpu": "1", "hugepages-2Mi": "4Mi"}, "limits": {"hugepages-2Mi": "4194304"}}, []),
        ({"requests": {"cpuu": "500m"}}, ["requests.cpuu is not a resource of containers; did you mean cpu?"]),
        ({"limits": {"pods": 3}}, ["limits.pods is not a resource of containers"]),
        (
            {"requests": {"nvidia.com/gpu": 1}},
            ["requests.nvidia.com/gpu has no limit, which this resource requires"],
        ),
        (
            {"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 2}},
            ["requests.nvidia.com/gpu differs from the limit, which must be equal for this resource"],
        ),
        ({"requests": "many"}, []),
    ],
)
def test_invalid_resources_are_rejected(resources: Any, messages: list[str]) -> None:
    pod = {"kind": "Pod", "spec": {"containers": [{"name": "c", "resources": resources}]}}
    start, end = "spec.containers[0].resources.", "; an API server refuses it"
    assert [str(found) for found in unknown_fields(pod)] == [f"{start}{text}{end}" for text in messages]
