"""The one place where chance is allowed: a choice among equals."""

import random
from collections.abc import Sequence


class Picker:
    """Picks among equally good nodes: by seed (`seed` an int) or the first by name (`seed` None)."""

    def __init__(self, seed: int | None) -> None:
        self._random = None if seed is None else random.Random(seed)

    def pick(self, names: Sequence[str]) -> str:
        """One of the names, of which there is at least one."""
        if len(names) == 1:
            return names[0]
        return min(names) if self._random is None else names[self._random.randrange(len(names))]

    def offset(self, size: int) -> int:
        """Where to begin in a ring of `size`."""
        return 0 if self._random is None else self._random.randrange(size)
