"""The scores of a cycle, as columns over the feasible nodes that are made when they are read.

A cycle that is not recorded needs none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Rows = slice | npt.NDArray[np.intp]

SMALL = np.dtype(np.uint8)  # of all arrays with this type
_MAX_SMALL = np.iinfo(SMALL).max


def compact(columns: Sequence[npt.NDArray[Any]], size: int) -> npt.NDArray[Any]:
    """Return columns of integers of this size as one array: uint8 if it holds the values, as most scores are, else
    int64."""
    wide = [one for one in columns if one.dtype is not SMALL and not 0 <= np.bitwise_or.reduce(one) <= _MAX_SMALL]
    found = np.empty((len(columns), size), np.int64 if wide else np.uint8)
    for i, column in enumerate(columns):
        found[i] = column
    return found


class Keyframe:
    """Columns of scores over nodes at some time, and the rows that changed since then. `patches`: (row, its values) in
    order.

    The arrays never change, and patches are only appended. So a cycle keeps its columns by remembering the number of
    patches that preceded it. `packed`: the encoded columns, set by the encoder.
    """

    __slots__ = ("_ends", "_packed_patches", "columns", "packed", "patches")

    def __init__(self, columns: npt.NDArray[Any]) -> None:
        self.columns = columns
        self.patches: list[tuple[int, npt.NDArray[Any]]] = []
        self.packed: bytes | None = None
        self._packed_patches = bytearray()
        self._ends: list[int] = [0]

    def column(self, index: int, count: int) -> Int64:
        """Return a copy of a column after the first `count` patches: int64 over nodes."""
        column: Int64 = self.columns[index].astype(np.int64)
        for row, values in self.patches[:count]:
            column[row] = values[index]
        return column

    def packed_patches(self, count: int, encode: Callable[[Any], bytes]) -> bytes:
        """Return the first `count` patches: `encode` of a row and its values, one after the other."""
        for row, values in self.patches[len(self._ends) - 1 : count]:
            self._packed_patches += encode([row, *values.tolist()])
            self._ends.append(len(self._packed_patches))
        return bytes(self._packed_patches[: self._ends[count]])


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

    def __init__(self, column: npt.NDArray[Any], rows: Rows) -> None:
        """`column`: integers."""
        self.column, self.rows = column, rows

    def read(self) -> Int64:
        return self.column[self.rows].astype(np.int64, copy=False)


class SmallColumn:
    """A column over the feasible rows that a cycle does not share."""

    __slots__ = ("column",)

    def __init__(self, column: npt.NDArray[np.uint8]) -> None:
        self.column = column

    def read(self) -> Int64:
        return self.column.astype(np.int64)


Column = Int64 | UsageColumn | StaticColumn | SmallColumn


class Score:
    """The int64 columns of a Score plugin over the feasible nodes. `raw_source`, `normalized_source`: how they are
    kept; the same object if the raw scores are final."""

    __slots__ = ("_normalized", "_raw", "normalized_source", "raw_source", "weight")

    def __init__(self, weight: int, raw: Column, normalized: Column) -> None:
        self.weight = weight
        self.raw_source, self.normalized_source = raw, normalized
        self._raw: Int64 | None = None
        self._normalized: Int64 | None = None

    @property
    def raw(self) -> Int64:
        if self._raw is None:
            source = self.raw_source
            self._raw = source if isinstance(source, np.ndarray) else source.read()
        return self._raw

    @property
    def normalized(self) -> Int64:
        if self._normalized is None:
            source = self.normalized_source
            if source is self.raw_source:
                self._normalized = self.raw
            else:
                self._normalized = source if isinstance(source, np.ndarray) else source.read()
        return self._normalized


class ClassScores:
    """The scores of a cycle of equal pods. `of_class` makes the Score of each plugin from this object.

    `varying`: plugin -> scores that the pods do not have in common; those that depend on usage as integers over the
    feasible nodes. `keyframe`: None without columns of one; the cycle's are those after the first `count` patches.
    """

    __slots__ = ("_of_class", "count", "keyframe", "rows", "varying")

    def __init__(
        self,
        of_class: Callable[[ClassScores], dict[str, Score]],
        varying: Mapping[str, Score | npt.NDArray[Any]],
        rows: Rows,
        keyframe: Keyframe | None,
        count: int,
    ) -> None:
        self._of_class = of_class
        self.varying, self.rows, self.keyframe, self.count = varying, rows, keyframe, count

    def by_plugin(self) -> dict[str, Score]:
        """Return plugin -> its scores."""
        return self._of_class(self)
