"""Questions for tests whose cells take no time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from scheduler_core.experiments.cell import Cell, Done, Result
from scheduler_core.experiments.compare import Compare
from scheduler_core.experiments.document import Experiment, cells_of
from scheduler_core.experiments.scenario_input import ScenarioInput


class Squares(Compare):
    """The sum of the squares of the seeds. Negative seeds begin a second round with one cell, their sum."""

    def __init__(self) -> None:
        self.computed: list[int] = []  # seeds, in the order of their computation
        self.errors: dict[int, list[Exception]] = {}  # seed -> what its next attempts raise

    def plan(self, experiment: Experiment, scenarios: Mapping[str, ScenarioInput]) -> Iterator[Cell]:
        yield from cells_of(experiment)

    def next_round(self, experiment: Experiment, done: Sequence[Done]) -> Sequence[Cell]:
        below = [one.cell.seed for one in done if one.cell.seed < 0]
        return [Cell(question="compare", scenario=done[0].cell.scenario, release="1.34", seed=-sum(below))] * bool(
            below and len(done) == experiment.spec.size
        )

    def compute(self, cell: Cell, scenario: ScenarioInput, check: Callable[[], None]) -> Result:
        check()
        self.computed.append(cell.seed)
        if errors := self.errors.get(cell.seed):
            raise errors.pop(0)
        return {"metrics": {"square": cell.seed**2}, "objects": len(scenario.objects())}

    def summarise(self, experiment: Experiment, done: Sequence[Done]) -> Result:
        total = sum(one.result["metrics"]["square"] for one in done if one.result)
        return {"answer": f"The sum is {total}.", "total": total, "cells": len(done)}
