"""The one place where chance is allowed: a choice among equals."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt


class Picker:
    """Picks among equally good nodes: by seed (`seed` an int) or the first by name (`seed` None).

    What a cycle picks follows from the seed, its pod and its attempt alone, not from the picks before: so a run can go
    on from any cycle, and two runs that differ in one cycle do not differ by chance in all others.
    """

    def __init__(self, seed: int | None) -> None:
        self._seed = seed
        self.begin("", 0)

    @property
    def by(self) -> str:
        """What decides, in words."""
        return "by name" if self._seed is None else "by the run's seed"

    def begin(self, pod: str, attempt: int) -> None:
        """Another cycle begins."""
        self._cycle = f"{self._seed}/{pod}/{attempt}/"
        self._draws = 0

    def _below(self, size: int) -> int:
        self._draws += 1
        digest = blake2b(f"{self._cycle}{self._draws}".encode(), digest_size=8).digest()
        return int.from_bytes(digest) % size

    def pick(self, names: Sequence[str]) -> str:
        """One of the names, of which there is at least one."""
        if len(names) == 1:
            return names[0]
        return min(names) if self._seed is None else names[self._below(len(names))]

    def pick_row(self, rows: npt.NDArray[np.intp], rank: npt.NDArray[np.intp]) -> int:
        """One of the rows; `rank` is the place of each node among all by name."""
        if self._seed is None:
            return int(rows[np.argmin(rank[rows])])
        return int(rows[self._below(len(rows))]) if len(rows) > 1 else int(rows[0])

    def offset(self, size: int) -> int:
        """Where to begin in a ring of `size`."""
        return 0 if self._seed is None else self._below(size)
