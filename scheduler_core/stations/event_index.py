"""Events by the object that they are about, and by the component that wrote them."""

from collections.abc import Iterable

from scheduler_core.api.objects import Object
from scheduler_core.live.kinds import EVENT_REASONS
from scheduler_core.live.objects import Event
from scheduler_core.stations.times import seconds

ACTIVITY = frozenset({"Scheduled", "FailedScheduling", "Scheduling", "GangScheduling", "Unschedulable", "NotReady"})
"""Reasons of events by which it is known when a scheduler last acted."""
REASONS = EVENT_REASONS - {"Scheduled", "Preempted", "TaintManagerEviction"} | {"Pulling", "Pulled"}
"""Reasons of events from which waits are read. A live cluster has too many of the last two to follow them."""
ABOUT = frozenset(
    {
        "Pod",
        "ReplicaSet",
        "StatefulSet",
        "Job",
        "CronJob",
        "DaemonSet",
        "PersistentVolumeClaim",
        "PodGroup",
        "NodeClaim",
        "ConfigMap",
    }
)
"""Kinds of objects about which these events are read."""


class EventIndex:
    """Events by object. `activity`: scheduler -> Unix seconds of its last event about a pod or a group."""

    def __init__(self, events: Iterable[object] = ()) -> None:
        self._events: dict[tuple[str, str], dict[str, Event]] = {}
        self.activity: dict[str, float] = {}
        for event in events:
            if isinstance(event, Event):
                self.add(event)

    def add(self, event: Event) -> None:
        """Add an event, or replace its earlier version."""
        place = _place(event)
        self._events.setdefault(place, {})[event.key] = event
        if place[0] in ("Pod", "PodGroup") and event.reporter and event.reason in ACTIVITY:
            last = self.activity.get(event.reporter, 0.0)
            self.activity[event.reporter] = max(last, seconds(event.time))

    def remove(self, event: Event) -> None:
        """Remove an event."""
        found = self._events.get(_place(event), {})
        found.pop(event.key, None)
        if not found:
            self._events.pop(_place(event), None)

    def about(self, kind: str, obj: Object, reasons: Iterable[str] = (), writer: str | None = None) -> list[Event]:
        """Return the events about an object, oldest first; not those about an earlier object of its name.

        `reasons`: only these; empty for all. `writer`: only of this component; None for all. A reason alone shows
        nothing: several components write FailedScheduling.
        """
        uid = obj.metadata.uid
        found = self.named(kind, obj.key, reasons, writer)
        return [event for event in found if not uid or event.involved_object.uid in ("", uid)]

    def named(self, kind: str, key: str, reasons: Iterable[str] = (), writer: str | None = None) -> list[Event]:
        """Return the events about all objects of a name, as `about`."""
        wanted = set(reasons)
        found = [
            event
            for event in self._events.get((kind, key), {}).values()
            if (not wanted or event.reason in wanted) and (writer is None or event.reporter == writer)
        ]
        return sorted(found, key=lambda event: (seconds(event.time), event.metadata.name))

    def last(self, kind: str, obj: Object, reasons: Iterable[str] = (), writer: str | None = None) -> Event | None:
        """Return the newest event about an object, as of `about`; or None."""
        found = self.about(kind, obj, reasons, writer)
        return found[-1] if found else None


def _place(event: Event) -> tuple[str, str]:
    about = event.involved_object
    return about.kind, f"{about.namespace}/{about.name}" if about.namespace else about.name
