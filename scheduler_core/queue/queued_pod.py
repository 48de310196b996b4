"""A pod in the queue, with the history of its attempts.

Source: pkg/scheduler/framework/types.go (QueuedPodInfo).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from scheduler_core.cluster.pod_info import PodInfo

# The parts of the queue. POPPED and GONE are where pods go when they leave it.
ACTIVE, BACKOFF, UNSCHEDULABLE, GATED = "active", "backoff", "unschedulable", "gated"
POPPED, GONE = "popped", "gone"


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod in the queue.

    `timestamp`: when it was added or last failed (seconds of the run). `stamp`: the sequence number of the timestamp.
    `first_attempt`: when it first entered activeQ; `activation`: the sequence number of that. `expiry`: the end of its
    backoff, None until computed. `part`: its part of the queue, "" at first. `changes`: the number of changes of the
    cluster before its last attempt.
    """

    info: PodInfo
    timestamp: float
    stamp: int
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    first_attempt: float | None = None
    activation: int = 0
    unschedulable_plugins: set[str] = field(default_factory=set)
    pending_plugins: set[str] = field(default_factory=set)
    gating_plugin: str = ""
    expiry: float | None = None
    part: str = ""
    changes: int = 0
    key: str = field(init=False)

    def __post_init__(self) -> None:
        self.key = self.info.key

    @property
    def pods(self) -> list[QueuedPod]:
        """The pods that are in the queue under this key: the pod itself, or the members of a group."""
        return [self]

    @property
    def gated(self) -> bool:
        return bool(self.gating_plugin)

    @property
    def rejectors(self) -> set[str]:
        """The plugins that rejected the pod in its last attempt; empty if an error occurred instead."""
        return self.unschedulable_plugins | self.pending_plugins
