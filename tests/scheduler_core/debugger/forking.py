"""Runs, and forks of them, as the application makes them of what it stored. For tests and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.cluster_state import State
from scheduler_core.debugger.fork.prefix import (
    Continuing,
    Prefix,
    next_start_index,
    prefix_of,
    resume_batching,
    simulation_from,
)
from scheduler_core.debugger.fork.stages import Stage, plan_single_pass, plan_virtual_time
from scheduler_core.debugger.recording import (
    FACTS_PART,
    MOVES_PART,
    OBJECTS_PART,
    Block,
    Recorder,
    Recording,
    facts_from,
    objects_from,
)
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.engine import Record
from scheduler_core.virtual_time.scenario_run import ScenarioRun


@dataclass
class Kept:
    """A run that was played. `told`: each cycle with the nodes in the order of its rows."""

    told: list[tuple[CycleTrace, list[str]]]
    blocks: list[Block]
    records: Sequence[Record] = ()

    def part(self, name: str) -> list[bytes]:
        return [block.data for block in self.blocks if block.part == name]

    @property
    def recording(self) -> Recording:
        return Recording(self.part(MOVES_PART))

    @property
    def objects(self) -> list[tuple[str, bytes]]:
        return [one for data in self.part(OBJECTS_PART) for one in objects_from(data)]

    @property
    def said(self) -> list[dict[str, Any]]:
        """All that each cycle decided."""
        return [trace.golden(names) | {"number": trace.number, "result": trace.result} for trace, names in self.told]

    def states(self) -> list[dict[str, Any]]:
        """The cluster before each cycle, and at the end."""
        recording = self.recording
        moments = [recording.before_cycle(k) for k in range(1, recording.cycles + 2)]
        return [State(recording, moment).as_dict() for moment in moments]


def played(simulation: Simulation) -> Kept:
    recorder, told = Recorder(simulation), []
    for trace in simulation.run():
        recorder.cycle(trace)
        told.append((trace, list(simulation.nodes)))
    return Kept(told, recorder.drain())


def played_in_time(run: ScenarioRun) -> Kept:
    recorder, told, records = Recorder(run.simulation), [], []
    names = list(run.simulation.nodes)
    for record in run.run():
        recorder.record(record)
        records.append(record)
        if record.kind == "nodes.listed":
            names = record.data["names"]
        if record.trace is not None:
            told.append((record.trace, names))
    return Kept(told, recorder.drain(), records)


def prefix(kept: Kept, cycle: int) -> Prefix:
    return prefix_of(kept.recording, facts_from(kept.part(FACTS_PART)), kept.objects.__getitem__, cycle)


def forked(kept: Kept, cycle: int, settings: dict[str, Any], stages: Sequence[Stage] = ()) -> Kept:
    """A fork in one pass: the beginning is the parent's, the rest is run. `settings`: the parent's, of Simulation."""
    begun = prefix(kept, cycle)
    start = next_start_index(kept.told[cycle - 2][0]) if cycle > 1 else 0
    simulation = simulation_from(
        begun,
        kept.objects.__getitem__,
        partial(Simulation, **settings),
        get_release(settings.get("release", "1.34")),
        [trace.pod for trace, _ in kept.told[cycle - 1 :]],
        start,
    )
    resume_batching(simulation, (trace for trace, _ in reversed(kept.told[: cycle - 1])))
    recorder = Continuing(simulation, begun, cycle - 1)
    plan_single_pass(simulation, stages, 0)
    told = list(kept.told[: cycle - 1])
    for trace in simulation.run():
        recorder.cycle(trace)
        told.append((trace, list(simulation.nodes)))
    recorder.rest()
    return Kept(told, [*begun.blocks, *recorder.drain()])


def from_scratch(simulation: Simulation, stages: Sequence[Stage]) -> Kept:
    plan_single_pass(simulation, stages, 0)
    return played(simulation)


def from_scratch_in_time(run: ScenarioRun, stages: Sequence[Stage]) -> Kept:
    plan_virtual_time(run, stages)
    return played_in_time(run)
