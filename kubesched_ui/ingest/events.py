"""Chooses the events of an upload that are stored: those from which answers about waits are read, bounded in number.

The message of a pod in the real cluster is the newest FailedScheduling event of its own scheduler. Others, such as
Karpenter, write events of the same reason.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kubesched_ui.ingest.result import Key, Record
from kubesched_ui.ingest.values import as_map, as_text
from scheduler_core.live.neighbours import AUTOSCALER_STATUS
from scheduler_core.stations.event_index import ABOUT, ACTIVITY, REASONS
from scheduler_core.stations.extra_kinds import LONGEST_TEXT

REASON = "FailedScheduling"
READ = ACTIVITY | REASONS
MOST_READ = 16  # writers per pod that are kept while an upload is read, and schedulers whose last act is kept
MOST_KEPT = 4  # writers of FailedScheduling per pod that are stored
MOST_OTHERS = 12  # other events per object that are stored
MOST_EVENTS = 20_000  # other events of an upload that are stored

Raw = dict[str, Any]


class EventChoice:
    """The events of one upload, small ones, as they are read. `read`: their number."""

    def __init__(self) -> None:
        self.read = 0
        self._failures: dict[tuple[str, str], dict[str, Raw]] = {}  # pod -> writer -> FailedScheduling event
        self._others: dict[Key, dict[tuple[str, str], Raw]] = {}  # object -> (writer, reason) -> event
        self._acts: dict[str, Raw] = {}  # scheduler -> its last event about a pod or a group

    def add(self, event: Raw) -> None:
        """Add an event. Of those of one writer and reason about an object, only the newest one stays."""
        self.read += 1
        about, reason, wrote = event["involvedObject"], event["reason"], writer(event)
        kind = about["kind"]
        if reason == REASON and kind == "Pod":
            _replace(self._failures.setdefault((about["namespace"], about["name"]), {}), wrote, event)
            return
        if reason in ACTIVITY and kind in ("Pod", "PodGroup") and wrote:
            _replace(self._acts, wrote, event)
        if reason in REASONS:
            by_writer = self._others.setdefault((kind, about["namespace"], about["name"]), {})
            _replace(by_writer, (wrote, reason), event)

    def objects(self) -> set[Key]:
        """Return the objects that the events are about, also as objects without a namespace."""
        named = {("Pod", namespace, name) for namespace, name in self._failures} | set(self._others)
        return named | {(kind, "", name) for kind, _, name in named}

    def kept(self, records: Mapping[Key, Record]) -> list[Raw]:
        """Return the events to store: about `records`, the objects of the upload. Of pods, those that wait."""
        found = []
        for (namespace, name), by_writer in self._failures.items():
            if (pod := records.get(("Pod", namespace, name))) is not None:
                found += own_and_others(by_writer.values(), pod.scheduler_name())[:MOST_KEPT]
        most = len(found) + MOST_EVENTS
        stored = {(kind.partition(".")[0], namespace, name) for kind, namespace, name in records if "." in kind}
        for key, by_reason in self._others.items():
            record = records.get(key) or records.get((key[0], "", key[2]))
            known = record is not None or key in stored or f"{key[1]}/{key[2]}" == AUTOSCALER_STATUS
            if known and (record is None or key[0] != "Pod" or _waits(record)) and len(found) < most:
                found += _newest_first(by_reason.values())[:MOST_OTHERS]
        names = {_name(event) for event in found}
        return found + [event for event in self._acts.values() if _name(event) not in names]


def _replace(events: dict[Any, Raw], key: Any, event: Raw) -> None:
    older = events.get(key)
    if older["lastTimestamp"] <= event["lastTimestamp"] if older else len(events) < MOST_READ:
        events[key] = event


def _waits(pod: Record) -> bool:
    return not pod.node or b'"phase":"Pending"' in pod.data


def _name(event: Raw) -> tuple[str, str]:
    return event["metadata"]["namespace"], event["metadata"]["name"]


def small_event(obj: dict[str, Any]) -> Raw | None:
    """Return an event (also of events.k8s.io) as a small one of v1; None if waits are not read from it."""
    about, text = as_map(obj.get("involvedObject") or obj.get("regarding")), as_text
    kind = text(about.get("kind")) or "Pod"
    if not text(about.get("name")) or kind not in ABOUT or text(obj.get("reason")) not in READ:
        return None
    metadata, series = obj["metadata"], as_map(obj.get("series"))
    source = as_map(obj.get("source")) or as_map(obj.get("deprecatedSource"))
    count = obj.get("count") or obj.get("deprecatedCount") or series.get("count")
    times = [series.get("lastObservedTime"), obj.get("lastTimestamp"), obj.get("deprecatedLastTimestamp")]
    times += [obj.get("eventTime"), obj.get("firstTimestamp"), metadata.get("creationTimestamp")]
    # In core/v1, reportingComponent; in events.k8s.io, reportingController. Either API may have created the event.
    writers = obj.get("reportingController"), obj.get("reportingComponent"), source.get("component")
    namespace = text(about.get("namespace")) or ("" if kind == "NodeClaim" else metadata.get("namespace") or "default")
    return {
        "metadata": {"name": metadata["name"], "namespace": metadata.get("namespace") or "default"},
        "involvedObject": {"kind": kind, "namespace": namespace, "name": about["name"], "uid": text(about.get("uid"))},
        "reason": obj["reason"],
        "type": text(obj.get("type")),
        "message": (text(obj.get("message")) or text(obj.get("note")))[:LONGEST_TEXT],
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

    return sorted(_newest_first(events), key=rank, reverse=True)


def _newest_first(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(events, key=lambda event: as_text(event.get("lastTimestamp")), reverse=True)


def is_own(event: dict[str, Any], scheduler: str) -> bool:
    """Return whether the pod's scheduler wrote the event, or its writer is not known."""
    return writer(event) in ("", scheduler)
