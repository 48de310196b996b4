"""Experiment documents (`apiVersion: kubesched.dev/v1alpha1, kind: Experiment`).

docs/experiments.md describes the format. These structs have what all questions share; `questions` adds the section of
each question.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, Literal, TypeVar

import msgspec

from scheduler_core.config.loader import load
from scheduler_core.config.unknown_plugins import Unknown, UnknownPlugins
from scheduler_core.errors import InputError, refuse
from scheduler_core.experiments.cell import Cell
from scheduler_core.experiments.parameters import Section, seconds_of
from scheduler_core.forks.mutations import read_changes
from scheduler_core.releases import NEWEST, get_release
from scheduler_core.virtual_time.scenario import Duration, Meta, StrictStruct

P = TypeVar("P", bound=Section)

KIND = "Experiment"
MAX_CELLS = 10_000
MAX_CELL_BYTES = 100_000_000  # configurations and changes of all cells together
MAX_LOADED = 1000  # configurations times releases: each is parsed
MAX_SEED = 2**63 - 1
MAX_NAME = 200
OUTCOMES_UP_TO = 1000  # cells; more store the outcomes of their pods only on request

GRID_LABELS = ("scenario", "release", "configuration", "changes", "seed")
"""The labels of the cells of the grid. Questions add their own."""


class ScenarioReference(StrictStruct, kw_only=True):
    """A scenario: a stored one by its number, or a file next to the document (only on the command line)."""

    id: int | None = None
    file: str | None = None
    name: str = ""

    @property
    def key(self) -> str:
        """The name under which cells and results refer to the scenario."""
        return self.name or self.file or f"scenario {self.id}"


class NamedConfiguration(StrictStruct, kw_only=True):
    """A KubeSchedulerConfiguration, as text or object, under the name that results show. Without `config`, the default
    of the release."""

    name: str
    config: str | dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """The configuration as text, "" for the default of the release."""
        if isinstance(self.config, dict):
            return msgspec.json.encode(self.config, order="sorted").decode()
        return self.config or ""


class NamedChanges(StrictStruct, kw_only=True):
    """Changes as those of a fork, applied before the first cycle."""

    name: str
    changes: list[dict[str, Any]] = []


class SeedRange(StrictStruct, kw_only=True):
    """`count` seeds from `first` on."""

    first: int = 0
    count: int


class ExperimentSpec(StrictStruct, kw_only=True):
    """A grid of runs, and the question that they answer: every scenario with every release, configuration, seed and set
    of changes. `unknown_plugins`: whether plugins that are not built in are an error. `outcomes`: whether each cell
    stores where its pods are; by default, if there are few cells."""

    question: str = "compare"
    scenarios: list[ScenarioReference]
    releases: list[str] = msgspec.field(default_factory=lambda: [NEWEST])
    configurations: list[NamedConfiguration] = msgspec.field(
        default_factory=lambda: [NamedConfiguration(name="default")]
    )
    seeds: SeedRange | list[int] = msgspec.field(default_factory=lambda: [0])
    unknown_plugins: Unknown = "error"
    changes: list[NamedChanges] = msgspec.field(default_factory=lambda: [NamedChanges(name="unchanged")])
    virtual_time: bool = False
    until: Duration | None = None
    outcomes: bool | None = None

    def section(self, kind: type[P]) -> P:
        """Return the parameters of the question, the default ones if the document has none."""
        found = getattr(self, self.question)
        assert found is None or isinstance(found, kind)
        return kind() if found is None else found

    @property
    def each_seed(self) -> range | list[int]:
        """The seeds."""
        if isinstance(self.seeds, SeedRange):
            return range(self.seeds.first, self.seeds.first + self.seeds.count)
        return self.seeds

    @property
    def size(self) -> int:
        """The number of cells of the grid. Nothing is expanded."""
        seeds = self.seeds.count if isinstance(self.seeds, SeedRange) else len(self.seeds)
        return len(self.scenarios) * len(self.releases) * len(self.configurations) * len(self.changes) * seeds


class Experiment(StrictStruct, kw_only=True):
    """An experiment document."""

    api_version: Literal["kubesched.dev/v1alpha1"]
    kind: Literal["Experiment"]
    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: ExperimentSpec


def cells_of(experiment: Experiment) -> Iterator[Cell]:
    """Yield the cells of the grid, the seed changing first: each is one run. Questions that vary more begin with these
    and replace `parameters` and `labels`."""
    spec = experiment.spec
    stored = spec.outcomes if spec.outcomes is not None else spec.size <= OUTCOMES_UP_TO
    until = seconds_of("spec.until", spec.until) if spec.until is not None else None
    configurations = [(one.name, one.text) for one in spec.configurations]
    for scenario, release, (configuration, text), changes, seed in product(
        spec.scenarios, spec.releases, configurations, spec.changes, spec.each_seed
    ):
        yield Cell(
            question=spec.question,
            scenario=scenario.key,
            release=release,
            configuration=text,
            unknown_plugins=spec.unknown_plugins,
            seed=seed,
            changes=changes.changes,
            virtual_time=spec.virtual_time,
            until=until,
            parameters={"outcomes": stored},
            labels=dict(zip(GRID_LABELS, (scenario.key, release, configuration, changes.name, str(seed)), strict=True)),
        )


# ---- checks


def check_grid(spec: ExperimentSpec) -> None:
    """Raise InputError that names the field for a grid that is wrong."""
    _check_size(spec)
    _check_scenarios(spec)
    _check_unique(spec.releases, "spec.releases[{}]")
    _check_unique([one.name for one in spec.configurations], "spec.configurations[{}].name")
    _check_unique([one.name for one in spec.changes], "spec.changes[{}].name")
    if not isinstance(spec.seeds, SeedRange):
        _check_unique(spec.seeds, "spec.seeds[{}]")
        for i, seed in enumerate(spec.seeds):
            refuse(abs(seed) > MAX_SEED, f"spec.seeds[{i}]", "must be an integer of 64 bits")
    if spec.until is not None:
        refuse(not spec.virtual_time, "spec.until", "is only for virtual time; set virtualTime: true")
        seconds_of("spec.until", spec.until)
    for i, changes in enumerate(spec.changes):
        with inside(f"spec.changes[{i}]"):
            read_changes(changes.changes)
    _check_configurations(spec)


def _check_size(spec: ExperimentSpec) -> None:
    for name in ("scenarios", "releases", "configurations", "changes"):
        refuse(not getattr(spec, name), f"spec.{name}", "must not be empty")
    if isinstance(spec.seeds, SeedRange):
        refuse(spec.seeds.count < 1, "spec.seeds.count", f"must be 1 or more, got {spec.seeds.count}")
        last = spec.seeds.first + spec.seeds.count - 1
        refuse(max(abs(spec.seeds.first), abs(last)) > MAX_SEED, "spec.seeds", "must be integers of 64 bits")
    refuse(spec.seeds == [], "spec.seeds", "must not be empty")
    refuse(spec.size > MAX_CELLS, "spec", f"would have {spec.size:,} cells; at most {MAX_CELLS:,} are allowed")
    loaded = len({one.text for one in spec.configurations}) * len(spec.releases)
    problem = f"would have {loaded:,} configurations (for each release); at most {MAX_LOADED:,} are allowed"
    refuse(loaded > MAX_LOADED, "spec.configurations", problem)
    texts = sum(len(one.text) for one in spec.configurations) / len(spec.configurations)
    changes = len(msgspec.json.encode(spec.changes)) / len(spec.changes)
    stored = int(spec.size * (texts + changes))
    problem = (
        f"would store {stored / 1e6:,.0f} MB of configurations and changes; at most {MAX_CELL_BYTES / 1e6:,.0f} MB"
    )
    refuse(stored > MAX_CELL_BYTES, "spec", f"{problem} are allowed")


def _check_scenarios(spec: ExperimentSpec) -> None:
    for i, one in enumerate(spec.scenarios):
        path = f"spec.scenarios[{i}]"
        refuse((one.id is None) == (one.file is None), path, "must have exactly one of id, file")
        refuse(one.id is not None and not 0 < one.id <= MAX_SEED, f"{path}.id", f"must be 1 or more, got {one.id}")
        refuse(one.file == "", f"{path}.file", "must not be empty")
        refuse(len(one.name) > MAX_NAME, f"{path}.name", f"must have at most {MAX_NAME} characters")
    _check_unique([one.key for one in spec.scenarios], "spec.scenarios[{}]")
    _check_unique([(one.id, one.file) for one in spec.scenarios], "spec.scenarios[{}]")


def _check_unique(values: Iterable[Any], path: str) -> None:
    found = set()
    for i, value in enumerate(values):
        at = path.format(i)
        if isinstance(value, str):
            refuse(not value.strip(), at, "must not be empty")
            refuse(len(value) > MAX_NAME, at, f"must have at most {MAX_NAME} characters")
        refuse(value in found, at, "occurs twice")
        found.add(value)


def _check_configurations(spec: ExperimentSpec) -> None:
    releases = []
    for i, name in enumerate(spec.releases):
        with inside(f"spec.releases[{i}]"):
            releases.append(get_release(name))
    canonical = [release.name for release in releases]
    _check_unique(canonical, "spec.releases[{}]")
    checked = set()
    for i, one in enumerate(spec.configurations):
        if one.config is None or one.text in checked:
            continue
        checked.add(one.text)
        for release in releases:
            with inside(f"spec.configurations[{i}].config", f"Kubernetes {release.name}: "):
                load(one.text, release, unknown=spec.unknown_plugins)


@contextmanager
def inside(path: str, prefix: str = "") -> Iterator[None]:
    """A context that reports an InputError at a field of the document."""
    try:
        yield
    except InputError as error:
        if error.where.startswith("changes"):  # a field of the document itself
            raise InputError("", ".".join(filter(None, (path, error.where, error.field))), error.problem) from None
        leaves_out = isinstance(error, UnknownPlugins) and error.rest is None
        hint = "; spec.unknownPlugins: leave_out ignores them" if leaves_out else ""
        raise InputError("", path, f"{prefix}{error}{hint}") from None
