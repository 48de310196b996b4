"""The scheduling queue: activeQ, backoffQ, unschedulable and gated pods, and the moves between them."""

from scheduler_core.queue.queued_pod import ACTIVE, BACKOFF, GATED, GONE, POPPED, UNSCHEDULABLE, QueuedPod
from scheduler_core.queue.scheduling_queue import SchedulingQueue

__all__ = ["ACTIVE", "BACKOFF", "GATED", "GONE", "POPPED", "UNSCHEDULABLE", "QueuedPod", "SchedulingQueue"]
