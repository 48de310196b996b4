"""Loads a run, computes it, and yields what its worker writes.

Nothing is written here, and all is read from the database before the first item is made, so a process of its own can
make them (`compute_process.py`).
"""

import logging
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kubesched_ui.event_log.log import ResultNames
from kubesched_ui.event_log.queue_sizes import Move
from kubesched_ui.event_log.rows import Ended
from kubesched_ui.event_log.single_pass_recorder import Computed, SinglePassRecorder
from kubesched_ui.event_log.timeline_recorder import TimelineRecorder
from kubesched_ui.event_log.virtual_time_recorder import ComputedInTime, VirtualTimeRecorder
from kubesched_ui.models import Run
from kubesched_ui.models.scenarios import PackedObject
from kubesched_ui.runs import build_simulation, fork_create, fork_execution
from kubesched_ui.runs.pending_answers import explained
from kubesched_ui.scenarios import virtual_time
from scheduler_core.api.duration import seconds
from scheduler_core.forks.stages import plan_single_pass
from scheduler_core.recording.recording import Block, Recorder
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.prepare import Prepared

logger = logging.getLogger(__name__)


@dataclass
class Opening:
    """A run before its first cycle or record.

    `cycles`: the expected number of cycles. `nodes`: in row order. What follows is empty if it is stored: `blocks`, the
    beginning of the recording; `started`, the data of the event `run.started`; in virtual time, `moves` of the pods
    that are on a node, and their names in `pods`.
    """

    cycles: int
    nodes: list[str]
    names: ResultNames = field(default_factory=ResultNames)
    blocks: list[Block] = field(default_factory=list)
    started: dict[str, Any] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    pods: list[str] = field(default_factory=list)


def single_pass(run: Run) -> Generator[Opening | Computed, None, None]:
    """Yield the opening of a run, then what follows. A fork that adopts must have its parent's data; it is loaded
    here. Others are loaded for the first item. Raises InputError."""
    waits = run.scenario.packed_waits()
    if run.adopts:
        loaded = _fork(run)
        return _items(run, lambda: loaded, waits)
    return _items(run, partial(_beginning, run, consumed(run.scenario.packed_objects())), waits)


def _items(
    run: Run, load: Callable[[], tuple[Opening, SinglePassRecorder]], waits: list[PackedObject]
) -> Generator[Opening | Computed, None, None]:
    began = time.perf_counter()
    opening, recorder_of_run = load()
    loaded_s = time.perf_counter() - began
    logger.info("Run %s: %s cycles, %s nodes, loaded in %.1f s", run.pk, opening.cycles, len(opening.nodes), loaded_s)
    yield opening
    # a fork also has the results of pods that its parent tried
    only = None if run.adopts else opening.names.positions
    yield from _answered(recorder_of_run, recorder_of_run.simulation, waits, only)


def _answered(
    recorder: SinglePassRecorder | VirtualTimeRecorder,
    simulation: Simulation,
    waits: list[PackedObject],
    only: Collection[str] | None = None,
) -> Iterator[Any]:
    """Yield what a recorder yields, and with the end why pods have no node. `waits`: as of `explained`. `only`: the
    pods of the run; None: all that wait."""
    for item in recorder.run():
        if isinstance(item, Ended):
            nominated = {key: recorder.nominated[key] for key in item.nominations.keys() & recorder.nominated.keys()}
            yield item._replace(answers=explained(simulation, only, nominated, waits))
        else:
            yield item


def consumed(packed: list[bytes]) -> Iterator[bytes]:
    """Yield the elements of a list, which loses them: their memory is free for what is made of them."""
    packed.reverse()
    while packed:
        yield packed.pop()


def _beginning(run: Run, packed: Iterable[bytes]) -> tuple[Opening, SinglePassRecorder]:
    beginning = fork_create.beginning_of(run)
    begun = build_simulation.start(beginning, packed)
    simulation, nodes = begun.simulation, list(begun.simulation.nodes)
    pods = beginning.cycles_total = len(simulation.pods)
    recorder = Recorder(simulation, run.cycles_done if run.last_seq else -1)
    changed = run.stages[0]["at"] if run.is_fork else 0
    positions = {pod: index for index, pod in enumerate(simulation.pods)}
    opening = Opening(pods, nodes, ResultNames(nodes, positions, changed, begun.recorded))
    if run.last_seq == 0:
        opening.blocks = recorder.drain()
        opening.started = started(beginning, nodes, begun.warnings, begun.prepared)
    if run.is_fork:
        plan_single_pass(simulation, fork_create.stages_of(run), 0)
    return opening, SinglePassRecorder(simulation, recorder, 1, run.cycles_done, run.is_fork, nodes)


def _fork(run: Run) -> tuple[Opening, SinglePassRecorder]:
    simulation, recorder, recorded = fork_execution.start_fork(run)
    first = run.fork_at or 1
    version = run.cycles.filter(number=first - 1).values_list("nodes_version", flat=True).first() or 0
    nodes = run.nodes_at(version)
    opening = Opening(first - 1 + len(simulation.pods), nodes, ResultNames(nodes, {}, first, recorded))
    return opening, SinglePassRecorder(simulation, recorder, first, run.cycles_done, run.is_fork, nodes, version)


def in_virtual_time(run: Run) -> Generator[Opening | ComputedInTime, None, None]:
    """Yield the opening of a run in virtual time, then what follows. It is loaded for the first item. Raises
    InputError."""
    return _items_in_time(run, run.scenario.packed_objects(), run.scenario.packed_waits())


def _items_in_time(
    run: Run, packed: list[bytes], waits: list[PackedObject]
) -> Generator[Opening | ComputedInTime, None, None]:
    beginning, stored = fork_create.beginning_of(run), run.last_seq
    in_time, recorded = build_simulation.start_in_virtual_time(beginning, packed)
    nodes = list(in_time.simulation.nodes)
    binding_s = seconds(virtual_time.document(run.scenario.time).spec.binding.seconds)
    timeline = TimelineRecorder(nodes, binding_s > 0, recorded, stored)
    bound = timeline.begin(in_time.api.pods)
    recorder = Recorder(in_time.simulation, stored or -1)
    opening = Opening(0, nodes)
    if stored == 0:
        opening.blocks, opening.moves, opening.pods = recorder.drain(), bound.moves, bound.names
        opening.started = started(beginning, nodes, in_time.warnings, in_time.prepared)
        opening.started |= {"pods": len(in_time.simulation.pods), "until": run.origin.get("until", run.until)}
    logger.info("Run %s: %s nodes, %s s of time", run.pk, len(nodes), run.until)
    own_record = fork_execution.plan_in_time(run, in_time) if run.is_fork else None
    yield opening
    recorder_in_time = VirtualTimeRecorder(in_time, timeline, recorder, stored, own_record)
    yield from _answered(recorder_in_time, in_time.simulation, waits)


def started(run: Run, nodes: list[str], warnings: list[str], prepared: Prepared) -> dict[str, Any]:
    """Return the data of `run.started`."""
    return {
        "release": run.release,
        **build_simulation.core_settings(run),
        "pods": run.cycles_total,
        "nodes": len(nodes),
        "other_schedulers": run.other_schedulers,
        "absent_claims": run.absent_claims,
        "left": prepared.others,
        "warnings": [*run.notes, *warnings],
    }
