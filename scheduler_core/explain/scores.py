"""The best nodes, and why the winner is ahead of the others."""

from collections.abc import Sequence

import numpy as np

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.answer import Duel, Points, Ranked, ScoreDifference


def ranking(trace: CycleTrace, names: Sequence[str], most: int) -> list[Ranked]:
    """Return the best feasible nodes by total, the chosen one first among equals, then by name; empty without
    scores."""
    if not trace.scores:
        return []
    rows, total = trace.feasible_rows(), trace.total()
    order: list[int] = np.lexsort((rows != trace.selected_row, -total))[:most].tolist()
    node = {i: names[int(rows[i])] for i in order}
    order.sort(key=lambda i: (-int(total[i]), node[i] != trace.node, node[i]))
    return [_ranked(trace, names, i) for i in order]


def ranked(trace: CycleTrace, names: Sequence[str], row: int) -> Ranked:
    """Return the scores of the scored node in `row`."""
    return _ranked(trace, names, int(np.flatnonzero(trace.feasible_rows() == row)[0]))


def _ranked(trace: CycleTrace, names: Sequence[str], i: int) -> Ranked:
    points = [
        Points(plugin, s.weight, int(s.raw[i]), int(s.normalized[i]), int(s.normalized[i]) * s.weight)
        for plugin, s in trace.scores.items()
    ]
    return Ranked(names[int(trace.feasible_rows()[i])], int(trace.total()[i]), points)


def ties(trace: CycleTrace, names: Sequence[str]) -> list[str]:
    """Return the nodes with the highest total if there are several."""
    if not trace.scores:
        return []
    rows, total = trace.feasible_rows(), trace.total()
    best = np.flatnonzero(total == total.max())
    return sorted(names[row] for row in rows[best].tolist()) if len(best) > 1 else []


def duel(winner: Ranked, other: Ranked) -> Duel:
    """Compare two scored nodes plugin by plugin, the largest difference first."""
    differences = [
        ScoreDifference(ours.plugin, ours.weighted, theirs.weighted, ours.weighted - theirs.weighted)
        for ours, theirs in zip(winner.points, other.points, strict=True)
    ]
    differences.sort(key=lambda d: -abs(d.difference))
    return Duel(winner.node, other.node, winner.total - other.total, differences)


def why_ahead(match: Duel, most: int = 3) -> str:
    """Return `because NodeResourcesFit gave 20 more and ImageLocality 17 more, although TaintToleration gave
    5 less`."""
    favour = [d for d in match.differences if d.difference > 0]
    against = [d for d in match.differences if d.difference < 0]
    if not favour:
        return ""
    parts = [f"{d.plugin} {'gave ' if i == 0 else ''}{d.difference:,} more" for i, d in enumerate(favour[:most])]
    words = "because " + (f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0])
    if against:
        words += f", although {against[0].plugin} gave {-against[0].difference:,} less"
    return words
