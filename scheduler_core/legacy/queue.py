"""The scheduling queue of 1.16 and 1.17: activeQ, podBackoffQ and unschedulableQ.

What is the same as later is shared (`scheduler_core/queue`). What was otherwise:

* every event of a list moves all that are unschedulable (`every_event_requeues`)
* backoff is kept by the pod's name, apart from the pod; it is forgotten once it began longer ago than the longest takes
* any update of a pod in podBackoffQ, were it of its status, moves it to activeQ; one that changes more than the status
  of an unschedulable pod has its backoff forgotten, too

Source: pkg/scheduler/internal/queue (scheduling_queue.go, pod_backoff.go), pkg/scheduler/factory (what it does with
a pod that failed).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.queue.backoff import BackoffQueue
from scheduler_core.queue.queued_pod import QueuedPod
from scheduler_core.queue.scheduling_queue import SchedulingQueue, meaning


class OldBackoff(BackoffQueue):
    """podBackoffQ, and the failures by which backoffs grow."""

    def __init__(self, like: BackoffQueue) -> None:
        super().__init__(like.clock, like.initial, like.maximum, like.active_order, False, True, False)
        self._failures: dict[str, tuple[int, float]] = {}  # pod -> how many, and when its backoff began

    def begin(self, pod: QueuedPod) -> None:
        """The pod has failed. Unless it backs off still, its backoff begins anew.

        A cycle takes no time here but took some upstream: what ends in this very instant is over.
        """
        now = self.clock.now
        for key, (_, since) in list(self._failures.items()):
            if since + self.maximum <= now:
                del self._failures[key]
        count, since = self._failures.get(pod.key, (0, now))
        if since + self.after(count) <= now:
            count, since = self._failures[pod.key] = count + 1, now
        pod.expiry = since + self.after(count)

    def forget(self, key: str) -> None:
        """The pod has never failed."""
        self._failures.pop(key, None)

    def add(self, pod: QueuedPod) -> None:
        """Whether it was rejected or failed by an error makes no difference."""
        self._pods.put(pod)


class OldQueue(SchedulingQueue):
    """As SchedulingQueue."""

    backoff: OldBackoff

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.backoff = OldBackoff(self.backoff)
        self._conditions: dict[str, tuple[str, str]] = {}  # pod -> reason and message of its PodScheduled

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """A pod changed."""
        backing_off, waiting = self.backoff.get(new.key), self.unschedulable.get(new.key)
        if backing_off is not None:
            backing_off.info = new
            self._to_active(backing_off, events.UNSCHEDULABLE_POD_UPDATE.label)
            return
        if waiting is not None and meaning(old.pod) != meaning(new.pod):
            self.backoff.forget(new.key)
            waiting.expiry = self.clock.now
        super().update(old, new)

    def delete(self, info: PodInfo) -> None:
        """A pod is gone, or was bound. Deleted out of activeQ its backoff is left to the next of its name."""
        if self.active.get(info.key) is None:
            self.backoff.forget(info.key)
        self._conditions.pop(info.key, None)
        super().delete(info)

    def add_unschedulable(
        self, pod: QueuedPod, plugins: Iterable[str], pending: Iterable[str] = (), cycle: int | None = None
    ) -> None:
        """Takes back a pod that failed. That the last move was in the cycle that counts when it comes back, not when it
        was popped, sends it to podBackoffQ. Its nomination is that of its status."""
        super().add_unschedulable(pod, plugins, pending)
        self.nominator.forget(pod.info)
        if pod.info.nominated_node:
            self.nominator.nominate(pod.info, pod.info.nominated_node)

    def write_condition(self, pod: PodInfo, reason: str, message: str) -> None:
        """The condition PodScheduled of a pod that came back is written, which is an update if it says anything new."""
        status = pod.pod.status.conditions
        said = next(((one.reason, one.message) for one in status if one.type == "PodScheduled"), ("", ""))
        known = self._conditions.get(pod.key, said)
        self._conditions[pod.key] = (reason, message)
        if known != (reason, message) and self.backoff.get(pod.key) is not None:
            self.update(pod, pod)
