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
from scheduler_core.debugger.recording import MOVES_PART, OBJECTS_PART, Recorder, Recording, objects_from
from scheduler_core.debugger.restore import restore_run
from scheduler_core.errors import InputError
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.engine import Engine

Raw = dict[str, Any]
Timed = tuple[Simulation, Engine, float]
Again = Callable[..., Simulation]


def stuck(simulation: Simulation, *results: str, percentage: int | None = None) -> Iterator[tuple[CycleTrace, Again]]:
    """The cycles of a run that ended so, each with what gives the cluster before it, again and again.
    `percentage`: of nodes to score, as the run has it."""
    recorder = Recorder(simulation)
    traces = []
    for trace in simulation.run():
        recorder.cycle(trace)
        traces.append(trace)
    blocks = recorder.drain()
    recording = Recording([block.data for block in blocks if block.part == MOVES_PART])
    objects = [one for block in blocks if block.part == OBJECTS_PART for one in objects_from(block.data)]
    make = partial(
        Simulation,
        release=simulation.release.name,
        config=simulation.configuration,
        tie_break="name",
        preemption=simulation.scheduler.preemption,
        percentage=percentage,
    )
    for number, trace in enumerate(traces, 1):
        if trace.result in (results or ("unschedulable", "gated")):
            moment = recording.before_cycle(number)
            yield (
                trace,
                partial(
                    restore_run,
                    recording,
                    objects.__getitem__,
                    moment,
                    make,
                    simulation.release,
                    start_index=trace.start_index,
                ),
            )


def stuck_in_time(make: Callable[[], Timed]) -> Iterator[tuple[CycleTrace, Again, Again]]:
    """The attempts of a run in time that found no node, each with what gives the cluster before it: from the recording,
    and by playing the run anew up to there. `make`: gives the run (simulation, timeline, until), not begun."""
    simulation, timeline, until = make()
    recorder = Recorder(simulation)
    traces = []
    for record in timeline.run(until):
        recorder.record(record)
        if record.trace is not None:
            traces.append(record.trace)
    blocks = recorder.drain()
    recording = Recording([block.data for block in blocks if block.part == MOVES_PART])
    objects = [one for block in blocks if block.part == OBJECTS_PART for one in objects_from(block.data)]
    release = simulation.release
    again = partial(Simulation, release=release.name, config=simulation.configuration, tie_break="name")
    for number, trace in enumerate(traces, 1):
        if trace.result == "unschedulable":
            moment = recording.before_cycle(number)
            rewound = partial(
                restore_run, recording, objects.__getitem__, moment, again, release, start_index=trace.start_index
            )
            yield trace, rewound, partial(played_to, make, number)


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


def outcome(again: Again, pod: str, changes: list[Raw]) -> str:
    """The node that the pod is bound to if the changes are done to the cluster and then it is tried; "" for none."""
    simulation = again()
    try:
        Edit(simulation).apply(read_changes(copy.deepcopy(changes)))
    except InputError:
        return ""
    found = next((one for one in simulation.pending if one.key == pod), None)
    if found is None:
        return ""
    simulation.scheduler.preemption = False
    simulation.to_try = [found]
    trace = next(iter(simulation.run()))
    return trace.node if trace.result == "scheduled" else ""


def check(again: Again, pod: str, remedies: list[Any]) -> None:
    """Every one places the pod, and none of its changes is superfluous."""
    for remedy in remedies:
        assert remedy.proved
        assert outcome(again, pod, remedy.changes), f"{pod}: {remedy.text}"
        for i in range(len(remedy.changes)) if len(remedy.changes) > 1 else ():
            fewer = remedy.changes[:i] + remedy.changes[i + 1 :]
            assert not outcome(again, pod, fewer), f"{pod}: {remedy.text}: change {i} is not needed"


def wins(again: Again, pod: str, changes: list[Raw], node: str) -> bool:
    """Whether the pod is bound to the node with the changes, and no other node has as many points."""
    simulation = again()
    try:
        Edit(simulation).apply(read_changes(copy.deepcopy(changes)))
    except InputError:
        return False
    found = next((one for one in simulation.pending if one.key == pod), None)
    if found is None:
        return False
    simulation.scheduler.preemption = False
    simulation.to_try = [found]
    trace = next(iter(simulation.run()))
    if trace.result != "scheduled" or trace.node != node:
        return False
    totals: dict[int, int] = {}
    for score in trace.scores.values():
        for row, points in zip(trace.feasible_rows().tolist(), score.normalized.tolist(), strict=True):
            totals[row] = totals.get(row, 0) + points * score.weight
    return sorted(totals.values(), reverse=True)[:2].count(max(totals.values(), default=0)) <= 1


def check_wins(again: Again, pod: str, node: str, remedies: list[Any]) -> None:
    """Every one has the node win alone, and none of its changes is superfluous."""
    for remedy in remedies:
        assert remedy.proved
        assert wins(again, pod, remedy.changes, node), f"{pod} to {node}: {remedy.text}"
        for i in range(len(remedy.changes)) if len(remedy.changes) > 1 else ():
            fewer = remedy.changes[:i] + remedy.changes[i + 1 :]
            assert not wins(again, pod, fewer, node), f"{pod} to {node}: {remedy.text}: change {i} is not needed"
