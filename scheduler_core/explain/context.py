"""The known state of the cluster in a cycle, without the pod itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.explain import formatting
from scheduler_core.explain.answer import Shortfall
from scheduler_core.framework.interface import Plugin
from scheduler_core.framework.runtime import Framework

PODS = "pods"


class Scene:
    """Context of an explanation. `names`: the nodes of the trace's rows; the rows of the cluster may differ by now.

    The pod may have been placed since the cycle began, so all counts exclude it. `framework`: the plugins of the
    profile. `victims`: node -> pods evicted there by the cycle, which still count. `promised`: nodes on which the pods
    nominated to them count as well.
    """

    def __init__(
        self,
        cluster: Cluster,
        pod: PodInfo,
        names: Sequence[str],
        framework: Framework | None = None,
        victims: Mapping[str, Sequence[PodInfo]] | None = None,
        promised: Sequence[str] = (),
    ) -> None:
        self.cluster = cluster
        self.pod = pod
        self.names = names
        self.framework = framework
        self.nodes = cluster.nodes
        placed = cluster.pods.get(pod.key)
        self.own_node = placed.node if placed is not None else ""
        # pods that count on a row although they are not on the node
        self.further: dict[int, list[PodInfo]] = {}
        for name, pods in (victims or {}).items():
            self._count(name, [victim for victim in pods if victim.key not in cluster.pods])
        for name in promised:
            nominated = cluster.nominator.on(name)
            self._count(name, [p for p in nominated if p.priority >= pod.priority and p.key != pod.key])

    def _count(self, name: str, pods: Sequence[PodInfo]) -> None:
        row = self.nodes.rows.get(name)
        if row is not None and pods:
            self.further.setdefault(row, []).extend(pods)

    def plugin(self, name: str) -> Plugin | None:
        """Return the profile's Filter plugin of that name; None if there is none."""
        plugins = self.framework.filter if self.framework is not None else []
        return next((plugin for plugin in plugins if plugin.name == name), None)

    def row(self, name: str) -> int | None:
        """Return the cluster's row of a node; None if the node no longer exists."""
        return self.nodes.rows.get(name)

    def pods_on(self, row: int) -> Iterator[PodInfo]:
        """Yield the other pods on a node."""
        yield from (pod for pod in self.nodes.pods_of(row) if pod.key != self.pod.key)
        yield from self.further.get(row, ())

    def _own(self, row: int) -> bool:
        return bool(self.own_node) and self.nodes.rows.get(self.own_node) == row

    def shortfall(self, row: int, resource: str) -> Shortfall | None:
        """Return how much of a resource a node lacks; None if it has enough (now)."""
        if resource == PODS:
            request = 1
            allocatable = int(self.nodes.allowed_pods[row])
            free = allocatable - int(self.nodes.pod_count[row]) + self._own(row)
            free -= len(self.further.get(row, ()))
        else:
            request = self.pod.requests.get(resource, 0)
            column = self.nodes.allocatable.get(resource)
            allocatable = int(column[row]) if column is not None else 0
            used = int(self.nodes.requested[resource][row]) if column is not None else 0
            free = allocatable - used + request * self._own(row)
            free -= sum(other.requests.get(resource, 0) for other in self.further.get(row, ()))
        short = request - free
        if short <= 0:
            return None
        return Shortfall(resource, request, free, allocatable, short, formatting.amount(resource, short))

    def lacks(self) -> npt.NDArray[np.float64]:
        """Return how much every node lacks, as a share of the pod's requests; float64 over the trace's rows."""
        total = np.zeros(len(self.nodes), np.float64)
        for name, request in self.pod.requests.items():
            column = self.nodes.allocatable.get(name)
            if request and column is None:
                total += 1.0
            elif request and column is not None:
                short = request - (column - self.nodes.requested[name])
                total += np.clip(short / request, 0.0, None)
        total += self.nodes.pod_count >= self.nodes.allowed_pods
        for row in {*self.further, self.nodes.rows.get(self.own_node)}:
            if row is not None:
                total[row] = self._lack(row)
        if self.names is self.nodes.names or list(self.names) == self.nodes.names:
            return total
        rows = np.array([self.nodes.rows.get(name, -1) for name in self.names], np.intp)
        return np.where(rows >= 0, np.append(total, 0.0)[rows], np.inf)

    def _lack(self, row: int) -> float:
        shortfalls = [self.shortfall(row, name) for name in (PODS, *(n for n, r in self.pod.requests.items() if r))]
        return sum(s.short / s.request if s.resource != PODS else 1.0 for s in shortfalls if s is not None)


def asked(reasons: Sequence[str]) -> list[str]:
    """Return the resources in the reasons of NodeResourcesFit."""
    named = [r.removeprefix("Insufficient ") for r in reasons if r.startswith("Insufficient ")]
    return [*named, PODS] if "Too many pods" in reasons else named  # old releases: "Insufficient pods"
