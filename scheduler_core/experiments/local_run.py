"""Runs an experiment in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell, Check, Done, Result
from scheduler_core.experiments.document import MAX_CELLS, Experiment
from scheduler_core.experiments.question import ExperimentQuestion
from scheduler_core.experiments.questions import QUESTIONS
from scheduler_core.experiments.scenario_input import ScenarioInput

REASON_LENGTH = 500


class Finished(NamedTuple):
    """A finished cell with its number from 1, and the seconds that it took; 0 if an equal cell was computed before."""

    number: int
    done: Done
    seconds: float


def planned(cells: Iterable[Cell], before: int = 0) -> list[Cell]:
    """Return the cells of a round as a list. `before`: the number of cells of earlier rounds. Raises InputError if
    there are too many."""
    found = list(islice(cells, MAX_CELLS - before + 1))
    if before + len(found) > MAX_CELLS:
        raise InputError("experiment", "", f"would have more than {MAX_CELLS:,} cells")
    return found


def run_experiment(
    experiment: Experiment,
    scenarios: Mapping[str, ScenarioInput],
    on_finished: Callable[[Finished], None] = lambda finished: None,
    check: Check = lambda: None,
) -> Result:
    """Compute all cells in the order of their plan and return the summary. `scenarios`: by the key of their reference.
    `on_finished`: called for each cell. `check`: raises to stop. Raises InputError if no cell can be planned; a cell
    that fails is part of the summary."""
    question = QUESTIONS[experiment.spec.question]
    results: dict[str, Done] = {}
    done: list[Done] = []
    cells = planned(question.plan(experiment, scenarios))
    while cells:
        for cell in cells:
            start = time.perf_counter()
            address = scenarios[cell.scenario].address_of(cell)
            if address not in results:
                results[address] = _computed(question, cell, scenarios[cell.scenario], check)
            one = results[address]._replace(cell=cell)
            done.append(one)
            on_finished(Finished(len(done), one, round(time.perf_counter() - start, 3)))
        cells = planned(question.next_round(experiment, done), len(done))
    return question.summarise(experiment, done)


def _computed(question: ExperimentQuestion, cell: Cell, scenario: ScenarioInput, check: Check) -> Done:
    try:
        return Done(cell, question.compute(cell, scenario, check))
    except InputError as problem:
        return Done(cell, None, str(problem)[:REASON_LENGTH])
