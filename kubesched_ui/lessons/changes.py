"""Changes one field of a lesson's scenario, or applies a command to it, and simulates the lesson's runs again."""

import copy
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

import msgspec

from kubesched_ui.editor import schema_validation
from kubesched_ui.editor.yaml_documents import path_steps
from kubesched_ui.ingest import IngestError, Limits
from kubesched_ui.ingest.errors import Where
from kubesched_ui.ingest.yaml_reader import documents, plain
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.lessons.commands import apply_command
from kubesched_ui.lessons.errors import Unknown
from kubesched_ui.lessons.parser import Settings
from kubesched_ui.lessons.runner import Played, TooLarge
from scheduler_core.errors import InputError
from scheduler_core.virtual_time.scenario import API_VERSION, KIND

CACHE_SIZE = 40  # changed runs; each takes some hundred kB
MAX_VALUE = 100  # characters
COMMAND = "command"  # stands for a field: the value is a kubectl command
MAX_RECORDS = 5_000  # events of a changed run in virtual time: a second of work


class ChangedRuns(Mapping[str, Played]):
    """The runs of a lesson with one changed field. A run is simulated when it is first used; then it raises Unknown
    if the change is invalid."""

    def __init__(self, runs: Mapping[str, Played], field: str, text: str) -> None:
        self.runs, self.field, self.text = runs, field, text

    def __getitem__(self, name: str) -> Played:
        return _changed(self.runs[name], self.field, self.text)

    def __iter__(self) -> Iterator[str]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)


class WithSolution(ChangedRuns):
    """The runs of a lesson, and the run `changed` with the lesson's own change."""

    def __init__(self, runs: Mapping[str, Played], run: str, field: str, text: str) -> None:
        super().__init__(runs, field, text)
        self.changed = run or next(iter(runs))

    def __getitem__(self, name: str) -> Played:
        return super().__getitem__(self.changed) if name == "changed" else self.runs[name]

    def __contains__(self, name: object) -> bool:
        return name == "changed" or name in self.runs


def current(played: Played, field: str) -> str:
    """Return the present value of a field as text, "" if it is not set. Raises Unknown."""
    if field == COMMAND:
        return ""
    owner, steps = _owner(spec_of(played.document), played.settings, field)
    value = _value(owner, steps)
    return "" if value is None else _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else to_yaml(value, flow=True).removesuffix("...\n").strip()


def _changed(played: Played, field: str, text: str) -> Played:
    """Return the run with a changed field. A text is tried as a string, then as a number or a truth value. Raises
    Unknown."""
    if field == COMMAND:
        return _commanded(played, text)
    if len(text) > MAX_VALUE:
        raise Unknown(f"The value has more than {MAX_VALUE} characters.")
    if text == current(played, field):
        raise Unknown("The field already has this value." if text else "The field is not set.")
    problem = ""
    for value in _values(text):
        try:
            return _play(played.name, *_edited(played, field, value))
        except (IngestError, InputError, TooLarge) as error:
            problem = f"The value is not accepted: {error}"
    raise Unknown(problem)


def _commanded(played: Played, command: str) -> Played:
    """Return the run after a command. Raises Unknown."""
    spec = copy.deepcopy(spec_of(played.document))
    before = [problem.sentence for obj in _objects(spec) for problem in schema_validation.check(obj)]
    changed = apply_command(spec, command)
    for problem in schema_validation.check(changed) if changed is not None else ():
        if problem.severity == "error" and problem.sentence not in before:
            raise Unknown(f"The API server does not accept this: {problem.sentence}")
    try:
        return _play(played.name, document_of(played.given.name, spec), msgspec.json.encode(played.settings))
    except (IngestError, InputError, TooLarge) as problem:
        raise Unknown(f"The change is not accepted: {problem}") from None


def _values(text: str) -> list[Any]:
    try:
        read = plain(text) if text else None
    except ValueError:
        read = text
    return [read] if read is None else [text] if read == text else [text, read]


def _edited(played: Played, field: str, value: Any) -> tuple[bytes, bytes]:
    """Return the scenario and the settings with a changed field, None to remove it. Raises InputError."""
    spec, settings = copy.deepcopy(spec_of(played.document)), msgspec.to_builtins(played.settings)
    owner, steps = _owner(spec, played.settings, field, settings)
    before = copy.deepcopy(owner)
    try:
        _set(owner, list(steps), value)
    except (KeyError, IndexError, TypeError):
        raise Unknown(f"{field} cannot be set, because what it belongs to is missing") from None
    if "/" in field.partition(" ")[0]:
        known = {problem.sentence for problem in schema_validation.check(before)}
        for problem in schema_validation.check(owner):
            if problem.severity == "error" and problem.sentence not in known:
                raise InputError(field.partition(" ")[0], "", problem.sentence)
    return document_of(played.given.name, spec), msgspec.json.encode(settings)


@lru_cache(CACHE_SIZE)
def _play(name: str, document: bytes, settings: bytes) -> Played:
    try:
        read = msgspec.json.decode(settings, type=Settings)
    except msgspec.ValidationError as problem:
        raise InputError("run", "", str(problem)) from None
    return Played(name, document, read, MAX_RECORDS)


def document_of(name: str, spec: dict[str, Any]) -> bytes:
    """Return a Scenario document."""
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec})


@lru_cache(CACHE_SIZE)
def spec_of(document: bytes) -> dict[str, Any]:
    """Return the `spec` of a Scenario document."""
    (_, found), *_ = documents(document, Where("scenario"), Limits())
    return msgspec.json.decode(found)["spec"]


def _owner(
    spec: dict[str, Any], settings: Settings, field: str, written: dict[str, Any] | None = None
) -> tuple[dict[str, Any], tuple[str | int, ...]]:
    """Return what a field belongs to and the path in it. The field `Pod/web spec.priority` belongs to an object;
    `scenario`, `config` and `run` stand for the scenario, the configuration and the settings of the run. Raises
    Unknown. `written`: the settings to change."""
    what, _, path = field.partition(" ")
    run = written if written is not None else msgspec.to_builtins(settings)
    if what == "scenario":
        return spec, path_steps(path)
    if what == "run":
        return run, path_steps(path)
    if what == "config":
        found = run if isinstance(run.get("config"), dict) else spec
        if isinstance(found.get("config"), dict):
            return found["config"], path_steps(path)
        raise Unknown("the lesson's run has no configuration")
    kind, _, name = what.partition("/")
    namespace, _, name = name.rpartition("/")
    for obj in _objects(spec):
        metadata = obj.get("metadata") or {}
        here = not namespace or namespace == metadata.get("namespace", "default")
        if here and obj.get("kind") == kind and metadata.get("name") == name:
            return obj, path_steps(path)
    raise Unknown(f"the scenario has no {what[:253]}")


def _objects(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from spec.get("objects") or ()
    for entry in spec.get("timeline") or ():
        if "create" in entry:
            yield entry["create"]


def _value(owner: Any, steps: tuple[str | int, ...]) -> Any:
    for step in steps:
        try:
            owner = owner[step]
        except (KeyError, IndexError, TypeError):
            return None
    return owner


def _set(owner: Any, steps: list[str | int], value: Any) -> None:
    """Set a value, with the maps and lists around it, or remove it if it is None."""
    for step, following in pairwise(steps):
        if isinstance(owner, list) and step == len(owner):
            owner.append({})
        elif isinstance(owner, dict) and owner.get(str(step)) is None:
            owner[str(step)] = [] if isinstance(following, int) else {}
        owner = owner[step]
    if value is None:
        del owner[steps[-1]]
    elif isinstance(owner, list) and steps[-1] == len(owner):
        owner.append(value)
    else:
        owner[steps[-1]] = value
