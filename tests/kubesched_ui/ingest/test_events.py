"""The newest FailedScheduling event of each pod is stored, no other event."""

import json
from typing import Any

from kubesched_ui.ingest import ingest_files
from tests.kubesched_ui.clusters import ingested

POD = {"kind": "Pod", "metadata": {"name": "p", "namespace": "shop"}}


def event(name: str, time: str, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "shop", "uid": "u"},
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "p"},
        "reason": "FailedScheduling",
        "message": f"message of {name}",
        "lastTimestamp": time,
        **more,
    }


def read(*objects: dict[str, Any]) -> list[dict[str, Any]]:
    return [obj for obj in ingested(*objects).objects if obj["kind"] == "Event"]


def test_the_newest_event_wins_in_any_order() -> None:
    old, new = event("old", "2024-01-01T00:00:00Z"), event("new", "2024-01-02T00:00:00Z", count=7)
    for order in ((old, new), (new, old)):
        (kept,) = read(POD, *order)
        assert kept == {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "new", "namespace": "shop"},
            "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "p", "uid": ""},
            "reason": "FailedScheduling",
            "type": "",
            "message": "message of new",
            "count": 7,
            "lastTimestamp": "2024-01-02T00:00:00Z",
            "source": {"component": ""},
        }


def test_events_of_the_events_k8s_io_api() -> None:
    newer = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "shop"},
        "regarding": {"kind": "Pod", "namespace": "shop", "name": "p"},
        "reason": "FailedScheduling",
        "note": "0/3 nodes are available",
        "eventTime": "2024-01-02T00:00:00.000000Z",
        "reportingController": "default-scheduler",
    }
    (kept,) = read(POD, newer)
    assert (kept["apiVersion"], kept["message"]) == ("v1", "0/3 nodes are available")
    assert kept["source"] == {"component": "default-scheduler"}


def test_other_events_are_dropped() -> None:
    elsewhere = event("x", "", involvedObject={"kind": "Pod", "namespace": "shop", "name": "gone"})
    assert read(POD, event("pulled", "", reason="Pulled"), elsewhere, event("odd", "", involvedObject="p")) == []


def test_unusual_shapes_are_ignored() -> None:
    odd = event("x", "", source=[], series="x", count="many", lastTimestamp=5, message=None, type={})
    (kept,) = read(POD, odd)
    assert (kept["message"], kept["count"], kept["lastTimestamp"], kept["type"]) == ("", 1, "", "")


def test_events_of_internal_types() -> None:
    internal = {
        "name": "e",
        "namespace": "shop",
        "InvolvedObject": {"Kind": "Pod", "Namespace": "shop", "Name": "p", "UID": "u"},
        "Reason": "FailedScheduling",
        "Message": "No nodes are available",
        "Source": {"Component": "default-scheduler"},
        "LastTimestamp": "2017-05-01T00:00:00Z",
        "Count": 3,
        "Type": "Warning",
    }
    files = [
        ("pods.json", json.dumps({"Items": [{"name": "p", "namespace": "shop", "Spec": {}}]}).encode()),
        ("events.json", json.dumps({"Items": [internal, {**internal, "name": "x", "Reason": "Pulled"}]}).encode()),
    ]
    result = ingest_files(files)
    (kept,) = [obj for obj in result.objects if obj["kind"] == "Event"]
    assert (kept["message"], kept["count"], kept["type"]) == ("No nodes are available", 3, "Warning")
    assert (kept["lastTimestamp"], kept["source"]) == ("2017-05-01T00:00:00Z", {"component": "default-scheduler"})
    assert kept["involvedObject"] == {"kind": "Pod", "namespace": "shop", "name": "p", "uid": "u"}
    assert result.dropped["events"] == 1
