"""Runs with pods that fit nowhere, rewound; and remedies applied apart from the code that proves them."""

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
from tests.scheduler_core.debugger.forking import Kept, maker, played, recorded

Raw = dict[str, Any]
Timed = tuple[Simulation, Engine, float]
Again = Callable[..., Simulation]


def stuck(simulation: Simulation, *results: str, percentage: int | None = None) -> Iterator[tuple[CycleTrace, Again]]:
    """The cycles of a run that ended so, each with what gives the cluster before it, again and again.
    `percentage`: of nodes to score, as the run has it."""
    kept = played(simulation)
    make = maker(simulation, preemption=simulation.scheduler.preemption, percentage=percentage)
    for trace, again, _ in restored(kept, make, simulation.release, results or ("unschedulable", "gated")):
        yield trace, again


def stuck_in_time(make: Callable[[], Timed]) -> Iterator[tuple[CycleTrace, Again, Again]]:
    """The attempts of a run in time that found no node, each with what gives the cluster before it: from the recording,
    and by playing the run anew up to there. `make`: gives the run (simulation, timeline, until), not begun."""
    simulation, timeline, until = make()
    kept = recorded(simulation, timeline.run(until))
    for trace, rewound, number in restored(kept, maker(simulation), simulation.release, ("unschedulable",)):
        yield trace, rewound, partial(played_to, make, number)


def restored(
    kept: Kept, make: Again, release: Release, results: tuple[str, ...]
) -> Iterator[tuple[CycleTrace, Again, int]]:
    """The cycles with these results, each with what restores the cluster before it, and its number."""
    recording, fetch = kept.recording, kept.fetch
    for number, (trace, _) in enumerate(kept.cycles, 1):
        if trace.result in results:
            at, start = recording.before_cycle(number), trace.start_index
            yield trace, partial(restore_run, recording, fetch, at, make, release, start_index=start), number


class _There(Exception):
    """A run has come to the attempt."""


def played_to(make: Callable[[], Timed], number: int) -> Simulation:
    """A run in time, played from its beginning up to an attempt: the cluster right before it, that pod pending."""
    simulation, timeline, until = make()
    try_pod, attempts = simulation.scheduler.try_pod, 0

    def trying(pod: PodInfo, *rest: Any) -> Any:
        nonlocal attempts
        attempts += 1
        if attempts == number:
            simulation.pending = [pod]
            raise _There
        return try_pod(pod, *rest)

    simulation.scheduler.try_pod = trying  # type: ignore[method-assign]
    with suppress(_There):
        for _ in timeline.run(until):
            pass
    simulation.scheduler.try_pod = try_pod  # type: ignore[method-assign]
    return simulation


def replayed(make: Callable[[], Simulation], cycles: int) -> Simulation:
    """The run of its own, begun anew and stopped after so many cycles: nothing of it comes from a recording."""
    simulation = make()
    run = simulation.run()
    for _ in range(cycles):
        next(run)
    return simulation


def changed(again: Again, pod: str, changes: list[Raw]) -> CycleTrace | None:
    """The cycle of the pod, without preemption, after the changes were done to the cluster; None if they cannot be."""
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
    """The node that the pod is bound to if the changes are done to the cluster and then it is tried; "" for none."""
    trace = changed(again, pod, changes)
    return trace.node if trace is not None and trace.result == "scheduled" else ""


def check(again: Again, pod: str, remedies: list[Any]) -> None:
    """Every one places the pod, and none of its changes is superfluous."""
    _check(remedies, lambda changes: bool(outcome(again, pod, changes)), pod)


def _check(remedies: list[Any], helps: Callable[[list[Raw]], bool], where: str) -> None:
    for remedy in remedies:
        assert remedy.proved
        assert helps(remedy.changes), f"{where}: {remedy.text}"
        for i in range(len(remedy.changes)) if len(remedy.changes) > 1 else ():
            fewer = remedy.changes[:i] + remedy.changes[i + 1 :]
            assert not helps(fewer), f"{where}: {remedy.text}: change {i} is not needed"


def wins(again: Again, pod: str, changes: list[Raw], node: str) -> bool:
    """Whether the pod is bound to the node with the changes, and no other node has as many points."""
    trace = changed(again, pod, changes)
    if trace is None or trace.result != "scheduled" or trace.node != node:
        return False
    totals: dict[int, int] = {}
    for score in trace.scores.values():
        for row, points in zip(trace.feasible_rows().tolist(), score.normalized.tolist(), strict=True):
            totals[row] = totals.get(row, 0) + points * score.weight
    return sorted(totals.values(), reverse=True)[:2].count(max(totals.values(), default=0)) <= 1


def check_wins(again: Again, pod: str, node: str, remedies: list[Any]) -> None:
    """Every one has the node win alone, and none of its changes is superfluous."""
    _check(remedies, lambda changes: wins(again, pod, changes, node), f"{pod} to {node}")
