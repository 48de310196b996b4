"""The snapshot of most page tests."""

from __future__ import annotations

from typing import Any

from tests.kubesched_ui.clusters import Object, as_list

REFUSED = (
    "0/5 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 3 Insufficient cpu. "
    "preemption: 0/5 nodes are available: 5 Preemption is not helpful for scheduling."
)
CONDITION = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": REFUSED}
TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "front"}}}
PREFERRED = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": TERM}]}


def shop() -> bytes:
    """Return five nodes, eight running pods, two pending ones and a gated one."""
    return as_list(
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("shop", "kube-system")),
        _node("alpha", "4", "north"),
        _node("beta", "4", "north"),
        _node("gamma", "8", "south"),
        _node("delta", "4", "south", taints=[{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]),
        _node("epsilon", "2", "west", unschedulable=True),
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "important"},
            "value": 1000,
        },
        _pod("front-1", "1500m", nodeName="alpha"),
        _pod("front-2", "1", nodeName="beta"),
        _pod("cart-1", "2", nodeName="gamma"),
        _pod("cart-2", "1500m", nodeName="beta"),
        _pod("db-0", "3", nodeName="gamma"),
        _pod("report-1", "2", nodeName="delta", tolerations=[{"key": "dedicated", "operator": "Exists"}]),
        _pod("dns-1", "100m", "kube-system", nodeName="alpha"),
        _pod("dns-2", "100m", "kube-system", nodeName="beta"),
        _pod("front-3", "500m", affinity={"podAntiAffinity": PREFERRED}),
        {**(search := _pod("search-1", "6")), "status": {**search["status"], "conditions": [CONDITION]}},
        _pod("import-1", "250m", schedulingGates=[{"name": "shop.example/quota"}]),
    )


def _node(name: str, cpu: str, zone: str, **spec: Any) -> Object:
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": zone,
        "node.kubernetes.io/instance-type": "standard-4",
    }
    resources = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": "2026-01-10T08:00:00Z"},
        "spec": spec,
        "status": {
            "allocatable": resources,
            "capacity": resources,
            "nodeInfo": {"kubeletVersion": "v1.34.2"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _pod(name: str, cpu: str, namespace: str = "shop", **spec: Any) -> Object:
    metadata = {"name": name, "namespace": namespace, "labels": {"app": name.partition("-")[0]}}
    container = {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    running = {"phase": "Running", "startTime": "2026-01-11T09:00:00Z"}
    status = running if "nodeName" in spec else {"phase": "Pending"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], **spec},
        "status": status,
    }
