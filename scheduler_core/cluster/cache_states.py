"""The states of a pod in the scheduler cache, as a state machine that refuses invalid transitions.

    (absent) --assume--> assumed --finish_binding--> binding finished
       |                    |  \\--forget--> (absent)      |
       |                    \\-------add-------------------+
       \\--add--> added <-----------------------------------/
                    | update (stays), remove--> (absent)

Assumed pods already count on their node. They never expire, as with upstream's default (a TTL of 0).

Source: pkg/scheduler/backend/cache/interface.go, cache.go.
"""

from enum import Enum

from scheduler_core.cluster.change_log import ASSUMED, BOUND
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo


class CacheState(Enum):
    ASSUMED = "assumed"
    FINISHED = "binding finished"
    ADDED = "added"


class Lifecycle:
    """The states of all pods that count on a node."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._states: dict[str, CacheState] = dict.fromkeys(cluster.pods, CacheState.ADDED)

    def state_of(self, key: str) -> CacheState | None:
        """Return the state of a pod; None if it is not in the cache."""
        return self._states.get(key)

    def is_assumed(self, key: str) -> bool:
        return self._states.get(key) in (CacheState.ASSUMED, CacheState.FINISHED)

    def assumed(self) -> list[str]:
        """Return the keys of the assumed pods, whose binding is not confirmed."""
        return [key for key in self._states if self.is_assumed(key)]

    def assume(self, pod: PodInfo, node: str) -> None:
        """Assume a pod on the node that the scheduler chose. Add it there unless the cycle already did."""
        self._expect(pod, "assume", None)
        if pod.key not in self._cluster.pods:
            self._cluster.add_pod(pod, node)
        self._states[pod.key] = CacheState.ASSUMED
        self._cluster.journal.note(ASSUMED, pod)

    def finish_binding(self, pod: PodInfo) -> None:
        """Mark the binding as written."""
        self._expect(pod, "finish binding", CacheState.ASSUMED)
        self._states[pod.key] = CacheState.FINISHED

    def forget(self, pod: PodInfo) -> None:
        """Undo `assume`: remove the pod from its node."""
        self._expect(pod, "forget", CacheState.ASSUMED, CacheState.FINISHED)
        self._drop(pod.key)

    def add(self, pod: PodInfo, node: str) -> None:
        """Add a pod that the API server reports as bound. It may be on another node than the assumed one."""
        self._expect(pod, "add", None, CacheState.ASSUMED, CacheState.FINISHED)
        known = self._cluster.pods.get(pod.key)
        if known is not None and (known is not pod or known.node != node):
            self._cluster.remove_pod(known)
            known = None
        if known is None:
            self._cluster.add_pod(pod, node)
        self._states[pod.key] = CacheState.ADDED
        self._cluster.journal.note(BOUND, pod)

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """Replace a bound pod by its new version on the same node."""
        self._expect(old, "update", CacheState.ADDED)
        node = old.node
        self._cluster.remove_pod(old)
        self._cluster.add_pod(new, node)
        self._cluster.journal.note(BOUND, new)
        old.node = node  # later readers of the change need the old node

    def remove(self, pod: PodInfo) -> None:
        """Remove a bound pod."""
        self._expect(pod, "remove", CacheState.ADDED)
        node = pod.node
        self._drop(pod.key)
        pod.node = node

    def _drop(self, key: str) -> None:
        del self._states[key]
        if key in self._cluster.pods:  # a failed cycle has already removed it
            self._cluster.remove_pod(self._cluster.pods[key])

    def _expect(self, pod: PodInfo, move: str, *states: CacheState | None) -> None:
        state = self._states.get(pod.key)
        if state not in states:
            found = state.value if state is not None else "not in the cache"
            raise RuntimeError(f"cannot {move} Pod {pod.key}: it is {found}")
