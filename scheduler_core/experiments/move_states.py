"""The search for moves over all states of the cluster that moves reach.

It needs no assumption about filters, and finds moves of pods that move twice. A*: states with the fewest moves so far
plus the lower bound of those to come are first, so the first solution has the fewest moves. The number of states is
exponential in the number of moves, so `Board.spend` ends the search.

Source: Hart, Nilsson, Raphael, "A formal basis for the heuristic determination of minimum cost paths", 1968.
"""

import heapq
import itertools
from typing import NamedTuple

import numpy as np

from scheduler_core.experiments.move_board import UNREACHABLE, Board, Placement, PodMove, Solution


class _State(NamedTuple):
    """A state of the cluster. `moves`: those that lead to it."""

    placement: Placement
    moves: tuple[PodMove, ...]


class StateSearch:
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
