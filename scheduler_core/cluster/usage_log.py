"""The rows of nodes whose pods changed, so that a cached column is updated only on these rows."""

import numpy as np
import numpy.typing as npt

_LIMIT = 64  # rows that are kept in order


class UsageLog:
    """A log of rows. `position`: the number of rows logged so far; a reader remembers it. `last`: the last row; -1 if
    all were logged."""

    __slots__ = ("_changed", "_rows", "_start", "last", "position")

    def __init__(self) -> None:
        self._rows: list[int] = []
        self.last = -1
        self._start = self.position = 0  # the position of the first row kept, and that of the next row
        self._changed: npt.NDArray[np.int64] = np.zeros(0, np.int64)  # over rows, the position after the last change

    def add(self, row: int) -> None:
        """Log a row."""
        if len(self._rows) >= _LIMIT:
            self._start, self._rows = self.position, []
        self._rows.append(row)
        self.last = row
        self.position += 1
        self._changed[row] = self.position

    def add_all(self, size: int) -> None:
        """Log all rows, of which there are `size` now."""
        self._rows, self.last = [], -1
        self._start = self.position = self.position + 1
        self._changed = np.full(size, self.position)

    def since(self, position: int) -> list[int] | npt.NDArray[np.intp]:
        """Return the rows logged since a position, each once."""
        if position >= self._start:
            return list(set(self._rows[position - self._start :]))
        return (self._changed > position).nonzero()[0]
