"""The one place where chance is allowed: a choice among equals."""

import random
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


class Picker:
    """Picks among equally good nodes: by seed (`seed` an int) or the first by name (`seed` None)."""

    def __init__(self, seed: int | None) -> None:
        self._random = None if seed is None else random.Random(seed)

    def pick(self, names: Sequence[str]) -> str:
        """One of the names, of which there is at least one."""
        if len(names) == 1:
            return names[0]
        return min(names) if self._random is None else names[self._random.randrange(len(names))]

    def pick_row(self, rows: npt.NDArray[np.intp], rank: npt.NDArray[np.intp]) -> int:
        """One of the rows; `rank` is the place of each node among all by name."""
        if self._random is None:
            return int(rows[np.argmin(rank[rows])])
        return int(rows[self._random.randrange(len(rows))]) if len(rows) > 1 else int(rows[0])

    def offset(self, size: int) -> int:
        """Where to begin in a ring of `size`."""
        return 0 if self._random is None else self._random.randrange(size)
