"""The shared beginning of a fork: the recording before a cycle, and a recorder that continues it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec import structs

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.framework.batching import left_over
from scheduler_core.framework.interface import ERROR, PastCycle
from scheduler_core.recording import cycle_index
from scheduler_core.recording import recording as records
from scheduler_core.recording.cluster_state import StateAtTimepoint, places_at
from scheduler_core.recording.columnar import Table, pack
from scheduler_core.recording.cycle_index import Facts
from scheduler_core.recording.lazy_pods import read
from scheduler_core.recording.objects import Fetch
from scheduler_core.recording.recording import Block, PodState, Recorder, Recording
from scheduler_core.recording.restore import Make, restore_run
from scheduler_core.releases import Release
from scheduler_core.simulation import Simulation


@dataclass(frozen=True)
class Prefix:
    """The recording (only `moves`) of a single pass before a cycle. `placed`: number of cycles that placed a pod;
    `evicted`: number of pods that preemption removed."""

    cycle: int
    recording: Recording
    objects: int
    placed: int
    evicted: int
    blocks: list[Block]


def prefix_of(recording: Recording, facts: Facts, fetch: Fetch, cycle: int) -> Prefix:
    """Return all that is recorded before a cycle. Raises InputError if Permit held a pod before it."""
    moment = recording.before_cycle(cycle)
    begun = np.sort(recording.tables["cycles"]["at"][: cycle - 1])
    if not np.array_equal(begun, np.arange(1, cycle)):
        at = recording.tables["cycles"]["at"]
        free = next(k for k in range(cycle - 1, 0, -1) if np.array_equal(np.sort(at[: k - 1]), np.arange(1, k)))
        raise InputError("at", "", f"Permit held a pod before cycle {cycle}; the last cycle without one is {free}")
    moves = _moves(recording, moment, facts, cycle)
    shortened = Recording([moves])
    tables = shortened.tables
    numbers = [tables[name]["object"] for name in ("pods", "nodes", "others")]
    objects = max((int(column.max()) + 1 for column in numbers if len(column)), default=0)
    blocks = [Block(records.MOVES_PART, 0, cycle - 1, moves)]
    if cycle > 1:
        blocks.append(Block(records.FACTS_PART, 1, cycle - 1, _facts(facts, cycle - 1)))
    for first in range(0, objects, records.OBJECTS_PER_BLOCK):
        some = [fetch(number) for number in range(first, min(first + records.OBJECTS_PER_BLOCK, objects))]
        blocks.append(Block(records.OBJECTS_PART, first, first + len(some) - 1, records.encode(some)))
    placed = facts.table.text("result", slice(cycle - 1)).count("scheduled")
    victims = facts.table.distinct("victims")
    evicted = {victim for kind in facts.table["victims"][: cycle - 1].tolist() for victim in victims[kind]}
    return Prefix(cycle, shortened, objects, placed, len(evicted), blocks)


def _moves(recording: Recording, moment: int, facts: Facts, cycle: int) -> bytes:
    """Return one block with all moves up to the timepoint."""
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for name, schema in records.TABLES.items():
        table = recording.tables[name]
        if "at" in schema:
            rows[name] = _rows(table, schema, table.until(moment))
    pods = [row[1] for row in rows["places"]] + facts.table["pod"][: cycle - 1].tolist()
    rows["pods"] = _rows(recording.tables["pods"], records.TABLES["pods"], max(pods, default=-1) + 1)
    nodes = max((row[2] for row in rows["presence"]), default=-1) + 1
    rows["nodes"] = _rows(recording.tables["nodes"], records.TABLES["nodes"], nodes)
    tables = {name: pack(records.TABLES[name], found) for name, found in rows.items() if found}
    used = [row[0] for row in rows["nodes"]] + [row[2] for row in [*rows["places"], *rows["nominated"]]]
    names = recording.names[: max(used, default=-1) + 1]
    return records.encode({"version": records.VERSION, "names": names, **tables})


def _rows(table: Table, schema: Any, count: int) -> list[tuple[Any, ...]]:
    return list(zip(*(table.all(name)[:count] for name in schema), strict=True))


def _facts(facts: Facts, count: int) -> bytes:
    rows = _rows(facts.table, cycle_index.SCHEMA, count)
    some = facts.table["mask"][:count] == cycle_index.SOME
    size = int(((facts.table["nodes"][:count] + 7) // 8)[some].sum())
    return records.encode((pack(cycle_index.SCHEMA, rows), facts.bits[:size].tobytes()))


def simulation_from(
    prefix: Prefix, fetch: Fetch, make: Make, release: Release, pods: Sequence[str], start_index: int
) -> Simulation:
    """Restore the run at the end of the prefix, ready to continue.

    `make` and `release` are the run's settings at that point. `pods` are the pods still to try, in order; pods that are
    not pending are skipped. `start_index` is that of the next cycle's trace. Raises InputError.
    """
    recording = prefix.recording
    simulation = restore_run(recording, fetch, recording.end, make, release, pods=(), start_index=start_index)
    waiting = {pod.key: pod for pod in simulation.pending}
    simulation.to_try = [waiting[key] for key in pods if key in waiting]
    simulation.scheduler.cycles = prefix.cycle - 1
    simulation.placed = prefix.placed
    if simulation.cluster.nodes.images:
        simulation.cluster.nodes.touch(_touched(prefix))
    return simulation


def _touched(prefix: Prefix) -> set[str]:
    """Return the nodes whose pods changed since the last cycle began, which the next cycle looks at again."""
    recording = prefix.recording
    _, after, _ = places_at(recording, recording.end)
    if prefix.cycle == 1:
        return {recording.names[name] for name in np.unique(after[after >= 0]).tolist()}
    _, before, _ = places_at(recording, recording.before_cycle(prefix.cycle - 1))
    moved = before != after
    return {recording.names[name] for name in {*before[moved].tolist(), *after[moved].tolist()} if name >= 0}


def next_start_index(trace: CycleTrace) -> int:
    """Return the node at which the cycle after this one starts."""
    looked = trace.looked  # only the nominated node, if the pod fits there; then the index stays
    if trace.preenqueue is not None or trace.prefilter is not None or not trace.nodes:
        return trace.start_index
    if looked is not None and np.count_nonzero(looked) == 1:
        return trace.start_index
    if looked is not None:
        return (trace.start_index + int(np.count_nonzero(looked))) % trace.nodes
    processed = trace.nodes if trace.subset is None else len(trace.subset)
    return (trace.start_index + processed) % trace.nodes


def resume(simulation: Simulation, prefix: Prefix, fetch: Fetch, before: Iterable[CycleTrace]) -> None:
    """Restore what plugins and opportunistic batching remember of the cycles before, the last first; read as few as
    needed."""
    profiles = simulation.scheduler.profiles
    recalling = {name: [one for one in profile.plugins if one.recalls_cycles] for name, profile in profiles.items()}
    if not any(recalling.values()):
        _resume_batching(simulation, before)
        return
    past: list[PastCycle] = []
    unread = _noted(before, past)
    _resume_batching(simulation, unread)
    for _ in unread:
        pass
    keys, objects = prefix.recording.tables["pods"].text("key"), prefix.recording.tables["pods"]["object"].tolist()
    numbers = dict(zip(keys, objects, strict=True))
    pods = {pod.key: pod for pod in (*simulation.pending, *simulation.cluster.pods.values())}
    for cycle in reversed(past):
        if (pod := pods.get(cycle.pod)) is None:
            pod = pods[cycle.pod] = PodInfo(read(fetch, numbers[cycle.pod]), simulation.cluster.release)
        for plugin in recalling.get(pod.pod.spec.scheduler_name, ()):
            plugin.recall_cycle(pod, cycle)


def _noted(traces: Iterable[CycleTrace], past: list[PastCycle]) -> Iterator[CycleTrace]:
    for trace in traces:
        if trace.preenqueue is None:
            ends = (trace.reserve, trace.permit, trace.prebind, trace.bind)
            undone = any(one is not None and (one.rejected or one.code == ERROR) for one in ends)
            postfilter = trace.postfilter.status if trace.postfilter is not None else None
            placed = trace.result == "scheduled"
            past.append(PastCycle(trace.pod, placed, trace.prefilter, postfilter, undone, trace.permit_waits.keys()))
        yield trace


def _resume_batching(simulation: Simulation, before: Iterable[CycleTrace]) -> None:
    scheduler, tried = simulation.scheduler, []
    for trace in before if scheduler.batches else ():
        if trace.preenqueue is not None:
            continue
        tried.append(trace)
        if not trace.node or trace.batch_hint != trace.node:
            break
    pods, nodes = simulation.cluster.pods, simulation.cluster.nodes
    if not tried or not all(trace.node and trace.pod in pods for trace in tried) or len(nodes) != tried[-1].nodes:
        return
    first, last = tried[-1], tried[0]
    framework = scheduler.profiles.get(first.profile)
    if framework is None or any(trace.profile != first.profile for trace in tried):
        return
    bound = pods[first.pod]
    spec = structs.replace(bound.pod.spec, node_name="")  # as it was in its cycle
    signed = framework.batching.sign(PodInfo(structs.replace(bound.pod, spec=spec), bound.release))
    others: list[str] = []
    if first.scores:
        rows, chosen = first.feasible_rows(), first.selected_row
        others = left_over(rows, first.total(), chosen, nodes.name_rank(), nodes.names)
    kept = others[: len(others) - len(tried) + 1]
    framework.batching.store(signed, scheduler.attempts, "", last.node, lambda: kept)


class Continuing(Recorder):
    """Continues a prefix's recording. `stored` cycles, at least those of the prefix, are already saved."""

    def __init__(self, simulation: Simulation, prefix: Prefix, stored: int) -> None:
        self._prefix = prefix
        super().__init__(simulation, stored)

    def _open(self, simulation: Simulation) -> None:
        prefix, cluster = self._prefix, simulation.cluster
        recording = prefix.recording
        tables = recording.tables
        self._counts = {"pods": len(tables["pods"]), "nodes": len(tables["nodes"]), "objects": prefix.objects}
        self._cycles = prefix.cycle - 1
        self._drained |= {"cycles": prefix.cycle - 1, "objects": prefix.objects}
        self._names = {name: number for number, name in enumerate(recording.names)}
        self._moment, self._t = prefix.cycle - 1, 0.0
        self._begin_step(prefix.cycle)
        state = StateAtTimepoint(recording, recording.end)
        pending = {pod.key: pod for pod in simulation.pending}
        for row in np.flatnonzero(state.state != records.GONE).tolist():
            key, where = tables["pods"].at("key", row), int(state.state[row])
            pod = self._pods[key] = PodState(stored=row, written_row=row, written_place=(int(state.node[row]), where))
            pod.stored_info = cluster.pods[key] if where != records.PENDING else pending[key]
            if where in (records.ASSUMED, records.BOUND):
                pod.placed, pod.placed_info = row, pod.stored_info
                pod.node, pod.assumed = int(state.node[row]), where == records.ASSUMED
