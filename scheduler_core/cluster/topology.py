"""A node label as a column, and sums by label value, for topology keys."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from scheduler_core.api.objects import Node

Int64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]


class Topology:
    """The values of one label over the nodes.

    `ids`: intp over nodes, the index of the value, -1 if the label is missing. `values`: the value of each id.
    `missing`: bool over nodes, None if every node has the label. `unique`: every node has its own value, in row order,
    as with hostnames; then a column over values is a column over nodes.
    """

    __slots__ = ("ids", "missing", "unique", "values")

    def __init__(self, key: str, nodes: Iterable[Node]) -> None:
        index: dict[str, int] = {}
        found = [node.metadata.labels.get(key) for node in nodes]
        self.ids = np.array([-1 if value is None else index.setdefault(value, len(index)) for value in found], np.intp)
        self.values = list(index)
        missing = self.ids < 0
        self.missing: Bool | None = missing if missing.any() else None
        self.unique = self.missing is None and len(self.values) == len(self.ids)

    def sums(self, counts: Int64, eligible: Bool | None = None) -> Int64:
        """Return the sum of `counts` by value over the eligible nodes (None: all).

        `counts` is int64 over nodes, the result int64 over values.
        """
        ids = self.ids
        if self.missing is not None:
            eligible = ~self.missing if eligible is None else eligible & ~self.missing
        if eligible is not None:
            if self.unique:
                return np.where(eligible, counts, 0)
            ids, counts = ids[eligible], counts[eligible]
        elif self.unique:
            return counts
        return np.bincount(ids, weights=counts, minlength=len(self.values)).astype(np.int64)

    def over_nodes(self, numbers: Int64) -> Int64:
        """Expand a column over values (int64) to the nodes; 0 if the label is missing."""
        return numbers if self.unique else self.on_rows(numbers, slice(None))

    def on_rows(self, numbers: Int64, rows: slice | npt.NDArray[np.intp]) -> Int64:
        """Return `over_nodes(numbers)[rows]`."""
        if self.missing is not None:
            numbers = np.append(numbers, 0)
        return numbers.take(self.ids[rows])

    def mask_over_nodes(self, mask: Bool) -> Bool:
        """Expand a mask over values to the nodes; False if the label is missing."""
        if self.unique:
            return mask
        if self.missing is None:
            return mask[self.ids]
        return np.append(mask, np.False_)[self.ids]
