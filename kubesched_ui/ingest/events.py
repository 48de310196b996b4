"""Keeps only the newest FailedScheduling event of each pod: the message of the real cluster."""

from __future__ import annotations

from typing import Any

REASON = "FailedScheduling"


def trimmed_event(obj: dict[str, Any]) -> dict[str, Any] | None:
    """Return a FailedScheduling event (also of events.k8s.io) as a small v1 Event; None if it does not name a pod."""
    pod = obj.get("involvedObject") or obj.get("regarding")
    if not isinstance(pod, dict) or not _text(pod.get("name")) or _text(pod.get("kind")) not in ("", "Pod"):
        return None
    metadata = obj["metadata"]
    series = obj.get("series") if isinstance(obj.get("series"), dict) else {}
    source = obj.get("source") if isinstance(obj.get("source"), dict) else obj.get("deprecatedSource")
    last = [
        obj.get("lastTimestamp"),
        obj.get("deprecatedLastTimestamp"),
        series.get("lastObservedTime"),  # type: ignore[union-attr]
        obj.get("eventTime"),
        obj.get("firstTimestamp"),
        metadata.get("creationTimestamp"),
    ]
    count = obj.get("count") or obj.get("deprecatedCount") or series.get("count")  # type: ignore[union-attr]
    return {
        "metadata": {"name": metadata["name"], "namespace": metadata.get("namespace") or "default"},
        "involvedObject": {
            "kind": "Pod",
            "namespace": _text(pod.get("namespace")) or metadata.get("namespace") or "default",
            "name": pod["name"],
            "uid": _text(pod.get("uid")),
        },
        "reason": REASON,
        "type": _text(obj.get("type")),
        "message": _text(obj.get("message")) or _text(obj.get("note")),
        "count": count if isinstance(count, int) else 1,
        "lastTimestamp": next((_text(time) for time in last if _text(time)), ""),
        "source": {"component": _text((source or {}).get("component")) or _text(obj.get("reportingController"))}
        if isinstance(source, dict) or source is None
        else {},
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
