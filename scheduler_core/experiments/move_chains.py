"""The search for moves that begins with the pending pods.

It places a pod on a node from which a smallest set of pods is taken, and then places those. If the fit of all pods on a
node depends on the pods of this node only, it finds every set of moves. Depth-first search by number of moves, which
skips states that it knows; its cost is exponential in the number of moves, so `Board.spend` ends it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.experiments.move_board import (
    UNREACHABLE,
    Board,
    FilteredNodes,
    Placement,
    PodMove,
    Solution,
    fewest,
    shortfalls,
)

_ORDERS = 500  # orders of moves that are tried


class ChainSearch:
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

    def _hardest(self, homeless: Sequence[PodInfo], left: int) -> tuple[PodInfo, FilteredNodes] | None:
        """Return the pod for which most pods must be taken off a node; None if one cannot be placed."""
        best: tuple[int, PodInfo, FilteredNodes] | None = None
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

    def _passing(self, pod: PodInfo, found: FilteredNodes) -> list[int]:
        origin = self._board.rows.get(self._board.origin.get(pod.key, ""), -1)
        return [row for row in np.flatnonzero(found.passing).tolist() if row != origin]

    def _options(self, pod: PodInfo, found: FilteredNodes, left: int) -> Iterator[tuple[int, list[PodInfo]]]:
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
