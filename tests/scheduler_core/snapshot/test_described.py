"""The output of `kubectl describe` as objects."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched_ui.ingest import ingest_files
from scheduler_core.api.objects import Node, Pod, decode
from scheduler_core.snapshot.described import described, has_described_node, is_described_pod
from tests.scheduler_core.build import node, pod

NODE = """\
Name:               n1
Roles:              <none>
Labels:             disk=ssd
                    topology.kubernetes.io/zone=a
Annotations:        note: Name: x
Taints:             dedicated=gpu:NoSchedule
                    node.kubernetes.io/not-ready:NoExecute
Unschedulable:      true
Conditions:
  Type    Status  Reason
  ----    ------  ------
  Ready   True    KubeletReady
Allocatable:
  cpu:     4
  memory:  8Gi
  pods:    110
System Info:
  Kubelet Version:  v1.35.1
Non-terminated Pods:          (2 in total)
  Namespace                   Name     CPU Requests  CPU Limits  Memory Requests  Memory Limits  Age
  ---------                   ----     ------------  ----------  ---------------  -------------  ---
  shop                        a        1500m (37%)   0 (0%)      1Gi (12%)        0 (0%)         48s
  shop                        b        0 (0%)        0 (0%)      64Mi (0%)        0 (0%)         48s
Allocated resources:
  Resource           Requests       Limits
  --------           --------       ------
  cpu                1500m (37%)    0 (0%)
  example.com/gpu    1              1
"""
POD = """\
Name:                 a
Namespace:            shop
Priority:             1000
Priority Class Name:  high
Service Account:      default
Node:                 n1/10.0.0.1
Labels:               app=a
Status:               Running
Controlled By:        ReplicaSet/a-5f8
Init Containers:
  first:
    Image:  b:1
    Limits:
      cpu:  1
    Requests:
      cpu:  500m
Containers:
  c:
    Image:       a:1
    Ports:       80/TCP (http), 53/UDP
    Host Ports:  8080/TCP, 0/UDP
    Requests:
      cpu:        1500m
      memory:     1Gi
    Environment:
      TOKEN:  s3cr3t
Conditions:
  Type           Status
  PodScheduled   False
Volumes:
  data:
    Type:       PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)
    ClaimName:  data-a
  other:
    Type:  EmptyDir
Node-Selectors:               disk=ssd
Tolerations:                  dedicated=gpu:NoSchedule
                              gpu op=Exists
                              node.kubernetes.io/not-ready:NoExecute op=Exists for 300s
                              op=Exists
Topology Spread Constraints:  zone:DoNotSchedule when max skew 2 is exceeded for selector app=a,tier in (x,y),!old
                              host:ScheduleAnyway when max skew 1 is exceeded
Events:
  Type     Reason            Age                 From               Message
  ----     ------            ----                ----               -------
  Warning  FailedScheduling  10s (x3 over 2m)    default-scheduler  0/1 nodes are available: 1 Insufficient cpu.
"""


def test_a_node_and_a_pod() -> None:
    raws, notes = described(f"{NODE}\n\n{POD}".encode())
    found, first, second, event = raws
    n1, a = decode(found), decode(first)
    assert isinstance(n1, Node)
    assert isinstance(a, Pod)
    assert n1.metadata.labels == {"disk": "ssd", "topology.kubernetes.io/zone": "a"}
    assert [(taint.key, taint.value, taint.effect) for taint in n1.spec.taints] == [
        ("dedicated", "gpu", "NoSchedule"), ("node.kubernetes.io/not-ready", "", "NoExecute"),
    ]  # fmt: skip
    assert n1.spec.unschedulable
    assert found["status"]["allocatable"] == {"cpu": "4", "memory": "8Gi", "pods": "110"}
    assert (a.key, a.spec.node_name, a.spec.priority, a.spec.node_selector) == ("shop/a", "n1", 1000, {"disk": "ssd"})
    assert first["spec"]["containers"] == [
        {"name": "c", "image": "a:1", "resources": {"requests": {"cpu": "1500m", "memory": "1Gi"}},
         "ports": [{"containerPort": 80, "protocol": "TCP", "hostPort": 8080},
                   {"containerPort": 53, "protocol": "UDP"}]}
    ]  # fmt: skip
    assert first["spec"]["initContainers"][0]["resources"]["requests"] == {"cpu": "500m"}
    assert first["spec"]["tolerations"] == [
        {"operator": "Equal", "key": "dedicated", "value": "gpu", "effect": "NoSchedule"},
        {"operator": "Exists", "key": "gpu"},
        {"operator": "Exists", "key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "tolerationSeconds": 300},
        {"operator": "Exists"},
    ]
    assert first["spec"]["topologySpreadConstraints"] == [
        {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 2,
         "labelSelector": {"matchLabels": {"app": "a"}, "matchExpressions": [
             {"key": "tier", "operator": "In", "values": ["x", "y"]}, {"key": "old", "operator": "DoesNotExist"}]}},
        {"topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 1},
    ]  # fmt: skip
    assert first["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-a"}}]
    assert event["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert second["spec"]["containers"][0]["resources"]["requests"] == {"memory": "64Mi"}
    assert notes[1].startswith("1 pod: only their CPU and memory requests are known")
    assert "example.com/gpu are not known" in notes[1]
    assert "s3cr3t" not in json.dumps(raws)


def test_uploads_take_from_descriptions_what_no_other_file_has() -> None:
    whole = pod("a", namespace="shop", on="n1", requests={"cpu": "7"})
    files = [("nodes.txt", NODE.encode()), ("pods.json", json.dumps(whole).encode()), ("pod.txt", POD.encode())]
    result = ingest_files(files)
    assert result.counts["Node"] == 1
    assert result.counts["Pod"] == 2
    requests = [one["spec"]["containers"][0]["resources"]["requests"] for one in result.objects if one["kind"] == "Pod"]
    assert {"cpu": "7"} in requests
    assert any("does not print affinity" in warning.message for warning in result.warnings)
    result = ingest_files([("node.json", json.dumps(node("n9")).encode()), ("pod.txt", POD.encode())])
    assert result.counts == {"Node": 1, "Pod": 1, "Event": 1}


@pytest.mark.parametrize(
    ("text", "of_node", "of_pod"), [(NODE, True, False), (POD, False, True), ("Name: x\n", False, False)]
)
def test_what_is_recognized(text: str, of_node: bool, of_pod: bool) -> None:
    assert (has_described_node(text.encode()), is_described_pod(text.encode())) == (of_node, of_pod)
    assert has_described_node(f"kind: Node\n{NODE}".encode()) is False


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_descriptions_are_read_as_far_as_they_go(data: st.DataObject) -> None:
    whole = f"{NODE}\n{POD}".encode()
    for _ in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(whole)))
        whole = whole[:start] + data.draw(st.binary(max_size=9)) + whole[start + data.draw(st.integers(0, 300)) :]
    raws, _ = described(whole)
    assert all(raw["metadata"]["name"] for raw in raws)
