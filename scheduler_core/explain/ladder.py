"""The ladder: the nodes ordered by what would have to change for the pod to run there.

Each verdict of each plugin on a node is an obstacle (`framework.causes`). Nodes with the same obstacles are a class;
the classes are ordered by the effort that their obstacles take together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.formatting import agree, count, listing
from scheduler_core.config.policy_plugins import successor
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.answer import Rung
from scheduler_core.explain.groups import OUTSIDE
from scheduler_core.framework import causes
from scheduler_core.framework.causes import NEVER, TYPING_ERROR, Obstacle
from scheduler_core.framework.interface import EXTENDER, FilterPlugin, Status
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins import PLUGINS

RUNGS, NODES = 8, 5  # at most
AMOUNTS = (causes.INSUFFICIENT_RESOURCE, causes.PODS_LIMIT)
_OF_REASON = {reason: plugin for plugin in PLUGINS.values() for reason in plugin.phrases}
_POD, _NODES = re.compile(r"\b(its|it)\b"), re.compile(r"\btheir\b")
KEPT = Obstacle(causes.NOMINATED, 1.2, "are kept for nominated pods")
_ONCE = (causes.CORDONED, causes.NODE_NOT_READY)  # stated by several plugins or taints
_OTHERS = {  # of the predicates that checked conditions
    "node(s) were not ready": Obstacle(causes.NODE_NOT_READY, 1.1, "are not ready"),
    "node(s) had unavailable network": Obstacle(causes.NODE_NOT_READY, 1.1, "have no network"),
    "node(s) had memory pressure": Obstacle(causes.NODE_NOT_READY, 1.1, "have memory pressure"),
    "node(s) had disk pressure": Obstacle(causes.NODE_NOT_READY, 1.1, "have disk pressure"),
    "node(s) had pid pressure": Obstacle(causes.NODE_NOT_READY, 1.1, "have PID pressure"),
    "node(s) were unschedulable": Obstacle(causes.CORDONED, 1.0, "are cordoned"),
}


@dataclass
class NodeClass:
    """Nodes with the same obstacles. `names`: the nearest first. `effort`: the sum of the obstacles' efforts, and a
    little for the amounts that the nearest node lacks."""

    obstacles: tuple[Obstacle, ...]
    names: list[str]
    effort: float

    @property
    def changes(self) -> int | None:
        """The number of changes that a node of the class needs; None if no sensible change is enough."""
        return None if self.is_never else len(self.obstacles)

    @property
    def is_never(self) -> bool:
        return any(one.effort == NEVER for one in self.obstacles)

    @property
    def main(self) -> Obstacle | None:
        """The obstacle that takes the most effort, but first a selector that no node meets; None for nodes that take
        the pod."""
        return max(self.obstacles, key=lambda one: (one.effort == TYPING_ERROR, one.effort), default=None)

    @property
    def phrase(self) -> str:
        """The phrase about the nodes, a plural verb first: the obstacle that never goes, or all."""
        if self.is_never:
            return next(one.phrase for one in self.obstacles if one.effort == NEVER)
        return listing([one.phrase for one in self.obstacles]) or "take the pod now"

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for classes that one change opens."""
        return tuple((one.kind, one.effort, () if one.kind in AMOUNTS else one.objects) for one in self.obstacles)


def classes_of(
    trace: CycleTrace,
    names: Sequence[str],
    context: RejectionContext | None,
    lacks: npt.NDArray[np.float64],
    left_out: tuple[npt.NDArray[np.bool_], Status] | None,
) -> list[NodeClass]:
    """Return the classes of nodes, those with the least effort first.

    `lacks`: how much each node lacks, as a share of the requests; float64 over the trace's rows. `left_out`: the nodes
    that PreFilter left out (bool over rows), with the status.
    """
    size = trace.nodes
    rows = _rows(names, context)
    mixed = np.zeros(size, np.int64)
    columns: list[list[tuple[Obstacle, ...]]] = []
    radix = 1

    def add(codes: npt.NDArray[np.int64], known: list[tuple[Obstacle, ...]]) -> None:
        nonlocal radix, mixed
        if radix * len(known) >= 1 << 62:  # keep the codes small
            distinct, mixed_codes = np.unique(mixed, return_inverse=True)
            columns[:] = [[_decoded(columns, int(code)) for code in distinct.tolist()]]
            mixed, radix = mixed_codes.astype(np.int64), len(distinct)
        mixed += radix * codes
        radix *= len(known)
        columns.append(known)

    for plugin, verdict in trace.verdicts.items():
        if verdict.codes is None:
            continue
        codes = np.zeros(size, np.int64)
        known: dict[tuple[Obstacle, ...], int] = {(): 0}
        for number, status in enumerate(verdict.statuses, 1):
            mine = np.flatnonzero(verdict.codes == number)
            if len(mine):
                found = _obstacles(plugin, context, rows[mine].tolist(), status)
                codes[mine] = [known.setdefault(one, len(known)) for one in found]
        add(codes, list(known))
    if left_out is not None:
        mask, status = left_out
        alone = mask if trace.placement is not None else mask & (mixed == 0)
        outside = _obstacles(status.plugin, context, [-1], status)[0]
        if trace.placement is not None:
            outside = (Obstacle(causes.POD_GROUP, NEVER, OUTSIDE.removeprefix("node(s) ")),)
        codes = alone.astype(np.int64)
        add(codes, [(), tuple(replace(one, effort=NEVER) for one in outside)])
    nominated = [row for row, status in trace.nominated.items() if status is not None and not mixed[row]]
    if nominated:
        codes = np.zeros(size, np.int64)
        codes[nominated] = 1
        add(codes, [(), (KEPT,)])
    merged: dict[tuple[Obstacle, ...], list[int]] = {}
    distinct, inverse = np.unique(mixed, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    bounds = np.searchsorted(inverse[order], np.arange(len(distinct) + 1))
    for i, code in enumerate(distinct.tolist()):
        obstacles = _deduplicated(_decoded(columns, code))
        merged.setdefault(obstacles, []).extend(order[bounds[i] : bounds[i + 1]].tolist())
    classes = []
    for obstacles, mine_rows in merged.items():
        nearest = sorted(mine_rows, key=lambda row: (lacks[row], names[row]))
        effort = sum(one.effort for one in obstacles) + 0.05 * min(float(lacks[nearest[0]]), 1.0)
        classes.append(NodeClass(obstacles, [names[row] for row in nearest], effort))
    return sorted(classes, key=lambda one: (one.effort, -len(one.names), one.names[0]))


def obstacles_at(trace: CycleTrace, context: RejectionContext, row: int) -> tuple[Obstacle, ...]:
    """Return the obstacles at one node; () if no Filter plugin refuses it, but PreFilter may have left it out.

    The rows of the trace must be those of the cluster.
    """
    found: list[Obstacle] = []
    for plugin, verdict in trace.verdicts.items():
        status = verdict.at(row)
        if status is not None:
            found += _obstacles(plugin, context, [row], status)[0]
    if not found and trace.nominated.get(row) is not None:
        return (KEPT,)
    return _deduplicated(tuple(found))


def _rows(names: Sequence[str], context: RejectionContext | None) -> npt.NDArray[np.intp]:
    if context is None:
        return np.full(len(names), -1, np.intp)
    if names is context.nodes.names:
        return np.arange(len(names), dtype=np.intp)
    return np.array([context.nodes.rows.get(name, -1) for name in names], np.intp)


def _decoded(columns: Sequence[list[tuple[Obstacle, ...]]], code: int) -> tuple[Obstacle, ...]:
    found: list[Obstacle] = []
    for known in columns:
        code, digit = divmod(code, len(known))
        found += known[digit]
    return tuple(found)


def _deduplicated(obstacles: tuple[Obstacle, ...]) -> tuple[Obstacle, ...]:
    """Return the obstacles, each kind that several plugins state once."""
    found: list[Obstacle] = []
    for one in obstacles:
        if one.kind not in _ONCE or all(other.kind != one.kind for other in found):
            found.append(one)
    return tuple(found)


def plugin_of(name: str, status: Status) -> type[FilterPlugin] | None:
    """Return the Filter plugin that states the obstacles for a status of a plugin or predicate; None if unknown."""
    cls = PLUGINS.get(successor(name)) or next((_OF_REASON[r] for r in status.reasons if r in _OF_REASON), None)
    if name == "GeneralPredicates":  # several plugins in one
        cls = next((_OF_REASON[r] for r in status.reasons if r in _OF_REASON), PLUGINS["NodeResourcesFit"])
    return cls if cls is not None and issubclass(cls, FilterPlugin) else None


def _obstacles(
    plugin: str, context: RejectionContext | None, rows: Sequence[int], status: Status
) -> list[tuple[Obstacle, ...]]:
    known = next((_OTHERS[reason] for reason in status.reasons if reason in _OTHERS), None)
    if known is not None:
        return [(replace(known, plugin=plugin),)] * len(rows)
    cls = plugin_of(plugin, status)
    if plugin == EXTENDER or status.plugin == EXTENDER:
        phrase = f"are refused by an extender ({'; '.join(status.reasons) or status.code})"
        return [(Obstacle(causes.EXTENDER, 2.0, phrase, (), "", EXTENDER),)] * len(rows)
    base = cls or FilterPlugin
    status = status if status.plugin else status.by(plugin)
    if any(row < 0 for row in rows):
        found: list[tuple[Obstacle, ...]] = [(base.obstacle(context, status),)] * len(rows)
        there = [i for i, row in enumerate(rows) if row >= 0]
        for i, one in zip(there, base.obstacles(context, [rows[i] for i in there], status), strict=True):
            found[i] = one
    else:
        found = base.obstacles(context, rows, status)
    named: dict[int, tuple[Obstacle, ...]] = {}
    for one in found:
        if id(one) not in named:
            named[id(one)] = tuple(replace(obstacle, plugin=plugin) for obstacle in one)
    return [named[id(one)] for one in found]


def words_of(plugin: str, status: Status) -> str:
    """Return what a status of a Filter plugin says about a node, a singular verb first: `is cordoned`, `lacks cpu`."""
    return listing([of_one_node(one.phrase) for one in _obstacles(plugin, None, [-1], status)[0]])


def of_one_node(phrase: str) -> str:
    """Return a phrase about nodes for a sentence whose subject is one node; it then names the pod."""
    text = _POD.sub(lambda word: "the pod's" if word[0] == "its" else "the pod", phrase)
    return _NODES.sub("its", agree(1, text))


def rungs(classes: Sequence[NodeClass], whole: bool = False) -> list[Rung]:
    """Return the ladder: a rung for each number of changes and each phrase about the nodes, the nearest first.

    `whole`: all rungs with all nodes; by default at most RUNGS with at most NODES each.
    """
    found: dict[tuple[int | None, str], list[str]] = {}
    for one in classes:
        found.setdefault((one.changes, one.phrase), []).extend(one.names)
    ordered = [(changes, phrase, names) for (changes, phrase), names in found.items()]
    last = [entry for entry in ordered if entry[0] is None]
    near = [entry for entry in ordered if entry[0] is not None]
    near.sort(key=lambda entry: entry[0] or 0)
    last.sort(key=lambda entry: -len(entry[2]))
    shown = near + last
    return [
        Rung(
            changes,
            len(names),
            names if whole else names[:NODES],
            f"{count(len(names))} {agree(len(names), phrase)}",
            of_one_node(phrase) if whole else "",
        )
        for changes, phrase, names in (shown if whole else shown[:RUNGS])
    ]
