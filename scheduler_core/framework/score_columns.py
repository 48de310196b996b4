"""The scores of a cycle, as columns over the feasible nodes that are made when they are read.

A cycle that nobody records needs none of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Rows = slice | npt.NDArray[np.intp]


class Keyframe:
    """Columns over nodes at some time, and the rows that changed since then. `patches`: (row, values) in order.

    The arrays never change, and patches are only appended. So a cycle keeps its columns by remembering the number of
    patches that preceded it.
    """

    __slots__ = ("columns", "patches")

    def __init__(self, columns: Int64) -> None:
        self.columns = columns
        self.patches: list[tuple[int, Int64]] = []

    def column(self, index: int, count: int) -> Int64:
        """Return a column after the first `count` patches: int64 over nodes."""
        column: Int64 = self.columns[index]
        if count:
            column = column.copy()
            for row, values in self.patches[:count]:
                column[row] = values[index]
        return column


class UsageColumn:
    """A column of a keyframe on the feasible rows."""

    __slots__ = ("count", "index", "keyframe", "rows")

    def __init__(self, keyframe: Keyframe, count: int, index: int, rows: Rows) -> None:
        self.keyframe, self.count, self.index, self.rows = keyframe, count, index, rows

    def read(self) -> Int64:
        return self.keyframe.column(self.index, self.count)[self.rows]


class StaticColumn:
    """A column over all nodes that stays, on the feasible rows."""

    __slots__ = ("column", "rows")

    def __init__(self, column: Int64, rows: Rows) -> None:
        self.column, self.rows = column, rows

    def read(self) -> Int64:
        return self.column[self.rows]


Column = UsageColumn | StaticColumn


class Score:
    """The int64 columns of a Score plugin over the feasible nodes."""

    __slots__ = ("_normalized", "_raw", "weight")

    def __init__(self, weight: int, raw: Int64 | Column, normalized: Int64 | Column) -> None:
        self.weight = weight
        self._raw = raw
        self._normalized = normalized

    @property
    def raw(self) -> Int64:
        if not isinstance(self._raw, np.ndarray):
            column = self._raw.read()
            if self._normalized is self._raw:
                self._normalized = column
            self._raw = column
        return self._raw

    @property
    def normalized(self) -> Int64:
        if self._normalized is self._raw:
            return self.raw
        if not isinstance(self._normalized, np.ndarray):
            self._normalized = self._normalized.read()
        return self._normalized
