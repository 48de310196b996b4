"""Import of a run file: validates it like a request of a user, runs it again, and compares the results to the file's.

No recorded data is taken from the file. A run is deterministic: a worker runs it from the beginning with the changes of
all its forks, and compares each cycle's fingerprint to the file's.
"""

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from functools import partial
from typing import Annotated, Any

import msgspec
from django.db import transaction
from msgspec import Meta

from kubesched_ui.event_log.fingerprints import Fingerprints, traces
from kubesched_ui.ingest import IngestError
from kubesched_ui.ingest.run_file import RunFile
from kubesched_ui.models import MAX_NAME, MAX_RELEASE, Breakpoint, Run, Scenario
from kubesched_ui.runs import config_resolution
from kubesched_ui.runs.fork_create import FORKED, MOST_STAGES, chosen
from kubesched_ui.runs.services import (
    RunSettings,
    create_run,
    enqueue,
    settings_of,
    validate,
    without_unscheduled_pods,
)
from kubesched_ui.runs.summary import differences
from kubesched_ui.scenarios.uploads import Upload
from scheduler_core.errors import InputError
from scheduler_core.forks.mutations import read_changes
from scheduler_core.recording.fingerprint import SIZE
from scheduler_core.search import search

Number = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Name = Annotated[str, Meta(max_length=MAX_NAME)]
Release = Annotated[str, Meta(max_length=MAX_RELEASE)]


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    pass


class _Stop(_Strict):
    name: Annotated[Name, Meta(min_length=1)]
    where: str


class _Fork(_Strict):
    at: Number
    stage: Annotated[int, Meta(ge=0, lt=MOST_STAGES)]


class _Stage(_Strict):
    at: Number | None
    t: Annotated[float, Meta(ge=0)] | None
    changes: list[dict[str, Any]]
    settings: dict[str, Any]


class _Spec(_Strict):
    settings: dict[str, Any]
    breakpoints: Annotated[list[_Stop], Meta(max_length=Breakpoint.MOST)] = []
    began: dict[str, Any] | None = None
    stages: Annotated[list[_Stage], Meta(max_length=MOST_STAGES)] = []
    fork: _Fork | None = None


class _Status(_Strict):
    version: Annotated[str, Meta(max_length=40)] = ""
    state: Annotated[str, Meta(max_length=20)] = ""
    cycles: Annotated[int, Meta(ge=0)] = 0
    digest: str = ""
    decisions: str = ""


def create_imported_run(made: Upload) -> Run | None:
    """Create the queued run of an upload; None if it contains only a cluster. Raises IngestError after deleting the
    upload's scenario."""
    if made.run is None:
        return None
    try:
        with transaction.atomic():
            return _begin(made.scenario, made.run)
    except IngestError:
        made.scenario.delete()
        raise


def _begin(scenario: Scenario, file: RunFile) -> Run:
    spec: _Spec = _read(file, file.spec, _Spec, "spec")
    recorded = _recorded(file, _read(file, file.status, _Status, "status"))
    name: str = _read(file, file.name, Name, "metadata.name")
    _check_text(file, name, "metadata.name")
    began = spec.settings if spec.fork is None else spec.began
    field = "spec.settings" if spec.fork is None else "spec.began"
    with _at(file, field):
        run = create_run(scenario, _settings(file, began, field), send=False, name=name.strip())
    if spec.fork is not None:
        _fork(file, run, spec, spec.fork)
    elif spec.stages or spec.began is not None:
        raise _wrong(file, "spec.fork", "is missing; stages are of forks")
    run.imported = recorded
    run.save()
    for number, stop in enumerate(spec.breakpoints):
        _breakpoint(file, run, stop, f"spec.breakpoints[{number}]")
    transaction.on_commit(partial(enqueue, run.pk))
    return run


def _fork(file: RunFile, run: Run, spec: _Spec, fork: _Fork) -> None:
    """Turn the run, which has its first ancestor's settings, into the fork that the file describes."""
    if fork.stage >= len(spec.stages):
        raise _wrong(file, "spec.fork.stage", f"must be less than {len(spec.stages)}, the number of stages")
    origin = asdict(settings_of(run))
    for number, stage in enumerate(spec.stages):
        with _at(file, f"spec.stages[{number}]"):
            _check_stage(run, stage, spec.stages[:number])
    with _at(file, "spec.settings"):
        wanted = _settings(file, spec.settings, "spec.settings")
        wanted, _ = without_unscheduled_pods(run.scenario, wanted)  # as create_run did
        for name, value in asdict(wanted).items():
            if name not in FORKED and value != origin[name]:
                raise InputError("", name, "must be the same as in spec.began; a fork does not change it")
        validate(run.scenario, wanted)
        config_resolution.check(wanted.config or "", wanted.release, wanted.unknown_plugins)
    mine = spec.stages[fork.stage]
    values = asdict(wanted) | {"config": wanted.config or "", "origin": origin, "changes": mine.changes}
    values |= {"stages": msgspec.to_builtins(spec.stages), "fork_at": mine.at or fork.at, "fork_t": mine.t}
    values["summary"] = "\n".join(differences(wanted, RunSettings()))
    for name, value in values.items():
        setattr(run, name, value)


def _check_stage(run: Run, stage: _Stage, before: list[_Stage]) -> None:
    """Validate a stage as `create_fork` does. This changes `run` from the settings before the stage to those after
    it."""
    if (stage.at is None) == (stage.t is None):
        raise InputError("", "at", "or t is required, but not both")
    if stage.t is not None and not run.in_time:
        raise InputError("", "t", "is only for runs in virtual time; use at")
    for earlier in before:
        if (earlier.at or 0) > (stage.at or 2**31) or (earlier.t or 0) > (stage.t if stage.t is not None else 1e300):
            raise InputError("", "at" if stage.at else "t", "is before an earlier stage")
    read_changes(stage.changes)
    wanted, _ = chosen(run, stage.settings)
    for name in FORKED:
        setattr(run, name, getattr(wanted, name))


def _breakpoint(file: RunFile, run: Run, stop: _Stop, field: str) -> None:
    _check_text(file, stop.name, f"{field}.name")
    _check_text(file, stop.where, f"{field}.where")
    with _at(file, field):
        search.check(stop.where)
    if run.breakpoints.filter(name=stop.name).exists():
        raise _wrong(file, f"{field}.name", "is already used")
    run.breakpoints.create(name=stop.name, where=stop.where)


# ---- reading


def _read(file: RunFile, value: Any, kind: Any, field: str) -> Any:
    """Convert the value to a type. Raises IngestError with the field."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        problem = problem[:1].lower() + problem[1:300]
        raise _wrong(file, field + path.rstrip("`"), problem) from None


def _settings(file: RunFile, raw: Mapping[str, Any] | None, field: str) -> RunSettings:
    if raw is None:
        raise _wrong(file, field, "is missing")
    if unknown := sorted(raw.keys() - {f.name for f in fields(RunSettings)}):
        raise _wrong(file, f"{field}.{unknown[0][:60]}", "is not a setting of this version of KubeSched")
    _read(file, raw.get("release", ""), Release, f"{field}.release")
    wanted: RunSettings = _read(file, raw, RunSettings, field)
    for name in ("release", "config", "template"):
        _check_text(file, getattr(wanted, name) or "", f"{field}.{name}")
    return wanted


def _recorded(file: RunFile, status: _Status) -> dict[str, Any]:
    """Return what a run stores of its file for the comparison. Raises IngestError if the data is damaged."""
    try:
        decisions = base64.b64decode(status.decisions, validate=True)
    except (binascii.Error, ValueError):
        raise _wrong(file, "status.decisions", "is not base64") from None
    if len(decisions) != status.cycles * SIZE:
        raise _wrong(file, "status.decisions", f"must have {SIZE} bytes per cycle, {status.cycles:,} cycles")
    if status.digest and hashlib.sha256(decisions).hexdigest() != status.digest:
        raise _wrong(file, "status.digest", "does not match status.decisions; the file is damaged")
    return {"version": status.version, "state": status.state, "cycles": status.cycles, "decisions": status.decisions}


def _check_text(file: RunFile, text: str, field: str) -> None:
    if "\0" in text:  # PostgreSQL cannot store it
        raise _wrong(file, field, "contains a NUL character")


@contextmanager
def _at(file: RunFile, field: str) -> Iterator[None]:
    """Convert errors of a run or fork to errors of the file."""
    try:
        yield
    except InputError as error:
        inner = error.field if error.where in ("", "Run", "Fork") else ""
        path = ".".join(part for part in (field, inner) if part)
        raise _wrong(file, path, error.problem if inner or not error.where else str(error)) from None


def _wrong(file: RunFile, field: str, problem: str) -> IngestError:
    return IngestError(file.where.at(name=file.name), problem, field)


# ---- comparison


def compare_to_file(run: Run, flush: Callable[[], None]) -> dict[str, Any]:
    """Return changed columns of a finished imported run: `imported` with the first cycle that `differs` from its file.
    The value is 0 if none differs. For other runs, return {}. `flush` writes pending data."""
    if not run.imported:
        return {}
    flush()
    run.refresh_from_db(fields=["node_names"])
    recorded = {name: value for name, value in run.imported.items() if name != "decisions"}
    expected = base64.b64decode(run.imported["decisions"])
    return {"imported": recorded | {"differs": first_difference(run, expected, recorded["state"] == Run.State.DONE)}}


def first_difference(run: Run, expected: bytes, whole: bool) -> int:
    """Return the first cycle with an unexpected fingerprint, 0 for none. `whole`: additional cycles count as
    different."""
    prints, number = Fingerprints(), 0
    for number, trace, nodes in traces(run):
        begin = (number - 1) * SIZE
        if begin >= len(expected):
            return number if whole else 0
        if prints.fingerprint(trace, nodes) != expected[begin : begin + SIZE]:
            return number
    return number + 1 if number * SIZE < len(expected) else 0
