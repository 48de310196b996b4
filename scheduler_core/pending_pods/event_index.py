"""The events of a live cluster by the object that they are about."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.live.objects import Event
from scheduler_core.pending_pods.times import seconds


class EventIndex:
    """The events of a store at one time."""

    def __init__(self, events: Iterable[object]) -> None:
        self._events: dict[tuple[str, str], list[Event]] = {}
        self.activity: dict[str, float] = {}  # scheduler -> Unix seconds of its last event
        for event in events:
            if not isinstance(event, Event):
                continue
            about = event.involved_object
            key = f"{about.namespace}/{about.name}" if about.namespace else about.name
            self._events.setdefault((about.kind, key), []).append(event)
            if event.reason in ("Scheduled", "FailedScheduling") and event.reporting_component:
                last = self.activity.get(event.reporting_component, 0.0)
                self.activity[event.reporting_component] = max(last, seconds(event.time))

    def about(self, kind: str, key: str, reasons: Iterable[str] = ()) -> list[Event]:
        """Return the events about an object, oldest first. `reasons`: only these; empty for all."""
        wanted = set(reasons)
        found = [e for e in self._events.get((kind, key), ()) if not wanted or e.reason in wanted]
        return sorted(found, key=lambda event: (seconds(event.time), event.metadata.name))

    def last(self, kind: str, key: str, reasons: Iterable[str] = ()) -> Event | None:
        """Return the newest event about an object, or None."""
        found = self.about(kind, key, reasons)
        return found[-1] if found else None
