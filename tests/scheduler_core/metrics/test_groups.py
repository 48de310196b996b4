"""Node groups and workloads."""

from __future__ import annotations

from scheduler_core.api.objects import Metadata, Node, NodeStatus, OwnerReference, Pod, PodSpec
from scheduler_core.metrics.groups import node_groups, workloads


def node(name: str, cpu: str = "4", **labels: str) -> Node:
    named = {key.replace("__", "/").replace("_", "."): value for key, value in labels.items()}
    return Node(metadata=Metadata(name=name, labels=named), status=NodeStatus(allocatable={"cpu": cpu}))


def pod(name: str, owner: str = "", labels: dict[str, str] | None = None, priority: int = 0, on: str = "") -> Pod:
    kind, _, of = owner.partition(" ")
    owners = [OwnerReference(kind=kind, name=of, controller=True)] if owner else []
    meta = Metadata(name=name, namespace="default", labels=labels or {}, owner_references=owners)
    return Pod(metadata=meta, spec=PodSpec(priority=priority, node_name=on))


def test_the_label_of_a_cloud_provider_names_the_group() -> None:
    nodes = [node("a", eks_amazonaws_com__nodegroup="web"), node("b", pool_size="3"), node("c")]
    assert node_groups(nodes) == {"a": "web", "b": "no nodegroup", "c": "no nodegroup"}


def test_a_label_with_too_many_values_is_no_group() -> None:
    nodes = [node(f"n{i}", pool=f"p{i}") for i in range(61)]
    for one in nodes:
        one.metadata.labels["node.kubernetes.io/instance-type"] = "m5.large"
    assert set(node_groups(nodes).values()) == {"m5.large"}


def test_a_chosen_label() -> None:
    assert node_groups([node("a", zone="x"), node("b")], "zone") == {"a": "x", "b": "no zone"}


def test_nodes_without_labels_are_grouped_by_size() -> None:
    groups = node_groups([node("a"), node("b", "8"), node("c")])
    assert groups == {"a": "a and 1 equal", "b": "b", "c": "a and 1 equal"}
    assert node_groups([]) == {}


def test_a_pod_belongs_to_the_controller_and_a_replica_set_to_its_deployment() -> None:
    hashed = {"pod-template-hash": "5d4f"}
    found = workloads(
        [
            pod("web-5d4f-x", "ReplicaSet web-5d4f", hashed),
            pod("own-x", "ReplicaSet own", hashed),
            pod("db-0", "StatefulSet db"),
        ]
    )
    assert found == {
        "default/web-5d4f-x": "Deployment default/web",
        "default/own-x": "ReplicaSet default/own",
        "default/db-0": "StatefulSet default/db",
    }


def test_equal_pods_without_a_controller_are_a_workload() -> None:
    found = workloads([pod("a-1", on="n1"), pod("b-1", priority=5), pod("a-2"), pod("c", labels={"app": "x"})])
    assert found["default/a-1"] == found["default/a-2"] == "default/a-1 and 1 equal"
    assert found["default/b-1"] == "default/b-1"
    assert found["default/c"] == "default/c"
