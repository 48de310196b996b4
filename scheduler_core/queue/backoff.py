"""backoffQ: pods that failed and wait before the next attempt, longer after each failure.

Source: pkg/scheduler/backend/queue/backoff_queue.go.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from scheduler_core.queue.clock import Clock
from scheduler_core.queue.keyed_heap import KeyedHeap
from scheduler_core.queue.queued_pod import QueuedPod


@dataclass(eq=False)
class BackoffQueue:
    """Pods ordered by the end of their backoff. Pods that failed with an error have a separate heap.

    `windows`: popping early is enabled; ends are rounded down to whole seconds, and within one second pods are ordered
    as in activeQ. `counts_attempts`: the backoff grows with every attempt; otherwise with each rejection by a plugin,
    or after an error with the number of consecutive errors. `past_its_end`: the backoff still lasts at its end and is
    over just after it; otherwise it is over at its end.
    """

    clock: Clock
    initial: float
    maximum: float
    active_order: Callable[[QueuedPod], Any]
    windows: bool
    counts_attempts: bool
    past_its_end: bool

    def __post_init__(self) -> None:
        self._pods = KeyedHeap(lambda pod: (self.expiry(pod), self.active_order(pod)))
        self._errors = KeyedHeap(lambda pod: (self.expiry(pod), self.active_order(pod)))

    def __len__(self) -> int:
        return len(self._pods) + len(self._errors)

    def __iter__(self) -> Iterator[QueuedPod]:
        yield from self._pods
        yield from self._errors

    def duration(self, pod: QueuedPod) -> float:
        """Return the backoff in seconds: the initial one, doubled for each further failure, up to the maximum."""
        count = pod.attempts if self.counts_attempts else pod.consecutive_errors or pod.unschedulable_count
        return self.after(count, len(pod.pods))

    def after(self, count: int, size: int = 1) -> float:
        """Return the backoff in seconds after `count` failures, of a pod or of a group of `size` pods."""
        return float(min(self.initial * 2.0 ** min(count - 1, 64), self.maximum * size**0.5)) if count else 0.0

    def begin(self, pod: QueuedPod) -> None:
        """Begin a backoff: the pod has failed."""
        pod.expiry = None

    def expiry(self, pod: QueuedPod) -> float:
        """Return the end of the backoff, in seconds of the run."""
        if pod.expiry is None:
            pod.expiry = pod.timestamp + self.duration(pod)
        return math.floor(pod.expiry) if self.windows else pod.expiry

    def is_backing_off(self, pod: QueuedPod) -> bool:
        """Return whether the backoff of a pod lasts. A pod that has never failed has none."""
        if not self.duration(pod):
            return False
        now = math.floor(self.clock.now) if self.windows else self.clock.now
        return self.expiry(pod) >= now if self.past_its_end else self.expiry(pod) > now

    def add(self, pod: QueuedPod) -> None:
        (self._pods if pod.rejectors else self._errors).put(pod)

    def get(self, key: str) -> QueuedPod | None:
        return self._pods.get(key) or self._errors.get(key)

    def remove(self, key: str) -> QueuedPod | None:
        return self._pods.remove(key) or self._errors.remove(key)

    def first(self, may_pop: Callable[[QueuedPod], bool] | None = None) -> QueuedPod | None:
        """Return the pod that may be popped before its backoff ends: the one whose backoff ends first, never one that
        failed with an error. `may_pop`: None for all others."""
        if may_pop is None:
            return self._pods.peek()
        order = lambda pod: (self.expiry(pod), self.active_order(pod))  # noqa: E731
        return min(filter(may_pop, self._pods), key=order, default=None)

    def configure(self, initial: float, maximum: float) -> None:
        """Set the backoff in seconds for backoffs that begin from now on."""
        self.initial, self.maximum = initial, maximum

    def pop_completed(self) -> list[QueuedPod]:
        """Remove and return all pods whose backoff has ended."""
        done = []
        for heap in (self._pods, self._errors):
            while (pod := heap.peek()) is not None and not self.is_backing_off(pod):
                heap.pop()
                done.append(pod)
        return done

    def next_flush(self) -> float:
        """Return the first whole second at which some pod's backoff has ended; infinite if the queue is empty."""
        first = math.inf
        for heap in (self._pods, self._errors):
            if (pod := heap.peek()) is not None:
                first = min(first, self.expiry(pod))
        if first == math.inf:
            return first
        return math.floor(first) + 1 if self.past_its_end else math.ceil(first)
