"""Objects of old API versions read as the current one."""

from typing import Any

import pytest

from tests.kubesched_ui.clusters import ingested


def read(obj: dict[str, Any]) -> dict[str, Any]:
    return ingested(obj).objects[0]


@pytest.mark.parametrize(
    ("old", "kind", "current"),
    [
        ("policy/v1beta1", "PodDisruptionBudget", "policy/v1"),
        ("extensions/v1beta1", "Deployment", "apps/v1"),
        ("extensions/v1beta1", "DaemonSet", "apps/v1"),
        ("apps/v1beta1", "StatefulSet", "apps/v1"),
        ("apps/v1beta2", "ReplicaSet", "apps/v1"),
        ("batch/v2alpha1", "CronJob", "batch/v1"),
        ("storage.k8s.io/v1beta1", "StorageClass", "storage.k8s.io/v1"),
        ("storage.k8s.io/v1beta1", "CSINode", "storage.k8s.io/v1"),
        ("storage.k8s.io/v1alpha1", "CSIStorageCapacity", "storage.k8s.io/v1"),
        ("scheduling.k8s.io/v1alpha1", "PriorityClass", "scheduling.k8s.io/v1"),
        ("resource.k8s.io/v1beta1", "ResourceClaim", "resource.k8s.io/v1"),
        ("", "Node", "v1"),
    ],
)
def test_version_becomes_current(old: str, kind: str, current: str) -> None:
    obj = read({"apiVersion": old, "kind": kind, "metadata": {"name": "x"}})
    assert (obj["apiVersion"], obj["kind"]) == (current, kind)
    assert list(obj)[:2] == ["apiVersion", "kind"]


def test_namespaces_are_set_where_a_kind_has_them() -> None:
    assert read({"kind": "Pod", "metadata": {"name": "x"}})["metadata"]["namespace"] == "default"
    assert "namespace" not in read({"kind": "Node", "metadata": {"name": "x", "namespace": "y"}})["metadata"]


def test_an_empty_selector_of_an_old_budget_matches_nothing() -> None:
    budget = {"kind": "PodDisruptionBudget", "metadata": {"name": "x"}, "spec": {"selector": {}, "minAvailable": 1}}
    assert read({"apiVersion": "policy/v1beta1", **budget})["spec"] == {"minAvailable": 1}
    assert read({"apiVersion": "policy/v1", **budget})["spec"] == {"selector": {}, "minAvailable": 1}


def test_an_old_workload_selects_its_templates_labels() -> None:
    workload = {
        "kind": "ReplicaSet",
        "metadata": {"name": "x"},
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}}},
    }
    assert read({"apiVersion": "extensions/v1beta1", **workload})["spec"]["selector"] == {"matchLabels": {"a": "b"}}
    assert "selector" not in read({"apiVersion": "apps/v1", **workload})["spec"]
