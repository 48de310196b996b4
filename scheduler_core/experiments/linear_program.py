"""Linear and integer programs, built row by row and column by column and solved by HiGHS."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import highspy

    Solver = highspy.Highs

TOLERANCE = 1e-6  # of the solver, relative


class LinearProgram:
    """A program that minimises, under construction: rows first, then columns with their entries. Columns are at least
    0."""

    def __init__(self) -> None:
        self._bounds: list[tuple[float, float]] = []
        self._costs: list[float] = []
        self._upper: list[float] = []
        self._starts: list[int] = [0]
        self._indices: list[int] = []
        self._entries: list[float] = []
        self._whole: list[bool] = []

    @property
    def columns(self) -> int:
        return len(self._costs)

    def row(self, lower: float, upper: float) -> int:
        """Add a row and return its index."""
        self._bounds.append((lower, upper))
        return len(self._bounds) - 1

    def column(self, cost: float, upper: float, entries: Iterable[tuple[int, float]], whole: bool = False) -> None:
        """Add a column. `entries`: (row, coefficient). `whole`: whether its value is a whole number."""
        for row, value in entries:
            self._indices.append(row)
            self._entries.append(value)
        self._costs.append(cost)
        self._upper.append(upper)
        self._starts.append(len(self._indices))
        self._whole.append(whole)

    def solver(self, **options: float) -> Solver:
        """Return a solver with this program."""
        import highspy

        highs = highspy.Highs()  # type: ignore[no-untyped-call]
        highs.silent()
        for name, value in {"threads": 1, **options}.items():
            highs.setOptionValue(name, value)
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = len(self._bounds), self.columns
        lp.row_lower_ = np.array([lower for lower, _ in self._bounds])
        lp.row_upper_ = np.array([upper for _, upper in self._bounds])
        lp.col_cost_ = np.array(self._costs)
        lp.col_lower_ = np.zeros(self.columns)
        lp.col_upper_ = np.array(self._upper)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = np.array(self._starts, np.int32)
        lp.a_matrix_.index_ = np.array(self._indices, np.int32)
        lp.a_matrix_.value_ = np.array(self._entries)
        if any(self._whole):
            kinds = highspy.HighsVarType
            lp.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in self._whole]
        highs.passModel(lp)
        return highs


def run(highs: Solver) -> str:
    """Run a solver and return the status of its model, such as `Optimal`."""
    highs.run()
    return str(highs.modelStatusToString(highs.getModelStatus()))


def start_from(highs: Solver, values: Iterable[float]) -> None:
    """Give a solver a known solution: the value of each column."""
    from highspy import HighsSolution

    solution = HighsSolution()
    solution.col_value = list(values)
    highs.setSolution(solution)
