"""The scenario of a cell: its objects, and the simulation of a cell on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scheduler_core.debugger.fork.stages import Stage, plan_single_pass
from scheduler_core.debugger.mutations import read_changes
from scheduler_core.experiments.cell import Cell
from scheduler_core.legacy.configuration import load
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.preflight import Choices
from scheduler_core.snapshot.prepare import Prepared, prepare

CACHED = 4  # prepared scenarios


@dataclass
class ScenarioInput:
    """A scenario. `key`: as cells name it. `digest`: of its content, for the content address of cells. `objects`:
    returns new raw objects at each call; they are read when they are first needed. `time`: the fields of a Scenario
    document other than objects; {} for a snapshot."""

    key: str
    digest: str
    objects: Callable[[], list[dict[str, Any]]]
    time: dict[str, Any] = field(default_factory=dict)
    choices: Choices = field(default_factory=Choices)
    _prepared: dict[tuple[str, frozenset[str], int], Prepared] = field(default_factory=dict, repr=False)

    def prepared(self, release_name: str, configuration: str = "", seed: int = 0) -> Prepared:
        """Return the prepared objects for a release and the schedulers of a configuration. Cells share them, so the
        objects must not be changed. Raises InputError."""
        release = get_release(release_name)
        schedulers = frozenset(load(configuration or None, release).schedulers)
        key = (release_name, schedulers, seed)
        if key not in self._prepared:
            while len(self._prepared) >= CACHED:
                del self._prepared[next(iter(self._prepared))]
            found = prepare(self.objects(), release=release, schedulers=schedulers, choices=self.choices, seed=seed)
            self._prepared[key] = found
        return self._prepared[key]

    def simulation(self, cell: Cell) -> Simulation:
        """Return the single pass of a cell at its beginning, with the changes planned before its first cycle. Raises
        InputError."""
        prepared = self.prepared(cell.release, cell.configuration)
        simulation = Simulation(
            prepared.objects, release=cell.release, config=cell.configuration or None, seed=cell.seed
        )
        if cell.changes:
            plan_single_pass(simulation, [Stage(at=1, changes=read_changes(cell.changes))], 0)
        return simulation
