"""Keeps only the newest FailedScheduling event of each pod: the message of the real cluster."""

from typing import Any

from kubesched_ui.ingest.values import as_map, as_text

REASON = "FailedScheduling"


def trimmed_event(obj: dict[str, Any]) -> dict[str, Any] | None:
    """Return a FailedScheduling event (also of events.k8s.io) as a small v1 Event; None if it does not name a pod."""
    pod, text = as_map(obj.get("involvedObject") or obj.get("regarding")), as_text
    if not text(pod.get("name")) or text(pod.get("kind")) not in ("", "Pod"):
        return None
    metadata, series = obj["metadata"], as_map(obj.get("series"))
    source = as_map(obj.get("source")) or as_map(obj.get("deprecatedSource"))
    count = obj.get("count") or obj.get("deprecatedCount") or series.get("count")
    times = [obj.get("lastTimestamp"), obj.get("deprecatedLastTimestamp"), series.get("lastObservedTime")]
    times += [obj.get("eventTime"), obj.get("firstTimestamp"), metadata.get("creationTimestamp")]
    return {
        "metadata": {"name": metadata["name"], "namespace": metadata.get("namespace") or "default"},
        "involvedObject": {
            "kind": "Pod",
            "namespace": text(pod.get("namespace")) or metadata.get("namespace") or "default",
            "name": pod["name"],
            "uid": text(pod.get("uid")),
        },
        "reason": REASON,
        "type": text(obj.get("type")),
        "message": text(obj.get("message")) or text(obj.get("note")),
        "count": count if isinstance(count, int) else 1,
        "lastTimestamp": next(filter(None, map(text, times)), ""),
        "source": {"component": text(source.get("component")) or text(obj.get("reportingController"))},
    }
