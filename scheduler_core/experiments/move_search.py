"""Searches for the fewest moves of running pods after which pending pods fit.

A move takes a running pod off its node and places it on another node, which must pass all filters of the scheduler at
that time. `search_moves` combines two searches by number of moves: `move_chains` begins with the pending pods, and
`move_states` explores all states of the cluster (`move_board`).
"""

from dataclasses import dataclass, field

from scheduler_core.experiments.move_board import UNREACHABLE, Board, OutOfEffort, PodMove
from scheduler_core.experiments.move_chains import ChainSearch
from scheduler_core.experiments.move_states import StateSearch


@dataclass
class MoveResult:
    """The result of a search. `moves`: in the order of execution; None if none were found. `at_least`: fewer moves do
    not suffice. `impossible`: no number of moves suffices. `ended`: the search used up its effort. `placed`: pending
    pod -> its node after the moves."""

    moves: list[PodMove] | None = None
    at_least: int = 0
    impossible: bool = False
    ended: bool = False
    placed: dict[str, str] = field(default_factory=dict)


def search_moves(board: Board, most: int) -> MoveResult:
    """Return the fewest moves, of at most `most`. The cluster is as before."""
    found = MoveResult()
    try:
        _search_fewest(board, most, found)
    except OutOfEffort:
        found.ended = True
        board.restore()
        _search_any(board, most, found)
    board.restore()
    return found


def _search_fewest(board: Board, most: int, found: MoveResult) -> None:
    if (placed := board.place_targets()) is not None:
        found.moves, found.placed = [], placed
        return
    found.at_least = 1
    if board.never():
        found.impossible = True
        return
    found.at_least = max(1, board.lower_bound())
    states, chains = StateSearch(board, most), ChainSearch(board)
    for number in range(found.at_least, most + 1):
        found.at_least = number
        solution = chains.search(number)
        if solution is None and number >= len(board.original) and board.local and chains.unfinished == UNREACHABLE:
            found.impossible = True  # this search finds every set of pods, and there are no further pods
            return
        if solution is None and not (board.local and chains.unfinished >= number):
            solution = states.search(number)
            if solution is None and states.exhausted:
                found.impossible = True
                return
        if solution is not None:
            found.moves, found.placed = solution
            return
    found.at_least = max(found.at_least, most + 1)


def _search_any(board: Board, most: int, found: MoveResult) -> None:
    """Search for any moves; fewer may suffice."""
    for number in range(found.at_least, most + 1):
        board.left = board.effort // 4
        try:
            solution = ChainSearch(board).search(number)
        except OutOfEffort:
            board.restore()
            continue
        if solution is not None:
            found.moves, found.placed = solution
            return
