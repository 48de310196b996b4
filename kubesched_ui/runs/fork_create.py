"""Creation of forks: validates and stores their timepoint, changes and settings."""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from django.db import transaction

from kubesched_ui.housekeeping import disk_space, quota
from kubesched_ui.models import MAX_NAME, RecordingBlock, Run
from kubesched_ui.runs import config_resolution
from kubesched_ui.runs.services import RunSettings, enqueue, settings_of, validate
from kubesched_ui.runs.summary import WORDS, configuration, differences
from kubesched_ui.runtime.advisory_lock import lock_until_commit
from scheduler_core.errors import InputError
from scheduler_core.forks import actions
from scheduler_core.forks.mutations import read_changes
from scheduler_core.forks.reconfigure import SETTINGS
from scheduler_core.forks.stages import Stage
from scheduler_core.recording.recording import MOVES_PART, Recording
from scheduler_core.releases import get_release

FORKED: dict[str, tuple[type, ...]] = {
    "release": (str,),
    "config": (str,),
    "seed": (int,),
    "tie_break": (str,),
    "preemption": (bool,),
    "percentage": (int, type(None)),
    "until": (int, float),
}
MOST_STAGES = 20  # maximum depth of nested forks
MOST_FORKS = 500  # per run


def create_fork(
    parent: Run, at: int | None, t: float | None, changes: Any, settings: Mapping[str, Any], name: str = ""
) -> Run:
    """Create a queued run that repeats `parent` up to before cycle `at`, or up to second `t`, and then applies changes.

    `settings` are those of FORKED that are given. The message to the workers is sent after the transaction is
    committed. Raises InputError, or ServiceUnavailable if disk space is low, before anything is stored.
    """
    disk_space.check_space()
    cycle = first_own_cycle(parent, at, t)
    read_changes(changes)
    before = parent.stages
    if len(before) >= MOST_STAGES:
        raise InputError("Fork", "", f"run {parent.pk} is at the limit of {MOST_STAGES} nested forks")
    wanted, given = chosen(parent, settings)
    stage = {"at": cycle if t is None else None, "t": t, "changes": changes, "settings": given}
    where = None if at is None else cycle
    early = [one for one in before if is_before(one, where, t)]
    late = [one for one in before if not is_before(one, where, t)]
    values = asdict(wanted) | {"stages": [*early, stage, *late], "changes": changes, "fork_at": cycle, "fork_t": t}
    notes = list(parent.notes)
    if at is not None and at != cycle:
        group = parent.group_cycles.get(first=cycle).key
        why = f"the cycle of pod group {group} starts there, and its members are scheduled together"
        notes.append(f"Forked before cycle {cycle}, not {at}: {why}.")
    with transaction.atomic():
        quota.check_run(parent.scenario, parent.pods, parent.copies)
        lock_until_commit(f"forks of run {parent.pk}")
        if parent.forks.count() >= MOST_FORKS:
            raise InputError("Fork", "", f"run {parent.pk} has {MOST_FORKS} forks already; delete some of them")
        run = Run.objects.create(
            scenario=parent.scenario,
            parent=parent,
            name=(name or title_of_fork(parent, changes, given))[:MAX_NAME],
            summary="\n".join(differences(wanted, RunSettings())),
            origin=parent.origin or asdict(settings_of(parent)),
            notes=notes,
            **values,
        )
        transaction.on_commit(lambda: enqueue(run.pk))
    return run


def title_of_fork(parent: Run, changes: list[Any], settings: Mapping[str, Any]) -> str:
    """Return a name such as `Run 2 + cordon n1, release 1.30`; "" for a fork without changes."""
    parts = [actions.title_of(changes)] if changes else []
    for name, value in settings.items():
        if name == "config":
            values = asdict(replace(settings_of(parent), **settings))
            parts.append(", ".join(filter(None, configuration(values))) or "default configuration")
        else:
            parts.append(WORDS[name](value) if WORDS.get(name) and value else f"{name} {value}")
    return named_by_change(parent, ", ".join(filter(None, parts))) if parts else ""


def named_by_change(parent: Run, title: str) -> str:
    """Return the name of a fork: its parent's, and what changed. A long one keeps its end."""
    name = f"{parent.title} + {title}"
    return name if len(name) <= MAX_NAME else f"…{name[len(name) - MAX_NAME + 1 :]}"


def first_own_cycle(parent: Run, at: int | None, t: float | None) -> int:
    """Return the first cycle that is not copied; within a pod group's cycle, the first one of the group. A group's
    members are decided together. Raises InputError if the parent does not have this timepoint."""
    if parent.active:
        raise InputError("Fork", "", f"run {parent.pk} is still running; fork it when it has finished")
    if (at is None) == (t is None):
        raise InputError("Fork", "at", "or t is required, but not both")
    opening = RecordingBlock.objects.filter(run=parent, part=MOVES_PART)
    if not opening.filter(first=0).exists():
        raise InputError("Fork", "", f"run {parent.pk} has no recording to continue from; run it again")
    if t is None:
        assert at is not None
        if not 1 <= at <= parent.cycles_done + 1:
            raise InputError("Fork", "at", f"must be in 1..{parent.cycles_done + 1}, got {at}")
        inside = parent.group_cycles.filter(first__lt=at, last__gte=at).first()
        return at if inside is None else inside.first
    if not parent.in_time:
        raise InputError("Fork", "t", "is only for runs in virtual time; use at (a cycle number)")
    if not 0 <= t <= (parent.until or 0):
        raise InputError("Fork", "t", f"must be in 0..{parent.until or 0:g}, got {t:g}")
    recording = Recording([bytes(data) for data in opening.order_by("first").values_list("data", flat=True)])
    return recording.cycle_after(recording.after_time(t))


def is_before(stage: Mapping[str, Any], at: int | None, t: float | None) -> bool:
    """Return whether an ancestor's stage comes before a fork. A stage by cycle comes before a fork by second, and vice
    versa."""
    if at is not None and stage["at"] is not None:
        return bool(stage["at"] <= at)
    return t is None or stage["t"] is None or bool(stage["t"] <= t)


def chosen(parent: Run, settings: Mapping[str, Any]) -> tuple[RunSettings, dict[str, Any]]:
    """Return the fork's settings, and those of `settings` that differ from the parent's. Raises InputError."""
    if unknown := settings.keys() - set(FORKED):
        raise InputError("Fork", f"settings.{min(unknown)}", f"must be one of {', '.join(FORKED)}")
    for name, value in settings.items():
        if not isinstance(value, FORKED[name]) or (isinstance(value, bool) and name != "preemption"):
            problem = f"must be {' or '.join(kind.__name__ for kind in FORKED[name])}, got {value!r:.60}"
            raise InputError("Fork", f"settings.{name}", problem)
    own = settings_of(parent)
    wanted = replace(own, **settings)
    wanted = replace(wanted, release=get_release(wanted.release).name, config=wanted.config or "")
    if wanted.until is None and own.until is not None:
        wanted = replace(wanted, until=own.until)
    validate(parent.scenario, wanted)
    if "config" in settings or "release" in settings:
        config_resolution.check(wanted.config or "", wanted.release, wanted.unknown_plugins)
    given = {name: getattr(wanted, name) for name in FORKED if getattr(wanted, name) != getattr(own, name)}
    return wanted, given


# ---- input of the core


def stages_of(run: Run) -> list[Stage]:
    """Return the stages of a fork in order. A stage that requires a new scheduler has all settings."""
    now = dict(run.origin)
    found = []
    for one in run.stages:
        now |= one["settings"]
        whole = {name: now.get(name) for name in SETTINGS} if one["settings"].keys() & set(SETTINGS) else {}
        until = {name: one["settings"][name] for name in ("until",) if name in one["settings"]}
        found.append(Stage(one["at"], one["t"], read_changes(one["changes"]), whole | until))
    return found


def own_stage(run: Run) -> int:
    """Return the index of the fork's own stage."""
    mine = {"at": None if run.fork_t is not None else run.fork_at, "t": run.fork_t, "changes": run.changes}
    return max(i for i, one in enumerate(run.stages) if {name: one[name] for name in mine} == mine)


def other_stages(run: Run) -> list[dict[str, Any]]:
    """Return the stages of its ancestors."""
    mine = own_stage(run) if run.is_fork else None
    return [stage for number, stage in enumerate(run.stages) if number != mine]


def settings_before(run: Run) -> RunSettings:
    """Return the settings before the fork's own changes."""
    now = dict(run.origin)
    for one in run.stages[: own_stage(run)]:
        now |= one["settings"]
    known = {field.name for field in fields(RunSettings)}
    return RunSettings(**{name: value for name, value in now.items() if name in known})


def beginning_of(run: Run) -> Run:
    """Return a run with its first ancestor's settings, to be replayed from the beginning; do not save it."""
    if not run.is_fork:
        return run
    first = Run(pk=run.pk, scenario=run.scenario, created_at=run.created_at, notes=run.notes)
    for name, value in run.origin.items():
        setattr(first, name, value)
    first.until = run.until
    return first
