"""Cycles that are stored together (CycleBatch), and their events, which follow from the traces and are not stored.

A cycle of a single pass is stored alone, with a block of events, only if it shares nothing with its neighbours, evicts
pods or belongs to a group. Runs in virtual time, and recordings of earlier versions, have no batches.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from kubesched_ui.event_log.events import cycle_events
from kubesched_ui.models import Cycle, CycleBatch, Run
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.cycle.trace_batch import TraceBatch
from scheduler_core.errors import InputError

BATCHES = 4  # read at once


class TraceReader:
    """Reads the traces of a run. Successive cycles of one batch decode it once."""

    def __init__(self, run_id: int) -> None:
        self._run_id = run_id
        self._batch: TraceBatch | None = None
        self._first = 0

    def trace(self, number: int, data: bytes | memoryview) -> CycleTrace:
        """Return the trace of a cycle. `data`: the column `trace` of its row. Raises InputError if it is gone."""
        if data:
            return CycleTrace.decode(bytes(data))
        if self._batch is None or not 0 <= number - self._first < len(self._batch):
            row = batch_of(self._run_id, number)
            if row is None:
                raise InputError("run", "", f"cycle {number} of run {self._run_id} no longer exists")
            self._batch, self._first = TraceBatch(bytes(row.data)), row.first
        return self._batch.trace(number - self._first)


def trace_of(cycle: Cycle) -> CycleTrace:
    """Return the trace of a stored cycle."""
    return TraceReader(cycle.run_id).trace(cycle.number, cycle.trace)


def batch_of(run_id: int, number: int) -> CycleBatch | None:
    """Return the batch that contains a cycle; None if the cycle is stored alone."""
    row = CycleBatch.objects.filter(run_id=run_id, first__lte=number).order_by("-first").first()
    return row if row is not None and row.last >= number else None


class EventRange(NamedTuple):
    """Successive events of one pod or of the run. `read` returns their text, a JSON list."""

    first_seq: int
    last_seq: int
    read: Callable[[], bytes]


class EventBatch:
    """The events of a batch. `nodes`: node lists of the run that are loaded, by version."""

    def __init__(self, row: CycleBatch, nodes: dict[int, list[str]]) -> None:
        self._row, self._nodes = row, nodes
        self._traces = TraceBatch(bytes(row.data))
        self.ends: list[int] = []  # the last event of each cycle
        last = row.first_seq - 1
        for count in self._traces.counts:
            last += count
            self.ends.append(last)

    def cycle(self, index: int) -> EventRange:
        """Return the events of a cycle. `index`: its position in the batch."""
        return EventRange(self.first_seq(index), self.ends[index], partial(self.text, index))

    def first_seq(self, index: int) -> int:
        """Return the number of the first event of a cycle."""
        return self.ends[index - 1] + 1 if index else self._row.first_seq

    def text(self, index: int) -> bytes:
        """Return the events of a cycle as a JSON list."""
        version = self._row.nodes_version
        if version not in self._nodes:
            self._nodes[version] = self._row.run.nodes_at(version)
        events = cycle_events(self._traces.trace(index), self._nodes[version])
        return msgspec.json.encode([{"seq": seq, **event} for seq, event in enumerate(events, self.first_seq(index))])


def events_after(run_id: int, since: int) -> Iterator[EventRange]:
    """Yield the events of batched cycles with events after `since`, in order. Reads only as far as needed."""
    nodes: dict[int, list[str]] = {}
    rows = CycleBatch.objects.filter(run_id=run_id).order_by("last_seq")
    while found := list(rows.filter(last_seq__gt=since)[:BATCHES]):
        for row in found:
            batch = EventBatch(row, nodes)
            yield from (batch.cycle(index) for index, end in enumerate(batch.ends) if end > since)
        since = found[-1].last_seq


def events_of_pod(run_id: int, pod: str, since: int) -> Iterator[EventRange]:
    """Yield the events after `since` of a pod's batched cycles, in order."""
    namespace, _, name = pod.partition("/")
    nodes: dict[int, list[str]] = {}
    cycles = Cycle.objects.filter(run_id=run_id, namespace=namespace, name=name, trace=b"").order_by("number")
    number = 0
    while numbers := list(cycles.filter(number__gt=number).values_list("number", flat=True)[:BATCHES]):
        for number in numbers:
            row = batch_of(run_id, number)
            if row is not None and row.last_seq > since:
                batch = EventBatch(row, nodes)
                if batch.ends[number - row.first] > since:
                    yield batch.cycle(number - row.first)


def pods_between(run_id: int, since: int, until: int, limit: int) -> Sequence[str]:
    """Return at most `limit` pods of batched cycles whose batch has events after `since` up to `until`."""
    rows = CycleBatch.objects.filter(run_id=run_id, last_seq__gt=since, first_seq__lte=until).order_by("last_seq")
    numbers = list(rows.values_list("first", "last")[: limit + 1])
    if not numbers:
        return []
    cycles = Cycle.objects.filter(run_id=run_id, number__gte=numbers[0][0], number__lte=numbers[-1][1])
    return [f"{namespace}/{name}" for namespace, name in cycles.values_list("namespace", "name")[:limit]]


def last_event_before(run: Run, number: int) -> int | None:
    """Return the number of the last event before a batched cycle; None if the cycle is stored alone."""
    row = batch_of(run.pk, number)
    return None if row is None else EventBatch(row, {}).first_seq(number - row.first) - 1
