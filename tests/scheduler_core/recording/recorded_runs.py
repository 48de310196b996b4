"""Runs and their forks, built from recordings as the application does. For tests and scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.forks import prefix as beginnings
from scheduler_core.forks.prefix import Prefix
from scheduler_core.forks.stages import Stage, plan_single_pass, plan_virtual_time
from scheduler_core.recording import recording as parts
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.cycle_index import Facts
from scheduler_core.recording.recording import Block, Recorder, Recording
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.engine import Engine, Record
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.scheduler_core.recording.core_states import WatchedRun, watch_once, watch_time


@dataclass
class RecordedRun:
    """A finished run. `cycles`: each cycle with the nodes in the order of its rows."""

    cycles: list[tuple[CycleTrace, list[str]]]
    blocks: list[Block]
    records: Sequence[Record] = ()

    def part(self, name: str) -> list[bytes]:
        return [block.data for block in self.blocks if block.part == name]

    @cached_property
    def recording(self) -> Recording:
        return Recording(self.part(parts.MOVES_PART))

    @cached_property
    def facts(self) -> Facts:
        return parts.facts_from(self.part(parts.FACTS_PART))

    @cached_property
    def objects(self) -> list[tuple[str, bytes]]:
        return [one for data in self.part(parts.OBJECTS_PART) for one in parts.objects_from(data)]

    def fetch(self, number: int) -> tuple[str, bytes]:
        return self.objects[number]

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """Return all decisions of each cycle."""
        return [trace.golden(names) | {"number": trace.number, "result": trace.result} for trace, names in self.cycles]

    def states(self) -> list[dict[str, Any]]:
        """Return the cluster state before each cycle, and at the end."""
        recording = self.recording
        moments = [recording.before_cycle(k) for k in range(1, recording.cycles + 2)]
        return [StateAtTimepoint(recording, moment).as_dict() for moment in moments]


def opening(simulation: Simulation) -> RecordedRun:
    """Return a run before its first cycle."""
    return RecordedRun([], Recorder(simulation).drain())


def played(simulation: Simulation, run: Iterable[CycleTrace] | None = None) -> RecordedRun:
    """Play a single-pass run and store it every 3 cycles. `run`: its cycles, if it is watched."""
    recorder, cycles = Recorder(simulation), []
    blocks = recorder.drain()
    for number, trace in enumerate(simulation.run() if run is None else run):
        recorder.cycle(trace)
        cycles.append((trace, list(simulation.nodes)))
        blocks += recorder.drain() if number % 3 == 0 else []
    return RecordedRun(cycles, blocks + recorder.drain())


def played_in_time(run: ScenarioRun) -> RecordedRun:
    return recorded(run.simulation, run.run())


def recorded(simulation: Simulation, run: Iterable[Record]) -> RecordedRun:
    """Play a run in virtual time by its records and store it every 7."""
    recorder, cycles, records = Recorder(simulation), [], []
    blocks, names = recorder.drain(), list(simulation.nodes)
    for record in run:
        recorder.record(record)
        records.append(record)
        if record.kind == "nodes.listed":
            names = record.data["names"]
        if record.trace is not None:
            cycles.append((record.trace, names))
        blocks += recorder.drain() if record.seq % 7 == 0 else []
    return RecordedRun(cycles, blocks + recorder.drain(), records)


def watched_once(simulation: Simulation) -> tuple[RecordedRun, WatchedRun]:
    watched = WatchedRun()
    return played(simulation, watch_once(simulation, watched)), watched


def watched_time(run: ScenarioRun) -> tuple[RecordedRun, WatchedRun]:
    return watched_records(run.simulation, run.engine, run.until)


def watched_records(simulation: Simulation, timeline: Engine, until: float) -> tuple[RecordedRun, WatchedRun]:
    watched = WatchedRun()
    return recorded(simulation, watch_time(timeline, until, watched)), watched


def maker(simulation: Simulation, **more: Any) -> Callable[..., Simulation]:
    """Return a function that creates simulations with the settings of this one. Ties go to the first node by name."""
    settings = {"config": simulation.configuration, "tie_break": "name", **more}
    return partial(Simulation, release=simulation.release.name, **settings)


def prefix(kept: RecordedRun, cycle: int) -> Prefix:
    return beginnings.prefix_of(kept.recording, kept.facts, kept.fetch, cycle)


def forked(kept: RecordedRun, cycle: int, settings: dict[str, Any], stages: Sequence[Stage] = ()) -> RecordedRun:
    """Fork a single-pass run: take the rows of the parent, then run. `settings`: the parent's, for Simulation."""
    begun = prefix(kept, cycle)
    start = beginnings.next_start_index(kept.cycles[cycle - 2][0]) if cycle > 1 else 0
    simulation = beginnings.simulation_from(
        begun,
        kept.fetch,
        partial(Simulation, **settings),
        get_release(settings.get("release", "1.34")),
        [trace.pod for trace, _ in kept.cycles[cycle - 1 :]],
        start,
    )
    beginnings.resume(simulation, begun, kept.fetch, (trace for trace, _ in reversed(kept.cycles[: cycle - 1])))
    recorder = beginnings.Continuing(simulation, begun, cycle - 1)
    plan_single_pass(simulation, stages, 0)
    cycles = list(kept.cycles[: cycle - 1])
    for trace in simulation.run():
        recorder.cycle(trace)
        cycles.append((trace, list(simulation.nodes)))
    recorder.rest()
    return RecordedRun(cycles, [*begun.blocks, *recorder.drain()])


def from_scratch(simulation: Simulation, stages: Sequence[Stage]) -> RecordedRun:
    plan_single_pass(simulation, stages, 0)
    return played(simulation)


def from_scratch_in_time(run: ScenarioRun, stages: Sequence[Stage]) -> RecordedRun:
    plan_virtual_time(run, stages)
    return played_in_time(run)
