"""Scenarios and runs for tests of pages, recorded by the core in the transaction of the test."""

from functools import partial
from typing import Any

from kubesched_ui.event_log.log import RunLog
from kubesched_ui.ingest.store import store
from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs.tasks import record
from tests.kubesched_ui import clusters

node = partial(clusters.node, labels={"topology.kubernetes.io/zone": "a"})


def pod(name: str, cpu: str = "1", status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """Return a pod with one container. Further arguments are fields of its spec."""
    return clusters.pod(name, cpu, memory="1Gi", **spec) | {"status": status or {"phase": "Pending"}}


def scenario(*objects: dict[str, Any], name: str = "test") -> Scenario:
    """Store the objects as a scenario."""
    return store(clusters.ingested(*objects), name=name)


def ran(stored: Scenario, **settings: Any) -> Run:
    """Return a finished run of the scenario."""
    run = Run.objects.create(scenario=stored, **{"tie_break": Run.TieBreak.NAME} | settings)
    claimed = Run.objects.claim(run.pk, "test")
    assert claimed
    record(claimed, RunLog(claimed))
    run.refresh_from_db()
    return run
