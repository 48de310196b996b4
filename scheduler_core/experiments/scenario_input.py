"""The scenario of a cell: its objects, and the run of a cell on them."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

import msgspec

from scheduler_core.api.objects import Node, Object, Pod
from scheduler_core.config.configuration import Configuration
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell
from scheduler_core.forks.mutations import read_changes
from scheduler_core.forks.stages import Stage, plan_single_pass, plan_virtual_time
from scheduler_core.metrics.groups import workloads
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.files import objects_in, read_bytes
from scheduler_core.snapshot.preflight import Choices
from scheduler_core.snapshot.prepare import Prepared, prepare
from scheduler_core.virtual_time.scenario import API_VERSION, KIND, Scenario, is_scenario, load_scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun

RESULTS_VERSION = 3
"""Raise it if a cell's result changes: another decision of the scheduler, another metric or another key."""
CACHED = 4  # prepared scenarios
MAX_PODS = 1_000_000
MAX_RECORDS = 20_000_000


def _make_space(cached: dict[Any, Any]) -> None:
    while len(cached) >= CACHED:
        del cached[next(iter(cached))]


def apply_changes(simulation: Simulation) -> Simulation:
    """Apply the planned changes of a simulation now, and return it. Raises InputError."""
    for number in sorted(simulation.stages):
        for stage in simulation.stages.pop(number):
            stage()
    return simulation


@dataclass
class ScenarioInput:
    """A scenario. `key`: as cells name it. `digest`: of its content, for the content address of cells. `objects`:
    returns new raw objects at each call; they are read when they are first needed. `time`: the fields of a Scenario
    document's spec other than objects; {} for a snapshot. `max_pods`, `max_records`: limits of a run."""

    key: str
    digest: str
    objects: Callable[[], list[dict[str, Any]]]
    time: dict[str, Any] = field(default_factory=dict)
    choices: Choices = field(default_factory=Choices)
    max_pods: int = MAX_PODS
    max_records: int = MAX_RECORDS
    _prepared: dict[tuple[str, frozenset[str], int], Prepared] = field(default_factory=dict, repr=False)
    _workloads: dict[int, tuple[Prepared, dict[str, str]]] = field(default_factory=dict, repr=False)

    @classmethod
    def from_file(cls, path: str | Path, key: str = "", choices: Choices | None = None) -> Self:
        """Read a snapshot (as kubectl writes it) or a Scenario file. Raises InputError."""
        data = read_bytes(str(path))
        time: dict[str, Any] = {}
        if is_scenario(data):
            time = msgspec.to_builtins(load_scenario(data, str(path)).spec)
            for name in ("objects", "tieBreak"):  # seeds break the ties of cells
                time.pop(name, None)
        encoded = msgspec.json.encode(objects_in(data, str(path)))
        digest = hashlib.sha256(msgspec.json.encode(time, order="sorted") + encoded).hexdigest()
        return cls(key or str(path), digest, partial(msgspec.json.decode, encoded), time, choices or Choices())

    def address_of(self, cell: Cell) -> str:
        """Return the content address of a cell: the SHA-256 of all that its result depends on, in hexadecimal. Labels
        are only shown, and the key of the scenario is replaced by its content."""
        content = msgspec.to_builtins(msgspec.structs.replace(cell, labels={}, scenario=self.digest))
        choices = [self.choices.other_schedulers, self.choices.absent_claims]
        plain = {"cell": content, "choices": choices, "results": RESULTS_VERSION}
        return hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()

    def prepared_for(self, cell: Cell, seed: int | None = None) -> Prepared:
        """Return the prepared objects of a cell, or those that it has with another seed. Raises InputError."""
        return self.prepared(cell.release, cell.loaded(), cell.seed if seed is None else seed)

    def prepared(self, release_name: str, configuration: Configuration | None = None, seed: int = 0) -> Prepared:
        """Return the prepared objects for a release and the schedulers of a configuration. Cells share them, so the
        objects must not be changed. `seed`: for the names of pods that are created for workloads. Raises InputError."""
        release = get_release(release_name)
        schedulers = frozenset((configuration or load(None, release)).schedulers)
        first = self._prepare(release_name, schedulers, 0)
        # Without such pods, all seeds have the same objects.
        return self._prepare(release_name, schedulers, seed) if first.made and seed else first

    def _prepare(self, release_name: str, schedulers: frozenset[str], seed: int) -> Prepared:
        key = (release_name, schedulers, seed)
        if key not in self._prepared:
            _make_space(self._prepared)
            release = get_release(release_name)
            found = prepare(self.objects(), release=release, schedulers=schedulers, choices=self.choices, seed=seed)
            if not any(isinstance(obj, Node | Pod) for obj in found.objects):
                raise InputError(self.key, "", "has neither nodes nor pods")
            if len(found.made) > self.max_pods:
                problem = f"would have {len(found.made):,} pods, which is more than {self.max_pods:,}"
                raise InputError(self.key, "", f"workloads that have no pods yet {problem}")
            self._prepared[key] = found
        return self._prepared[key]

    def stable_names(self, cell: Cell) -> dict[str, str]:
        """Map pods that were created for workloads to the names that they have with seed 0, so that the outcomes of
        different seeds can be compared. Raises InputError."""
        if not cell.seed:
            return {}
        made, first = (self.prepared_for(cell, seed).made for seed in (cell.seed, 0))
        return {pod.key: stable.key for pod, stable in zip(made, first, strict=True)}

    def workload_of(self, cell: Cell) -> dict[str, str]:
        """Map each pod of the scenario to its workload (`metrics.groups.workloads`). Raises InputError."""
        prepared = self.prepared_for(cell)
        if id(prepared) not in self._workloads:
            _make_space(self._workloads)
            pods = (obj for obj in prepared.objects if isinstance(obj, Pod))
            self._workloads[id(prepared)] = prepared, workloads(pods)  # the reference keeps the id from being reused
        return self._workloads[id(prepared)][1]

    def simulation(self, cell: Cell, objects: Sequence[Object] | None = None) -> Simulation:
        """Return the single pass of a cell at its beginning, with the changes planned before its first cycle. It
        decides as a run with these settings does. `objects`: instead of those of the scenario. Raises InputError."""
        if objects is None:
            objects = self.prepared_for(cell).objects
        simulation = Simulation(objects, release=cell.release, config=cell.loaded(), seed=cell.seed, timer=lambda: 0)
        if cell.changes:
            plan_single_pass(simulation, [Stage(at=1, changes=read_changes(cell.changes))], 0)
        return simulation

    def changed_simulation(self, cell: Cell) -> Simulation:
        """Return the single pass of a cell with its changes applied. Raises InputError."""
        return apply_changes(self.simulation(cell))

    def virtual_time_run(self, cell: Cell) -> ScenarioRun:
        """Return the run of a cell in virtual time at its beginning, with the changes planned before its first cycle.
        Raises InputError."""
        spec: dict[str, Any] = {"kubernetes": "", "featureGates": {}, "config": None, "seed": cell.seed}
        if cell.until is not None:
            spec["until"] = cell.until
        plain = {"apiVersion": API_VERSION, "kind": KIND, "spec": self.time | spec}
        scenario = msgspec.convert(plain, Scenario)
        scenario.spec.objects = self.objects()
        release = get_release(cell.release)
        run = ScenarioRun(scenario, choices=self.choices, release=release, configuration=cell.loaded())
        run.engine.max_records, run.engine.max_pods = self.max_records, self.max_pods
        if cell.changes:
            plan_virtual_time(run, [Stage(at=1, changes=read_changes(cell.changes))])
        return run
