"""Infers where the search of the real scheduler for feasible nodes begins.

With 100 nodes or more the search ends when enough feasible nodes are found; the next one begins where it ended. This
start index is not visible, but each decision excludes values: the chosen node is the best of a window of the nodes in
the order of zones. A path is a start index at some decision and all that follow from it. Paths that disagree with a
decision pay for it, and those that pay too much are dropped.

Source: pkg/scheduler/schedule_one.go (findNodesThatPassFilters, numFeasibleNodesToFind),
pkg/scheduler/backend/cache/cache.go (UpdateSnapshot), pkg/scheduler/framework/parallelize/parallelism.go
(chunkSizeFor).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from scheduler_core.api.objects import Node
from scheduler_core.cluster.node_tree import NodeTree
from scheduler_core.cluster.nodes import zone_key
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.shadow.evaluator import Evaluation, Rows

PARALLELISM = 16  # of upstream's search
MARGIN = 3.0  # paths that cost this much more than the best one are dropped
NEW_PATH = 2.0  # what a path costs that begins because all others disagree with a decision
INEXACT = 0.25  # what a decision costs that agrees up to the order in which parallel workers check nodes
LOST = 8.0  # what the best path costs within RECENT decisions if the start index cannot be followed
RECENT = 24
EXACT_LIMIT = 400  # nodes up to which windows of all start indices are scored


class ListedNodes:
    """The order of nodes in the scheduler, which depends on the order in which it learned of them.

    As upstream from 1.18 on, a node that moves to another zone keeps its place until a node comes or goes.
    """

    def __init__(self, nodes: Iterable[Node], stable_labels: bool) -> None:
        self._stable = stable_labels
        self._tree = NodeTree[str]()
        self._listed: list[str] = []
        for node in nodes:
            self.put(node.name, node)

    def put(self, name: str, node: Node | None) -> None:
        """Handle a change of a node; None if it was removed."""
        self._tree.put(name, zone_key(node, self._stable) if node is not None else None)

    def names(self) -> list[str]:
        """Return the order for a cycle that begins now."""
        if self._tree.zone_of.keys() != set(self._listed):
            self._listed = self._tree.names()
        return self._listed


@dataclass(slots=True)
class Path:
    """`order`: number of its order of nodes. `start`: the present start index. `cost`: of its disagreements."""

    order: int
    start: int
    cost: float = 0.0


@dataclass(slots=True, eq=False)
class Sampled:
    """The agreement of a decision with the paths. `accepted`: the paths that agree. `then`: whether the best paths
    agreed at the time. `number`: of the sampled decision."""

    number: int
    paths: list[Path]
    accepted: set[int] = field(default_factory=set)
    then: bool = False
    lost: bool = False


class StartIndex:
    """The paths. `orders`: possible orders of the nodes, each as the names of nodes."""

    def __init__(self) -> None:
        self.orders: list[ListedNodes] = []
        self._paths: list[Path] = []
        self._permutations: dict[int, tuple[int, Rows]] = {}
        self._last: tuple[Evaluation, list[_Windows]] | None = None
        self.number = 0  # of the last sampled decision
        self._costs: list[float] = []  # of the best path, after each of the last decisions

    def begin(self, orders: list[ListedNodes]) -> None:
        """Begin with these orders of the nodes and no knowledge of the start index."""
        self.orders, self._paths, self._permutations, self._costs = orders, [], {}, []

    def put(self, name: str, node: Node | None) -> None:
        """Handle a change of a node."""
        for order in self.orders:
            order.put(name, node)

    @property
    def known(self) -> bool:
        """Whether the start index is followed."""
        return not self.lost and bool(self._paths)

    @property
    def lost(self) -> bool:
        """Whether decisions agree with no start index that follows from the ones before."""
        return len(self._costs) == RECENT and self._costs[-1] - self._costs[0] >= LOST

    def skip(self, evaluation: Evaluation) -> None:
        """Advance after a cycle whose search went through all its nodes."""
        count, searched = evaluation.trace.nodes, len(evaluation.searched)
        if not evaluation.alone and count:
            for path in self._paths:
                path.start = (path.start + searched) % count

    def advance(self, trace: CycleTrace) -> None:
        """Advance after a cycle that found no feasible node."""
        if trace.nodes and trace.subset is not None and trace.prefilter is None:
            for path in self._paths:
                path.start = (path.start + len(trace.subset)) % trace.nodes

    def agrees(self, evaluation: Evaluation, row: int) -> bool:
        """Whether the best paths agree with a decision for a node after a search that ended early."""
        windows = self._windows(evaluation)
        if not self._paths:
            return any(window.possible(row) for window in windows)
        best = self._best()
        few = len(evaluation.searched) <= EXACT_LIMIT or len(best) <= EXACT_LIMIT
        return any(windows[path.order].cost(path.start, row, exact=few) < 1 for path in best)

    def _best(self) -> list[Path]:
        least = min(path.cost for path in self._paths)
        return [path for path in self._paths if path.cost == least]

    def _windows(self, evaluation: Evaluation) -> list[_Windows]:
        """Return the windows of a search for each order."""
        if self._last is None or self._last[0] is not evaluation:
            orders = range(len(self.orders))
            self._last = evaluation, [_Windows(evaluation, self._rows(number, evaluation)) for number in orders]
        return self._last[1]

    def decide(self, evaluation: Evaluation, row: int) -> Sampled:
        """Compare the paths with a decision for a node after a search that ended early, and advance them."""
        self.number += 1
        windows = self._windows(evaluation)
        if not self._paths:
            self._paths = [
                Path(number, start) for number, window in enumerate(windows) for start in range(len(window.ends))
            ]
        best = self._best()
        before = best[0].cost
        sampled = Sampled(self.number, self._paths, lost=self.lost)
        few = len(evaluation.searched) <= EXACT_LIMIT or len(self._paths) <= EXACT_LIMIT
        for path in self._paths:
            cost = windows[path.order].cost(path.start, row, exact=few)
            if cost < 1:
                sampled.accepted.add(id(path))
            path.cost += cost
        sampled.then = any(id(path) in sampled.accepted for path in best)
        if not sampled.then:
            self._branch(windows, row, before + NEW_PATH, sampled)
        for path in self._paths:
            path.start = windows[path.order].next(path.start)
        self._prune()
        return sampled

    def explains(self, sampled: Sampled) -> bool:
        """Whether the paths that cost least, of those at the decision, agree with it."""
        alive = {id(path) for path in self._paths}
        there = [path for path in sampled.paths if id(path) in alive]
        if sampled.lost or not there:
            return sampled.then or (sampled.lost and bool(sampled.accepted))
        least = min(path.cost for path in there)
        return any(id(path) in sampled.accepted for path in there if path.cost == least)

    def _branch(self, windows: list[_Windows], row: int, cost: float, sampled: Sampled) -> None:
        """Add the paths that begin at this decision."""
        there = {(path.order, path.start) for path in self._paths if path.cost <= cost}
        fresh = [
            Path(number, start, cost)
            for number, window in enumerate(windows)
            for start in window.possible(row)
            if (number, start) not in there and window.cost(start, row, exact=len(window.ends) <= EXACT_LIMIT) == 0
        ]
        sampled.accepted.update(map(id, fresh))
        self._paths = sampled.paths = [*self._paths, *fresh]

    def _prune(self) -> None:
        least = min(path.cost for path in self._paths)
        kept: dict[tuple[int, int], Path] = {}
        for path in self._paths:
            if path.cost >= least + MARGIN:
                continue
            other = kept.get((path.order, path.start))
            if other is None or path.cost < other.cost:
                kept[path.order, path.start] = path
        self._paths = list(kept.values())
        self._costs = [*self._costs, least][-RECENT:]

    def _rows(self, number: int, evaluation: Evaluation) -> Rows:
        """Return the searched nodes in an order."""
        nodes = evaluation.framework.cluster.nodes
        known = self._permutations.get(number)
        if known is None or known[0] != nodes.version:
            rows = nodes.rows
            listed = [rows[name] for name in self.orders[number].names() if name in rows]
            known = self._permutations[number] = (nodes.version, np.array(listed, np.intp))
        if evaluation.trace.subset is None:
            return known[1]
        return known[1][np.isin(known[1], evaluation.trace.subset)]


class _Windows:
    """The windows of a search, one for each start index. `order`: the searched rows. `ends`: their lengths."""

    def __init__(self, evaluation: Evaluation, order: Rows) -> None:
        self._evaluation = evaluation
        self._order = order
        self._nodes = evaluation.trace.nodes
        size = len(order)
        fits = np.zeros(self._nodes, np.bool_)
        fits[evaluation.rows] = True
        self._fits: npt.NDArray[np.bool_] = fits[order]
        self._place = np.full(self._nodes, -1, np.intp)
        self._place[order] = np.arange(size)
        found = np.concatenate(([0], np.cumsum(np.concatenate((self._fits, self._fits)))))
        # The search ends at the first feasible node beyond those wanted; that node is not counted.
        ends = np.searchsorted(found, found[:size] + evaluation.wanted + 1) - 1 - np.arange(size)
        self.ends = np.minimum(ends, size)
        self._estimated: tuple[int, npt.NDArray[np.float64]] | None = None
        self._clear: tuple[int, npt.NDArray[np.bool_]] | None = None
        self._chunk = max(1, min(int(math.sqrt(size)), size // PARALLELISM + 1))

    def next(self, start: int) -> int:
        """Return the start index after a search that began at `start`."""
        size = len(self.ends)
        return int((start + self.ends[start % size]) % self._nodes)

    def rows(self, start: int) -> Rows:
        """Return the feasible nodes of a window, in the order of the search."""
        size = len(self._order)
        places = (start + np.arange(self.ends[start % size])) % size
        rows: Rows = self._order[places[self._fits[places]]]
        return rows

    def cost(self, start: int, row: int, *, exact: bool) -> float:
        """Return 0 if the node is the best of the window, INEXACT if it would be with the nodes that parallel workers
        can check before or after its last ones, else 1. `exact`: score the window; otherwise scores over all nodes
        count."""
        size = len(self._order)
        start %= size
        if self._place[row] < 0:
            return 1
        if not exact:
            return float(self._estimate(row)[start])
        offset = (int(self._place[row]) - start) % size
        end = int(self.ends[start])
        if offset >= end + self._chunk:
            return 1
        window = self.rows(start)
        if offset >= end:
            window = np.append(window, row)
        window = np.sort(window)
        total = self._evaluation.total(window)
        if total is None:
            return 0 if offset < end else INEXACT
        better = window[total > total[np.searchsorted(window, row)]]
        if not len(better):
            return 0 if offset < end else INEXACT
        last = (self._place[better] - start) % size >= end - self._chunk
        return INEXACT if last.all() else 1

    def _estimate(self, row: int) -> npt.NDArray[np.float64]:
        """Return the cost of each start index by the scores over all nodes; float64."""
        if self._estimated is None or self._estimated[0] != row:
            offset = (self._place[row] - np.arange(len(self._order))) % len(self._order)
            cost = np.where(offset < self.ends, 0.0, INEXACT)
            cost[(offset >= self.ends + self._chunk) | ~self._without_better(row)] = 1.0
            self._estimated = row, cost
        return self._estimated[1]

    def possible(self, row: int) -> list[int]:
        """Return the start indices whose window may have the node as its best one."""
        size = len(self._order)
        if self._place[row] < 0:
            return []
        inside = (self._place[row] - np.arange(size)) % size < self.ends
        if size > EXACT_LIMIT:
            inside &= self._without_better(row)
        return [int(start) for start in np.flatnonzero(inside)]

    def _without_better(self, row: int) -> npt.NDArray[np.bool_]:
        """Return the start indices whose window, without its end, has no better node by the scores over all nodes."""
        if self._clear is not None and self._clear[0] == row:
            return self._clear[1]
        self._clear = row, self._find_without_better(row)
        return self._clear[1]

    def _find_without_better(self, row: int) -> npt.NDArray[np.bool_]:
        evaluation, size = self._evaluation, len(self._order)
        rows = np.sort(evaluation.rows)
        total = evaluation.total(rows)
        if total is None:
            return np.ones(size, np.bool_)
        better = np.zeros(self._nodes, np.int64)
        better[rows[total > total[np.searchsorted(rows, row)]]] = 1
        count = np.concatenate(([0], np.cumsum(np.concatenate((better[self._order], better[self._order])))))
        starts = np.arange(size)
        ends = starts + np.maximum(self.ends - self._chunk, 0)
        clear: npt.NDArray[np.bool_] = count[ends] == count[:size]
        return clear
