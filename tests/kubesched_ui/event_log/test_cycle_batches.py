"""Events of batched cycles are those of their traces."""

import random
from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesched_ui.event_log import best_nodes
from kubesched_ui.event_log.cycle_batches import EventBatch
from kubesched_ui.event_log.events import cycle_events
from scheduler_core.commands.bench import workload
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.cycle.trace_batch import TraceBatch, TraceBatchEncoder, deflate
from scheduler_core.simulation import Simulation
from tests.conformance import golden_cases
from tests.examples import sample, selection
from tests.scheduler_core.build import pod
from tests.scheduler_core.framework.test_equivalence import RELEASES, Change, cycle, nodes, shapes

FIRST = 1_000  # number of the first event


class Expected:
    """Batches of cycles, each with the texts that its cycles give on their own."""

    def __init__(self) -> None:
        self._encoder = TraceBatchEncoder()
        self._texts: list[bytes] = []
        self._nodes: list[str] = []
        self._seq = FIRST
        self.compared = 0

    def add(self, trace: CycleTrace, names: list[str]) -> None:
        if names != self._nodes or self._encoder.full:
            self.compare()
            self._nodes = list(names)
        events = cycle_events(trace, names)
        if trace.has_shared_parts and not (trace.group or trace.victims):
            self._encoder.add(trace, len(events))
            self._texts.append(msgspec.json.encode([{"seq": n, **event} for n, event in enumerate(events, self._seq)]))
            self._seq += len(events)

    def compare(self) -> None:
        """End a batch, and read its events in order, one by one and after a number."""
        if self._texts:
            data = deflate(self._encoder.encoded())
            batch = EventBatch(0, 0, FIRST, data)
            batch.nodes = self._nodes
            assert [found.read() for found in batch.after(0)] == self._texts
            assert [batch.cycle(index).read() for index in range(len(self._texts))] == self._texts
            middle = batch.cycle(len(self._texts) // 2)
            assert [found.read() for found in batch.after(middle.last_seq - 1)] == self._texts[len(self._texts) // 2 :]
            assert batch.ends[-1] == self._seq - 1
            self._compare_in_another_order(list(TraceBatch(data)))
            self.compared += len(self._texts)
        self._texts, self._seq = [], FIRST

    def _compare_in_another_order(self, traces: list[CycleTrace]) -> None:
        """Compare the best nodes of cycles that are read backwards, also of those on a node that is not feasible."""
        ranking = best_nodes.BatchRanking()
        for trace in reversed(traces):
            rows = [row for row in (trace.selected_row, *range(min(trace.nodes, 3))) if row >= 0]
            one, other = (
                msgspec.json.encode([find(trace, self._nodes, row) for row in rows])
                for find in (ranking, best_nodes.best_nodes)  # the second makes the scores
            )
            assert one == other


def compare_all(traces: Iterable[CycleTrace], simulation: Simulation) -> int:
    """Compare the events of a run. Return the number of cycles in batches."""
    expected = Expected()
    for trace in traces:
        expected.add(trace, simulation.nodes)
    expected.compare()
    return expected.compared


@pytest.mark.parametrize("name", ["basic", "spread", "antiaffinity", "prefaffinity"])
@pytest.mark.parametrize("few", selection([3, 0, best_nodes.FEW], 3))
def test_events_of_benchmarks(name: str, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best_nodes, "FEW", few)
    simulation = Simulation(workload(name, 24, 150), release="1.34", percentage=100, seed=1)
    assert compare_all(simulation.run(), simulation) > 140


@pytest.mark.slow
@pytest.mark.parametrize("release", selection(["v1.34", "v1.31", "v1.27"], 3))
def test_events_of_golden_samples(release: str) -> None:
    compared = 0
    for case in sample(golden_cases(release), 200):
        options = {key: case.get(key) for key in ("config", "percentage", "pods")}
        preempt = case.get("preempt", False)
        simulation = Simulation(case["objects"], release=release[1:], preemption=preempt, **options)
        compared += compare_all(simulation.run(), simulation)
    assert compared


@pytest.mark.generated
@pytest.mark.parametrize("release", selection(RELEASES, 3))
@given(seed=st.integers(0, 1 << 32), percentage=st.sampled_from([100, 100, 50]), few=st.sampled_from([0, 2, 64]))
def test_events_of_random_clusters(release: str, seed: int, percentage: int, few: int) -> None:
    dice, expected = random.Random(seed), Expected()
    some = dice.sample(shapes(), dice.randrange(1, 5))
    simulation = Simulation(nodes(dice), release=release, percentage=percentage, seed=dice.choice([None, 1]))
    change = Change(dice, [simulation])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(best_nodes, "FEW", few)
        for number in range(40):
            if dice.random() < 0.1:
                change.apply()
            trace = cycle(simulation, pod(f"p{number}", **dice.choice(some)))
            expected.add(trace, simulation.nodes)
        expected.compare()
