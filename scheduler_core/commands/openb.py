"""Alibaba's GPU cluster trace ("openb") as a scenario.

    python scripts/openb_to_scenario.py NODES.csv PODS.csv > openb.json

The trace is openb_node_list_*.csv and openb_pod_list_*.csv of hkust-adsl/kubernetes-scheduler-simulator (Apache-2.0),
as they are or gzipped. What becomes of their columns:

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

Shares of GPUs are one number per node here, so a pod that wants half a GPU may be given two quarters of different
cards; the trace's own simulator looks at single cards. Pods come in the order of their creation.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

GPU = "alibabacloud.com/gpu-milli"
MODEL = "alibabacloud.com/gpu-card-model"
START = datetime(2024, 1, 1, tzinfo=UTC)
MAX_PODS = "256"  # the trace has no bound; the busiest of its nodes would run into the usual 110


def rows(path: Path) -> Iterator[dict[str, str]]:
    """The lines of a CSV file by column, also of a gzipped one. Raises ValueError naming file and line."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        reader = csv.DictReader(file)
        for row in reader:
            if None in row or None in row.values():
                raise ValueError(
                    f"{path.name}, line {reader.line_num}: expected {len(reader.fieldnames or [])} columns"
                )
            yield row


def node(row: dict[str, str]) -> dict[str, Any]:
    """A row of the node list as a Node."""
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
    """A row of the pod list as a pending Pod."""
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
    """The trace as a Scenario document with the first `limit` pods. Raises ValueError and KeyError on other files."""
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


def main() -> None:
    """Command line; writes JSON to standard output."""
    parser = argparse.ArgumentParser(description="Alibaba's GPU cluster trace (openb) as a scenario.")
    parser.add_argument("nodes", type=Path, help="openb_node_list_*.csv, may be gzipped")
    parser.add_argument("pods", type=Path, help="openb_pod_list_*.csv, may be gzipped")
    parser.add_argument("--limit", type=int, help="only the first so many pods by creation time")
    given = parser.parse_args()
    try:
        json.dump(scenario(given.nodes, given.pods, given.limit), sys.stdout)
    except KeyError as error:
        parser.error(f"a column {error} is missing: is this the openb trace?")
    except (ValueError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
