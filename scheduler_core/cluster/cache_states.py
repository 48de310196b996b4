"""The states of a pod in the scheduler cache, as a state machine that refuses invalid transitions.

    (absent) --assume--> assumed --finish_binding--> binding finished --expire--> (absent)
       |                    |  \\--forget--> (absent)      |
       |                    \\-------add-------------------+
       \\--add--> added <-----------------------------------/
                    | update (stays), remove--> (absent)

Assumed pods already count on their node. Upstream does not let them expire by default (a TTL of 0).

Source: pkg/scheduler/backend/cache/interface.go, cache.go.
"""

from __future__ import annotations

import math
from enum import Enum

from scheduler_core.cluster.change_log import ASSUMED, BOUND
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo


class State(Enum):
    ASSUMED = "assumed"
    FINISHED = "binding finished"
    ADDED = "added"


class ImpossibleMove(RuntimeError):
    """A transition that the pod's state does not allow. It is a program error, never an input error."""


class Lifecycle:
    """The states of all pods that count on a node.

    `ttl`: seconds after which an assumed pod with a finished binding expires if the binding is not confirmed; 0 is
    never.
    """

    def __init__(self, cluster: Cluster, ttl: float = 0.0) -> None:
        self._cluster = cluster
        self._ttl = ttl
        self._states: dict[str, State] = dict.fromkeys(cluster.pods, State.ADDED)
        self._deadlines: dict[str, float] = {}

    def state_of(self, key: str) -> State | None:
        """Return the state of a pod; None if it is not in the cache."""
        return self._states.get(key)

    def is_assumed(self, key: str) -> bool:
        return self._states.get(key) in (State.ASSUMED, State.FINISHED)

    def assumed(self) -> list[str]:
        """Return the keys of the assumed pods, whose binding is not confirmed."""
        return [key for key in self._states if self.is_assumed(key)]

    def assume(self, pod: PodInfo, node: str) -> None:
        """Assume a pod on the node that the scheduler chose. Add it there unless the cycle already did."""
        self._expect(pod, "assume", None)
        if pod.key not in self._cluster.pods:
            self._cluster.add_pod(pod, node)
        self._states[pod.key] = State.ASSUMED
        self._cluster.journal.note(ASSUMED, pod)

    def finish_binding(self, pod: PodInfo, now: float) -> None:
        """Mark the binding as written. The pod may expire if it is not confirmed."""
        self._expect(pod, "finish binding", State.ASSUMED)
        self._states[pod.key] = State.FINISHED
        self._deadlines[pod.key] = now + self._ttl if self._ttl else math.inf

    def forget(self, pod: PodInfo) -> None:
        """Undo `assume`: remove the pod from its node."""
        self._expect(pod, "forget", State.ASSUMED, State.FINISHED)
        self._drop(pod.key)

    def expire(self, now: float) -> list[PodInfo]:
        """Remove and return the pods whose binding was not confirmed before the deadline."""
        late = [self._cluster.pods[key] for key, deadline in self._deadlines.items() if deadline <= now]
        for pod in late:
            self._drop(pod.key)
        return late

    def add(self, pod: PodInfo, node: str) -> None:
        """Add a pod that the API server reports as bound. It may be on another node than the assumed one."""
        self._expect(pod, "add", None, State.ASSUMED, State.FINISHED)
        known = self._cluster.pods.get(pod.key)
        if known is not None and (known is not pod or known.node != node):
            self._cluster.remove_pod(known)
            known = None
        if known is None:
            self._cluster.add_pod(pod, node)
        self._states[pod.key] = State.ADDED
        self._cluster.journal.note(BOUND, pod)
        self._deadlines.pop(pod.key, None)

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """Replace a bound pod by its new version on the same node."""
        self._expect(old, "update", State.ADDED)
        node = old.node
        self._cluster.remove_pod(old)
        self._cluster.add_pod(new, node)
        self._cluster.journal.note(BOUND, new)
        old.node = node  # later readers of the change need the old node

    def remove(self, pod: PodInfo) -> None:
        """Remove a bound pod."""
        self._expect(pod, "remove", State.ADDED)
        node = pod.node
        self._drop(pod.key)
        pod.node = node

    def _drop(self, key: str) -> None:
        self._deadlines.pop(key, None)
        del self._states[key]
        if key in self._cluster.pods:  # a failed cycle has already removed it
            self._cluster.remove_pod(self._cluster.pods[key])

    def _expect(self, pod: PodInfo, move: str, *states: State | None) -> None:
        state = self._states.get(pod.key)
        if state not in states:
            found = state.value if state is not None else "not in the cache"
            raise ImpossibleMove(f"cannot {move} Pod {pod.key}: it is {found}")
