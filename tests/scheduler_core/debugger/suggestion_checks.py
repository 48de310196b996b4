"""Runs with pending pods, restored before an attempt, and suggested fixes applied without the code that proves them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.mutations import Edit, read_changes
from scheduler_core.debugger.restore import restore_run
from scheduler_core.errors import InputError
from scheduler_core.releases import Release
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.engine import Engine
from tests.scheduler_core.debugger.recorded_runs import RecordedRun, maker, played, recorded

Raw = dict[str, Any]
Timed = tuple[Simulation, Engine, float]
Again = Callable[..., Simulation]


def unplaced(
    simulation: Simulation, *results: str, percentage: int | None = None
) -> Iterator[tuple[CycleTrace, Again]]:
    """Return the failed cycles of a run, each with a function that restores the cluster before it.
    `percentage`: of nodes to score, as in the run.
    """
    kept = played(simulation)
    make = maker(simulation, preemption=simulation.scheduler.preemption, percentage=percentage)
    for trace, again, _ in restored(kept, make, simulation.release, results or ("unschedulable", "gated")):
        yield trace, again


def unplaced_in_virtual_time(make: Callable[[], Timed]) -> Iterator[tuple[CycleTrace, Again, Again]]:
    """Return the failed attempts of a virtual time run, each with functions that restore the cluster before it: from
    the
    recording, and by a replay. `make`: returns the run (simulation, timeline, until), not started.
    """
    simulation, timeline, until = make()
    kept = recorded(simulation, timeline.run(until))
    for trace, rewound, number in restored(kept, maker(simulation), simulation.release, ("unschedulable",)):
        yield trace, rewound, partial(played_to, make, number)


def restored(
    kept: RecordedRun, make: Again, release: Release, results: tuple[str, ...]
) -> Iterator[tuple[CycleTrace, Again, int]]:
    """Return the cycles with these results, each with a function that restores the cluster before it, and its id."""
    recording, fetch = kept.recording, kept.fetch
    for number, (trace, _) in enumerate(kept.cycles, 1):
        if trace.result in results:
            at, start = recording.before_cycle(number), trace.start_index
            yield trace, partial(restore_run, recording, fetch, at, make, release, start_index=start), number


class _AttemptReached(Exception):
    """The run has reached the attempt."""


def played_to(make: Callable[[], Timed], number: int) -> Simulation:
    """Play a virtual time run up to an attempt. Return the cluster right before it, with the pod pending."""
    simulation, timeline, until = make()
    try_pod, attempts = simulation.scheduler.try_pod, 0

    def trying(pod: PodInfo, *rest: Any) -> Any:
        nonlocal attempts
        attempts += 1
        if attempts == number:
            simulation.pending = [pod]
            raise _AttemptReached
        return try_pod(pod, *rest)

    simulation.scheduler.try_pod = trying  # type: ignore[method-assign]
    with suppress(_AttemptReached):
        for _ in timeline.run(until):
            pass
    simulation.scheduler.try_pod = try_pod  # type: ignore[method-assign]
    return simulation


def replayed(make: Callable[[], Simulation], cycles: int) -> Simulation:
    """Replay so many cycles of a run, without a recording."""
    simulation = make()
    run = simulation.run()
    for _ in range(cycles):
        next(run)
    return simulation


def changed(again: Again, pod: str, changes: list[Raw]) -> CycleTrace | None:
    """Run the cycle of the pod without preemption after the changes. Return None if they cannot be applied."""
    simulation = again()
    try:
        Edit(simulation).apply(read_changes(copy.deepcopy(changes)))
    except InputError:
        return None
    found = next((one for one in simulation.pending if one.key == pod), None)
    if found is None:
        return None
    simulation.scheduler.preemption = False
    simulation.to_try = [found]
    return next(iter(simulation.run()))


def outcome(again: Again, pod: str, changes: list[Raw]) -> str:
    """Return the node of the pod after the changes, "" for none."""
    trace = changed(again, pod, changes)
    return trace.node if trace is not None and trace.result == "scheduled" else ""


def check(again: Again, pod: str, remedies: list[Any]) -> None:
    """Every fix places the pod, and none of its changes is superfluous."""
    _check(remedies, lambda changes: bool(outcome(again, pod, changes)), pod)


def _check(remedies: list[Any], helps: Callable[[list[Raw]], bool], where: str) -> None:
    for remedy in remedies:
        assert remedy.proved
        assert helps(remedy.changes), f"{where}: {remedy.text}"
        for i in range(len(remedy.changes)) if len(remedy.changes) > 1 else ():
            fewer = remedy.changes[:i] + remedy.changes[i + 1 :]
            assert not helps(fewer), f"{where}: {remedy.text}: change {i} is not needed"


def wins(again: Again, pod: str, changes: list[Raw], node: str) -> bool:
    """Tell whether the pod is bound to the node after the changes, and no other node has as high a score."""
    trace = changed(again, pod, changes)
    if trace is None or trace.result != "scheduled" or trace.node != node:
        return False
    totals: dict[int, int] = {}
    for score in trace.scores.values():
        for row, points in zip(trace.feasible_rows().tolist(), score.normalized.tolist(), strict=True):
            totals[row] = totals.get(row, 0) + points * score.weight
    return sorted(totals.values(), reverse=True)[:2].count(max(totals.values(), default=0)) <= 1


def check_wins(again: Again, pod: str, node: str, remedies: list[Any]) -> None:
    """Every fix makes the node the only best one, and none of its changes is superfluous."""
    _check(remedies, lambda changes: wins(again, pod, changes, node), f"{pod} to {node}")
