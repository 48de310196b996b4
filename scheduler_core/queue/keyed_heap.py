"""A heap whose items have names, so that they can be found, replaced and taken out of the middle."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any

from scheduler_core.queue.queued_pod import QueuedPod

_Entry = list[Any]  # [sort key, insertion number, the pod or None once it is out]


class KeyedHeap:
    """Pods by ascending `order(pod)`; of equals, the one that was put in first. At most one entry per pod."""

    def __init__(self, order: Callable[[QueuedPod], Any]) -> None:
        self._order = order
        self._heap: list[_Entry] = []
        self._entries: dict[str, _Entry] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[QueuedPod]:
        return (entry[2] for entry in self._entries.values())

    def get(self, key: str) -> QueuedPod | None:
        entry = self._entries.get(key)
        return entry[2] if entry is not None else None

    def put(self, pod: QueuedPod) -> None:
        """Adds a pod, or gives it its new place."""
        self.remove(pod.key)
        self._count += 1
        entry = [self._order(pod), self._count, pod]
        self._entries[pod.key] = entry
        heapq.heappush(self._heap, entry)

    def remove(self, key: str) -> QueuedPod | None:
        """Takes a pod out; None if it is not there."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        pod: QueuedPod = entry[2]
        entry[2] = None  # what is left of it in the heap is dropped when it comes to the top
        return pod

    def peek(self) -> QueuedPod | None:
        while self._heap and self._heap[0][2] is None:
            heapq.heappop(self._heap)
        return self._heap[0][2] if self._heap else None

    def pop(self) -> QueuedPod | None:
        """The first pod; None when empty."""
        pod = self.peek()
        return self.remove(pod.key) if pod is not None else None
