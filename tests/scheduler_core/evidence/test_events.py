"""Events without their cluster: the pods that wait, and who says so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.evidence.events import OTHERS, EventReport, PodEvent, is_of_kube_scheduler, read, report, sentence

CPU = "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No preemption victims found."
QUOTA = 'Error creating: pods "web-1" is forbidden: exceeded quota: cap'


def core(name: str, reason: str, message: str, second: int, kind: str = "Pod", **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{name}.{second}", "namespace": "shop"},
        "involvedObject": {"kind": kind, "namespace": "shop", "name": name}, "reason": reason, "message": message,
        "lastTimestamp": f"2026-01-01T00:00:{second:02}Z", "source": {"component": "default-scheduler"}, **fields,
    }  # fmt: skip


LIFE = [
    core("a", "Scheduled", "Successfully assigned shop/a to n1", 5),
    core("a", "FailedScheduling", CPU, 3, count=4),
    core("b", "FailedScheduling", CPU, 7, count=2),
    core("c", "Preempted", "Preempted by pod x on node n1", 8),
    core("web", "FailedCreate", QUOTA, 9, kind="ReplicaSet"),
]
TABLE = f"""\
LAST SEEN   TYPE      REASON             OBJECT           MESSAGE
4s          Normal    Scheduled          pod/a            Successfully assigned shop/a to n1
6s          Warning   FailedScheduling   pod/a            {CPU}
2s (x2 over 9s)Warning   FailedScheduling   pod/b            {CPU}
1s          Normal    Preempted          pod/c            Preempted by pod x on node n1
0s          Warning   FailedCreate       replicaset/web   {QUOTA}
""".replace("2s (x2 over 9s)", "2s          ")
ALL = "\n".join(("NAMESPACE   " if number == 0 else "shop        ") + line
                for number, line in enumerate(TABLE.splitlines()))  # fmt: skip


def new(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event in the form of events.k8s.io."""
    rest = {"reason": event["reason"], "note": event["message"], "regarding": event["involvedObject"]}
    series = {"count": event.get("count", 1), "lastObservedTime": event["lastTimestamp"].replace("Z", ".000001Z")}
    return {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": event["metadata"], **rest,
            "eventTime": "2026-01-01T00:00:00.000001Z", "series": series,
            "reportingController": "default-scheduler"}  # fmt: skip


FORMS = {
    "a List": json.dumps({"apiVersion": "v1", "kind": "List", "items": LIFE}),
    "an EventList without kinds": json.dumps(
        {"apiVersion": "v1", "kind": "EventList",
         "items": [{key: value for key, value in one.items() if key != "kind"} for one in LIFE]}
    ),
    "events.k8s.io": json.dumps({"apiVersion": "v1", "kind": "List", "items": [new(one) for one in LIFE]}),
    "lines of a watch": "\n".join(map(json.dumps, LIFE)),
    "YAML": "apiVersion: v1\nkind: List\nitems:\n" + "".join(f"- {json.dumps(one)}\n" for one in LIFE),
    "a table of all namespaces": ALL,
}  # fmt: skip


def report_of(text: str) -> EventReport:
    found = read(text.encode(), "events")
    assert found is not None
    return found


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same(form: str) -> None:
    found = report_of(FORMS[form])
    (waiting,) = found.waiting
    assert (waiting.pods, waiting.message.sentence) == (["shop/b"], "None of 3 nodes takes the pod: 3 lack cpu.")
    assert waiting.attempts == (1 if "table" in form else 2)
    assert found.bound == {"shop/a": "n1"}
    assert found.evicted == {"shop/c": "evicted by preemption"}
    assert found.never_created == {"ReplicaSet shop/web": QUOTA}
    assert sentence(found) == (
        "By 5 events, 1 pod waits for a node, 1 was bound, 1 was evicted, ReplicaSet shop/web could not create pods."
    )
    assert "kubectl get nodes,pods" in found.adds


def test_a_line_that_is_cut_is_left_out_and_named() -> None:
    lines = [json.dumps(one) for one in LIFE]
    whole = report_of("\n".join(lines))
    for place in range(len(lines) + 1):
        found = read("\n".join([*lines[:place], lines[0][:50], *lines[place:]]).encode(), "events.jsonl")
        assert found is not None
        note = f"left out, because not readable: 1 line (line {place + 1}: Input data was truncated)"
        assert found.notes == [*whole.notes, f"events.jsonl: {note}."]
        assert (found.bound, found.waiting) == (whole.bound, whole.waiting)
    assert read("\n".join([*lines, *["{"] * 1_001]).encode(), "events.jsonl") is None


def test_a_table_of_one_namespace_and_counts() -> None:
    found = report_of(TABLE)
    assert found.waiting[0].pods == ["shop/b"]
    wide = "LAST SEEN          TYPE      REASON             OBJECT   MESSAGE\n"
    assert (
        report_of(f"{wide}2s (x12 over 3m)   Warning   FailedScheduling   pod/b    {CPU}\n").waiting[0].attempts == 12
    )


NOTHING = (
    json.dumps([*LIFE, {"kind": "Pod", "metadata": {"name": "a"}}]),
    json.dumps(core("a", "Pulled", "x", 1)),
    '{"kind": "Event", "reason": "A',
    "kind: Pod\n",
    "",
)


@pytest.mark.parametrize("other", NOTHING)
def test_what_says_nothing_about_scheduling(other: str) -> None:
    assert read(other.encode(), "x") is None


@given(st.sampled_from(OTHERS), st.text(max_size=5), st.sampled_from([CPU, "no nodepool matched the pod", ""]))
@settings(deadline=None, max_examples=60)
def test_other_writers_are_never_kube_scheduler(name: str, suffix: str, message: str) -> None:
    event = PodEvent("Pod", "shop/a", "FailedScheduling", message, f"{name}{suffix}", 1.0, 1)
    assert not is_of_kube_scheduler(event)
    assert report([event]).waiting == []
    assert report([event]).others["shop/a"].startswith(name)


def test_a_profile_with_another_name_is_kube_scheduler() -> None:
    event = PodEvent("Pod", "shop/a", "FailedScheduling", CPU, "team-scheduler", 1.0, 1)
    assert report([event]).waiting[0].pods == ["shop/a"]


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_damaged_events_are_read_or_refused(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([form.encode() for form in FORMS.values()]))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(whole)))
        whole = whole[:start] + data.draw(st.binary(max_size=9)) + whole[start + data.draw(st.integers(0, 99)) :]
    found = read(whole, "events")
    assert found is None or found.events
