"""The newest FailedScheduling event of each pod and writer is stored, no other event."""

import json
from typing import Any

from kubesched_ui.ingest import ingest_files
from kubesched_ui.scenarios.cluster_overview import cluster_view
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


def test_one_scheduler_writes_events_of_two_apis() -> None:
    """As `kubectl get events` prints them: created in core/v1 or in events.k8s.io by one kube-scheduler."""
    core = {"source": {"component": "default-scheduler"}, "reportingComponent": "", "count": 2}
    newer = {"source": {}, "reportingComponent": "default-scheduler", "lastTimestamp": None, "count": None}
    newer |= {"eventTime": "2024-01-02T00:00:00.000000Z"}
    newer |= {"series": {"count": 3, "lastObservedTime": "2024-01-03T00:00:00.000000Z"}}
    for order in ((event("a", "2024-01-01T00:00:00Z", **core), event("b", "", **newer)),):
        for pair in (order, order[::-1]):
            (kept,) = read(POD, *pair)
            assert (kept["metadata"]["name"], kept["count"]) == ("b", 3)
            assert kept["source"] == {"component": "default-scheduler"}
            assert kept["lastTimestamp"] == "2024-01-03T00:00:00.000000Z"


def test_the_message_is_that_of_the_pods_own_scheduler() -> None:
    own = event("own", "2024-01-01T00:00:00Z", source={"component": "default-scheduler"})
    karpenter = event("karpenter", "2024-01-02T00:00:00Z", source={"component": "karpenter"})
    batch = {"kind": "Pod", "metadata": POD["metadata"], "spec": {"schedulerName": "volcano", "containers": []}}
    theirs = event("volcano", "2023-01-01T00:00:00Z", reportingComponent="volcano", source={})
    for order in ((own, karpenter, theirs), (theirs, karpenter, own)):
        result = ingested(POD, *order)
        line = cluster_view(result.objects).pods["shop/p"]
        assert line.message == "message of own"
        assert line.reports == (("karpenter", "message of karpenter"), ("volcano", "message of volcano"))
        line = cluster_view(ingested(batch, *order).objects).pods["shop/p"]
        assert line.message == "message of volcano"
        assert [writer for writer, _ in line.reports] == ["karpenter", "default-scheduler"]
    line = cluster_view(ingested(POD, karpenter).objects).pods["shop/p"]
    assert (line.message, len(line.reports)) == ("", 1)


def test_many_writers_are_limited() -> None:
    own = event("own", "2023-01-01T00:00:00Z", source={"component": "default-scheduler"})
    many = [event(f"e{i}", f"2024-01-01T00:00:{i:02}Z", source={"component": f"c{i}"}) for i in range(30)]
    result = ingested(POD, own, *many)
    names = [obj["metadata"]["name"] for obj in result.objects if obj["kind"] == "Event"]
    assert names == ["own", "e14", "e13", "e12"]
    assert result.dropped["events"] == 27


def test_other_events_are_dropped() -> None:
    elsewhere = event("x", "", involvedObject={"kind": "Pod", "namespace": "shop", "name": "gone"})
    assert read(POD, event("pulled", "", reason="Created"), elsewhere, event("odd", "", involvedObject="p")) == []


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
        ("events.json", json.dumps({"Items": [internal, {**internal, "name": "x", "Reason": "Created"}]}).encode()),
    ]
    result = ingest_files(files)
    (kept,) = [obj for obj in result.objects if obj["kind"] == "Event"]
    assert (kept["message"], kept["count"], kept["type"]) == ("No nodes are available", 3, "Warning")
    assert (kept["lastTimestamp"], kept["source"]) == ("2017-05-01T00:00:00Z", {"component": "default-scheduler"})
    assert kept["involvedObject"] == {"kind": "Pod", "namespace": "shop", "name": "p", "uid": "u"}
    assert result.dropped["events"] == 1
