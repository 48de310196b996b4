"""Event objects that kube-scheduler's recorder writes about a pod.

Repetitions of an event become a series: one object with a count. The message is not compared, so the object keeps that
of the first event. The resource version of the pod is compared: an event about a changed pod begins another object.

Source: client-go tools/events/event_broadcaster.go (recordToSink, getKey, finishSeries, refreshExistingEventSeries) and
tools/reference/ref.go.
"""

from collections.abc import Iterable
from dataclasses import dataclass

SERIES_END = 360.0  # seconds without a repetition after which a series may end; also the interval of the check
REFRESH = 1800.0  # interval at which the counts of series are written


@dataclass
class RecordedEvent:
    """An Event object about a version of the pod, counted from 0. `count`: its events so far; `written`: the count that
    the API server knows."""

    reason: str
    version: int
    note: str
    first: float
    last: float
    count: int = 1
    written: int = 1

    def repeat(self, t: float) -> None:
        """Count another event. Only the first repetition is written immediately."""
        self.count, self.last = self.count + 1, t
        if self.count == 2:
            self.written = 2


def recorded(happened: Iterable[tuple[float, str, int, str]], end: float) -> list[RecordedEvent]:
    """Return the Event objects for (second, reason, version of the pod, note), in order, as they are at the second
    `end`."""
    found: list[RecordedEvent] = []
    cache: dict[tuple[str, int], RecordedEvent] = {}
    now = 0.0
    for t, reason, version, note in happened:
        _tick(cache, now, t)
        now = t
        if (reason, version) in cache:
            cache[reason, version].repeat(t)
        else:
            cache[reason, version] = RecordedEvent(reason, version, note, t, t)
            found.append(cache[reason, version])
    _tick(cache, now, end)
    return found


def _tick(cache: dict[tuple[str, int], RecordedEvent], since: float, until: float) -> None:
    """Write the counts of series and end old ones, as often as that is due in this time."""
    for interval, ends in ((REFRESH, False), (SERIES_END, True)):
        for number in range(int(since // interval) + 1, int(until // interval) + 1):
            for event in list(cache.values()):
                old = event.last < number * interval - SERIES_END
                if ends and old:
                    del cache[event.reason, event.version]
                if old or not ends:
                    event.written = event.count
