"""The order in which kube-scheduler's heap pops items, also for a comparison that is no strict order.

Source: pkg/scheduler/backend/heap, container/heap of Go.
"""

from collections.abc import Sequence
from typing import Any


def heap_order(keys: Sequence[Any]) -> list[int]:
    """Push the keys in order, then pop all. Return their positions in the order of the pops. Keys define `<`."""
    heap: list[int] = []
    for position in range(len(keys)):
        heap.append(position)
        _up(heap, keys)
    popped = []
    while heap:
        heap[0], heap[-1] = heap[-1], heap[0]
        popped.append(heap.pop())
        _down(heap, keys)
    return popped


def _up(heap: list[int], keys: Sequence[Any]) -> None:
    child = len(heap) - 1
    while child:
        parent = (child - 1) // 2
        if not keys[heap[child]] < keys[heap[parent]]:
            return
        heap[child], heap[parent] = heap[parent], heap[child]
        child = parent


def _down(heap: list[int], keys: Sequence[Any]) -> None:
    parent = 0
    while (child := 2 * parent + 1) < len(heap):
        if child + 1 < len(heap) and keys[heap[child + 1]] < keys[heap[child]]:
            child += 1
        if not keys[heap[child]] < keys[heap[parent]]:
            return
        heap[child], heap[parent] = heap[parent], heap[child]
        parent = child
