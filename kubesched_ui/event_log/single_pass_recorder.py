"""Converts the cycles of a single pass to batches of rows. It needs no database, so another process can do it."""

import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from kubesched_ui.event_log.events import cycle_events
from kubesched_ui.event_log.rows import (
    SCORED_EVENTS,
    UNSCORED_EVENTS,
    CycleRow,
    Ended,
    NodeNames,
    RecordedBatch,
    Repeated,
    ResultRow,
    SharedCycles,
    SingleCycle,
    pod_result,
)
from scheduler_core.cluster.change_log import TRIED, LoggedChange
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.cycle.trace_batch import MAX_CYCLES, TraceBatchEncoder
from scheduler_core.errors import InputError
from scheduler_core.pod_groups.serialize import group_to_dict
from scheduler_core.recording.recording import Recorder, only_places
from scheduler_core.simulation import Simulation

Computed = RecordedBatch | Repeated | Ended
VALUES_KEPT = 640_000  # nodes of the cycles that are added together, whose columns are kept until then


@dataclass
class SinglePassRecorder:
    """Runs a simulation and yields what to write.

    `first`: number of the first cycle. `stored`: number of the last stored cycle. `nodes`, `version`: the node list of
    the first cycle. The results lack what does not follow from the cycles: positions and messages of the real cluster.
    """

    simulation: Simulation
    recorder: Recorder
    first: int
    stored: int
    is_fork: bool
    nodes: list[str]
    version: int = 0
    items: list[SingleCycle | SharedCycles | NodeNames] = field(default_factory=list)
    results: list[ResultRow | None] = field(default_factory=list)
    events: int = 0
    nominated: dict[str, CycleTrace] = field(default_factory=dict)  # pod -> its last cycle, if that nominated a node

    def __post_init__(self) -> None:
        self._batch = TraceBatchEncoder()
        # cycles that only placed their pods and are not added yet: number, trace, that change, seconds
        self._placed: list[tuple[int, CycleTrace, LoggedChange, float]] = []
        self._next = self.first

    def run(self) -> Generator[Computed, None, None]:
        """Yield a batch for 0.1 s of work or at most 500 cycles, and the end. A group is in one batch.

        Raises InputError, after it has yielded what precedes.
        """
        try:
            yield from self._cycles()
        except InputError:
            yield self._taken()
            raise
        self._add_placed()
        if self.is_fork:
            self.recorder.rest()
        yield self._taken()
        yield Ended(dict(self.simulation.cluster.nominator.nominations()))

    def _cycles(self) -> Iterator[Computed]:
        simulation, recorder, placed = self.simulation, self.recorder, self._placed
        together = max(1, min(MAX_CYCLES, VALUES_KEPT // max(1, len(self.nodes))))
        last = self.first + len(simulation.to_try) - 1  # if no cycle is repeated or left out
        longest, ends = settings.RUN_BATCH_S, self.stored + _most(last - self.stored)
        since = before = time.perf_counter()
        for number, trace in enumerate(simulation.run(), self.first):
            now = time.perf_counter()
            if self.is_fork and simulation.nodes != self.nodes:  # its changes apply before its first cycle
                self._share()
                self.nodes, self.version = list(simulation.nodes), self.version + 1
                self.items.append(NodeNames(self.version, self.nodes))
            if trace.nominated_node:
                self.nominated[trace.pod] = trace
            if trace.is_ranked:  # only until the next cycle
                trace.selection()
            changes, complete = recorder.changes(), True
            if only_places(trace, changes):
                placed.append((number, trace, changes[1], now - before))
                if len(placed) >= together or number == self.stored or simulation.stages:  # these may remove the pod
                    self._add_placed()
            else:
                self._add_placed()
                complete = self._add(number, trace, changes, now - before)
            if number == self.stored:
                yield Repeated(number, trace.pod, trace.result)
            elif complete and number > self.stored and (number >= ends or now - since > longest):
                yield self._taken()
                ends, since = number + _most(last - number), time.perf_counter()
            before = time.perf_counter()

    def _add_placed(self) -> None:
        """Add the cycles that only placed their pods.

        They are added together because that takes half the time: between two cycles, the processor's caches hold
        nothing of this.
        """
        for number, trace, change, took in self._placed:
            if self.recorder.placed(trace, change, took):
                events = UNSCORED_EVENTS if trace.selection() is None else SCORED_EVENTS
                self._add_shared(number, trace, None, events)
            else:
                self._add(number, trace, [LoggedChange(TRIED, trace.pod), change], took)
        self._placed.clear()

    def _add(self, number: int, trace: CycleTrace, changes: Iterable[LoggedChange], took: float) -> bool:
        """Add a cycle. Return whether a batch may end here."""
        self.recorder.changed(trace, changes)
        if number <= self.stored:
            return True
        group, evicted = group_of(self.simulation, trace)
        listed = cycle_events(trace, self.nodes, evicted=evicted)
        row = pod_result(listed, number, "", took)
        if trace.has_shared_parts and not (trace.group or trace.victims):
            self._add_shared(number, trace, row, len(listed))
            return True
        self._share()
        namespace, _, name = trace.pod.partition("/")
        cycle = CycleRow(number, namespace, name, trace.attempt, trace.result, trace.encode(), self.version)
        self.items.append(SingleCycle(cycle, row, listed, trace.victims if evicted is None else evicted, group))
        return group != {}

    def _add_shared(self, number: int, trace: CycleTrace, result: ResultRow | None, events: int) -> None:
        """Add a cycle to those that are stored together. `result`: None for a plain cycle."""
        if not self.results:
            self._next = number
        self.results.append(result)
        self.events += events
        self._batch.add(trace, events, result is None)
        if self._batch.full:
            self._share()

    def _share(self) -> None:
        """End the batch of cycles that are stored together."""
        if self.results:
            data = self._batch.encoded()
            self.items.append(SharedCycles(self._next, self.version, data, self.results, self.events))
            self.results, self.events = [], 0

    def _taken(self) -> RecordedBatch:
        self._add_placed()
        self._share()
        items, self.items = self.items, []
        return RecordedBatch(items, self.recorder.take())


def _most(remaining: int) -> int:
    """Return the number of cycles of the next batch. The last batches are smaller, since little else happens while they
    are written."""
    return min(settings.RUN_BATCH_CYCLES, max(MAX_CYCLES // 2, remaining // 2))


def group_of(simulation: Simulation, trace: CycleTrace) -> tuple[dict[str, Any] | None, dict[str, str] | None]:
    """Return the data of a group member's cycle; (None, None) for other pods.

    The first value is the group's cycle if the member is the last one, else {}. The second maps each pod that was
    evicted for this member, and for no earlier one, to its node.
    """
    group = simulation.group if trace.group else None
    if group is None:
        return None, None
    before: set[str] = set()
    for member in group.members:
        if member.trace is trace:
            break
        before.update(member.trace.victims)
    evicted = {victim: group.left[victim] for victim in trace.victims if victim in group.left and victim not in before}
    return group_to_dict(group) if trace is group.members[-1].trace else {}, evicted
