"""Pod groups: a row per workload, with the milliseconds of the group's cycle and the encoded traces of all members.

`plain`: a gang that fits. `short`: one member requests too much, so that none is bound. `domains`: with
TopologyAwareWorkloadScheduling, over ten zones with free resources. `gates`: all gates on, a gang that fits anywhere.
`preempts`: WorkloadAwarePreemption in a full cluster with --movable pods that may be evicted.
"""

import time
from collections.abc import Iterator
from typing import Any

from scheduler_core.pod_groups.serialize import group_to_dict
from scheduler_core.pod_groups.trace import GroupTrace
from scheduler_core.simulation import Simulation

Raw = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
GANG = ("GenericWorkload", "GangScheduling")
DOMAINS, WHOLE = "TopologyAwareWorkloadScheduling", "WorkloadAwarePreemption"
WORKLOADS = {
    "plain": GANG,
    "short": GANG,
    "domains": (*GANG, DOMAINS),
    "gates": (*GANG, DOMAINS, WHOLE),
    "preempts": (*GANG, WHOLE),
}


def _pod(name: str, cpu: str, **spec: Any) -> Raw:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "500Mi"}}}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team", "uid": name, "labels": {"app": name.partition("-")[0]}},
        "spec": {"containers": [container], **spec},
        "status": {"startTime": "2026-01-01T00:00:00Z"} if "nodeName" in spec else {},
    }


def objects(workload: str, nodes: int, members: int, movable: int) -> Iterator[Raw]:
    """Return the cluster with its gang pending."""
    status = {"allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"}}
    for i in range(nodes):
        labels = {ZONE: f"zone-{i % 10}", "kubernetes.io/hostname": f"node-{i:05}"}
        yield {"kind": "Node", "metadata": {"name": f"node-{i:05}", "labels": labels}, "status": status}
    if workload == "preempts":
        for i in range(nodes):
            priority = 0 if i < movable else 1000
            yield _pod(f"old-{i:05}", "30", nodeName=f"node-{i:05}", priority=priority)
    spec: Raw = {"schedulingPolicy": {"gang": {"minCount": members}}, "priority": 100}
    if workload == "domains":
        spec["schedulingConstraints"] = {"topology": [{"key": ZONE}]}
    metadata = {"name": "gang", "namespace": "team"}
    yield {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": metadata, "spec": spec}
    for i in range(members):
        cpu = "64" if workload == "short" and i == members - 1 else "4"
        yield _pod(f"gang-{i:05}", cpu, schedulingGroup={"podGroupName": "gang"}, priority=100)


def measure(nodes: int = 1000, members: int = 100, movable: int = 40, only: str = "") -> Iterator[Raw]:
    for workload in [only] if only else WORKLOADS:
        release = "1.36 " + ",".join(f"{gate}=true" for gate in sorted(WORKLOADS[workload]))
        simulation = Simulation(list(objects(workload, nodes, members, movable)), release=release)
        begin = time.perf_counter()
        (trace,) = (one for one in simulation.attempts() if isinstance(one, GroupTrace))
        size = sum(len(member.trace.encode()) for member in trace.members)
        took = time.perf_counter() - begin
        found = group_to_dict(trace)
        yield {
            "workload": workload,
            "nodes": nodes,
            "members": members,
            "result": found["result"],
            "bound": found["bound"],
            "victims": len(found["victims"]),
            "trace_bytes": size,
            "ms": round(took * 1000, 1),
        }
