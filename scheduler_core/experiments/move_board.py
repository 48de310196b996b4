"""The cluster on which moves are tried: states that can be reached and left, the fit of pods, and a lower bound.

Whether a pod fits is always decided by the plugins of the profile. The lower bound of the moves is the number of pods
that have to leave some node until its free resources suffice: O(nodes + pods) for each pending pod.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.api.objects import PodStatus
from scheduler_core.cluster import resources
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.experiments.cell import Check
from scheduler_core.experiments.local_fit import is_local
from scheduler_core.framework.interface import UNRESOLVABLE, CycleState, NodePodsChange, Verdict
from scheduler_core.framework.runtime import Framework
from scheduler_core.metrics.groups import OF_ONE_POD
from scheduler_core.search.headroom import FITS
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.what_if import dry_cycles

Placement = dict[str, str]
"""Moved pod -> the node that it is on."""

_FILTER_COST, _NODE_COST = 10, 2  # of the effort: a Filter run over all nodes, a check of one node
_NODE_PLUGINS = frozenset({"NodeName", "NodeAffinity", "NodeUnschedulable", "TaintToleration", "NodeDeclaredFeatures"})
"""Filter plugins that read no other pods."""

_BOUNDING = (resources.CPU, resources.MEMORY)
UNREACHABLE = 1 << 30

_ENCODE = msgspec.msgpack.Encoder().encode


class PodMove(NamedTuple):
    """A pod (namespace/name) that leaves a node for another one."""

    pod: str
    origin: str
    node: str


Solution = tuple[list[PodMove], dict[str, str]]
"""The moves in the order of execution, and pending pod -> its node after them."""


class OutOfEffort(Exception):
    """The search has used up its effort."""


class FilteredNodes(NamedTuple):
    """The result of Filter for a pod. `passing`: bool over nodes."""

    framework: Framework
    state: CycleState
    verdicts: Mapping[str, Verdict]
    passing: npt.NDArray[np.bool_]
    inside: npt.NDArray[np.bool_]  # nodes that PreFilter leaves


class Board:
    """The cluster, whose pods can be moved to any reachable state and back.

    `movable`: the running pods that may move. `effort`: of the searches, in Filter runs.
    """

    def __init__(
        self,
        simulation: Simulation,
        targets: Sequence[PodInfo],
        movable: Iterable[PodInfo],
        effort: int,
        check: Check,
    ) -> None:
        self.simulation, self.targets, self.check = simulation, list(targets), check
        self.cluster = simulation.cluster
        self.cluster.nodes.refresh()
        self.names = self.cluster.nodes.names
        self.rows = self.cluster.nodes.rows
        self.left = self.effort = effort * _FILTER_COST
        self.original = {pod.key: pod for pod in movable}
        self.origin = {key: pod.node for key, pod in self.original.items()}
        self.moved = {key: as_new(pod) for key, pod in self.original.items()}
        self.classes = {key: class_of(pod) for key, pod in self.moved.items()}
        self.placement: Placement = {}
        every = [*self.targets, *self.moved.values()]
        self.local = all(is_local(self.framework(pod), pod) for pod in every)
        self.bounded = all(any(plugin.name in FITS for plugin in self.framework(pod).filter) for pod in every)
        self._able = [(pod, self._able_rows(pod)) for pod in self.targets if self.bounded]

    def framework(self, pod: PodInfo) -> Framework:
        return self.simulation.scheduler.framework_of(pod)

    def spend(self, cost: int) -> None:
        """Raises OutOfEffort."""
        self.check()
        self.left -= cost
        if self.left < 0:
            raise OutOfEffort

    # ---- state

    def go(self, placement: Placement) -> None:
        """Bring the cluster into the state in which exactly these pods have moved."""
        now = self.placement
        changed = [key for key in now.keys() | placement.keys() if now.get(key) != placement.get(key)]
        for key in changed:
            self.take(key)
        for key in changed:
            self.put(key, placement.get(key, self.origin[key]))
        self.placement = dict(placement)

    def take(self, key: str) -> None:
        """Take a pod off its node."""
        self.cluster.remove_pod(self.cluster.pods[key])

    def put(self, key: str, node: str) -> None:
        """Place a pod that was taken off; on its first node, it is the pod that ran there."""
        first = node == self.origin[key]
        self.cluster.add_pod(self.original[key] if first else self.moved[key], node)
        if first:
            self.cluster.nodes.restore_host_ports(node)

    def node_of(self, key: str) -> str:
        return self.cluster.pods[key].node

    def movable_on(self, row: int) -> list[PodInfo]:
        """Return the pods on a node that may move."""
        return [one for one in self.cluster.nodes.pods_of(row) if one.key in self.original]

    def restore(self) -> None:
        """Bring the cluster into its first state, wherever a search ended."""
        for pod in self.targets:
            if pod.node:
                self.cluster.remove_pod(pod)
        for key, origin in self.origin.items():
            now = self.cluster.pods.get(key)
            if now is not None and now.node == origin:
                continue
            if now is not None:
                self.cluster.remove_pod(now)
            self.put(key, origin)
        self.placement = {}

    def can_go(self, key: str, node: str) -> bool:
        """Return whether a running pod could move to the node now."""
        now = self.node_of(key)
        self.take(key)
        try:
            found = self.filter(self.moved[key])
        finally:
            self.put(key, now)
        return found is not None and bool(found.passing[self.rows[node]])

    # ---- questions

    def filter(self, pod: PodInfo) -> FilteredNodes | None:
        """Run PreFilter and Filter for a pod without a node; None if PreFilter refuses it or a plugin fails."""
        if not self.names:
            return None
        self.spend(_FILTER_COST)
        scheduler, framework, state = self.simulation.scheduler, self.framework(pod), CycleState()
        nominated, pod.nominated_node = pod.nominated_node, ""
        try:
            with dry_cycles(scheduler):
                trace = CycleTrace(
                    pod.key, number=0, attempt=1, nodes=len(self.names), profile=framework.profile.scheduler_name
                )
                scheduler.find_nodes_that_fit(framework, state, pod, trace)
        finally:
            pod.nominated_node = nominated
        if trace.error or trace.prefilter is not None:
            return None
        passing = trace.passing()
        inside = np.ones(len(self.names), np.bool_)
        if trace.subset is not None:
            inside[:] = False
            inside[trace.subset] = True
        passing = inside if passing is None else passing & inside
        return FilteredNodes(framework, state, trace.verdicts, passing, inside)

    def fits_without(self, found: FilteredNodes, pod: PodInfo, row: int, without: Sequence[PodInfo]) -> bool:
        """Return whether the pod fits on one node without some of its pods."""
        self.spend(_NODE_COST)
        freed: dict[str, int] = {}
        for one in without:
            for name, amount in one.held.items():
                freed[name] = freed.get(name, 0) + amount
        change = NodePodsChange(row, removed=list(without), history=[(one, -1) for one in without], freed=freed)
        framework, state, verdicts, _, _ = found
        return framework.check_node_with_nominated(state, pod, verdicts, change) is None

    def place_targets(self) -> dict[str, str] | None:
        """Run the cycles of the pending pods in order. Returns their nodes, None if one is not placed. The cluster
        stays unchanged."""
        scheduler, nominator = self.simulation.scheduler, self.cluster.nominator
        promised = {pod.key: nominator.node_of(pod) for pod in self.targets}
        done: list[tuple[Framework, CycleState, PodInfo]] = []
        placed: dict[str, str] = {}
        try:
            with dry_cycles(scheduler):
                for pod in self.targets:
                    self.spend(_FILTER_COST)
                    framework, state, trace = scheduler.try_pod(pod)
                    if not trace.placed_on:
                        return None
                    done.append((framework, state, pod))
                    placed[pod.key] = trace.node
            return placed
        finally:
            for framework, state, pod in reversed(done):
                scheduler.forget(framework, state, pod, pod.node)
            for pod in self.targets:
                if promised[pod.key] and not nominator.node_of(pod):
                    nominator.nominate(pod, promised[pod.key])

    def lower_bound(self) -> int:
        """Return a number of moves below which no target can fit: the fewest pods that have to leave some node until
        the cpu, the memory and the number of pods suffice. These are necessary on every node, whatever else the plugins
        require. UNREACHABLE if no moves suffice."""
        return max((self._fewest_on(pod, rows) for pod, rows in self._able), default=0)

    def _able_rows(self, pod: PodInfo) -> npt.NDArray[np.intp]:
        """Return the nodes that may take the pod, whatever pods run there."""
        found = self.filter(pod)
        if found is None:
            return np.arange(len(self.names))
        mask = found.inside.copy()
        for name, verdict in found.verdicts.items():
            if name in _NODE_PLUGINS and verdict.codes is not None:
                final = [False, *(status.code == UNRESOLVABLE for status in verdict.statuses)]
                mask &= ~np.array(final, np.bool_)[verdict.codes]
        return np.flatnonzero(mask)

    def _fewest_on(self, pod: PodInfo, rows: npt.NDArray[np.intp]) -> int:
        short = shortfalls(self, pod, rows)
        if len(rows) and not (short.max(axis=0) > 0).all():
            return 0
        best = UNREACHABLE
        for place, row in enumerate(rows.tolist()):
            best = min(best, fewest(short[:, place].tolist(), self.movable_on(row)))
            if best == 1:
                break
        return best

    def never(self) -> bool:
        """Return whether some pending pod can never fit: no node could take it without its movable pods, or the free
        resources of all nodes together do not suffice."""
        nodes = self.cluster.nodes
        if any(self.framework(pod).run_pre_enqueue(pod) is not None for pod in self.targets):
            return True  # no plugin at PreEnqueue reads the nodes
        for name in _BOUNDING:
            wanted = sum(pod.requests.get(name, 0) for pod in self.targets)
            free = sum((nodes.allocatable[name] - nodes.requested[name]).clip(0).tolist())  # may exceed int64
            for key, pod in self.original.items():  # a resized pod may need less when it is created again
                free += max(0, pod.held.get(name, 0) - self.moved[key].held.get(name, 0))
            if self.bounded and wanted > free:
                return True
        if self.local and not all(self._can_fit(pod) for pod in self.targets):
            return True
        return self.lower_bound() >= UNREACHABLE or not self.original

    def _can_fit(self, pod: PodInfo) -> bool:
        found = self.filter(pod)
        if found is None:
            return False
        if found.passing.any():
            return True
        for row in np.flatnonzero(found.inside).tolist():
            there = self.movable_on(row)
            if there and self.fits_without(found, pod, row, there):
                return True
        return False


def shortfalls(board: Board, pod: PodInfo, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Return what each of the rows lacks for the pod of cpu, memory and pods: int64, 3 x rows, at most 0 if enough."""
    nodes = board.cluster.nodes
    short = np.zeros((3, len(rows)), np.int64)
    for i, name in enumerate(_BOUNDING):
        if amount := pod.requests.get(name, 0):
            short[i] = amount - (nodes.allocatable[name][rows] - nodes.requested[name][rows])
    short[2] = nodes.pod_count[rows] + 1 - nodes.allowed_pods[rows]
    return short


def fewest(short: Sequence[int], pods: Sequence[PodInfo]) -> int:
    """Return how many of the pods have to leave a node at least; UNREACHABLE if all are not enough."""
    need = 0
    for i, missing in enumerate(short):
        if missing <= 0:
            continue
        sizes = sorted((one.held.get(_BOUNDING[i], 0) if i < 2 else 1 for one in pods), reverse=True)
        sums = itertools.accumulate(sizes)
        need = max(need, next((n for n, total in enumerate(sums, 1) if total >= missing), UNREACHABLE))
    return need


def as_new(pod: PodInfo) -> PodInfo:
    """Return the pod as its controller creates it again: without a node and a state."""
    old = pod.pod
    metadata = msgspec.structs.replace(old.metadata, uid=f"{old.metadata.uid}-moved", resource_version="")
    spec = msgspec.structs.replace(old.spec, node_name="", priority=pod.priority)
    new = PodInfo(msgspec.structs.replace(old, metadata=metadata, spec=spec, status=PodStatus()), pod.release)
    new.start_time = abs(pod.start_time)
    return new


def class_of(pod: PodInfo) -> bytes:
    """Return a key that is equal for pods that differ by their names only."""
    labels = {key: value for key, value in pod.labels.items() if key not in OF_ONE_POD}
    return _ENCODE((pod.namespace, labels, pod.pod.spec, pod.pod.metadata.owner_references, pod.requests))
