"""A node label as a column, and numbers per label value: what topology keys are about."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from scheduler_core.api.objects import Node

Int64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]


class Topology:
    """The values of one label over the nodes.

    `ids`: int32 over nodes, the value's number, -1 where the label is missing. `values`: the value of each id.
    `missing`: bool over nodes, None when every node has the label. `unique`: every node has a value of its own, in the
    order of the rows, as hostnames are; then a number per value is a number per node.
    """

    __slots__ = ("ids", "missing", "unique", "values")

    def __init__(self, key: str, nodes: Iterable[Node]) -> None:
        self._take(n.metadata.labels.get(key) for n in nodes)

    @classmethod
    def of_values(cls, values: Iterable[str | None]) -> Topology:
        """Of something else than a label; None stands for a node that has none."""
        made = cls.__new__(cls)
        made._take(values)
        return made

    def _take(self, found: Iterable[str | None]) -> None:
        index: dict[str, int] = {}
        self.ids = np.array([-1 if value is None else index.setdefault(value, len(index)) for value in found], np.int32)
        self.values = list(index)
        missing = self.ids < 0
        self.missing: Bool | None = missing if missing.any() else None
        self.unique = self.missing is None and len(self.values) == len(self.ids)

    def sums(self, counts: Int64, eligible: Bool | None = None) -> Int64:
        """The sum of `counts` (int64 over nodes) per value, over eligible nodes (None: all); int64 over values."""
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
        """A number per value (int64) as one per node; 0 where the label is missing."""
        if self.unique:
            return numbers
        if self.missing is None:
            return numbers[self.ids]
        return np.append(numbers, 0)[self.ids]

    def mask_over_nodes(self, mask: Bool) -> Bool:
        """A bool per value as one per node; False where the label is missing."""
        if self.unique:
            return mask
        if self.missing is None:
            return mask[self.ids]
        return np.append(mask, np.False_)[self.ids]
