"""The order of pops of upstream's heap."""

import random

from scheduler_core.queue.heap_order import heap_order


class NeverGreater:
    """A key that is less than every equal one, as a comparison by `<=` is."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __lt__(self, other: "NeverGreater") -> bool:
        return self.value <= other.value


def test_different_keys_come_in_order() -> None:
    keys = list(range(30))
    random.Random(4).shuffle(keys)
    assert [keys[i] for i in heap_order(keys)] == list(range(30))
    assert heap_order([]) == []


def test_equal_keys_move_as_in_go() -> None:
    """The last of equal keys rises to the top when it is pushed."""
    assert heap_order([NeverGreater(1) for _ in range(2)]) == [1, 0]
    assert heap_order([NeverGreater(1) for _ in range(4)]) == [3, 1, 2, 0]
