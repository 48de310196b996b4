"""What an upload of a recording says of the decisions of the real scheduler in it."""

from __future__ import annotations

import pytest

from kubesched_ui.ingest import ingest_files
from scheduler_core.evidence import recorded_decisions
from tests.scheduler_core.live.test_recorded_audit_log import about, entry, node, pod

OTHER = node(4)
OTHER["metadata"]["name"] = "n2"
OTHER["status"]["allocatable"]["cpu"] = "64"


def audit_log(chosen: str) -> bytes:
    """A pod that requests 3 CPUs is bound three seconds after the first change; n2 is the emptier node."""
    created = pod(5)
    created["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "3"}}
    lines = [
        entry(1, "create", node(3), code=201),
        entry(1, "create", OTHER, code=201),
        entry(2, "create", created, code=201),
        about("binding", 4, target={"name": chosen}),
        entry(9, "patch", OTHER | {"metadata": OTHER["metadata"] | {"resourceVersion": "9"}}, "status"),
    ]
    return "\n".join(lines).encode()


def test_a_decision_like_ours_and_another() -> None:
    ((sentence, second),) = recorded_decisions.check(audit_log("n2"), "audit.log")
    expected = "the decisions of the real scheduler, checked: 1 of 1 binding and 0 of 0 messages are as ours"
    assert (sentence, second) == (expected, None)
    first, lacks, differs = recorded_decisions.check(audit_log("n1"), "audit.log")
    assert "0 of 1 binding" in first.text
    assert lacks.text.startswith("some can differ because it does not have namespaces, priorityclasses")
    assert differs.text.startswith("shop/a, second 3.0: the scheduler chose n1, and our best are n2 (score ")
    assert differs.second == 3.0


def test_the_check_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_decisions, "MAX_CHANGES", 4)
    assert "more than 4 changes" in recorded_decisions.check(audit_log("n2"), "audit.log")[0].text
    monkeypatch.setattr(recorded_decisions, "MAX_CHANGES", 100)
    monkeypatch.setattr(recorded_decisions, "MAX_SECONDS", -1.0)
    assert recorded_decisions.check(audit_log("n2"), "audit.log") == [], "nothing was checked"
    assert recorded_decisions.check(b"kind: Pod", "a.yaml") == []


def test_an_upload_has_the_sentences_as_warnings() -> None:
    result = ingest_files([("audit.log", audit_log("n1"))])
    found = [warning for warning in result.warnings if warning.code == "decisions"]
    assert found[2].message.startswith("audit.log: shop/a, second 3.0: the scheduler chose n1")
    assert [warning.second for warning in found] == ["", "", "3.0"]
