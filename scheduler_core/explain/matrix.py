"""The Filter results of a cycle as groups of nodes on which every plugin gives the same verdict."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.answer import Part
from scheduler_core.explain.groups import OUTSIDE_PHRASE
from scheduler_core.framework.interface import Bool, Status

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
    number, statuses = _decisive(trace, len(names), ended)
    feasible = np.zeros(len(names), np.bool_)
    if not ended:
        feasible[trace.feasible_rows()] = True
    state = np.where(number > 0, 1, np.where(feasible, 0, 2))
    inside = np.ones(len(names), np.bool_)
    if trace.placement is not None:
        inside = np.isin(np.arange(len(names)), trace.placement)
    plugins = [name for name in trace.verdicts if name not in trace.skipped_filter]
    columns = []
    for name in plugins:
        verdict = trace.verdicts[name]
        reasons = [status.reasons for status in verdict.statuses]
        first = np.array([0, *(reasons.index(one) + 1 for one in reasons)])  # statuses may differ in their codes only
        codes = np.zeros(len(names), np.intp) if verdict.codes is None or ended else verdict.codes
        columns.append(np.where(inside, first[codes], 0))
    table = np.column_stack([state, ~inside, number, *columns]).astype(np.int64)
    kinds, firsts, kind_of = np.unique(table, axis=0, return_index=True, return_inverse=True)
    members = np.split(np.argsort(kind_of.ravel(), kind="stable"), np.cumsum(np.bincount(kind_of.ravel()))[:-1])
    groups = []
    for kind in np.argsort(firsts).tolist():
        at, outside, decided, *codes = kinds[kind].tolist()
        status = statuses[decided - 1] if decided else None
        found = {
            name: trace.verdicts[name].statuses[code - 1].reasons
            for name, code in zip(plugins, codes, strict=True)
            if code
        }
        group = _group((FEASIBLE, REFUSED, UNSEEN)[at], status, found, plugins)
        if outside and group.state == UNSEEN:
            group.detailed = (OUTSIDE_PHRASE,)
        group.nodes = [names[row] for row in members[kind].tolist()]
        group.chosen = trace.node != "" and trace.node in group.nodes
        groups.append(group)
    skipped, looked = list(trace.skipped_filter), int((state < 2).sum())
    return Matrix(plugins, skipped, _in_order(groups), int((state == 0).sum()), looked, len(names))


def _decisive(trace: CycleTrace, nodes: int, ended: bool) -> tuple[np.typing.NDArray[np.int64], list[Status]]:
    """Return the 1-based number of each node's decisive status, 0 for none, and the statuses."""
    number, known = np.zeros(nodes, np.int64), dict[Status, int]()
    statuses: list[Status] = []
    found = [] if ended else list(trace.decisive_statuses())
    if trace.subset is not None and trace.subset_status is not None and trace.prefilter is None and not ended:
        left_out: Bool = np.ones(nodes, np.bool_) if trace.placement is None else np.zeros(nodes, np.bool_)
        left_out[trace.placement if trace.placement is not None else slice(None)] = True
        left_out[trace.subset] = False
        found.append((trace.subset_status, np.flatnonzero(left_out)))
    for status, rows in found:
        if status not in known:
            statuses.append(status)
            known[status] = len(statuses)
        number[rows] = known[status]
    return number, statuses


def _group(state: str, status: Status | None, found: dict[str, tuple[str, ...]], plugins: Sequence[str]) -> MatrixGroup:
    """Return a group without its nodes. `found`: the reasons of each plugin that rejects them."""
    decisive, reasons = (status.plugin, status.reasons) if status is not None else ("", ())
    unknown = state == UNSEEN or (state == REFUSED and not decisive)
    cells, decided = [], False
    for plugin in plugins:
        if plugin == decisive:
            cells.append(MatrixCell(plugin, DECISIVE, reasons or found.get(plugin, ())))
            decided = True
        elif plugin in found:
            cells.append(MatrixCell(plugin, ALSO, found[plugin]))
        else:
            cells.append(MatrixCell(plugin, NOT_EVALUATED if unknown else LATE if decided else PASSES))
    return MatrixGroup(state, decisive, status.code if status is not None else "", reasons, cells, [])


def _in_order(groups: Sequence[MatrixGroup]) -> list[MatrixGroup]:
    rank = {FEASIBLE: 0, REFUSED: 1, UNSEEN: 2}
    sizes: Counter[tuple[str, ...]] = Counter()
    for group in groups:
        sizes[group.plugin, *group.reasons] += len(group.nodes)

    def place(group: MatrixGroup) -> tuple[int, int, str, tuple[str, ...], int]:
        size = sizes[group.plugin, *group.reasons]
        return rank[group.state], -size, group.plugin, group.reasons, -len(group.nodes)

    return sorted(groups, key=place)
