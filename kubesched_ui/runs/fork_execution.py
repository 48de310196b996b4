"""Execution of forks: copies the beginning from the parent, then continues the run with its changes."""

from collections.abc import Callable
from functools import partial

from kubesched_ui.event_log.cycle_batches import TraceReader, trace_of
from kubesched_ui.event_log.fork_copy import adopt_once
from kubesched_ui.models import Cycle, GroupCycle, PodResult, RecordingBlock, Run
from kubesched_ui.runs import build_simulation, fork_create
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.forks.mutations import Edit
from scheduler_core.forks.prefix import (
    Continuing,
    Prefix,
    next_start_index,
    prefix_of,
    resume,
    simulation_from,
)
from scheduler_core.forks.stages import apply_again, decisions, plan_single_pass, plan_virtual_time
from scheduler_core.recording.objects import Fetch
from scheduler_core.recording.recording import FACTS_PART, MOVES_PART, OBJECTS_PART, Recording, facts_from, objects_from
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.scenario_run import ScenarioRun

GONE = "the parent run was deleted before the fork started"


def adopt(run: Run) -> None:
    """Copy the parent's data to a fork in a single pass, and set its progress. Raises InputError, LostClaim."""
    if run.parent is None:
        raise InputError("Fork", "", GONE)
    first = run.fork_at or 1
    shared = prefix_in(run.parent, first)[0]
    adopt_once(run, run.parent, shared.blocks, rest_of(run.parent, first), shared.evicted)


def start_fork(run: Run) -> tuple[Simulation, Continuing, dict[str, str]]:
    """Return a fork in a single pass before its first own cycle, its recorder, and messages of the real cluster by pod.
    The fork has its parent's data. Raises InputError."""
    parent = run.parent
    prefix, fetch = prefix_in(run, run.fork_at or 1, own=True)
    settings = fork_create.settings_before(run)
    release = get_release(settings.release)
    make = partial(
        Simulation,
        release=release.name,
        config=load(settings.config or None, release, unknown=build_simulation.unknown_of(run)),
        **build_simulation.core_settings(settings),
    )
    last = Cycle.objects.filter(run=run, number=prefix.cycle - 1).first()
    start = 0 if last is None else next_start_index(trace_of(last))
    group = GroupCycle.objects.filter(run=run, last=prefix.cycle - 1).first()
    start = start if group is None else group.told["next_start_index"]
    simulation = simulation_from(prefix, fetch, make, release, run.remaining, start)
    before = Cycle.objects.filter(run=run, number__lt=prefix.cycle).order_by("-number").iterator(chunk_size=20)
    reader = TraceReader(run.pk)
    resume(simulation, prefix, fetch, (reader.trace(cycle.number, cycle.trace) for cycle in before))
    stages, own = fork_create.stages_of(run), fork_create.own_stage(run)
    apply_again(Edit(simulation), decisions(stages[:own]))
    recorder = Continuing(simulation, prefix, run.cycles_done)
    plan_single_pass(simulation, stages, own)
    results = PodResult.objects.filter(run=parent).exclude(recorded_message="") if parent else PodResult.objects.none()
    rows = results.values_list("namespace", "name", "recorded_message")
    return simulation, recorder, {f"{namespace}/{name}": message for namespace, name, message in rows}


def prefix_in(run: Run, cycle: int, own: bool = False) -> tuple[Prefix, Fetch]:
    """Return the beginning of a recording, and a function that reads its objects. `own`: use only the data that a fork
    copied, without its changes."""
    blocks: dict[str, list[bytes]] = {MOVES_PART: [], FACTS_PART: [], OBJECTS_PART: []}
    rows = RecordingBlock.objects.filter(run=run).order_by("part", "first").values_list("part", "first", "data")
    for part, first, data in rows:
        if not own or part == OBJECTS_PART or first == (0 if part == MOVES_PART else 1):
            blocks[part].append(bytes(data))
    objects = [one for data in blocks[OBJECTS_PART] for one in objects_from(data)]
    fetch = objects.__getitem__
    return prefix_of(Recording(blocks[MOVES_PART]), facts_from(blocks[FACTS_PART]), fetch, cycle), fetch


def rest_of(parent: Run, cycle: int) -> list[str]:
    """Return the pods that a single pass tried from a cycle on, or still had to try, in order."""
    rows = Cycle.objects.filter(run=parent).order_by("number").values_list("number", "namespace", "name")
    tried = [(number, f"{namespace}/{name}") for number, namespace, name in rows]
    rest = [pod for number, pod in tried if number >= cycle]
    for group in GroupCycle.objects.filter(run=parent, first__gte=cycle):  # its cycle begins with the popped pod
        rest.insert(rest.index(group.told["members"][0]["pod"]), group.told["popped"])
    if parent.state != Run.State.DONE:  # it ended early
        order = (
            parent.remaining
            if parent.remaining or parent.adopts  # earlier versions stored it of forks alone
            else build_simulation.start(fork_create.beginning_of(parent)).simulation.pods
        )
        known = {pod for _, pod in tried}
        rest += [pod for pod in order if pod not in known]
    return list(dict.fromkeys(rest))


def plan_in_time(run: Run, in_time: ScenarioRun) -> Callable[[], int | None]:
    """Schedule the stages of a fork in virtual time. Return a function that returns the number of the last record
    before its own changes, None until that is known."""
    own, records = fork_create.own_stage(run), []

    def on_stage(number: int) -> None:
        if number == own:
            records.append(in_time.engine.seq)

    plan_virtual_time(in_time, fork_create.stages_of(run), on_stage)
    return lambda: records[-1] if records else None
