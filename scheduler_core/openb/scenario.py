"""Alibaba's GPU cluster trace ("openb") as a scenario.

    python scripts/openb_to_scenario.py NODES.csv PODS.csv > openb.json

The trace is openb_node_list_*.csv and openb_pod_list_*.csv of hkust-adsl/kubernetes-scheduler-simulator (Apache-2.0),
plain or gzipped. Their columns are converted as follows:

node   sn                     the name and the label kubernetes.io/hostname
       cpu_milli, memory_mib  allocatable cpu and memory
       gpu                    allocatable alibabacloud.com/gpu-milli, 1000 for each GPU
       model                  the label alibabacloud.com/gpu-card-model
pod    name                   the name, in the namespace openb
       cpu_milli, memory_mib  requests
       num_gpu, gpu_milli     request of alibabacloud.com/gpu-milli: thousandths of one GPU, times GPUs
       gpu_spec               required node affinity to one of the models, which are separated by |
       qos, pod_phase         labels; the phase of the scenario's pods is Pending
       creation_time,         creationTimestamp, counted from 2024-01-01T00:00:00Z; all times in seconds as annotations
       deletion_time, scheduled_time

GPU shares are a single amount for each node here, so a pod that requests half a GPU may get two quarters of different
cards. The trace's own simulator allocates single cards. Pods are in the order of their creation.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from scheduler_core.openb.trace import rows

GPU = "alibabacloud.com/gpu-milli"
MODEL = "alibabacloud.com/gpu-card-model"
START = datetime(2024, 1, 1, tzinfo=UTC)
MAX_PODS = "256"  # the trace has no limit; its busiest nodes would exceed the usual 110


def node(row: dict[str, str]) -> dict[str, Any]:
    """Convert a row of the node list to a Node."""
    resources = {"cpu": f"{int(row['cpu_milli'])}m", "memory": f"{int(row['memory_mib'])}Mi", "pods": MAX_PODS}
    labels = {"kubernetes.io/hostname": row["sn"]}
    if int(row["gpu"]):
        resources[GPU] = str(1000 * int(row["gpu"]))
        labels[MODEL] = row["model"]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": row["sn"], "labels": labels},
        "status": {"allocatable": resources, "capacity": resources},
    }


def pod(row: dict[str, str]) -> dict[str, Any]:
    """Convert a row of the pod list to a pending Pod."""
    requests = {"cpu": f"{int(row['cpu_milli'])}m", "memory": f"{int(row['memory_mib'])}Mi"}
    gpu = int(row["gpu_milli"] or 0) * int(row["num_gpu"] or 0)
    resources: dict[str, Any] = {"requests": requests}
    if gpu:
        requests[GPU] = str(gpu)
        resources["limits"] = {GPU: str(gpu)}
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "example.org/openb", "resources": resources}]}
    if row["gpu_spec"]:
        models = {"key": MODEL, "operator": "In", "values": row["gpu_spec"].split("|")}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [models]}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    times = ("creation_time", "deletion_time", "scheduled_time")
    created = START + timedelta(seconds=int(row["creation_time"]))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": row["name"],
            "namespace": "openb",
            "creationTimestamp": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "labels": {"openb/qos": row["qos"], "openb/phase": row["pod_phase"]},
            "annotations": {f"openb/{column}": row[column] for column in times if row[column]},
        },
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def scenario(nodes: Path, pods: Path, limit: int | None = None) -> dict[str, Any]:
    """Return the trace as a Scenario with the first `limit` pods. Raises ValueError and KeyError for other files."""
    created = sorted(rows(pods), key=lambda row: int(row["creation_time"]))[:limit]
    objects = [*map(node, rows(nodes)), *map(pod, created)]
    description = (
        "Alibaba's GPU cluster trace (openb): nodes with GPUs of several models, pods that want shares of them."
    )
    return {
        "apiVersion": "kubesched.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "openb"},
        "spec": {"description": description, "objects": objects},
    }
