"""Converts the cycles of a single pass to batches of rows. It needs no database, so another process can do it."""

import time
from collections.abc import Generator, Iterator
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
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.cycle.trace_batch import TraceBatchEncoder
from scheduler_core.debugger.cycle_index import PlainFacts
from scheduler_core.debugger.recording import Recorder
from scheduler_core.errors import InputError
from scheduler_core.pod_groups.serialize import group_to_dict
from scheduler_core.simulation import Simulation

Computed = RecordedBatch | Repeated | Ended


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

    def __post_init__(self) -> None:
        self._batch = TraceBatchEncoder()
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
        if self.is_fork:
            self.recorder.rest()
        yield self._taken()
        yield Ended(dict(self.simulation.cluster.nominator.nominations()))

    def _cycles(self) -> Iterator[Computed]:
        simulation, recorder = self.simulation, self.recorder
        most, long = settings.RUN_BATCH_CYCLES, settings.RUN_BATCH_S
        cycles, since = 0, time.monotonic()
        before = time.perf_counter()
        for number, trace in enumerate(simulation.run(), self.first):
            took = time.perf_counter() - before
            facts = recorder.cycle(trace, took)
            if self.is_fork and simulation.nodes != self.nodes:  # its changes apply before its first cycle
                self._share()
                self.nodes, self.version = list(simulation.nodes), self.version + 1
                self.items.append(NodeNames(self.version, self.nodes))
            if number == self.stored:
                yield Repeated(number, trace.pod, trace.result)
            if number > self.stored:
                complete = self._add(number, trace, facts, took)
                cycles += 1
                if complete and (cycles >= most or time.monotonic() - since > long):
                    yield self._taken()
                    cycles, since = 0, time.monotonic()
            before = time.perf_counter()

    def _add(self, number: int, trace: CycleTrace, facts: PlainFacts | None, took: float) -> bool:
        """Add a cycle. Return whether a batch may end here."""
        if facts is not None:
            self._batch.add(trace, events := UNSCORED_EVENTS if facts.score is None else SCORED_EVENTS)
            self._added(None, number, events)
            return True
        group, evicted = group_of(self.simulation, trace)
        listed = cycle_events(trace, self.nodes, evicted=evicted)
        row = pod_result(listed, number, "", took)
        if not (trace.group or trace.victims) and self._batch.add(trace, len(listed)):
            self._added(row, number, len(listed))
            return True
        self._share()
        namespace, _, name = trace.pod.partition("/")
        cycle = CycleRow(number, namespace, name, trace.attempt, trace.result, trace.encode(), self.version)
        self.items.append(SingleCycle(cycle, row, listed, trace.victims if evicted is None else evicted, group))
        return group != {}

    def _added(self, result: ResultRow | None, number: int, events: int) -> None:
        if not self.results:
            self._next = number
        self.results.append(result)
        self.events += events
        if self._batch.full:
            self._share()

    def _share(self) -> None:
        """End the batch of cycles that are stored together."""
        if self.results:
            data = self._batch.encoded()
            self.items.append(SharedCycles(self._next, self.version, data, self.results, self.events))
            self.results, self.events = [], 0

    def _taken(self) -> RecordedBatch:
        self._share()
        items, self.items = self.items, []
        return RecordedBatch(items, self.recorder.take())


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
