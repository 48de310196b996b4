"""Cycles that are stored together (CycleBatch), and their events, which follow from the traces and are not stored.

A cycle of a single pass is stored alone, with a block of events, only if it shares nothing with its neighbours, evicts
pods or belongs to a group. Runs in virtual time, and recordings of earlier versions, have no batches.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from itertools import accumulate
from threading import Lock
from typing import NamedTuple

import msgspec

from kubesched_ui.event_log.best_nodes import BatchRanking, FindBestNodes, best_nodes
from kubesched_ui.event_log.events import cycle_events
from kubesched_ui.event_log.row_queries import rows_after
from kubesched_ui.models import Cycle, CycleBatch, Run
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.cycle.trace_batch import TraceBatch
from scheduler_core.errors import InputError

BATCHES = 4  # read at once
LATEST = 8  # batches whose events are cached


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
    """The events of a batch of a run."""

    def __init__(self, run_id: int, nodes_version: int, first_seq: int, data: bytes) -> None:
        self._run_id, self._nodes_version, self._first_seq = run_id, nodes_version, first_seq
        self._traces = TraceBatch(data)
        self._texts: dict[int, bytes] = {}
        self._ranking = BatchRanking()
        self._lock = Lock()  # of both: sockets are read by two threads
        self.ends = list(accumulate(self._traces.counts, initial=first_seq - 1))[1:]  # the last event of each cycle

    def first_seq(self, index: int) -> int:
        """Return the number of the first event of a cycle. `index`: its position in the batch."""
        return self.ends[index - 1] + 1 if index else self._first_seq

    def cycle(self, index: int) -> EventRange:
        """Return the events of a cycle; reading them makes those of no other cycle."""
        return EventRange(self.first_seq(index), self.ends[index], partial(self._text, index, best_nodes))

    def after(self, since: int) -> Iterator[EventRange]:
        """Yield the events of each cycle with events after `since`, in order, which is the fastest order to read them
        in. What is read stays here."""
        for index in range(bisect_right(self.ends, since), len(self.ends)):
            yield EventRange(self.first_seq(index), self.ends[index], partial(self._kept_text, index))

    def _kept_text(self, index: int) -> bytes:
        with self._lock:
            text = self._texts.get(index)
            if text is None:
                text = self._texts[index] = self._text(index, self._ranking)
        return text

    @cached_property
    def nodes(self) -> list[str]:
        """The run's nodes in row order."""
        return Run.everything.only("node_names").get(pk=self._run_id).nodes_at(self._nodes_version)

    def _text(self, index: int, find_best: FindBestNodes) -> bytes:
        """Return the events of a cycle as a JSON list."""
        events = cycle_events(self._traces.trace(index), self.nodes, find_best=find_best)
        return msgspec.json.encode([{"seq": seq, **event} for seq, event in enumerate(events, self.first_seq(index))])


@lru_cache(maxsize=LATEST)
def _event_batch(run_id: int, nodes_version: int, first_seq: int, data: bytes) -> EventBatch:
    """Return the events of a batch. A viewer takes about seven messages for one, and others follow at some distance."""
    return EventBatch(run_id, nodes_version, first_seq, data)


def event_batch(row: CycleBatch) -> EventBatch:
    """Return the events of a stored batch."""
    return _event_batch(row.run_id, row.nodes_version, row.first_seq, bytes(row.data))


def events_after(run_id: int, since: int) -> Iterator[EventRange]:
    """Yield the events of batched cycles with events after `since`, in order. Reads only as far as needed."""
    columns = "last_seq", "nodes_version", "first_seq", "data"
    while found := rows_after(CycleBatch, columns, run_id, since, BATCHES):
        for _, version, first_seq, data in found:
            yield from _event_batch(run_id, version, first_seq, bytes(data)).after(since)
        since = found[-1][0]


def events_of_pod(run_id: int, pod: str, since: int) -> Iterator[EventRange]:
    """Yield the events after `since` of a pod's batched cycles, in order."""
    namespace, _, name = pod.partition("/")
    cycles = Cycle.objects.filter(run_id=run_id, namespace=namespace, name=name, trace=b"").order_by("number")
    number, more = 0, True
    while more:
        numbers = list(cycles.filter(number__gt=number).values_list("number", flat=True)[:BATCHES])
        more = len(numbers) == BATCHES
        for number in numbers:
            row = batch_of(run_id, number)
            if row is not None and row.last_seq > since:
                batch = event_batch(row)
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
    return None if row is None else event_batch(row).first_seq(number - row.first) - 1
