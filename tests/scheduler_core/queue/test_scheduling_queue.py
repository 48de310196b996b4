"""Queue behaviour that conformance cases lack: other backoffs, events during a cycle, activation by plugins.

Source: pkg/scheduler/backend/queue (scheduling_queue_test.go, backoff_queue_test.go).
"""

from typing import Any

import pytest

from scheduler_core.framework import events
from scheduler_core.queue import ACTIVE, BACKOFF, UNSCHEDULABLE, QueuedPod, SchedulingQueue
from scheduler_core.queue.clock import Clock
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import info, node, pod


class QueueFixture:
    """A queue with its own clock and pod `a`. `moves`: (queue, cause)."""

    def __init__(self, release: str = "1.34", **options: Any) -> None:
        simulation = Simulation([node("n1")], release=release)
        self.moves: list[tuple[str, str]] = []
        self.queue = SchedulingQueue(
            simulation.scheduler.profiles,
            simulation.cluster.nominator,
            Clock(),
            simulation.release,
            on_move=lambda key, was, to, event: self.moves.append((to, event)),
            **options,
        )
        self.queue.add(info(pod("a"), release))

    def pop(self) -> QueuedPod:
        popped = self.queue.pop()
        assert popped is not None
        return popped

    def reject(self, popped: QueuedPod) -> str:
        """Return the queue of the pod after its rejection."""
        self.queue.add_unschedulable(popped, ["NodeResourcesFit"])
        return self.queue.parts()[popped.key]


@pytest.mark.parametrize(
    ("initial", "maximum", "expected"),
    [(1, 10, [1, 2, 4, 8, 10, 10]), (2, 5, [2, 4, 5, 5, 5, 5]), (5, 5, [5] * 6), (7, 3, [3] * 6)],
)
def test_backoff_doubles_up_to_the_maximum(initial: float, maximum: float, expected: list[float]) -> None:
    bench = QueueFixture("1.34 SchedulerPopFromBackoffQ=false", initial_backoff=initial, max_backoff=maximum)
    durations = []
    for _ in expected:
        rejected = bench.pop()
        bench.reject(rejected)
        durations.append(bench.queue.backoff.duration(rejected))
        bench.queue.activate([rejected.key], {})
    assert durations == expected


@pytest.mark.parametrize("release", ["1.34", "1.27"])
def test_events_during_a_cycle_are_not_lost(release: str) -> None:
    bench = QueueFixture(release)
    popped = bench.pop()
    bench.queue.move_all(events.ASSIGNED_POD_DELETE, info(pod("gone", on="n1")), None)
    assert bench.reject(popped) == BACKOFF
    if release == "1.34":  # pods are popped from backoffQ early
        assert bench.reject(bench.pop()) == UNSCHEDULABLE, "the event was before the second cycle"


def test_activate() -> None:
    bench = QueueFixture()
    assert bench.reject(bench.pop()) == UNSCHEDULABLE
    bench.queue.activate(["default/a", "default/lost"], {})
    assert bench.moves[-1] == (ACTIVE, "ForceActivate")
    popped = bench.pop()
    bench.queue.activate([popped.key], {popped.key: popped.info})
    assert bench.reject(popped) == BACKOFF, "it was activated while in flight"


@pytest.mark.parametrize(
    ("release", "rejectors", "queue"),
    [
        *(("1.25.14", {"NodeResourcesFit"}, UNSCHEDULABLE), ("1.25.15", set(), UNSCHEDULABLE)),
        *(("1.27.6", {"NodeResourcesFit"}, UNSCHEDULABLE), ("1.27.7", set(), UNSCHEDULABLE)),
        *(
            ("1.28.2", {"NodeResourcesFit"}, UNSCHEDULABLE),
            ("1.28.3", set(), UNSCHEDULABLE),
            ("1.29.0", set(), BACKOFF),
        ),
    ],
)
def test_an_error_after_a_rejection(release: str, rejectors: set[str], queue: str) -> None:
    """Before kubernetes/kubernetes#120334 the pod waits for events of the plugin that rejected it before."""
    bench = QueueFixture(release)
    bench.reject(bench.pop())
    bench.queue.activate(["default/a"], {})
    popped = bench.pop()
    bench.queue.add_unschedulable(popped, [])
    assert (popped.rejectors, bench.queue.parts()[popped.key]) == (rejectors, queue)
