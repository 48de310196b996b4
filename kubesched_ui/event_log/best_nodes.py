"""The nodes with the highest scores of a cycle, for its events."""

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.cycle.trace import CycleTrace, DecodedScores
from scheduler_core.framework.interface import Bool, Int64

Rows = npt.NDArray[np.intp]

TOP = 10
FEW = 64  # refused nodes that a search skips one by one


class BestNodes(NamedTuple):
    """What events say about scores. `top`: the TOP best nodes, the chosen one first. `score`: its total. `ties`: the
    number of nodes with this total. `margin`: its lead over the next best node."""

    feasible: int
    weights: dict[str, int]
    top: Any
    score: int
    ties: int
    runner_up: str
    margin: int


FindBestNodes = Callable[[CycleTrace, Sequence[str], int], BestNodes | None]


def best_nodes(trace: CycleTrace, nodes: Sequence[str], row: int) -> BestNodes | None:
    """Return the best nodes, with the raw and normalised score of every plugin. `row`: the chosen node. None if scores
    did not decide: there are none, or a change placed the pod on a node that is not feasible."""
    rows = trace.feasible_rows()
    if not trace.scores or (trace.feasible is not None and row not in rows):
        return None
    total = trace.total()
    best = ranking(total, row if trace.feasible is None else int(np.searchsorted(rows, row)))
    columns = {plugin: (s.raw[best].tolist(), s.normalized[best].tolist()) for plugin, s in trace.scores.items()}
    top = [
        _entry(nodes[place], place, value, {plugin: (raw[i], after[i]) for plugin, (raw, after) in columns.items()})
        for i, (place, value) in enumerate(zip(rows[best].tolist(), total[best].tolist(), strict=True))
    ]
    score, second = total[best[:2]].tolist()
    return BestNodes(
        feasible=len(rows),
        weights={plugin: s.weight for plugin, s in trace.scores.items()},
        top=top,
        score=score,
        ties=int(np.count_nonzero(total == score)),
        runner_up=nodes[int(rows[best[1]])],
        margin=score - second,
    )


def ranking(total: Int64, chosen: int) -> Rows:
    """Return positions of the TOP highest totals: the chosen node, then by descending total, then in node order."""
    count = len(total)
    key = total * count - np.arange(count)  # makes all keys distinct
    key[chosen] = np.iinfo(np.int64).max
    best = np.argpartition(key, count - TOP)[count - TOP :] if count > TOP else np.arange(count)
    return best[np.argsort(-key[best])]


def _entry(node: str, row: int, total: int, scores: dict[str, tuple[int, int]]) -> dict[str, Any]:
    return {"node": node, "row": row, "total": total, "scores": scores}


_NONE: frozenset[int] = frozenset()


class BatchRanking:
    """Finds the best nodes of the cycles of a decoded batch. This is faster than `best_nodes` if the cycles are read in
    order: between those with the same scores, only nodes whose usage changed get another place. `top` is encoded."""

    def __init__(self) -> None:
        self._rankings: dict[tuple[int, int], _Ranking] = {}  # by the identities of what the batch keeps

    def __call__(self, trace: CycleTrace, nodes: Sequence[str], row: int) -> BestNodes | None:
        """Return what `best_nodes` returns."""
        scores = trace.made_scores
        if not isinstance(scores, DecodedScores):
            return best_nodes(trace, nodes, row)
        key = id(scores.layout), id(scores.keyframe)
        found = self._rankings.get(key)
        if found is None or scores.count < found.count:
            found = self._rankings[key] = _Ranking(scores, nodes)
        found.advance(scores.count)
        return found.best(trace.passing(), row)


class _Ranking:
    """Nodes in order of their total. `count`: the patches of the keyframe that are applied."""

    def __init__(self, scores: DecodedScores, nodes: Sequence[str]) -> None:
        layout, self._keyframe, self.count, self._nodes = scores.layout, scores.keyframe, scores.count, nodes
        self._size: int = layout.shared["nodes"]
        self._weights = {plugin: weight for plugin, weight, *_ in layout.scores}
        self._usage: list[tuple[int, int, Int64]] = []  # index in the keyframe, weight, its column
        self._columns: dict[str, tuple[Int64, Int64]] = {}
        self._total = np.zeros(self._size, np.int64)
        for plugin, weight, index, raw, normalized, _ in layout.scores:
            if index is not None:
                assert self._keyframe is not None
                raw = self._keyframe.column(index, self.count)
                self._usage.append((index, weight, raw))
            assert raw is not None
            after = raw if normalized is None else normalized
            self._columns[plugin] = raw, after
            self._total += weight * after
        self._texts: dict[int, bytes] = {}
        self._all = self._order(slice(None))
        self._orders: list[tuple[Bool, list[int]]] = []  # of feasible nodes, for those that refuse many
        # By the identity of the feasible nodes: they, their number, an order that contains them, and what else it has.
        self._known: dict[int, tuple[Bool, int, list[int], frozenset[int]]] = {}

    def _order(self, rows: Rows | slice) -> list[int]:
        """Return a number for each node, ascending by descending total, then in node order."""
        keys: list[int] = np.sort((np.arange(self._size) - self._total * self._size)[rows]).tolist()
        return keys

    def advance(self, count: int) -> None:
        """Apply the patches up to `count`."""
        if count == self.count or self._keyframe is None:
            return
        for row, values in self._keyframe.patches[self.count : count]:
            old = new = int(self._total[row])
            for index, weight, column in self._usage:
                value = int(values[index])
                new += weight * (value - int(column[row]))
                column[row] = value
            self._total[row] = new
            self._texts.pop(row, None)
            if new != old:
                before, after = row - old * self._size, row - new * self._size
                for feasible, keys in ((None, self._all), *self._orders):
                    if feasible is None or feasible[row]:
                        del keys[bisect_left(keys, before)]
                        insort(keys, after)
        self.count = count

    def best(self, feasible: Bool | None, row: int) -> BestNodes | None:
        """Return the best of the feasible nodes."""
        if feasible is not None and not feasible[row]:
            return None
        if feasible is None:
            number, keys, refused = self._size, self._all, _NONE
        else:
            _, number, keys, refused = self._known.get(id(feasible)) or self._order_of(feasible)
        size, total = self._size, self._total
        rows = [row]
        for key in keys:
            other = key % size
            if other != row and other not in refused:
                rows.append(other)
                if len(rows) == TOP:
                    break
        score = int(total[row])
        ties = bisect_left(keys, (1 - score) * size) - bisect_left(keys, -score * size)
        if refused:
            ties -= int(np.count_nonzero(total[list(refused)] == score))
        top = msgspec.Raw(b"[%b]" % b",".join([self._texts.get(place) or self._text(place) for place in rows]))
        lead = score - int(total[rows[1]])
        return BestNodes(number, self._weights, top, score, ties, self._nodes[rows[1]], lead)

    def _order_of(self, feasible: Bool) -> tuple[Bool, int, list[int], frozenset[int]]:
        rows = np.flatnonzero(feasible)
        if self._size - len(rows) <= FEW:
            found = feasible, len(rows), self._all, frozenset(np.flatnonzero(~feasible).tolist())
        else:
            found = feasible, len(rows), self._order(rows), _NONE
            self._orders.append((feasible, found[2]))
        self._known[id(feasible)] = found
        return found

    def _text(self, row: int) -> bytes:
        scores = {plugin: (int(raw[row]), int(after[row])) for plugin, (raw, after) in self._columns.items()}
        text = msgspec.json.encode(_entry(self._nodes[row], row, int(self._total[row]), scores))
        self._texts[row] = text
        return text
