"""What a question of an experiment implements: its cells, the computation of one cell, and the answer from all cells.

A caller plans the cells, computes them in any order and in any process, asks for a further round until there is none,
and then summarises. `python -m scheduler_core experiment` does this in one process; kubesched_ui.experiments
distributes the cells to workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from scheduler_core.experiments.cell import Cell, Done, Result
from scheduler_core.experiments.document import Experiment
from scheduler_core.experiments.scenario_input import ScenarioInput


class ExperimentQuestion(Protocol):
    """A question. All functions are pure: the same arguments give the same cells, results and answer."""

    def plan(self, experiment: Experiment, scenarios: Mapping[str, ScenarioInput]) -> Iterable[Cell]:
        """Return the cells of the first round. Raises InputError that names the field of the document."""
        ...

    def next_round(self, experiment: Experiment, done: Sequence[Done]) -> Sequence[Cell]:
        """Return the cells of the next round, computed from all finished cells in the order of the plan; none if the
        experiment is complete."""
        ...

    def compute(self, cell: Cell, scenario: ScenarioInput, check: Callable[[], None]) -> Result:
        """Return the result of one cell. `check` is called at least once a second; it raises to stop the computation.
        Raises InputError."""
        ...

    def summarise(self, experiment: Experiment, done: Sequence[Done]) -> Result:
        """Return the answer. `answer`: one sentence; the other keys are those of the question."""
        ...
