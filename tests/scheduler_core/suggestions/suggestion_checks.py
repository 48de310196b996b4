"""Runs with pending pods, restored before an attempt, and suggested fixes applied without the code that proves them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import Fix
from scheduler_core.forks.mutations import Edit, read_changes
from scheduler_core.recording.restore import restore_run
from scheduler_core.simulation import Simulation
from tests.scheduler_core.recording.recorded_runs import maker, played

Raw = dict[str, Any]
Again = Callable[..., Simulation]


def unplaced(
    simulation: Simulation, *results: str, percentage: int | None = None
) -> Iterator[tuple[CycleTrace, Again]]:
    """Return the failed cycles of a run, each with a function that restores the cluster before it.
    `percentage`: of nodes to score, as in the run.
    """
    kept = played(simulation)
    make = maker(simulation, preemption=simulation.scheduler.preemption, percentage=percentage)
    for number, (trace, _) in enumerate(kept.cycles, 1):
        if trace.result in (results or ("unschedulable", "gated")):
            at, start = kept.recording.before_cycle(number), trace.start_index
            again = partial(restore_run, kept.recording, kept.fetch, at, make, simulation.release, start_index=start)
            yield trace, again


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


def check_wins(again: Again, pod: str, node: str, fixes: list[Fix]) -> None:
    """Every fix makes the node the only best one, and none of its changes of the pod and of nodes is superfluous."""
    for fix in fixes:
        if fix.command.startswith("kubectl describe "):
            continue
        where = f"{pod} to {node}: {fix.text}"
        assert wins(again, pod, fix.changes, node), where
        for i, change in enumerate(fix.changes) if len(fix.changes) > 1 else ():
            patch = change.get("patch") or {}
            if patch.get("kind") != "Pod" or f"{patch['namespace']}/{patch['name']}" == pod:
                fewer = fix.changes[:i] + fix.changes[i + 1 :]
                assert not wins(again, pod, fewer, node), f"{where}: change {i} is not needed"
