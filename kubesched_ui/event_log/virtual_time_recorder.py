"""Converts the records of a run in virtual time to batches of rows, without a database."""

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
from django.conf import settings

from kubesched_ui.event_log.events import Event
from kubesched_ui.event_log.rows import Ended, EventRow, RecordEntry, Repeated, TimelineBatch
from kubesched_ui.event_log.timeline_recorder import TimelineRecorder
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.recording.recording import Recorder
from scheduler_core.virtual_time.scenario_run import ScenarioRun


class RepeatedEvent(NamedTuple):
    """An event that was stored before, for comparison with it."""

    seq: int
    event: Event


class Forked(NamedTuple):
    """The fork's changes follow: the data so far is that of its parent. `cycles`, `seq`: the number of cycles and the
    number of the last event until now."""

    cycles: int
    seq: int


ComputedInTime = TimelineBatch | RepeatedEvent | Repeated | Forked | Ended


@dataclass
class VirtualTimeRecorder:
    """Runs a scenario and yields what to write. `stored`: number of the last stored event. `own_record`: for a fork,
    returns the number of the last record before its changes, None until that is known."""

    in_time: ScenarioRun
    timeline: TimelineRecorder
    recorder: Recorder
    stored: int
    own_record: Callable[[], int | None] | None = None
    events: list[Event] = field(default_factory=list)  # of `pod`, without numbers
    pod: str = ""
    nominated: dict[str, CycleTrace] = field(default_factory=dict)  # pod -> its last cycle, if that nominated a node

    def __post_init__(self) -> None:
        self._last_seq = max(self.stored, self.timeline.seq)
        self._batch = TimelineBatch()

    def run(self) -> Generator[ComputedInTime, None, None]:
        """Yield a batch for 0.1 s of work or at most 500 cycles, and the end.

        Raises InputError, after it has yielded what precedes, and RuntimeError if the stored events do not fit.
        """
        try:
            yield from self._records()
        except InputError:
            yield self._taken()
            raise
        yield self._taken()
        yield Ended(dict(self.in_time.simulation.cluster.nominator.nominations()))

    def _records(self) -> Generator[ComputedInTime, None, None]:
        timeline, stored = self.timeline, self.stored
        cycle, since = None, time.monotonic()
        for record in self.in_time.run():
            if self.own_record is not None and (own := self.own_record()) is not None and record.seq > own:
                yield from self._forked()
            entry = timeline.take(record)
            self.recorder.record(record, entry.seq)
            if record.trace is not None and record.trace.nominated_node:
                self.nominated[record.trace.pod] = record.trace
            cycle, self._batch.clock = entry.cycle or cycle, entry.t
            if entry.seq > stored:
                if entry.seq - len(entry.events) < stored:
                    raise RuntimeError(f"event {stored} differs from the stored one")
                self._add(entry)
                if self._batch.full or time.monotonic() - since > settings.RUN_BATCH_S:
                    yield self._taken()
                    since = time.monotonic()
            elif entry.seq == stored and entry.events:
                yield RepeatedEvent(stored, entry.events[-1])
                if cycle is not None:
                    yield Repeated(cycle.number, f"{cycle.namespace}/{cycle.name}", cycle.result)
        if self.own_record is not None:
            yield from self._forked()
        if timeline.seq < stored:
            raise RuntimeError(f"there are {timeline.seq} events, but {stored} were stored")

    def _forked(self) -> Generator[ComputedInTime, None, None]:
        self.own_record = None
        if self.stored <= self.timeline.seq:
            yield self._taken()
            yield Forked(self.timeline.cycles, self.timeline.seq)

    def _add(self, entry: RecordEntry) -> None:
        """Add an entry. Successive events of one pod form a block."""
        batch = self._batch
        if entry.events and entry.pod != self.pod:
            self._close_block()
            self.pod = entry.pod
        self.events += entry.events
        batch.moves += entry.moves
        batch.names += entry.names
        batch.marks += entry.marks
        if entry.nodes is not None:
            batch.nodes.append(entry.nodes)
        if entry.group is not None:
            batch.groups.append(entry.group)
        if entry.result is not None:
            batch.results[entry.pod] = entry.result
        if entry.cycle is not None:
            batch.cycles.append(entry.cycle)

    def _close_block(self) -> None:
        if self.events:
            first = self._last_seq + 1
            self._last_seq += len(self.events)
            text = msgspec.json.encode([{"seq": seq, **event} for seq, event in enumerate(self.events, first)])
            self._batch.blocks.append(EventRow(first, self._last_seq, self.pod, text))
            self.events = []

    def _taken(self) -> TimelineBatch:
        self._close_block()
        taken, self._batch = self._batch, TimelineBatch()
        taken.recorded = self.recorder.take()
        taken.number, taken.counts = self.timeline.cycles, dict(self.timeline.counts)
        self._batch.clock = taken.clock
        return taken
