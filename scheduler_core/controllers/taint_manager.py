"""The NoExecute taint manager: it evicts pods that do not tolerate a node's NoExecute taints, at once or after a delay.

Source: pkg/controller/tainteviction (taint_eviction.go, timed_workers.go),
https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/.
"""

import math
from dataclasses import dataclass

from scheduler_core.api import selectors
from scheduler_core.api.objects import Node, PodCondition, Taint, Toleration
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.controllers.controller import Api, Controller

EVICTED = PodCondition("DisruptionTarget", "True", "DeletionByTaintManager", "deleted because of a NoExecute taint")


def tolerated_seconds(taints: list[Taint], tolerations: list[Toleration]) -> float:
    """Return how many seconds the NoExecute taints let a pod stay.

    0 if it does not tolerate all of them, else the shortest tolerationSeconds of the tolerations used; infinite if none
    has one.
    """
    shortest = math.inf
    for taint in taints:
        # among several tolerations for one taint, upstream takes the first
        fitting = next((t for t in tolerations if selectors.tolerates(t, taint)), None)
        if fitting is None:
            return 0.0
        if fitting.toleration_seconds is not None:
            shortest = min(shortest, max(0.0, float(fitting.toleration_seconds)))
    return shortest


@dataclass(slots=True)
class _Eviction:
    """A scheduled eviction. `created`: when the countdown began."""

    created: float
    due: float


class TaintManager(Controller):
    """A timed queue of evictions, at most one per pod."""

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self._timed: dict[str, _Eviction] = {}

    def node_changed(self, old: Node | None, new: Node | None) -> None:
        name = new.name if new is not None else old.name if old is not None else ""
        if new is not None and old is not None and _no_execute(old) == _no_execute(new):
            return
        entry = self.api.cluster.nodes.entries.get(name)
        for pod in list(entry.pods.values()) if entry is not None else ():
            self._judge(pod, new)

    def pod_changed(self, old: PodInfo | None, new: PodInfo) -> None:
        entry = self.api.cluster.nodes.entries.get(new.node) if new.node else None
        if entry is not None and entry.node is not None and _no_execute(entry.node):
            self._judge(new, entry.node)

    def pod_gone(self, pod: PodInfo, finished: bool) -> None:
        self._timed.pop(pod.key, None)

    def _judge(self, pod: PodInfo, node: Node | None) -> None:
        """Evict the pod, start a countdown, or cancel it. A later taint never shortens a running countdown."""
        if pod.terminating or self.api.lifecycle.is_assumed(pod.key):
            return
        taints = _no_execute(node) if node is not None else []
        stay = tolerated_seconds(taints, pod.pod.spec.tolerations) if taints else math.inf
        now = self.api.loop.clock.now
        if stay == 0:
            self._timed.pop(pod.key, None)
            self._evict(pod)
        elif stay == math.inf:
            self._cancel(pod)
        else:
            running = self._timed.get(pod.key)
            if running is not None:
                if running.created + stay < now + stay:
                    return
                self._cancel(pod)
            self._set(pod, _Eviction(now, now + stay))

    def _set(self, pod: PodInfo, eviction: _Eviction) -> None:
        self._timed[pod.key] = eviction
        seq = self.api.loop.record("eviction.timed", pod=pod.key, node=pod.node, at=eviction.due)
        with self.api.loop.caused(seq):
            self.api.loop.at(eviction.due, lambda: self._expire(pod.key, eviction))

    def _expire(self, key: str, eviction: _Eviction) -> None:
        if self._timed.get(key) is eviction:
            del self._timed[key]
            self._evict(self.api.pods[key])

    def _cancel(self, pod: PodInfo) -> None:
        if self._timed.pop(pod.key, None) is not None:
            self.api.loop.record("eviction.cancelled", pod=pod.key, node=pod.node)

    def _evict(self, pod: PodInfo) -> None:
        self.api.evict(pod, "NoExecute taint", condition=EVICTED)


def _no_execute(node: Node) -> list[Taint]:
    return [taint for taint in node.spec.taints if taint.effect == "NoExecute"]
