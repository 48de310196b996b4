"""Fast selection of victims on nodes where only resources matter, without running predicates for every pod.

Preemption tries all potential nodes. For most pods, only cpu, memory and other resources depend on the running pods of
a node. Arithmetic is then sufficient and gives the same result as the predicates. Source:
pkg/scheduler/core/generic_scheduler.go (selectVictimsOnNode).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy.predicates import (
    EvenPodsSpread,
    GeneralPredicates,
    MatchInterPodAffinity,
    NoDiskConflict,
    PodFitsHostPorts,
    PodFitsResources,
)
from scheduler_core.plugins.node_volume_limits import NodeVolumeLimits
from scheduler_core.plugins.non_csi_limits import NonCSILimits

Rows = npt.NDArray[np.intp]


def parts_of(predicates: Iterable[fwk.FilterPlugin]) -> Iterator[fwk.FilterPlugin]:
    """Yield the predicates, with GeneralPredicates replaced by its parts."""
    for predicate in predicates:
        yield from predicate.parts if isinstance(predicate, GeneralPredicates) else (predicate,)


def depends(predicate: fwk.FilterPlugin, state: fwk.CycleState, pod: PodInfo) -> bool:
    """Return whether evicting pods from a node may change the predicate's result."""
    if predicate.filter_node is None:
        return False
    if isinstance(predicate, PodFitsHostPorts):
        return bool(pod.host_ports)
    if isinstance(predicate, NodeVolumeLimits | NonCSILimits):
        return bool(pod.pod.spec.volumes)
    if isinstance(predicate, MatchInterPodAffinity | NoDiskConflict | EvenPodsSpread):
        return bool(state.get(predicate.name))
    return True


class PreemptionNodes:
    """Potential nodes and free resources for one pod's preemption.

    `by_numbers`: only resources matter for the pod. `hopeless`: (status, rows that are rejected with it whatever is
    evicted, intp). `rows`: the other potential rows.
    """

    def __init__(
        self,
        predicates: Sequence[fwk.FilterPlugin],
        state: fwk.CycleState,
        pod: PodInfo,
        verdicts: Mapping[str, fwk.Verdict],
        rows: Rows,
    ) -> None:
        depending = [part for part in parts_of(predicates) if depends(part, state, pod)]
        self._fits = [part for part in depending if isinstance(part, PodFitsResources)]
        self.by_numbers = len(depending) == len(self._fits)
        self.hopeless: list[tuple[fwk.Status, Rows]] = []
        self.rows = rows
        for part in parts_of(predicates):
            if part not in depending and len(self.rows):
                self._leave_out(verdicts[part.name] if part.name in verdicts else part.filter(state, pod))
        self._pod = pod

    def _leave_out(self, verdict: fwk.Verdict) -> None:
        """Remove the rows that a verdict rejects, if the verdict does not depend on pods."""
        if verdict.codes is None:
            return
        codes = verdict.codes[self.rows]
        for code in np.unique(codes[codes > 0]).tolist():
            self.hopeless.append((verdict.statuses[code - 1], self.rows[codes == code]))
        self.rows = self.rows[codes == 0]

    def free(self, cluster: Cluster) -> tuple[list[tuple[str, int]], list[list[int]], list[int]]:
        """Return ((resource, requested amount), free amounts of these on each row, free pod slots on each row)."""
        nodes = cluster.nodes
        wanted = list(dict.fromkeys(entry for part in self._fits for entry in part.resources_needed(self._pod)))
        none = np.zeros(len(self.rows), np.int64)
        columns = [
            nodes.allocatable[name][self.rows] - nodes.requested[name][self.rows] if name in nodes.allocatable else none
            for name, _ in wanted
        ]
        places = nodes.allowed_pods[self.rows] - nodes.pod_count[self.rows]
        amounts = np.stack(columns, axis=1).tolist() if columns else [[] for _ in self.rows]
        return wanted, amounts, places.tolist() if self._fits else [1 << 62] * len(self.rows)


def victims_by_numbers(
    wanted: Sequence[tuple[str, int]], free: Sequence[int], places: int, groups: Iterable[Sequence[PodInfo]]
) -> tuple[list[PodInfo], list[int]] | None:
    """Return (victims, number of victims in each group) of a node; None if evicting all pods is not sufficient.

    `groups`: the pods that may be evicted, ordered so that the first ones are put back first. `free`: free amount of
    each wanted resource while they run.
    """
    names = [name for name, _ in wanted]
    everyone = [list(group) for group in groups]
    left = [amount - request for amount, (_, request) in zip(free, wanted, strict=True)]
    for group in everyone:
        places += len(group)
        for pod in group:
            left = [amount + pod.held.get(name, 0) for amount, name in zip(left, names, strict=True)]
    if places < 1 or any(amount < 0 for amount in left):
        return None
    victims: list[PodInfo] = []
    counts: list[int] = []
    for group in everyone:
        before = len(victims)
        for pod in group:
            with_it = [amount - pod.held.get(name, 0) for amount, name in zip(left, names, strict=True)]
            if places > 1 and not any(amount < 0 for amount in with_it):
                left, places = with_it, places - 1
            else:
                victims.append(pod)
        counts.append(len(victims) - before)
    return victims, counts
