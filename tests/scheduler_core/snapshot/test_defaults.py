"""Defaults of an API server.

Cases from pkg/apis/core/v1/defaults_test.go, pkg/registry/core/pod/strategy_test.go.
"""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.releases import get_release
from scheduler_core.snapshot.defaults import Filled, fill, title

Raw = dict[str, Any]
V34, V27 = get_release("1.34"), get_release("1.27")


def pod(*containers: Raw, **spec: Any) -> Raw:
    return {"kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": list(containers), **spec}}


def filled(obj: Raw, release: Any = None) -> Raw:
    obj = copy.deepcopy(obj)
    fill(obj, release)
    return obj


@pytest.mark.parametrize(
    ("resources", "requests"),
    [
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, {"cpu": "1", "memory": "1Gi"}),
        ({"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}}, {"cpu": "100m"}),
        ({"limits": {"cpu": "1", "nvidia.com/gpu": 1}, "requests": {"cpu": 0}}, {"cpu": 0, "nvidia.com/gpu": 1}),
        ({"limits": {"cpu": "1"}, "requests": None}, {"cpu": "1"}),
        ({"limits": None}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_requests_default_to_the_limits(resources: Raw, requests: Raw | None, field: str) -> None:
    spec = filled(pod(**{field: [{"name": "c", "resources": resources}]}))["spec"]
    assert spec[field][0]["resources"].get("requests") == requests


def test_defaults_of_a_pod() -> None:
    spec = filled(pod({"name": "c", "ports": [{"containerPort": 80}]}, hostNetwork=True))["spec"]
    assert spec["containers"][0]["ports"] == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]
    assert (spec["restartPolicy"], spec["schedulerName"]) == ("Always", "default-scheduler")
    assert spec["terminationGracePeriodSeconds"] == 30
    tolerated = {
        toleration["key"].partition("/")[2]: toleration["tolerationSeconds"] for toleration in spec["tolerations"]
    }
    assert tolerated == {"not-ready": 300, "unreachable": 300}
    other = filled(pod({"name": "c", "ports": [{"containerPort": 80}]}))["spec"]["containers"][0]
    assert other["ports"] == [{"containerPort": 80, "protocol": "TCP"}]


def test_a_spread_constraint_is_unchanged() -> None:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    assert filled(pod(topologySpreadConstraints=[constraint]))["spec"]["topologySpreadConstraints"] == [constraint]


@pytest.mark.parametrize("passed", [{"metadata": {"name": "web", "uid": "u"}}, {"status": {"phase": "Pending"}}])
def test_objects_from_an_api_server_are_unchanged(passed: Raw) -> None:
    returned = pod({"name": "c", "resources": {"limits": {"cpu": "1"}}}) | passed
    before = copy.deepcopy(returned)
    assert fill(returned, V34) == []
    assert returned == before


@pytest.mark.parametrize(
    ("release", "requests"), [(V34, {"cpu": "2", "memory": "3Gi"}), (V27, {"memory": "3Gi"}), (None, {"memory": "3Gi"})]
)
def test_resources_at_pod_level(release: Any, requests: Raw) -> None:
    """Upstream sums up container requests, with the same result."""
    container = {"name": "c", "resources": {"requests": {"ephemeral-storage": "1Gi"}}}
    whole = {"limits": {"cpu": "2", "memory": "4Gi"}, "requests": {"memory": "3Gi"}}
    assert filled(pod(container, resources=whole), release)["spec"]["resources"]["requests"] == requests
    container["resources"]["requests"]["cpu"] = "1"
    assert filled(pod(container, resources=whole), V34)["spec"]["resources"]["requests"] == {"memory": "3Gi"}


def test_label_keys_of_affinity_join_the_selector_in_releases_that_have_them() -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["hash", "absent"]}
    apart = {"topologyKey": "zone", "labelSelector": {}, "mismatchLabelKeys": ["tenant"]}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {"podAffinity": {required: [term]}, "podAntiAffinity": {required: [apart, {"topologyKey": "zone"}]}}
    written = pod(affinity=affinity)
    written["metadata"]["labels"] = {"hash": "1", "tenant": "t"}
    done = filled(written, V34)["spec"]["affinity"]
    assert done["podAffinity"][required][0]["labelSelector"] == {
        "matchLabels": {"a": "b"},
        "matchExpressions": [{"key": "hash", "operator": "In", "values": ["1"]}],
    }
    assert done["podAntiAffinity"][required][0]["labelSelector"]["matchExpressions"] == [
        {"key": "tenant", "operator": "NotIn", "values": ["t"]}
    ]
    assert filled(written, V27)["spec"]["affinity"] == affinity


@pytest.mark.parametrize(
    ("kind", "spec", "more"),
    [
        ("Deployment", {}, {"replicas": 1}),
        ("StatefulSet", {"replicas": 0}, {"replicas": 0}),
        ("DaemonSet", {}, {}),
        ("Job", {}, {"completions": 1, "parallelism": 1}),
        ("Job", {"parallelism": 3}, {"parallelism": 3}),
        ("Job", {"completions": 3}, {"completions": 3, "parallelism": 1}),
        ("ReplicationController", {}, {"replicas": 1, "selector": {"app": "web"}}),
    ],
)
def test_workloads(kind: str, spec: Raw, more: Raw) -> None:
    inner = {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": inner}
    done = filled({"kind": kind, "metadata": {"name": "web"}, "spec": {**spec, "template": template}})["spec"]
    pods = done.pop("template")["spec"]
    assert done == {**spec, **more}
    assert pods["containers"][0]["resources"]["requests"] == {"cpu": "1"}
    assert pods["restartPolicy"] == "Always"
    assert "tolerations" not in pods, "admission gives them to the pods"


def test_a_cron_job_s_template() -> None:
    inner = {"template": {"spec": {"containers": [], "restartPolicy": "Never"}}}
    cron = {"kind": "CronJob", "metadata": {"name": "c"}, "spec": {"jobTemplate": {"spec": inner}}}
    job = filled(cron)["spec"]["jobTemplate"]["spec"]
    assert (job["completions"], job["template"]["spec"]["restartPolicy"]) == (1, "Never")


@pytest.mark.parametrize(
    ("obj", "path", "value"),
    [
        ({"kind": "Node", "status": {"capacity": {"cpu": "4"}}}, "status.allocatable", {"cpu": "4"}),
        ({"kind": "Node", "status": {"capacity": {"cpu": "4"}, "allocatable": {}}}, "status.allocatable", {}),
        ({"kind": "Namespace"}, "metadata.labels", {"kubernetes.io/metadata.name": "x"}),
        ({"kind": "PersistentVolumeClaim", "spec": {}}, "spec.volumeMode", "Filesystem"),
        ({"kind": "PersistentVolume", "spec": {}}, "status.phase", "Available"),
        ({"kind": "PersistentVolume", "spec": {"claimRef": {"name": "c"}}}, "status", None),
        ({"kind": "StorageClass"}, "volumeBindingMode", "Immediate"),
        ({"kind": "StorageClass"}, "reclaimPolicy", "Delete"),
        ({"kind": "StorageClass", "volumeBindingMode": "WaitForFirstConsumer"}, "reclaimPolicy", "Delete"),
    ],
)
def test_other_objects(obj: Raw, path: str, value: Any) -> None:
    found: Any = filled({**obj, "metadata": {"name": "x"}})
    for part in path.split("."):
        found = found.get(part)
    assert found == value


def test_defaults_are_counted() -> None:
    found = Filled()
    for number in (2, 1, 0):
        written = pod(*({"name": "c", "resources": {"limits": {"cpu": "1"}}} for _ in range(number)))
        found.add(fill(written), title(written))
    assert found.message.startswith("Filled in as an API server does: requests from limits (3 containers of 2 pods); ")
    assert "; schedulerName default-scheduler (3 pods); " in found.message
    assert found.counts["requests from limits"] == 3
    assert (Filled().message, bool(Filled())) == ("", False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 99) | st.text("ab/", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        *("containers", "initContainers", "resources", "limits", "requests", "ports", "hostNetwork", "tolerations"),
        *("affinity", "podAffinity", "labels", "requiredDuringSchedulingIgnoredDuringExecution", "labelSelector"),
        *("matchLabelKeys", "template", "spec", "jobTemplate", "metadata", "capacity", "status", "selector"),
        "matchExpressions",
    ]
)
ODD = st.recursive(JSON, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(FIELDS, inner, max_size=4))
KINDS = st.sampled_from(["Pod", "Job", "CronJob", "Node", "Namespace", "ReplicationController", "PersistentVolume", 3])


@given(KINDS, ODD, ODD, ODD)
def test_unusual_shapes_are_left_to_validation(kind: Any, metadata: Any, spec: Any, status: Any) -> None:
    obj = {"kind": kind, "metadata": metadata, "spec": spec, "status": status}
    fill(obj, V34)
    once = copy.deepcopy(obj)
    assert fill(obj, V34) == []
    assert obj == once
