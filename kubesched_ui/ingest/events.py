"""Keeps only the newest FailedScheduling event of each pod and writer: the messages of the real cluster.

The message of a pod is that of its own scheduler. Others, such as Karpenter, write events of the same reason.
"""

from collections.abc import Iterable
from typing import Any

from kubesched_ui.ingest.values import as_map, as_text

REASON = "FailedScheduling"
MOST_READ = 16  # writers per pod that are kept while an upload is read
MOST_KEPT = 4  # writers per pod that are stored


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
    # In core/v1, reportingComponent; in events.k8s.io, reportingController. Either API may have created the event.
    writers = source.get("component"), obj.get("reportingController"), obj.get("reportingComponent")
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
        "source": {"component": next(filter(None, map(text, writers)), "")},
    }


def writer(event: dict[str, Any]) -> str:
    """Return the component that wrote a small event; "" if unknown."""
    return as_text(as_map(event.get("source")).get("component"))


def own_and_others(events: Iterable[dict[str, Any]], scheduler: str) -> list[dict[str, Any]]:
    """Return the events of a pod, small ones, one of each writer: that of its scheduler first, then the newest first.

    If its scheduler wrote none, an event without a writer is taken as the scheduler's.
    """

    def rank(event: dict[str, Any]) -> int:
        return 2 * (writer(event) == scheduler) + (not writer(event))

    newest = sorted(events, key=lambda event: as_text(event.get("lastTimestamp")), reverse=True)
    return sorted(newest, key=rank, reverse=True)


def is_own(event: dict[str, Any], scheduler: str) -> bool:
    """Return whether the pod's scheduler wrote the event, or its writer is not known."""
    return writer(event) in ("", scheduler)
