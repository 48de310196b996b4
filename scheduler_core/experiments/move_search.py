"""Searches for the fewest moves of running pods after which pending pods fit.

A move takes a running pod off its node and places it on another node, which must pass all filters of the scheduler at
that time. `MoveSearch.run` combines two searches by number of moves:

* `_Chains` begins with the pending pods: it places a pod on a node from which a smallest set of pods is taken, and then
  places those. If the fit of all pods on a node depends on the pods of this node only, it finds every set of moves.
* `_States` explores the states of the cluster that moves reach, as A* does. It needs no assumption about filters, and
  finds moves of pods that move twice.

The lower bound of both is the number of pods that have to leave some node until its free resources suffice. Whether a
pod fits is always decided by the plugins of the profile.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.api.objects import PodStatus
from scheduler_core.cluster import resources
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.suggestions.what_if import dry_cycles
from scheduler_core.experiments.cell import Check
from scheduler_core.experiments.local_fit import is_local
from scheduler_core.experiments.pod_copies import OF_ONE_POD
from scheduler_core.framework.interface import UNRESOLVABLE, CycleState, NodePodsChange, Verdict
from scheduler_core.framework.runtime import Framework
from scheduler_core.simulation import Simulation

Placement = dict[str, str]
"""Moved pod -> the node that it is on."""

_FILTER_COST, _NODE_COST = 10, 2  # of the effort: a Filter run over all nodes, a check of one node
_ORDERS = 500  # orders of moves that are tried
_NODE_PLUGINS = frozenset({"NodeName", "NodeAffinity", "NodeUnschedulable", "TaintToleration", "NodeDeclaredFeatures"})
"""Filter plugins that read no other pods."""
_FIT = ("NodeResourcesFit", "GeneralPredicates", "PodFitsResources")

_BOUNDING = (resources.CPU, resources.MEMORY)
UNREACHABLE = 1 << 30
Solution = tuple[list["PodMove"], dict[str, str]]

_ENCODE = msgspec.msgpack.Encoder().encode


class PodMove(NamedTuple):
    """A pod (namespace/name) that leaves a node for another one."""

    pod: str
    origin: str
    node: str


@dataclass
class MoveResult:
    """The result of a search. `moves`: in the order of execution; None if none were found. `at_least`: fewer moves do
    not suffice. `impossible`: no number of moves suffices. `ended`: the search used up its effort. `local`: the fit of
    all pods depends on the pods of the same node only. `placed`: pending pod -> its node after the moves."""

    moves: list[PodMove] | None = None
    at_least: int = 0
    impossible: bool = False
    ended: bool = False
    local: bool = False
    placed: dict[str, str] = field(default_factory=dict)


class OutOfEffort(Exception):
    """The search has used up its effort."""


class _Filtered(NamedTuple):
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
        self.bounded = all(any(plugin.name in _FIT for plugin in self.framework(pod).filter) for pod in every)
        self._bounds = [_Bound(self, pod) for pod in self.targets if self.bounded]

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

    def filter(self, pod: PodInfo) -> _Filtered | None:
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
        return _Filtered(framework, state, trace.verdicts, passing, inside)

    def fits_without(self, found: _Filtered, pod: PodInfo, row: int, without: Sequence[PodInfo]) -> bool:
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
        """Return a number of moves below which no target can fit, by resources; UNREACHABLE if none suffices."""
        return max((bound.now() for bound in self._bounds), default=0)

    def never(self) -> bool:
        """Return whether some pending pod can never fit: no node could take it without its movable pods, or the free
        resources of all nodes together do not suffice."""
        nodes = self.cluster.nodes
        if any(self.framework(pod).run_pre_enqueue(pod) is not None for pod in self.targets):
            return True  # no plugin at PreEnqueue reads the nodes
        for name in _BOUNDING:
            wanted = sum(pod.requests.get(name, 0) for pod in self.targets)
            free = int((nodes.allocatable[name] - nodes.requested[name]).clip(0).sum())
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


class _Bound:
    """A lower bound of the moves for one pending pod: the fewest pods that have to leave some node until the cpu, the
    memory and the number of pods suffice. These are necessary on every node, whatever else the plugins require."""

    def __init__(self, board: Board, pod: PodInfo) -> None:
        self._board, self._pod = board, pod
        found = board.filter(pod)
        mask = np.ones(len(board.names), np.bool_) if found is None else found.inside.copy()
        for name, verdict in found.verdicts.items() if found is not None else ():
            if name in _NODE_PLUGINS and verdict.codes is not None:
                final = [False, *(status.code == UNRESOLVABLE for status in verdict.statuses)]
                mask &= ~np.array(final, np.bool_)[verdict.codes]
        self._able = np.flatnonzero(mask)

    def now(self) -> int:
        """Return the bound in the present state; UNREACHABLE if no moves suffice."""
        short = shortfalls(self._board, self._pod, self._able)
        if len(self._able) and not (short.max(axis=0) > 0).all():
            return 0
        best = UNREACHABLE
        for place, row in enumerate(self._able.tolist()):
            best = min(best, fewest(short[:, place].tolist(), self._board.movable_on(row)))
            if best == 1:
                break
        return best


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


class _Chains:
    """The search that begins with the pending pods. `unfinished`: the smallest number of moves of a set that lets the
    pending pods fit but cannot be executed, or after which the scheduler's own choices leave one pending."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self.unfinished = UNREACHABLE
        self._moved: Placement = {}  # taken off, with the node that each is placed on so far ("" for none)
        self._seen: set[tuple[object, ...]] = set()
        self._solution: Solution | None = None

    def search(self, number: int) -> Solution | None:
        """Return a solution of at most `number` moves; None if there is none of the kind that this search finds."""
        self._moved, self._solution = {}, None
        self._seen.clear()
        self._solve(list(self._board.targets), number)
        return self._solution

    def _solve(self, homeless: list[PodInfo], left: int) -> bool:
        """Place all pods without a node; `left`: further pods that may be taken off their nodes."""
        if not homeless:
            return self._accept()
        key = (
            frozenset(self._moved.items()),
            frozenset(pod.key for pod in homeless),
            left,
            tuple(pod.node for pod in self._board.targets),
        )
        if key in self._seen:
            return False
        self._seen.add(key)
        chosen = self._hardest(homeless, left)
        if chosen is None:
            return False
        pod, found = chosen
        others = [one for one in homeless if one is not pod]
        for row, taken in self._options(pod, found, left):
            node = self._board.names[row]
            for one in taken:
                self._board.cluster.remove_pod(one)
                self._moved[one.key] = ""
            self._board.cluster.add_pod(pod, node)
            if pod.key in self._moved:
                self._moved[pod.key] = node
            done = self._solve([*others, *(self._board.moved[one.key] for one in taken)], left - len(taken))
            self._board.cluster.remove_pod(pod)
            if pod.key in self._moved:
                self._moved[pod.key] = ""
            for one in taken:
                self._board.put(one.key, node)
                del self._moved[one.key]
            if done:
                return True
        return False

    def _hardest(self, homeless: Sequence[PodInfo], left: int) -> tuple[PodInfo, _Filtered] | None:
        """Return the pod for which most pods must be taken off a node; None if one cannot be placed."""
        best: tuple[int, PodInfo, _Filtered] | None = None
        for pod in homeless:
            found = self._board.filter(pod)
            if found is None:
                return None
            least = 0
            if not self._passing(pod, found):
                first = next(self._options(pod, found, left), None)
                if first is None:
                    return None
                least = len(first[1])
            if best is None or least > best[0]:
                best = least, pod, found
        return None if best is None else best[1:]

    def _passing(self, pod: PodInfo, found: _Filtered) -> list[int]:
        origin = self._board.rows.get(self._board.origin.get(pod.key, ""), -1)
        return [row for row in np.flatnonzero(found.passing).tolist() if row != origin]

    def _options(self, pod: PodInfo, found: _Filtered, left: int) -> Iterator[tuple[int, list[PodInfo]]]:
        """Yield (row, the pods to take off it) with which the pod fits, fewest pods first. No set contains another one
        of the same row."""
        board = self._board
        for row in self._passing(pod, found):
            yield row, []
        if not left:
            return
        origin = board.rows.get(board.origin.get(pod.key, ""), -1)
        rows = np.flatnonzero(found.inside & ~found.passing)
        short = shortfalls(board, pod, rows) if board.bounded else np.zeros((3, len(rows)), np.int64)
        smallest: dict[int, list[dict[int, int]]] = {}
        able: dict[int, tuple[int, list[list[PodInfo]]]] = {}
        for place, row in enumerate(rows.tolist()):
            there = [one for one in board.movable_on(row) if one.key not in self._moved]
            need = max(1, fewest(short[:, place].tolist(), there))
            if row == origin or not there or need > left:
                continue
            groups: dict[bytes, list[PodInfo]] = {}
            for one in sorted(there, key=lambda one: (one.priority, one.key)):
                groups.setdefault(board.classes[one.key], []).append(one)
            able[row] = need, list(groups.values())
        for size in range(1, left + 1):
            for row, (need, classes) in able.items():
                if need > size:
                    continue
                known = smallest.setdefault(row, [])
                for counts in _choices([len(one) for one in classes], size):
                    if any(all(counts.get(i, 0) >= n for i, n in one.items()) for one in known):
                        continue
                    taken = [one for i, n in counts.items() for one in classes[i][:n]]
                    if board.fits_without(found, pod, row, taken):
                        known.append(counts)
                        yield row, taken

    def _accept(self) -> bool:
        """Check the moves in an order that can be executed, from the first state of the cluster."""
        board = self._board
        nodes = [pod.node for pod in board.targets]
        for pod in board.targets:
            board.cluster.remove_pod(pod)
        wanted = dict(self._moved)
        board.placement = dict(wanted)
        board.go({})
        order = self._order(wanted)
        placed = None
        if order is not None:
            board.go(wanted)
            placed = board.place_targets()
        board.go(wanted)
        board.placement = {}
        for pod, node in zip(board.targets, nodes, strict=True):
            board.cluster.add_pod(pod, node)
        if order is None or placed is None:
            self.unfinished = min(self.unfinished, len(wanted))
            return False
        self._solution = order, placed
        return True

    def _order(self, wanted: Placement) -> list[PodMove] | None:
        tries = itertools.count()

        def execute(done: Placement, moves: list[PodMove]) -> list[PodMove] | None:
            if len(done) == len(wanted):
                return moves
            for key, node in wanted.items():
                if key in done:
                    continue
                if next(tries) > _ORDERS:
                    return None
                board = self._board
                board.go(done)
                if not board.can_go(key, node):
                    continue
                found = execute({**done, key: node}, [*moves, PodMove(key, board.origin[key], node)])
                if found is not None or board.local:
                    return found
            return None

        return execute({}, [])


def _choices(sizes: Sequence[int], number: int, start: int = 0) -> Iterator[dict[int, int]]:
    """Yield index -> how many are chosen, `number` in all, at most sizes[index] of each."""
    if not number:
        yield {}
        return
    for index in range(start, len(sizes)):
        for count in range(min(sizes[index], number), 0, -1):
            for rest in _choices(sizes, number - count, index + 1):
                yield {index: count, **rest}


class _State(NamedTuple):
    """A state of the cluster. `moves`: those that lead to it."""

    placement: Placement
    moves: tuple[PodMove, ...]


class _States:
    """The search over states, as A*: first those with the fewest moves so far plus the lower bound of those to come."""

    def __init__(self, board: Board, most: int) -> None:
        self._board, self._most = board, most
        self._numbers = itertools.count()
        self._heap: list[tuple[int, int, int, _State]] = [(0, 0, 0, _State({}, ()))]
        self._known: dict[frozenset[tuple[str, str]], int] = {frozenset(): 0}
        self._dropped = False

    @property
    def exhausted(self) -> bool:
        """Whether no move leads to any further state."""
        return not self._heap and not self._dropped

    def search(self, number: int) -> Solution | None:
        """Return a solution of at most `number` moves; None if there is none."""
        board = self._board
        while self._heap and self._heap[0][0] <= number:
            _, _, _, state = heapq.heappop(self._heap)
            board.go(state.placement)
            if not board.lower_bound() and (placed := board.place_targets()) is not None:
                board.go({})
                return list(state.moves), placed
            if len(state.moves) < self._most:
                self._expand(state)
            else:
                self._dropped = True
        board.go({})
        return None

    def _expand(self, state: _State) -> None:
        board, depth = self._board, len(state.moves) + 1
        tried: set[tuple[str, bytes]] = set()
        new: list[tuple[int, int, int, _State]] = []
        for key in board.original:
            now = board.node_of(key)
            kind = now, board.classes[key] + board.origin[key].encode() * (now != board.origin[key])
            if kind in tried:
                continue
            tried.add(kind)
            board.take(key)
            found = board.filter(board.moved[key])
            for row in np.flatnonzero(found.passing).tolist() if found is not None else ():
                node = board.names[row]
                if node == now:
                    continue
                board.spend(1)
                placement = {**state.placement, key: node}
                if node == board.origin[key]:
                    del placement[key]
                name = frozenset(placement.items())
                if self._known.get(name, UNREACHABLE) <= depth:
                    continue
                board.put(key, node)
                estimate = depth + board.lower_bound()
                board.take(key)
                if estimate > self._most:
                    self._dropped = True
                    continue
                self._known[name] = depth
                moves = (*state.moves, PodMove(key, now, node))
                new.append((estimate, -depth, next(self._numbers) + 1, _State(placement, moves)))
            board.put(key, now)
        for one in new:
            heapq.heappush(self._heap, one)


class MoveSearch:
    """Finds the fewest moves. `most`: the largest number of moves that is searched for."""

    def __init__(self, board: Board, most: int) -> None:
        self.board, self.most = board, most

    def run(self) -> MoveResult:
        """Return the result. The cluster is as before."""
        board, found = self.board, MoveResult(local=self.board.local)
        try:
            placed = board.place_targets()
            if placed is not None:
                found.moves, found.placed = [], placed
                return found
            found.at_least = 1
            if board.never():
                found.impossible = True
                return found
            found.at_least = max(1, board.lower_bound())
            self._fewest(found)
        except OutOfEffort:
            found.ended = True
            board.restore()
            self._any(found)
        board.restore()
        return found

    def _fewest(self, found: MoveResult) -> None:
        board = self.board
        states, chains = _States(board, self.most), _Chains(board)
        for number in range(found.at_least, self.most + 1):
            found.at_least = number
            solution = chains.search(number)
            if solution is None and not (board.local and chains.unfinished >= number):
                solution = states.search(number)
                if solution is None and states.exhausted:
                    found.impossible = True
                    return
            if solution is not None:
                found.moves, found.placed = solution
                return
        found.at_least = self.most + 1

    def _any(self, found: MoveResult) -> None:
        """Search for any moves; fewer may suffice."""
        board = self.board
        for number in range(found.at_least, self.most + 1):
            board.left = board.effort // 4
            try:
                solution = _Chains(board).search(number)
            except OutOfEffort:
                board.restore()
                continue
            if solution is not None:
                found.moves, found.placed = solution
                return


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
