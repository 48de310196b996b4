"""What a question of an experiment implements: its cells, the computation of one cell, and the answer from all cells.

A caller plans the cells, computes them in any order and in any process, asks for a further round until there is none,
and then summarises. `local_run` does this in one process; kubesched_ui.experiments distributes the cells to workers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from scheduler_core.experiments.cell import Cell, Check, Done, Result
from scheduler_core.experiments.document import Experiment
from scheduler_core.experiments.scenario_input import ScenarioInput


class ExperimentQuestion(ABC):
    """A question. All methods are pure: the same arguments give the same cells, results and answer."""

    @abstractmethod
    def plan(self, experiment: Experiment, scenarios: Mapping[str, ScenarioInput]) -> Iterable[Cell]:
        """Return the cells of the first round. Raises InputError that names the field of the document."""

    def next_round(self, experiment: Experiment, done: Sequence[Done]) -> Sequence[Cell]:
        """Return the cells of the next round, computed from all finished cells in the order of the plan; none if the
        experiment is complete."""
        return []

    @abstractmethod
    def compute(self, cell: Cell, scenario: ScenarioInput, check: Check) -> Result:
        """Return the result of one cell. Raises InputError."""

    @abstractmethod
    def summarise(self, experiment: Experiment, done: Sequence[Done]) -> Result:
        """Return the answer. `answer`: one sentence; the other keys are those of the question."""


def not_answered(done: Sequence[Done]) -> str:
    """Return the answer if no cell has a result: the first error."""
    return f"Not answered: {next((one.error for one in done if one.error), 'no cell was computed')}"
