"""What a question of an experiment implements: its cells, the computation of one cell, and the answer from all cells.

A caller plans the cells, computes them in any order and in any process, asks for a further round until there is none,
and then summarises. `local_run` does this in one process; kubesched_ui.experiments distributes the cells to workers.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from scheduler_core.experiments.cell import Cell, Check, Done, Result
from scheduler_core.experiments.document import Experiment, ExperimentSpec
from scheduler_core.experiments.parameters import Section
from scheduler_core.experiments.scenario_input import ScenarioInput


class ExperimentQuestion(ABC):
    """A question. All methods are pure: the same arguments give the same cells, results and answer.

    `name`: in documents and addresses. `section`: its parameters, the section of the document with its name; None if it
    has none. `required`: why the section must not be missing, "" if it may. `in_virtual_time`: whether its cells are
    runs, which can be in virtual time.
    """

    name: ClassVar[str]
    section: ClassVar[type[Section] | None] = None
    required: ClassVar[str] = ""
    in_virtual_time: ClassVar[bool] = False

    def check(self, spec: ExperimentSpec) -> None:  # noqa: B027 (most have nothing to check)
        """Raise InputError that names the field for a document whose other fields do not suit the question."""

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
        """Return the answer, with one sentence as `answer`; the other keys are those of the question."""


def not_answered(done: Sequence[Done]) -> str:
    """Return the answer if no cell has a result: the first error."""
    return f"Not answered: {next((one.error for one in done if one.error), 'no cell was computed')}"
