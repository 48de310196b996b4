"""A pod in the queue: what happened to it so far.

Source: pkg/scheduler/framework/types.go (QueuedPodInfo).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from scheduler_core.cluster.pod_info import PodInfo

# The parts of the queue; popped and gone are where pods leave to.
ACTIVE, BACKOFF, UNSCHEDULABLE, GATED = "active", "backoff", "unschedulable", "gated"
POPPED, GONE = "popped", "gone"


class Clock(Protocol):
    """What tells the time: seconds of the run."""

    @property
    def now(self) -> float: ...


@dataclass(slots=True, eq=False)
class QueuedPod:
    """`timestamp`: when it came, or failed last (seconds of the run). `stamp`: numbers the timestamps in the order in
    which they were set. `expiry`: when its backoff ends, None until asked for. `part`: where it is, "" at first."""

    info: PodInfo
    timestamp: float
    stamp: int
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    first_attempt: float | None = None
    unschedulable_plugins: set[str] = field(default_factory=set)
    pending_plugins: set[str] = field(default_factory=set)
    gating_plugin: str = ""
    expiry: float | None = None
    part: str = ""

    @property
    def key(self) -> str:
        return self.info.key

    @property
    def gated(self) -> bool:
        return bool(self.gating_plugin)

    @property
    def rejectors(self) -> set[str]:
        """The plugins that rejected it the last time; none means that something went wrong instead."""
        return self.unschedulable_plugins | self.pending_plugins
