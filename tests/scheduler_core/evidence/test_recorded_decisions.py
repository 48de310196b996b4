"""What an upload of a recording says of the decisions of the real scheduler in it, and in a log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesched_ui.ingest import ingest_files
from scheduler_core.evidence import log_findings, recorded_decisions
from scheduler_core.evidence.recorded_decisions import Finding
from tests.scheduler_core import build
from tests.scheduler_core.evidence.logs import text
from tests.scheduler_core.live.test_recorded_audit_log import about, entry, node, pod

OTHER = node(4)
OTHER["metadata"]["name"] = "n2"
OTHER["status"]["allocatable"]["cpu"] = "64"


def audit_log(chosen: str, **spec: Any) -> bytes:
    """A pod that requests 3 CPUs is bound three seconds after the first change; n2 is the emptier node."""
    created = pod(5)
    created["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "3"}}
    created["spec"] |= spec
    lines = [
        entry(1, "create", node(3), code=201),
        entry(1, "create", OTHER, code=201),
        entry(2, "create", created, code=201),
        about("binding", 4, target={"name": chosen}),
        entry(9, "patch", OTHER | {"metadata": OTHER["metadata"] | {"resourceVersion": "9"}}, "status"),
    ]
    return "\n".join(lines).encode()


def checked(data: bytes) -> list[Finding]:
    return recorded_decisions.check(recorded_decisions.items_of(data, "audit.log"), {})


def test_a_decision_like_ours_and_another() -> None:
    ((sentence, second),) = checked(audit_log("n2"))
    expected = "the decisions of the real scheduler, checked: 1 of 1 binding and 0 of 0 messages are as ours"
    assert (sentence, second) == (expected, None)
    first, lacks, differs = checked(audit_log("n1"))
    assert "0 of 1 binding" in first.text
    assert lacks.text.startswith("some can differ because it does not have namespaces, priorityclasses")
    assert differs.text.startswith("shop/a, second 3.0: the scheduler chose n1, and our best are n2 (score ")
    assert differs.second == 3.0


def test_the_check_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_decisions, "MAX_CHANGES", 4)
    assert "more than 4 changes" in checked(audit_log("n2"))[0].text
    monkeypatch.setattr(recorded_decisions, "MAX_CHANGES", 100)
    monkeypatch.setattr(recorded_decisions, "MAX_SECONDS", -1.0)
    assert checked(audit_log("n2")) == [], "nothing was checked"
    assert checked(b"kind: Pod") == []


def test_an_upload_has_the_sentences_as_warnings() -> None:
    result = ingest_files([("audit.log", audit_log("n1"))])
    found = [warning for warning in result.warnings if warning.code == "decisions"]
    assert found[2].message.startswith("audit.log: shop/a, second 3.0: the scheduler chose n1")
    assert [warning.second for warning in found] == ["", "", "3.0"]


def test_the_kinds_that_a_recording_lacks_are_those_of_the_other_files() -> None:
    volume = {"name": "d", "persistentVolumeClaim": {"claimName": "d"}}
    recording = audit_log("n2", volumes=[volume])
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d", "namespace": "shop"}}
    claim["spec"] = {"accessModes": ["ReadWriteOnce"], "volumeName": "v", "resources": {"requests": {"storage": "1Gi"}}}
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    claim["status"] = {"phase": "Bound"}
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/d"}}
    spec["claimRef"] = {"namespace": "shop", "name": "d"}
    made = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": spec}
    others = [("claim.json", json.dumps(claim).encode()), ("volume.json", json.dumps(made).encode())]
    for files, equal in (([], "0 of 1 binding"), (others, "1 of 1 binding")):
        for order in ([*files, ("audit.log", recording)], [("audit.log", recording), *files]):
            (first, *_) = (one for one in ingest_files(order).warnings if one.code == "decisions")
            assert equal in first.message


def log_of(chosen: str) -> bytes:
    bound = {"pod": "shop/a", "node": chosen}
    return text([(10, "schedule_one.go:481", "Successfully bound pod to node", bound)]).encode()


def found_in(*files: tuple[str, bytes]) -> list[tuple[str, str]]:
    """Return the sentences about decisions in a log of kube-scheduler, with their seconds."""
    found = [one for one in ingest_files(files).warnings if one.code == "decisions" and one.file == "a.log"]
    return [(one.message, one.second) for one in found]


def test_an_upload_compares_a_log_with_the_recording() -> None:
    for chosen, equal in (("n2", "1 of 1 chosen node"), ("n1", "0 of 1 chosen node")):
        for order in (1, -1):
            files = [("a.log", log_of(chosen)), ("audit.log", audit_log(chosen))][::order]
            (first, *others) = found_in(*files)
            assert first[0].startswith(f"a.log: its attempts, compared with our computation: {equal}")
            assert bool(others) == (chosen == "n1")
    ((message, second),) = others
    assert message.startswith("a.log: shop/a, second 1.0, attempt 1 in line 1: best node: n2 here; in the log: n1")
    assert second == "1.0"


def test_an_upload_compares_a_log_with_the_snapshot_of_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    objects = [build.node("n1", cpu="4"), build.node("n2", cpu="64")]
    objects.append(build.pod("a", namespace="shop", requests={"cpu": "3"}, on="n1"))
    snapshot = ("a.json", json.dumps({"kind": "List", "items": objects}).encode())
    (first, second) = found_in(snapshot, ("a.log", log_of("n1")))
    assert "0 of 1 chosen node" in first[0]
    assert second == ("a.log: shop/a, attempt 1 in line 1: best node: n2 here; in the log: n1", "")
    ((unknown, _),) = found_in(("nodes.json", json.dumps(build.node("n1")).encode()), ("a.log", log_of("n1"))) or [
        ("", "")
    ]
    assert unknown == "", "no attempt can be compared"
    monkeypatch.setattr(log_findings, "MAX_CHANGES", 1)
    ((many, _),) = found_in(snapshot, ("a.log", log_of("n1")))
    assert many.endswith("because there are more than 1 objects: use `log --cluster`")
