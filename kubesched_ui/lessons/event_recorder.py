"""Event objects that kube-scheduler's recorder writes about a pod.

Repetitions of an event become a series: one object with a count. The message is not compared, so the object keeps that
of the first event.

Source: client-go tools/events/event_broadcaster.go (recordToSink, finishSeries, refreshExistingEventSeries).
"""

from collections.abc import Iterable
from dataclasses import dataclass

SERIES_END = 360.0  # seconds without a repetition after which a series may end; also the interval of the check
REFRESH = 1800.0  # interval at which the counts of series are written


@dataclass
class RecordedEvent:
    """An Event object. `count`: its events so far; `written`: the count that the API server knows."""

    reason: str
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


def recorded(happened: Iterable[tuple[float, str, str]], end: float) -> list[RecordedEvent]:
    """Return the Event objects for (second, reason, note), in order, as they are at the second `end`."""
    found: list[RecordedEvent] = []
    cache: dict[str, RecordedEvent] = {}
    now = 0.0
    for t, reason, note in happened:
        _tick(cache, now, t)
        now = t
        if reason in cache:
            cache[reason].repeat(t)
        else:
            cache[reason] = RecordedEvent(reason, note, t, t)
            found.append(cache[reason])
    _tick(cache, now, end)
    return found


def _tick(cache: dict[str, RecordedEvent], since: float, until: float) -> None:
    """Write the counts of series and end old ones, as often as that is due in this time."""
    for interval, ends in ((REFRESH, False), (SERIES_END, True)):
        for number in range(int(since // interval) + 1, int(until // interval) + 1):
            for event in list(cache.values()):
                old = event.last < number * interval - SERIES_END
                if ends and old:
                    del cache[event.reason]
                if old or not ends:
                    event.written = event.count
