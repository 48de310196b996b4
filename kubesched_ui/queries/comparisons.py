"""Comparison of two stored runs, with a small cache."""

import threading
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from operator import itemgetter
from typing import Any

from kubesched_ui.event_log.cycle_batches import TraceReader
from kubesched_ui.models import Cycle as StoredCycle
from kubesched_ui.models import RecordingBlock, Run
from kubesched_ui.offload.pool import PoolBusy
from kubesched_ui.queries.recording_cache import blocks_of, key_of, recording_of
from kubesched_ui.runs import build_simulation, fork_create
from kubesched_ui.runs.build_simulation import unknown_of
from kubesched_ui.runs.services import settings_of
from scheduler_core.compare import differences
from scheduler_core.compare.comparison import Comparison, partners
from scheduler_core.compare.inputs import Inputs, items_of, objects_of
from scheduler_core.compare.root_cause import RootCause, cause_of
from scheduler_core.compare.run_side import RunCycle, RunSide
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.forks.mutations import read_changes
from scheduler_core.recording.objects import Fetch
from scheduler_core.recording.recording import FACTS_PART, OBJECTS_PART, facts_from, objects_from
from scheduler_core.releases import get_release


def comparison_of(a: Run, b: Run) -> Comparison:
    """Compare the two runs as far as they have progressed. Raises NotRecorded, InputError."""
    compare = _compare.__wrapped__ if a.active or b.active else _compare
    return compare(a, b, key_of(a), key_of(b))


@lru_cache(maxsize=4)  # of finished runs; the keys change with the recordings
def _compare(a: Run, b: Run, *keys: str) -> Comparison:
    return Comparison(side_of(a), side_of(b))


def partners_of(a: Run, b: Run) -> tuple[list[int], int | None]:
    """Return the partner of each cycle of `a` in `b`, and the first cycle that differs. Raises NotRecorded,
    InputError."""
    comparison = comparison_of(a, b)
    return partners(comparison.a, comparison.b)


def side_of(run: Run) -> RunSide:
    """Return a run as one side of a comparison. Raises NotRecorded, InputError."""
    settings, usual = run_settings(run)
    return RunSide(
        settings,
        usual,
        recording_of(run),
        facts_from(blocks_of(run, FACTS_PART)),
        reader(run),
        fetcher(run),
        run.scenario_id,
    )


def run_settings(run: Run) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the run's settings by path, and the defaults of those that its configuration determines."""
    fields = asdict(settings_of(run))
    text = fields.pop("config")
    found: dict[str, Any] = {"scenario": run.scenario.name, **fields}
    if run.in_time:
        found |= dict(differences.leaves(run.scenario.time, "scenario.spec"))
    changes = [change for stage in run.stages for change in stage["changes"]]
    found |= {f"changes[{i}].{name}": what for i, change in enumerate(changes) for name, what in change.items()}
    own = effective_settings(text or "", run.release, unknown_of(run))
    usual = effective_settings("", run.release, "error")
    return found | own, usual


@lru_cache(maxsize=32)
def effective_settings(config: str, release: str, unknown: Any) -> dict[str, Any]:
    """Return an effective configuration by path, or its text if it is invalid."""
    try:
        loaded = load(config or None, get_release(release), unknown=unknown)
    except InputError:
        return {"config": config}
    return differences.configuration_settings(loaded)


def reader(run: Run) -> Callable[[Sequence[int]], Mapping[int, RunCycle]]:
    """Return a function that reads cycles of the run with the nodes in row order."""
    lists: dict[int, list[str]] = {}

    def read(numbers: Sequence[int]) -> dict[int, RunCycle]:
        rows = StoredCycle.objects.filter(run=run, number__in=numbers)
        found = {}
        traces = TraceReader(run.pk)
        for number, version, trace in rows.order_by("number").values_list("number", "nodes_version", "trace"):
            if version not in lists:
                lists[version] = run.nodes_at(version)
            nodes = lists[version]
            found[number] = RunCycle(traces.trace(number, trace), nodes)
        if missing := set(numbers) - found.keys():
            raise InputError("run", "", f"cycle {min(missing)} of run {run.pk} no longer exists")
        return found

    return read


def fetcher(run: Run) -> Fetch:
    """Return a function that reads objects of the run. It loads all blocks at the first call and decodes each on first
    use."""
    objects: list[tuple[str, bytes] | None] = []
    blocks: list[tuple[int, int, bytes | memoryview]] = []

    def fetch(number: int) -> tuple[str, bytes]:
        if not objects:
            rows = RecordingBlock.objects.filter(run=run, part=OBJECTS_PART).order_by("first")
            blocks.extend(rows.values_list("first", "last", "data"))
            objects.extend([None] * (blocks[-1][1] + 1))
        found = objects[number]
        if found is None:
            first, last, data = blocks[bisect_right(blocks, number, key=itemgetter(0)) - 1]
            objects[first : last + 1] = block = objects_from(bytes(data))
            found = block[number - first]
        return found

    return fetch


# ---- cause of a difference

_causing = threading.Lock()


def cause(a: Run, b: Run, pod: str) -> RootCause:
    """Find the smallest set of differences that causes the pod's outcome in b, by replaying runs.

    Only one search runs at a time. Raises NotRecorded, InputError, PoolBusy.
    """
    # The recording of a fork's initial objects includes changes made before its first cycle.
    anew = any(stage["at"] == 1 for run in (a, b) for stage in run.stages)
    inputs = inputs_of(a, anew), inputs_of(b, anew)
    if not _causing.acquire(blocking=False):
        raise PoolBusy
    try:
        return cause_of(*inputs, pod)
    finally:
        _causing.release()


def inputs_of(run: Run, anew: bool = False) -> Inputs:
    """Return the inputs of a run. For a fork, these are its first ancestor's inputs and all changes since.

    With `anew`, the objects come from the scenario instead of the recording. Raises NotRecorded, InputError.
    """
    if run.active:
        raise InputError("cause", "", f"run {run.pk} is still running")
    first = fork_create.beginning_of(run) if run.is_fork else run
    made: dict[str, Any] = {
        "release": get_release(first.release),
        "config": first.config or None,
        "seed": first.seed,
        "tie_break": first.tie_break,
        "preemption": first.preemption,
        "percentage": first.percentage,
        "unknown_plugins": build_simulation.unknown_of(first),
        "items": items_of(run.stages, read_changes),
    }
    if not first.in_time:
        begun = build_simulation.start(first) if anew or first.pods is not None else None
        pods = None if begun is None or first.pods is None else tuple(begun.simulation.pods)
        if begun is None or not anew:
            return Inputs(**made, objects=objects_of(side_of(run)), pods=pods)
        fresh = {(type(obj).__name__, obj.key): obj for obj in begun.prepared.objects}
        return Inputs(**made, objects=fresh, pods=pods)
    objects, only = build_simulation.virtual_time_objects(first)
    return Inputs(
        **made,
        objects={(str(obj.get("kind")), build_simulation.pod_key(obj)): obj for obj in objects},
        time=run.scenario.time,
        until=first.until,
        choices=build_simulation.choices_of(first),
        only=None if only is None else tuple(only),
    )
