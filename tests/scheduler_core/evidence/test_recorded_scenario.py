"""Recorded changes as a Scenario in virtual time."""

from __future__ import annotations

import json
import lzma
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched_ui.ingest import IngestError, ingest_files
from scheduler_core.errors import InputError
from scheduler_core.evidence.recorded_scenario import scenario_of
from scheduler_core.virtual_time.scenario import load_scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.live.test_recorded_audit_log import LIFE

ETCD = lzma.decompress((Path(__file__).parents[1] / "etcd" / "etcd.db.xz").read_bytes())


def spec_of(data: bytes, notes: list[str] | None = None, last: float | None = None) -> dict[str, Any]:
    document = scenario_of(data, "recording", [] if notes is None else notes, last)
    assert document is not None
    load_scenario(msgspec.json.encode(document))
    found: dict[str, Any] = document["spec"]
    return found


def operations(spec: dict[str, Any]) -> list[tuple[float, str, str]]:
    """Return (at, operation, name) of each entry."""
    return [
        (entry["at"], operation, (entry[operation].get("metadata") or entry[operation])["name"])
        for entry in spec["timeline"] for operation in ("create", "update", "delete") if operation in entry
    ]  # fmt: skip


def deployment(replicas: int) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}  # fmt: skip
    selector = {"matchLabels": {"app": "web"}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": replicas, "selector": selector, "template": template}}  # fmt: skip


TRACE = {
    "version": 2,
    "config": {"trackedObjects": {"apps/v1.Deployment": {"podSpecTemplatePath": "/spec/template"}}},
    "events": [
        {"ts": 1_700_000_000, "applied_objs": [deployment(1)], "deleted_objs": []},
        {"ts": 1_700_000_060, "applied_objs": [deployment(3)], "deleted_objs": []},
        {"ts": 1_700_000_120, "applied_objs": [], "deleted_objs": [deployment(3)]},
    ],
    "index": {"apps/v1.Deployment": {"default/web": 1}},
}
# The lifecycles have pairs as keys and numbers as keys, which JSON has not.
LIFECYCLES = {("apps/v1.Deployment", "default/web"): {7: [{"start_ts": 1, "end_ts": 2}]}}
MSGPACK = msgspec.msgpack.encode(TRACE | {"pod_lifecycles": LIFECYCLES})

PATCH = """\
---
apiVersion: action.kwok.x-k8s.io/v1alpha1
kind: ResourcePatch
resource: {{version: v1, resource: {resource}}}
target: {{name: {name}, namespace: default}}
durationNanosecond: {seconds}000000000
method: {method}
"""


def kwok() -> bytes:
    arrives = json.dumps(pod("a", requests={"cpu": "1"}) | {"status": {"phase": "Pending"}})
    cordoned = json.dumps({"spec": {"unschedulable": True}, "status": {"conditions": [{"type": "Ready"}]}})
    bound = json.dumps({"spec": {"nodeName": "n1"}, "$setElementOrder/x": []})
    return (
        f"{json.dumps(node('n1'))}\n"
        + PATCH.format(resource="pods", name="a", seconds=2, method="create") + f"template: {arrives}\n"
        + PATCH.format(resource="pods", name="a", seconds=3, method="patch") + f"template: {bound}\n"
        + PATCH.format(resource="nodes", name="n1", seconds=4, method="patch") + f"template: {cordoned}\n"
        + PATCH.format(resource="widgets", name="w", seconds=5, method="patch") + "template: {}\n"
        + PATCH.format(resource="pods", name="a", seconds=9, method="delete")
    ).replace(json.dumps(node("n1")), f"# kwok\n---\n{json.dumps(node('n1'))}").encode()  # fmt: skip


def test_an_audit_log() -> None:
    spec = spec_of("\n".join(LIFE).encode())
    assert [obj["metadata"]["name"] for obj in spec["objects"]] == ["n1"]
    assert operations(spec) == [(0.0, "create", "a"), (5.0, "delete", "a")]
    (created,) = (entry["create"] for entry in spec["timeline"] if "create" in entry)
    assert "nodeName" not in created["spec"]
    assert spec["controllers"]["workloads"] is False


def test_a_database_of_etcd_and_its_last_seconds() -> None:
    whole = spec_of(ETCD)
    assert {operation for _, operation, _ in operations(whole)} >= {"create", "delete"}
    end = operations(whole)[-1][0]
    part = spec_of(ETCD, last=end / 2)
    assert 0 < len(part["timeline"]) < len(whole["timeline"])
    assert len(part["objects"]) > len(whole["objects"])
    assert "Secret" not in {obj["kind"] for obj in part["objects"]}


def test_an_upload_of_a_database_is_its_newest_state_or_its_changes() -> None:
    assert ingest_files([("snapshot.db", ETCD)]).time == {}
    assert ingest_files([("snapshot.db", ETCD)], history=True).time["timeline"]


@pytest.mark.parametrize("data", [MSGPACK, msgspec.json.encode(TRACE)])
def test_a_trace_of_simkube(data: bytes) -> None:
    notes: list[str] = []
    spec = spec_of(data, notes)
    assert [obj["spec"]["replicas"] for obj in spec["objects"]] == [1]
    assert operations(spec) == [(60.0, "update", "web"), (120.0, "delete", "web")]
    assert "has no nodes" in notes[0]
    result = ingest_files([("trace", data), ("nodes.json", json.dumps(node("n1")).encode())])
    assert result.counts == {"Deployment": 1, "Node": 1}
    assert len(result.time["timeline"]) == 2


def test_a_recording_of_kwok() -> None:
    notes: list[str] = []
    spec = spec_of(kwok(), notes)
    assert operations(spec) == [(0.0, "create", "a"), (2.0, "update", "n1"), (7.0, "delete", "a")]
    assert notes == ["left out: 1 patch of a kind that the scheduler does not use, or of an unknown object"]
    document = msgspec.json.encode(scenario_of(kwok(), "x", []))
    run = ScenarioRun(load_scenario(document))
    assert [(one.trace.pod, one.trace.node) for one in run.run() if one.trace is not None] == [("default/a", "n1")]
    assert ingest_files([("record.yaml", kwok())]).counts == {"Node": 1}


def test_a_recording_comes_first_among_files() -> None:
    others = [node("n1"), pod("of-another-time"), {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
                                                   "metadata": {"name": "fast"}, "provisioner": "x"}]  # fmt: skip
    cluster = json.dumps({"apiVersion": "v1", "kind": "List", "items": others}).encode()
    result = ingest_files([("cluster.json", cluster), ("audit.log", "\n".join(LIFE).encode())])
    assert result.counts == {"StorageClass": 1, "Node": 1}
    assert any(
        "2 objects were left out, because audit.log has recorded changes" in warning.message
        for warning in result.warnings
    )


FORMS = [MSGPACK, msgspec.json.encode(TRACE), kwok(), "\n".join(LIFE).encode()]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_recordings_end_in_a_sentence(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from(FORMS))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(whole)))
        whole = whole[:start] + data.draw(st.binary(max_size=9)) + whole[start + data.draw(st.integers(0, 99)) :]
    with suppress(InputError):
        scenario_of(whole, "recording", [])
    with suppress(IngestError):
        ingest_files([("recording", whole)])
