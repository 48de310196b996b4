"""Files of commands: like uploads, and with the objects that only waits are read from."""

import json
from typing import Any

from kubesched_ui.ingest import ingest_files
from kubesched_ui.ingest.command_reader import read_upload
from tests.kubesched_ui.clusters import node, pod

WORKLOAD = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "w", "namespace": "a"}}
EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "a"},
    "involvedObject": {"kind": "Pod", "namespace": "a", "name": "p"},
    "reason": "Nominated",
}


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "kube-system"}}


def test_objects_of_neighbours_reach_commands_and_no_upload() -> None:
    items = [node("n1"), pod("p"), WORKLOAD, EVENT, config_map("cluster-autoscaler-status"), config_map("other")]
    data = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    kinds = [(one["kind"], one["metadata"]["name"]) for one in read_upload(data, "a.json").objects]
    assert kinds[2:] == [("Workload", "w"), ("Event", "e"), ("ConfigMap", "cluster-autoscaler-status")]
    uploaded = ingest_files([("a.json", data)])
    assert uploaded.neighbours is None
    assert {kind for kind, _, _ in uploaded.records} == {"Node", "Pod"}
