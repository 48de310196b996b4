"""Where the pods of several cells are, as a matrix, and how the cells differ for a workload.

Equal pods exchange places when another seed breaks ties, so differences are counted for a workload: how many of its
pods are placed, how many are in each node group, on each node, and only then which pod is where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.experiments.cell import Cell, Check, Done, Result
from scheduler_core.experiments.outcomes import pack, pack_outcomes, unpack, unpack_outcomes
from scheduler_core.experiments.run_cell import RunOutcome, result_of, run_of
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.metrics.groups import node_groups
from scheduler_core.metrics.node_resources import Int64

Int32 = npt.NDArray[np.int32]

MAX_STORED_PODS = 100_000  # of more, a result would be larger than some MB
PENDING, ABSENT = -1, -2
SAME, EXCHANGED, NODES, GROUPS, PLACED = "same", "exchanged", "nodes", "groups", "placed"
KINDS = (SAME, EXCHANGED, NODES, GROUPS, PLACED)
"""How cells differ for a workload, the least first: not at all; equal pods exchange their nodes; other nodes of the
same node groups; other node groups; another number of placed pods."""


class _Kinds(msgspec.Struct, array_like=True):
    """What the pods and nodes of a cell belong to. `workload`: an index for each of `pods`, which are sorted.
    `priority`: of each pod."""

    pods: list[str]
    workloads: list[str]
    workload: list[int]
    priority: list[int]
    node_groups: dict[str, str]


def run_with_kinds(cell: Cell, scenario: ScenarioInput, check: Check) -> Result:
    """Run a cell and return its result. If the cell's parameters request them, the result also has the `outcomes` of
    its pods (`unpack_outcomes`) and their `kinds`: the workload and priority of each of these pods, and the group of
    each node. Both are left out for more than MAX_STORED_PODS pods. Raises InputError."""
    run = run_of(scenario, cell, check)
    if not cell.parameters.get("outcomes") or len(run.outcomes) > MAX_STORED_PODS:
        return result_of(run)
    names = {} if cell.virtual_time else scenario.stable_names(cell)
    return result_of(run) | {"outcomes": pack_outcomes(run.outcomes), "kinds": pack(_kinds_of(run, names))}


def _kinds_of(run: RunOutcome, names: Mapping[str, str]) -> _Kinds:
    """Return the kinds of the pods with an outcome. `names`: pod -> its name in the outcomes, where they differ."""
    workload_of = {names.get(pod, pod): workload for pod, workload in run.workload_of.items()}
    priorities = {names.get(pod, pod): priority for pod, priority in run.priorities.items()}
    pods = sorted(run.outcomes)
    index: dict[str, int] = {}
    workload = [index.setdefault(workload_of.get(pod, pod), len(index)) for pod in pods]
    priority = [priorities.get(pod, 0) for pod in pods]
    return _Kinds(pods, list(index), workload, priority, node_groups(run.cluster.nodes.nodes))


def placements_of(done: Sequence[Done], cells: Sequence[int]) -> Placements | None:
    """Return the placements of these positions of `done`, without those that failed; None if the cells did not store
    the outcomes of their pods."""
    stored = [cell for cell in cells if (result := done[cell].result) is not None and "kinds" in result]
    if not stored:
        return None
    pods: dict[str, int] = {}
    workloads: dict[str, int] = {}
    groups: dict[str, int] = {}
    nodes: dict[str, int] = {}
    workload: list[int] = []
    priority: list[int] = []
    group: list[int] = []
    columns: list[dict[int, int]] = []
    for cell in stored:
        result = done[cell].result
        assert result is not None
        kinds = unpack(result["kinds"], _Kinds)
        for pod, number, of in zip(kinds.pods, kinds.workload, kinds.priority, strict=True):
            if pods.setdefault(pod, len(pods)) == len(workload):
                workload.append(workloads.setdefault(kinds.workloads[number], len(workloads)))
                priority.append(of)
        column = {}
        for pod, outcome in unpack_outcomes(result["outcomes"]).items():
            code = nodes.setdefault(outcome.node, len(nodes)) if outcome.node else PENDING
            if code == len(group):
                group.append(groups.setdefault(kinds.node_groups.get(outcome.node, "no group"), len(groups)))
            column[pods[pod]] = code
        columns.append(column)
    where = np.full((len(pods), len(stored)), ABSENT, np.int32)
    for number, column in enumerate(columns):
        where[list(column), number] = list(column.values())
    of_pods = np.array(workload, np.int64), np.array(priority, np.int64)
    return Placements(stored, [*pods], [*workloads], *of_pods, np.array(group, np.int64), [*nodes], [*groups], where)


@dataclass(frozen=True, eq=False)
class Placements:
    """The pods of cells. `cells`: their positions. `workload`, `priority`: of each pod. `group`: the number of the
    group of each node. `where`: pod by cell, the number of a node, PENDING or ABSENT (the cell has no such pod)."""

    cells: list[int]
    pods: list[str]
    workloads: list[str]
    workload: Int64
    priority: Int64
    group: Int64
    nodes: list[str]
    groups: list[str]
    where: Int32

    def outcome(self, code: int) -> str:
        """Return the node of a value of `where`, "" for a pending pod, "absent" for none."""
        return self.nodes[code] if code >= 0 else "" if code == PENDING else "absent"

    def by_workload(self) -> Iterator[tuple[int, Int64]]:
        """Yield each workload's number and the rows of its pods."""
        order = np.argsort(self.workload, kind="stable")
        for number, rows in groupby(order.tolist(), lambda row: int(self.workload[row])):
            yield number, np.fromiter(rows, np.int64)

    def counts(self, rows: Int64) -> WorkloadCounts:
        """Count the pods of these rows in each cell."""
        where = self.where[rows]
        cells = where.shape[1]
        placed = (where >= 0).sum(axis=0)
        used, codes = np.unique(where, return_inverse=True)
        codes = codes.reshape(where.shape)
        by_node = _count(codes, len(used), cells)
        groups_of = np.where(used >= 0, self.group[np.maximum(used, 0)] if len(self.group) else 0, used)
        kinds, group_codes = np.unique(groups_of, return_inverse=True)
        by_group = np.zeros((len(kinds), cells), np.int64)
        np.add.at(by_group, group_codes, by_node)
        names = [self.groups[code] if code >= 0 else "" if code == PENDING else "absent" for code in kinds.tolist()]
        return WorkloadCounts(where, placed, by_node, dict(zip(names, by_group, strict=True)))


@dataclass(frozen=True, eq=False)
class WorkloadCounts:
    """The pods of a workload. `where`: as in Placements. `placed`: by cell. `by_node`: outcome by cell. `by_group`:
    node group -> number by cell; "" is pending."""

    where: Int32
    placed: Int64
    by_node: Int64
    by_group: dict[str, Int64]

    @property
    def kind(self) -> str:
        """The greatest difference between any two cells, one of KINDS."""
        return self._greatest(lambda rows: bool((rows != rows[:, :1]).any()))

    def kind_between(self, sets: Sequence[Sequence[int]]) -> tuple[str, bool]:
        """Return the greatest difference between sets of cells, and whether it is clear.

        A difference is clear if for some count, all cells of one set are below all cells of another set. Without a
        clear difference, the means of the sets are compared.
        """
        found = self._greatest(lambda rows: _apart(rows, sets))
        if found not in (SAME, EXCHANGED):
            return found, True
        return self._greatest(lambda rows: _means_differ(rows, sets)), False

    def _greatest(self, differs: Callable[[npt.NDArray[Any]], bool]) -> str:
        if differs(self.placed[None]):
            return PLACED
        if differs(np.array(list(self.by_group.values()))):
            return GROUPS
        if differs(self.by_node):
            return NODES
        return EXCHANGED if differs(self.where) else SAME


def _by_set(rows: npt.NDArray[Any], sets: Sequence[Sequence[int]]) -> tuple[npt.NDArray[Any], list[int]]:
    """Return the columns of the sets next to each other, and where each set begins, for `reduceat`."""
    starts = [0, *accumulate(len(cells) for cells in sets[:-1])]
    return rows[:, [cell for cells in sets for cell in cells]], starts


def _apart(rows: npt.NDArray[Any], sets: Sequence[Sequence[int]]) -> bool:
    ordered, starts = _by_set(rows, sets)
    lowest = np.minimum.reduceat(ordered, starts, axis=1)
    highest = np.maximum.reduceat(ordered, starts, axis=1)
    return bool((lowest.max(axis=1) > highest.min(axis=1)).any())


def _means_differ(rows: npt.NDArray[Any], sets: Sequence[Sequence[int]]) -> bool:
    ordered, starts = _by_set(rows, sets)
    means = np.add.reduceat(ordered, starts, axis=1) / [len(cells) for cells in sets]
    return bool((means != means[:, :1]).any())


def _count(codes: Int64, kinds: int, cells: int) -> Int64:
    flat = codes + np.arange(cells) * kinds
    return np.bincount(flat.ravel(), minlength=kinds * cells).reshape(cells, kinds).T
