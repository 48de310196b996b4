"""The known state of the cluster for the details of a rejection, without the pod itself."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo


class RejectionContext:
    """Context of an explanation. `names`: the nodes of the trace's rows; the rows of the cluster may differ by now.

    The pod may have been placed since the cycle began, so all counts exclude it. `filters`: the Filter
    plugins of the profile. `victims`: node -> pods evicted there by the cycle, which still count. `promised`: nodes on
    which the pods nominated to them count as well.
    """

    def __init__(
        self,
        cluster: Cluster,
        pod: PodInfo,
        names: Sequence[str],
        filters: Sequence[Any] = (),
        victims: Mapping[str, Sequence[PodInfo]] | None = None,
        promised: Sequence[str] = (),
    ) -> None:
        self.cluster = cluster
        self.pod = pod
        self.names = names
        self.filters = filters
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

    @cached_property
    def rows(self) -> npt.NDArray[np.intp]:
        """The cluster's row of each row of the trace, -1 for a node that no longer exists; intp."""
        if self.names is self.nodes.names:
            return np.arange(len(self.names), dtype=np.intp)
        return np.array([self.nodes.rows.get(name, -1) for name in self.names], np.intp)

    def plugin(self, name: str) -> Any:
        """Return the profile's Filter plugin of that name; None if there is none."""
        return next((plugin for plugin in self.filters if plugin.name == name), None)

    def row(self, name: str) -> int | None:
        """Return the cluster's row of a node; None if the node no longer exists."""
        return self.nodes.rows.get(name)

    def pods_on(self, row: int) -> Iterator[PodInfo]:
        """Yield the other pods on a node."""
        yield from (pod for pod in self.nodes.pods_of(row) if pod.key != self.pod.key)
        yield from self.further.get(row, ())
