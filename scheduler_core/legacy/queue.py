"""The scheduling queue of 1.16 and 1.17: activeQ, podBackoffQ and unschedulableQ.

`scheduler_core/queue` has the parts that are unchanged in later releases. The differences:

* every event of a list moves all unschedulable pods (`every_event_requeues`)
* backoff is stored by pod name, separately from the pod; it is forgotten once it is older than the maximum
* any update of a pod in podBackoffQ, even of its status, moves it to activeQ; an update of more than the status of an
  unschedulable pod also resets its backoff

Source: pkg/scheduler/internal/queue (scheduling_queue.go, pod_backoff.go), pkg/scheduler/factory (handling of failed
pods).
"""

from collections.abc import Iterable
from typing import Any

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.queue.backoff import BackoffQueue
from scheduler_core.queue.queued_pod import QueuedPod
from scheduler_core.queue.scheduling_queue import SchedulingQueue, meaning


class OldBackoff(BackoffQueue):
    """podBackoffQ, with the failures that determine the length of backoffs."""

    def __init__(self, like: BackoffQueue) -> None:
        super().__init__(like.clock, like.initial, like.maximum, like.active_order, False, True, False)
        self._failures: dict[str, tuple[int, float]] = {}  # pod -> number of failures, start of its backoff

    def begin(self, pod: QueuedPod) -> None:
        """Record a failure of the pod. A new backoff begins, unless the last one is still running.

        Cycles take no time here, but they do upstream: a backoff that ends at this instant is over.
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
        """Reset the failures of the pod."""
        self._failures.pop(key, None)

    def add(self, pod: QueuedPod) -> None:
        """Add the pod. Rejections and errors are treated alike."""
        self._pods.put(pod)


class OldQueue(SchedulingQueue):
    """The queue of 1.16 and 1.17."""

    backoff: OldBackoff

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.backoff = OldBackoff(self.backoff)
        self._conditions: dict[str, tuple[str, str]] = {}  # pod -> reason and message of its PodScheduled condition

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """Handle the update of a pod."""
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
        """Remove a deleted or bound pod. If it was in activeQ, its backoff stays and applies to the next pod of that
        name."""
        if self.active.get(info.key) is None:
            self.backoff.forget(info.key)
        self._conditions.pop(info.key, None)
        super().delete(info)

    def add_unschedulable(
        self, pod: QueuedPod, plugins: Iterable[str], pending: Iterable[str] = (), cycle: int | None = None
    ) -> None:
        """Requeue a pod that failed.

        The pod goes to podBackoffQ if the last move was in the cycle in which the pod returns, not in the one in which
        it was popped. Its nomination is taken from its status.
        """
        super().add_unschedulable(pod, plugins, pending)
        self.nominator.forget(pod.info)
        if pod.info.nominated_node:
            self.nominator.nominate(pod.info, pod.info.nominated_node)

    def write_condition(self, pod: PodInfo, reason: str, message: str) -> None:
        """Write the condition PodScheduled of a requeued pod; a changed condition is an update of the pod."""
        status = pod.pod.status.conditions
        written = next(((one.reason, one.message) for one in status if one.type == "PodScheduled"), ("", ""))
        known = self._conditions.get(pod.key, written)
        self._conditions[pod.key] = (reason, message)
        if known != (reason, message) and self.backoff.get(pod.key) is not None:
            self.update(pod, pod)
