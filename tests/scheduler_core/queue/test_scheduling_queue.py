"""The scheduling queue, move by move.

Source: pkg/scheduler/backend/queue (scheduling_queue_test.go, backoff_queue_test.go).
"""

from typing import Any

import pytest

from scheduler_core.api.objects import decode
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.queue import ACTIVE, BACKOFF, GATED, UNSCHEDULABLE, QueuedPod, SchedulingQueue
from scheduler_core.queue.clock import Clock
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import node, pod

Move = tuple[str, str, str]
NO_EARLY_POPS = "1.34 SchedulerPopFromBackoffQ=false"


class Bench:
    """A queue on a clock of its own."""

    def __init__(self, release: str = "1.34", **options: Any) -> None:
        self.simulation = Simulation([node("n1")], release=release)
        self.clock = Clock()
        self.moves: list[Move] = []
        self.queue = SchedulingQueue(
            self.simulation.scheduler.profiles,
            self.simulation.cluster.nominator,
            self.clock,
            self.simulation.release,
            on_move=lambda key, was, to, event: self.moves.append((key.partition("/")[2], to, event)),
            **options,
        )

    def info(self, name: str, **spec: Any) -> PodInfo:
        decoded: Any = decode(pod(name, **spec))
        return PodInfo(decoded, self.simulation.release)

    def add(self, *names: str, **spec: Any) -> None:
        for name in names:
            self.queue.add(self.info(name, **spec))

    def fail(self, *plugins: str) -> str:
        """Pops a pod and takes it back, rejected by these plugins, or with an error. Returns the part it is in."""
        popped = self.take()
        self.queue.add_unschedulable(popped, plugins)
        return self.queue.part_of(popped.key)

    def take(self) -> QueuedPod:
        popped = self.queue.pop()
        assert popped is not None
        return popped

    def part(self, name: str) -> str:
        return self.queue.part_of(f"default/{name}")

    def backoffs(self, *rejections: tuple[str, ...]) -> list[float]:
        """The length of the backoff of pod a after each of these failures in turn."""
        self.add("a")
        durations = []
        for plugins in rejections:
            self.fail(*plugins)
            waiting = self.queue.get("default/a")
            assert waiting is not None
            durations.append(self.queue.backoff.duration(waiting))
            self.queue.activate(["default/a"], {})
        return durations

    def pop(self) -> str:
        popped = self.queue.pop()
        if popped is None:
            return ""
        self.queue.done(popped.key)
        return popped.info.name

    def wake(self) -> list[str]:
        """A running pod is gone."""
        gone = self.info("gone")
        gone.node = "n1"
        return self.queue.move_all(events.ASSIGNED_POD_DELETE, gone, None)


def test_pods_leave_by_priority_then_by_arrival() -> None:
    bench = Bench()
    bench.add("a", "b")
    bench.add("c", priority=10)
    bench.clock.advance(1)
    bench.add("d")
    assert [bench.pop() for _ in range(5)] == ["c", "a", "b", "d", ""]


@pytest.mark.parametrize(
    ("initial", "maximum", "expected"),
    [(1, 10, [1, 2, 4, 8, 10, 10]), (2, 5, [2, 4, 5, 5, 5, 5]), (5, 5, [5] * 6), (7, 3, [3] * 6)],
)
def test_backoff_doubles_up_to_the_maximum(initial: float, maximum: float, expected: list[float]) -> None:
    bench = Bench(release=NO_EARLY_POPS, initial_backoff=initial, max_backoff=maximum)
    assert bench.backoffs(*[("NodeResourcesFit",)] * 6) == expected


def test_errors_count_apart_and_a_rejection_forgives_them() -> None:
    rejections = ((), (), ("NodeResourcesFit",), ("NodeResourcesFit",), ())
    assert Bench(NO_EARLY_POPS).backoffs(*rejections) == [1, 2, 1, 2, 1]


def test_an_error_backs_off_and_a_rejection_waits_for_an_event() -> None:
    bench = Bench()
    bench.add("a", "b")
    assert bench.fail("NodeResourcesFit") == UNSCHEDULABLE
    assert bench.fail() == BACKOFF
    assert bench.pop() == "", "a pod that failed by an error is not taken early"


@pytest.mark.parametrize(("pops_early", "popped"), [(True, "a"), (False, "")])
def test_an_idle_scheduler_takes_pods_out_of_backoff(pops_early: bool, popped: str) -> None:
    bench = Bench(f"1.34 SchedulerPopFromBackoffQ={pops_early}")
    bench.add("a")
    bench.fail("NodeResourcesFit")
    assert bench.wake() == ["default/a"]
    assert bench.part("a") == BACKOFF
    assert bench.pop() == popped


@pytest.mark.parametrize(
    ("release", "when", "part"),
    [
        *[("1.34", 1.0, BACKOFF), ("1.34", 1.999, BACKOFF), ("1.34", 2.0, ACTIVE)],
        *[("1.27", 0.5, BACKOFF), ("1.27", 1.0, ACTIVE)],
    ],
)
def test_when_backoff_is_over(release: str, when: float, part: str) -> None:
    bench = Bench(release)
    bench.add("a")
    bench.fail("NodeResourcesFit")
    bench.clock.advance(0.25)
    bench.wake()
    bench.clock.advance(when)
    bench.queue.flush_backoff()
    assert bench.part("a") == part


@pytest.mark.parametrize(("when", "part"), [(300.0, UNSCHEDULABLE), (300.1, ACTIVE)])
def test_leftovers(when: float, part: str) -> None:
    bench = Bench()
    bench.add("a")
    bench.fail("NodeResourcesFit")
    bench.clock.advance(when)
    bench.queue.flush_leftovers()
    assert bench.part("a") == part
    if part == ACTIVE:
        assert bench.moves[-1] == ("a", ACTIVE, "UnschedulableTimeout")


def test_gated_pods_are_not_leftovers_and_wait_for_their_gates_alone() -> None:
    bench = Bench()
    bench.add("a", schedulingGates=[{"name": "wait"}])
    assert bench.moves == [("a", GATED, "UnschedulablePodAdd")]
    bench.clock.advance(1000)
    bench.queue.flush_leftovers()
    assert bench.wake() == []
    assert bench.part("a") == GATED
    old = bench.info("a", schedulingGates=[{"name": "wait"}])
    bench.queue.update(old, bench.info("a"))
    assert bench.moves[-1] == ("a", ACTIVE, "UnschedulablePodUpdatePodSchedulingGatesEliminated")


def test_only_the_plugins_that_rejected_a_pod_are_asked() -> None:
    bench = Bench()
    bench.add("a", "b")
    bench.fail("TaintToleration")
    bench.fail("NodeResourcesFit")
    assert bench.wake() == ["default/b"]


@pytest.mark.parametrize("release", ["1.34", "1.27"])
def test_events_during_a_cycle_are_not_lost(release: str) -> None:
    bench = Bench(release)
    bench.add("a")
    popped = bench.take()
    bench.wake()
    bench.queue.add_unschedulable(popped, ["NodeResourcesFit"])
    assert bench.part("a") == BACKOFF
    if release == "1.27":
        return
    again = bench.take()
    bench.queue.add_unschedulable(again, ["NodeResourcesFit"])
    assert bench.part("a") == UNSCHEDULABLE, "the event was before the second cycle"


def test_activate() -> None:
    bench = Bench()
    bench.add("a", "b")
    bench.fail("NodeResourcesFit")
    bench.queue.activate(["default/a", "default/nobody"], {})
    assert bench.moves[-1] == ("a", ACTIVE, "ForceActivate")
    popped = bench.take()
    bench.queue.activate([popped.key], {popped.key: popped.info})
    bench.queue.add_unschedulable(popped, ["NodeResourcesFit"])
    assert bench.queue.part_of(popped.key) == BACKOFF, "it was activated while in flight"


def test_deleting() -> None:
    bench = Bench()
    bench.add("a")
    bench.queue.delete(bench.info("a"))
    assert bench.moves[-1] == ("a", "gone", "UnschedulablePodDelete")
    assert len(bench.queue) == 0


def test_an_update_wakes_a_pod_only_if_it_can_matter() -> None:
    bench = Bench()
    bench.add("a")
    bench.fail("TaintToleration")
    old = bench.info("a")
    bench.queue.update(old, labelled := bench.info("a", labels={"x": "y"}))
    assert bench.part("a") == UNSCHEDULABLE
    bench.queue.update(labelled, bench.info("a", labels={"x": "y"}, tolerations=[{"operator": "Exists"}]))
    assert bench.part("a") == BACKOFF
    assert bench.moves[-1][2] == "UnschedulablePodUpdatePodToleration"
