"""The rows of nodes whose pods changed, in order, so that a cached column is updated only on these rows."""

from __future__ import annotations

_LIMIT = 1 << 16  # rows kept; a column that is older than that is computed again


class UsageLog:
    """A log of rows. `position`: the number of rows logged so far; a reader remembers it."""

    __slots__ = ("_rows", "_start", "position")

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._start = self.position = 0  # the position of the first row kept, and that of the next row

    def add(self, row: int) -> None:
        """Log a row."""
        if len(self._rows) >= _LIMIT:
            self._start, self._rows = self.position, []
        self._rows.append(row)
        self.position += 1

    def forget(self) -> None:
        """Make every earlier position too old, because all rows may have changed."""
        self._start = self.position = self.position + 1
        self._rows = []

    def since(self, position: int) -> list[int] | None:
        """Return the rows logged since a position, with repetitions; None if the position is too old."""
        return self._rows[position - self._start :] if position >= self._start else None
