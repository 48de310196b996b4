"""Measured load of nodes: the answer of a load watcher, of the Metrics API, and in a Scenario document."""

import json
import re
from typing import Any

import pytest

from kubesched_ui.ingest import IngestError, IngestResult, ingest_files
from scheduler_core.api.objects import decode
from scheduler_core.api.scheduler_plugins import NodeLoad, NodeMetrics
from tests.kubesched_ui.clusters import as_list, node

SNAPSHOT = ("cluster.json", as_list(node("n1"), node("n2")))
USAGE = {"metadata": {"name": "n1", "creationTimestamp": "2026-02-01T00:00:00Z"}, "window": "15s"}
METRICS = {
    "kind": "NodeMetricsList",
    "apiVersion": "metrics.k8s.io/v1beta1",
    "metadata": {},
    "items": [USAGE | {"timestamp": "2026-02-01T00:00:00Z", "usage": {"cpu": "153424n", "memory": "5212Ki"}}],
}


def watcher(*metrics: Any) -> dict[str, Any]:
    """Return the answer of a load watcher for n1."""
    return {
        "timestamp": 1769904010,
        "window": {"duration": "15m", "start": 1769903110, "end": 1769904010},
        "source": "Prometheus",
        "data": {"NodeMetricsMap": {"n1": {"metrics": list(metrics), "tags": {}, "metadata": {"dataCenter": ""}}}},
    }


AVERAGE = {"name": "instance:node_cpu:ratio", "type": "CPU", "operator": "AVG", "rollup": "15m", "value": 33.5}


def read(document: Any) -> IngestResult:
    return ingest_files([SNAPSHOT, ("load.json", json.dumps(document).encode())])


def test_the_answer_of_a_load_watcher() -> None:
    found = read(watcher(AVERAGE, AVERAGE | {"type": "Bandwidth", "value": -1}))
    assert found.counts == {"Node": 2, "NodeLoad": 1}
    (load,) = [decode(raw) for raw in found.objects if raw["kind"] == "NodeLoad"]
    assert isinstance(load, NodeLoad)
    assert (load.name, [(one.type, one.operator, one.value) for one in load.metrics]) == ("n1", [("CPU", "AVG", 33.5)])


def test_the_answer_of_the_metrics_api() -> None:
    found = read(METRICS)
    assert found.counts == {"Node": 2, "NodeMetrics": 1}
    (metrics,) = [decode(raw) for raw in found.objects if raw["kind"] == "NodeMetrics"]
    assert isinstance(metrics, NodeMetrics)
    assert metrics.usage == {"cpu": "153424n", "memory": "5212Ki"}


def test_a_load_in_a_scenario_document() -> None:
    kind = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "NodeLoad", "metadata": {"name": "n1"}}
    load = kind | {"metrics": [{"type": "CPU", "operator": "AVG", "value": 12}]}
    spec = {"objects": [node("n1"), load]}
    document = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "s"}, "spec": spec}
    found = ingest_files([("s.json", json.dumps(document).encode())])
    assert found.counts == {"Node": 1, "NodeLoad": 1}


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (watcher(AVERAGE | {"value": "high"}), r"load\.json.*data.*metrics\[0\]\.value: expected `float`, got `str`"),
        (watcher(AVERAGE | {"value": -3}), r"load\.json.*\(NodeLoad n1\): metrics\[0\]\.value: must be 0 to"),
        (watcher(*[AVERAGE] * 101), r"load\.json.*\(NodeLoad n1\): metrics: has 101 items, more than 100"),
        (
            METRICS | {"items": [USAGE | {"usage": {"cpu": "much"}}]},
            r"load\.json.*\(NodeMetrics n1\): usage\['cpu'\]",
        ),
    ],
)
def test_errors_name_file_object_and_field(document: Any, problem: str) -> None:
    try:
        messages = [warning.message for warning in read(document).warnings]
    except IngestError as error:
        messages = [str(error)]
    assert any(re.search(problem, message) for message in messages), messages
