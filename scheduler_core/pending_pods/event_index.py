"""The events of a live cluster by the object that they are about."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.live.objects import Event
from scheduler_core.pending_pods.times import seconds


class EventIndex:
    """Events by object. `activity`: scheduler -> Unix seconds of its last event."""

    def __init__(self, events: Iterable[object] = ()) -> None:
        self._events: dict[tuple[str, str], dict[str, Event]] = {}
        self.activity: dict[str, float] = {}
        for event in events:
            if isinstance(event, Event):
                self.add(event)

    def add(self, event: Event) -> None:
        """Add an event, or replace its earlier version."""
        self._events.setdefault(_place(event), {})[event.key] = event
        if event.reason in ("Scheduled", "FailedScheduling") and event.reporter:
            last = self.activity.get(event.reporter, 0.0)
            self.activity[event.reporter] = max(last, seconds(event.time))

    def remove(self, event: Event) -> None:
        """Remove an event."""
        found = self._events.get(_place(event), {})
        found.pop(event.key, None)
        if not found:
            self._events.pop(_place(event), None)

    def about(self, kind: str, key: str, reasons: Iterable[str] = ()) -> list[Event]:
        """Return the events about an object, oldest first. `reasons`: only these; empty for all."""
        wanted = set(reasons)
        found = [e for e in self._events.get((kind, key), {}).values() if not wanted or e.reason in wanted]
        return sorted(found, key=lambda event: (seconds(event.time), event.metadata.name))

    def last(self, kind: str, key: str, reasons: Iterable[str] = ()) -> Event | None:
        """Return the newest event about an object, or None."""
        found = self.about(kind, key, reasons)
        return found[-1] if found else None


def _place(event: Event) -> tuple[str, str]:
    about = event.involved_object
    return about.kind, f"{about.namespace}/{about.name}" if about.namespace else about.name
