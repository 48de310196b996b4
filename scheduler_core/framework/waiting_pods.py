"""Pods held by Permit plugins: assumed on their node, not yet bound.

Source: pkg/scheduler/framework/runtime/waiting_pods_map.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scheduler_core.api.duration import go_text
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import UNSCHEDULABLE, Status


def timeout_message(plugin: str, seconds: float) -> str:
    """Return the message for a pod whose wait timed out."""
    return f"rejected due to timeout after waiting {go_text(seconds)} at plugin {plugin}"


@dataclass(slots=True)
class WaitingPod:
    """A pod held by Permit. `pending`: the plugins that still hold it. `rejected`: why it is not bound, else None."""

    pod: PodInfo
    node: str
    pending: set[str]
    rejected: Status | None = None

    @property
    def decided(self) -> bool:
        return self.rejected is not None or not self.pending

    def allow(self, plugin: str) -> None:
        """Remove the hold of one plugin."""
        self.pending.discard(plugin)

    def reject(self, plugin: str, message: str) -> None:
        """Reject the pod; the first rejection counts."""
        if not self.decided:
            self.rejected = Status(UNSCHEDULABLE, (message,), plugin)


class WaitingPods:
    """The waiting pods of a profile. Plugins allow or reject them; the caller of cycles removes the decided ones."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(list(self._pods.values()))

    def get(self, key: str) -> WaitingPod | None:
        return self._pods.get(key)

    def add(self, pod: PodInfo, node: str, waits: Mapping[str, float]) -> WaitingPod:
        """Add a pod. `waits`: plugin -> seconds."""
        waiting = self._pods[pod.key] = WaitingPod(pod, node, set(waits))
        return waiting

    def take_decided(self) -> list[WaitingPod]:
        """Remove and return the decided pods, in the order in which they began to wait."""
        decided = [waiting for waiting in self._pods.values() if waiting.decided]
        for waiting in decided:
            del self._pods[waiting.pod.key]
        return decided
