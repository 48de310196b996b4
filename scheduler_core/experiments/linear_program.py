"""Linear and integer programs of HiGHS, which minimise. Columns are at least 0."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import highspy

Solver: TypeAlias = "highspy.Highs"

TOLERANCE = 1e-6  # of the solver, relative


def new_program(**options: float) -> Solver:
    """Return a program without rows and columns."""
    import highspy

    program = highspy.Highs()  # type: ignore[no-untyped-call]
    program.silent()
    for name, value in {"threads": 1, **options}.items():
        program.setOptionValue(name, value)
    return program


def add_row(program: Solver, lower: float, upper: float) -> int:
    """Add a row without entries and return its index."""
    program.addRow(lower, upper, 0, np.zeros(0, np.int32), np.zeros(0))
    return int(program.getNumRow()) - 1


def add_column(program: Solver, cost: float, upper: float, entries: Iterable[tuple[int, float]]) -> None:
    """Add a column. `entries`: (row, coefficient)."""
    rows, values = np.array(list(entries), np.float64).reshape(-1, 2).T
    program.addCol(cost, 0.0, upper, len(rows), rows.astype(np.int32), values)


def entries_of(rows: Sequence[int], values: npt.NDArray[np.number]) -> list[tuple[int, float]]:
    """Return (row, value) of the values other than 0."""
    return [(row, value) for row, value in zip(rows, values.tolist(), strict=True) if value]


def make_whole(program: Solver) -> None:
    """Restrict the values of all columns to whole numbers."""
    import highspy

    size = program.getNumCol()
    program.changeColsIntegrality(size, np.arange(size, dtype=np.int32), np.full(size, highspy.HighsVarType.kInteger))


def run(program: Solver) -> str:
    """Run a program and return the status of its model, such as `Optimal`."""
    program.run()
    return str(program.modelStatusToString(program.getModelStatus()))
