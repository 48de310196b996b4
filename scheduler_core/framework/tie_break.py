"""Choices among equals, the only source of randomness."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

_FEW = 1024  # values among which `nonzero` is faster than halving


def place_of(tied: npt.NDArray[np.bool_], number: int) -> int:
    """Return the place of the true value that so many others precede. Of many, `nonzero` takes ten times as long."""
    begin, end = 0, len(tied)
    while end - begin > _FEW:
        middle = (begin + end) // 2
        before = int(np.count_nonzero(tied[begin:middle]))
        if number < before:
            end = middle
        else:
            begin, number = middle, number - before
    return begin + int(tied[begin:end].nonzero()[0][number])


class Picker:
    """Picks among equally good nodes: by seed (`seed` an int) or the first by name (`seed` None).

    A pick depends only on the seed, the pod and its attempt, not on earlier picks. So a run can resume at any cycle,
    and a difference in one cycle does not change the random picks of the others.
    """

    def __init__(self, seed: int | None) -> None:
        self._seed = seed
        self.begin("", 0)

    @property
    def by(self) -> str:
        """The rule that decides, as text."""
        return "by name" if self._seed is None else "by the run's seed"

    def begin(self, pod: str, attempt: int) -> None:
        """Begin another cycle."""
        self._pod, self._attempt, self._draws = pod, attempt, 0

    def _below(self, size: int) -> int:
        self._draws += 1
        drawn = f"{self._seed}/{self._pod}/{self._attempt}/{self._draws}"
        digest = blake2b(drawn.encode(), digest_size=8).digest()
        return int.from_bytes(digest) % size

    def pick(self, names: Sequence[str]) -> str:
        """Return one of the names. There must be at least one."""
        if len(names) == 1:
            return names[0]
        return min(names) if self._seed is None else names[self._below(len(names))]

    def pick_index(self, size: int) -> int | None:
        """Return the index of one of so many equals, at least two; None if it is that of the first by name."""
        return None if self._seed is None else self._below(size)

    def offset(self, size: int) -> int:
        """Return a start offset in a ring of `size`."""
        return 0 if self._seed is None else self._below(size)
