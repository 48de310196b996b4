"""A heap of pods that can be looked up, replaced and removed by key."""

import heapq
from collections.abc import Callable, Iterator
from typing import Any

from scheduler_core.queue.queued_pod import QueuedPod

_Entry = list[Any]  # [sort key, insertion number, the pod or None once it is removed]


class KeyedHeap:
    """Pods by ascending `order(pod)`; among equals, the first inserted. At most one entry per pod."""

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
        """Add a pod, or move it to its new position."""
        self.remove(pod.key)
        self._count += 1
        entry = [self._order(pod), self._count, pod]
        self._entries[pod.key] = entry
        heapq.heappush(self._heap, entry)

    def remove(self, key: str) -> QueuedPod | None:
        """Remove and return a pod; None if it is not in the heap."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        pod: QueuedPod = entry[2]
        entry[2] = None  # the heap drops the empty entry when it reaches the top
        return pod

    def peek(self) -> QueuedPod | None:
        while self._heap and self._heap[0][2] is None:
            heapq.heappop(self._heap)
        return self._heap[0][2] if self._heap else None

    def pop(self) -> QueuedPod | None:
        """Pop the first pod; None if the heap is empty."""
        pod = self.peek()
        return self.remove(pod.key) if pod is not None else None
