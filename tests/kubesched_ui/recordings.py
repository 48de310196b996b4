"""Scenarios and runs for tests of the pages, recorded by the real core in the test's own transaction."""

import json
from typing import Any

from kubesched_ui.event_log.log import RunLog
from kubesched_ui.ingest import ingest_files
from kubesched_ui.ingest.store import store
from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs.tasks import record, record_in_time


def node(name: str, cpu: str = "4", memory: str = "8Gi", **spec: Any) -> dict[str, Any]:
    """A node; further arguments go into its spec."""
    allocatable = {"cpu": cpu, "memory": memory, "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": "a"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": allocatable, "capacity": allocatable},
    }


def pod(name: str, cpu: str = "1", status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod with one container; further arguments go into its spec."""
    containers = [{"name": "c", "image": "nginx", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": containers} | spec,
        "status": status or {"phase": "Pending"},
    }


def scenario(*objects: dict[str, Any], name: str = "test") -> Scenario:
    """The objects, stored."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    return store(ingest_files([("objects.json", text.encode())]), name=name)


def ran(stored: Scenario, **settings: Any) -> Run:
    """A run of the scenario, brought to its end."""
    run = Run.objects.create(scenario=stored, **{"tie_break": Run.TieBreak.NAME} | settings)
    claimed = Run.objects.claim(run.pk, "test")
    assert claimed
    (record_in_time if claimed.in_time else record)(claimed, RunLog(claimed))
    run.refresh_from_db()
    return run
