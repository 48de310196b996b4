"""python -m scheduler_core state, find: runs and records a file, then queries the recording."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

import msgspec

from scheduler_core.cluster import formatting
from scheduler_core.commands.inputs import configuration_of, prepared, read_config, tell
from scheduler_core.config import Configuration, Unknown
from scheduler_core.debugger import timepoints
from scheduler_core.debugger.cycle_index import Facts
from scheduler_core.debugger.fork.stages import Stage, plan_single_pass, plan_virtual_time
from scheduler_core.debugger.recording import (
    FACTS_PART,
    MOVES_PART,
    OBJECTS_PART,
    Recorder,
    Recording,
    facts_from,
    objects_from,
)
from scheduler_core.debugger.search import CycleSearch
from scheduler_core.debugger.timepoints import Timepoint
from scheduler_core.errors import InputError
from scheduler_core.legacy.configuration import load
from scheduler_core.releases import NEWEST, get_release, with_gates
from scheduler_core.releases.feature_gates import parse
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.files import objects_in, read_bytes
from scheduler_core.snapshot.preflight import AS_UPSTREAM, Choices
from scheduler_core.virtual_time.scenario import API_VERSION, load_scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun

_SCENARIO = re.compile(rb'^\s*"?kind"?\s*:\s*"?Scenario\b|"kind"\s*:\s*"Scenario"', re.M)


@dataclass(frozen=True, slots=True)
class Played:
    """A run of a file.

    `cycles`: each encoded, with the nodes in the order of its rows. `objects`: by their number. `configuration`,
    `settings`: those of the run.
    """

    recording: Recording
    facts: Facts
    in_time: bool
    cycles: list[tuple[bytes, list[str]]]
    objects: list[tuple[str, bytes]]
    configuration: Configuration
    settings: dict[str, Any]


def play(
    path: str,
    *,
    one_pass: bool = False,
    release: str | None = None,
    gates: str = "",
    config: str | None = None,
    seed: int | None = None,
    unknown: Unknown = "error",
    choices: Choices = AS_UPSTREAM,
    keep: bool = False,
    stages: Sequence[Stage] = (),
) -> Played:
    """Run and record a snapshot in a single pass, or a scenario in virtual time.

    `one_pass`: run a scenario in a single pass as well. `keep`: keep the cycles. `stages`: changes during the run.
    `release`, `config` (a file), `seed`: replace those of the file. `gates`: feature gates in addition to the file's,
    as `A=true,B=false`. `unknown`: how to handle plugins that do not exist here. `choices`: how to complete what the
    snapshot leaves open. Raises InputError.
    """
    data = read_bytes(path)
    if not one_pass and is_scenario(data):
        return _in_time(data, path, release, parse(gates), config, seed, unknown, choices, keep, stages)
    raws = objects_in(data, path)
    name = with_gates(get_release(release or NEWEST), parse(gates)).name
    read = partial(load, release=get_release(name), unknown=unknown)
    configuration = read(read_config(config)) if config else configuration_of(raws, read)
    found = prepared(path, raws, name, configuration, choices)
    tie_break = "name" if seed is None else "seed"
    simulation = Simulation(found.objects, release=name, config=configuration, seed=seed or 0, tie_break=tie_break)
    tell(found, simulation.warnings)
    recorder, cycles, nodes = Recorder(simulation), [], list(simulation.nodes)
    plan_single_pass(simulation, stages, 0)
    for trace in simulation.run():
        recorder.cycle(trace)
        if keep:
            cycles.append((trace.encode(), list(simulation.nodes) if stages else nodes))
    recorder.rest()
    settings = {"in_time": False, "release": name, "seed": seed or 0, "tie_break": tie_break}
    return _played(recorder, simulation, settings, cycles)


def is_scenario(data: bytes) -> bool:
    """Return whether a file is a Scenario, which runs in virtual time."""
    return API_VERSION.encode() in data and _SCENARIO.search(data) is not None


def _in_time(
    data: bytes,
    path: str,
    release: str | None,
    gates: Mapping[str, bool],
    config: str | None,
    seed: int | None,
    unknown: Unknown,
    choices: Choices,
    keep: bool,
    stages: Sequence[Stage],
) -> Played:
    scenario = load_scenario(data, path)
    spec = scenario.spec
    spec.feature_gates = {**({} if release else spec.feature_gates), **gates}
    spec.kubernetes = release or spec.kubernetes
    spec.config = read_config(config).decode(errors="replace") if config else spec.config
    spec.seed = spec.seed if seed is None else seed
    run = ScenarioRun(scenario, data, timer=time.perf_counter_ns, unknown_plugins=unknown, choices=choices)
    tell(run.prepared, run.simulation.warnings)
    recorder, cycles, nodes = Recorder(run.simulation), [], list(run.simulation.nodes)
    plan_virtual_time(run, stages)
    for record in run.run():
        recorder.record(record)
        if record.kind == "nodes.listed":
            nodes = record.data["names"]
        if record.trace is not None and keep:
            cycles.append((record.trace.encode(), nodes))
    settings = {"in_time": True, "release": run.simulation.release.name, "until": run.until}
    settings |= {"seed": spec.seed, "tie_break": spec.tie_break, "preemption": spec.preemption}
    return _played(recorder, run.simulation, settings, cycles)


def _played(
    recorder: Recorder, simulation: Simulation, settings: dict[str, Any], cycles: list[tuple[bytes, list[str]]]
) -> Played:
    blocks = recorder.drain()
    parts = {part: [block.data for block in blocks if block.part == part] for part in (MOVES_PART, FACTS_PART)}
    objects = [obj for block in blocks if block.part == OBJECTS_PART for obj in objects_from(block.data)]
    recording, facts = Recording(parts[MOVES_PART]), facts_from(parts[FACTS_PART])
    return Played(recording, facts, settings["in_time"], cycles, objects, simulation.configuration, settings)


def state(
    played: Played,
    out: IO[str],
    cycle: int | None = None,
    t: float | None = None,
    seq: int | None = None,
    since: float | None = None,
    as_json: bool = False,
) -> int:
    """Write the cluster at a timepoint, as a table or as JSON of the API. Returns 0. Raises InputError."""
    if seq is not None and not played.in_time:
        raise InputError("seq", "", "is for runs in time; ask by cycle")
    found = timepoints.cluster_at(played.recording, Timepoint(cycle, t, seq), since)
    if as_json or since is not None:
        print(msgspec.json.encode(found).decode(), file=out)
        return 0
    cycles, number = played.recording.cycles, found["cycle"]
    where = (
        f"before cycle {number:,} of {cycles:,}" if number <= cycles else f"after {formatting.count(cycles, 'cycle')}"
    )
    print(f"{where}, at {found['t']:g} s", file=out)
    rows = [("NODE", "CPU", "MEMORY", "PODS", "")]
    for node in found["nodes"]:
        has, used = node["allocatable"], node["requested"]
        shares = (
            f"{formatting.amount(name, used[name])} of {formatting.amount(name, has.get(name, 0))}"
            for name in ("cpu", "memory")
        )
        remarks = ["cordoned"] * node["unschedulable"] + node["taints"]
        rows.append((node["name"], *shares, f"{used['pods']} of {has.get('pods', 0)}", ", ".join(remarks)))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, (*widths, 0), strict=True))
        print("  ".join(cells).rstrip(), file=out)
    for part in ("nominated", "waiting", "orphans"):
        for pod, name in found[part].items():
            print(f"{part}: {pod} on {name}", file=out)
    print(
        f"{formatting.count(len(found['pending']), 'pod')} pending: {formatting.some(found['pending'], 10) or 'none'}",
        file=out,
    )
    return 0


def find(
    played: Played,
    out: IO[str],
    where: str,
    start: int | None = None,
    direction: str = "all",
    limit: int = 100,
    as_json: bool = False,
) -> int:
    """Write the cycles for which an expression is true, one per line. Returns 0, or 1 if there are none.

    Raises InputError.
    """
    found = CycleSearch(played.recording, played.facts).find(where, start, direction, limit)
    if as_json:
        print(msgspec.json.encode(found).decode(), file=out)
        return 0 if found["matches"] else 1
    for match in found["matches"]:
        print(f"{match['cycle']:>8}  {match['t']:>10g} s  {match['pod']}  attempt {match['attempt']}", file=out)
    shown = len(found["matches"])
    more = f", {shown:,} shown" if shown < found["total"] else ""
    print(f"{found['total']:,} of {formatting.count(played.recording.cycles, 'cycle')}{more}", file=out)
    if found["note"]:
        print(found["note"], file=out)
    return 0 if found["matches"] else 1
