"""The Filter results of a cycle as groups of nodes on which every plugin gives the same verdict."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.answer import Part
from scheduler_core.explain.groups import OUTSIDE_PHRASE
from scheduler_core.framework.interface import Int64, Status

FEASIBLE, REFUSED, UNSEEN = "feasible", "refused", "unseen"
# Kinds of cells: the plugin passes the node, decides against it, would also reject it, was not evaluated on it but
# would pass, or the node was not evaluated.
PASSES, DECISIVE, ALSO, LATE, NOT_EVALUATED = "pass", "hot", "also", "late", "skip"


class MatrixCell(Part):
    """The verdict of a plugin on a group of nodes. `detailed`: the reasons with quantities, if they are known."""

    plugin: str
    kind: str
    reasons: tuple[str, ...] = ()
    detailed: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "; ".join(self.detailed or self.reasons)


class MatrixGroup(Part):
    """Nodes with the same verdicts, in snapshot order.

    `state`: feasible, refused or unseen. `plugin`, `code`, `reasons`: of the decisive status; the plugin is "" for
    PreFilter. `detailed`: the reasons with quantities; `each`: those of each node, if they differ. `chosen`: whether
    the chosen node is one of them.
    """

    state: str
    plugin: str
    code: str
    reasons: tuple[str, ...]
    cells: list[MatrixCell]
    nodes: list[str]
    chosen: bool = False
    detailed: tuple[str, ...] = ()
    each: list[str] = []

    @property
    def heading(self) -> str:
        """What holds for the nodes."""
        if self.state == FEASIBLE:
            return "fit the pod"
        if self.state == UNSEEN:
            return "; ".join(self.detailed) or "were not evaluated"
        return "; ".join(self.detailed or self.reasons) or "excluded by PreFilter"


class Matrix(Part):
    """Groups of nodes by the Filter plugins in execution order: feasible nodes first, then rejected ones by the number
    of nodes with the same reason, then those that were not evaluated. `looked_at`: the number of evaluated nodes."""

    plugins: list[str]
    skipped: list[str]
    groups: list[MatrixGroup]
    feasible: int
    looked_at: int
    nodes: int


def matrix_of(trace: CycleTrace, names: Sequence[str]) -> Matrix:
    """Return the matrix of a cycle. `names`: all nodes in the order of the trace's rows."""
    ended = bool(trace.error and not trace.node)  # an error ends a cycle without verdicts
    decided: list[Status | None] = [None] * len(names)
    for status, rows in () if ended else _decisive(trace):
        for row in rows.tolist():
            decided[row] = status
    feasible = set() if ended else set(trace.feasible_rows().tolist())
    inside = range(len(names)) if trace.placement is None else set(trace.placement.tolist())
    plugins = [name for name in trace.verdicts if name not in trace.skipped_filter]
    columns = []
    for name in plugins:
        verdict = trace.verdicts[name]
        reasons = [None, *(status.reasons for status in verdict.statuses)]
        codes = [0] * len(names) if verdict.codes is None or ended else verdict.codes.tolist()
        columns.append([reasons[code] if row in inside else None for row, code in enumerate(codes)])
    alike: dict[tuple[Any, ...], list[str]] = {}
    for row, (status, *found) in enumerate(zip(decided, *columns, strict=True)):
        state = REFUSED if status is not None else FEASIBLE if row in feasible else UNSEEN
        alike.setdefault((state, row in inside, status, *found), []).append(names[row])
    groups = []
    for (state, there, status, *found), nodes in alike.items():
        plugin, code, why = (status.plugin, status.code, status.reasons) if status is not None else ("", "", ())
        cells = _cells(state, plugin, why, dict(zip(plugins, found, strict=True)))
        outside = (OUTSIDE_PHRASE,) if not there and state == UNSEEN else ()
        groups.append(MatrixGroup(state, plugin, code, why, cells, nodes, trace.node in nodes, outside))
    fit, unseen = (sum(len(one.nodes) for one in groups if one.state == state) for state in (FEASIBLE, UNSEEN))
    return Matrix(plugins, list(trace.skipped_filter), _in_order(groups), fit, len(names) - unseen, len(names))


def _decisive(trace: CycleTrace) -> Iterator[tuple[Status, Int64]]:
    """Yield each decisive status with its nodes; a node that PreFilter left out has its status."""
    yield from trace.decisive_statuses()
    if trace.subset is not None and trace.subset_status is not None and trace.prefilter is None:
        there = np.arange(trace.nodes) if trace.placement is None else trace.placement
        yield trace.subset_status, np.setdiff1d(there, trace.subset)


def _cells(
    state: str, decisive: str, reasons: tuple[str, ...], found: dict[str, tuple[str, ...] | None]
) -> list[MatrixCell]:
    """Return the cells of a group. `found`: plugin -> its reasons against the nodes, None for none."""
    unknown = state == UNSEEN or (state == REFUSED and not decisive)
    cells, decided = [], False
    for plugin, own in found.items():
        if plugin == decisive:
            cells.append(MatrixCell(plugin, DECISIVE, reasons or own or ()))
            decided = True
        elif own is not None:
            cells.append(MatrixCell(plugin, ALSO, own))
        else:
            cells.append(MatrixCell(plugin, NOT_EVALUATED if unknown else LATE if decided else PASSES))
    return cells


def _in_order(groups: Sequence[MatrixGroup]) -> list[MatrixGroup]:
    rank = {FEASIBLE: 0, REFUSED: 1, UNSEEN: 2}
    sizes: Counter[tuple[str, ...]] = Counter()
    for group in groups:
        sizes[group.plugin, *group.reasons] += len(group.nodes)

    def place(group: MatrixGroup) -> tuple[int, int, str, tuple[str, ...], int]:
        size = sizes[group.plugin, *group.reasons]
        return rank[group.state], -size, group.plugin, group.reasons, -len(group.nodes)

    return sorted(groups, key=place)
