"""The ladder: the nodes ordered by what would have to change for the pod to run there.

Each verdict of each plugin on a node is an obstacle (`framework.causes`). Nodes with the same obstacles are a class;
the classes are ordered by the effort that their obstacles take together.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.formatting import agree, count, listing
from scheduler_core.config.policy_plugins import successor
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.answer import Rung
from scheduler_core.explain.groups import OUTSIDE, OUTSIDE_PHRASE
from scheduler_core.framework import causes
from scheduler_core.framework.causes import NEVER, TYPING_ERROR, Obstacle
from scheduler_core.framework.interface import EXTENDER, FilterPlugin, Int64, Status
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins import PLUGINS

RUNGS, NODES = 8, 5  # at most
AMOUNTS = (causes.INSUFFICIENT_RESOURCE, causes.PODS_LIMIT)
_FILTERS = [plugin for plugin in PLUGINS.values() if issubclass(plugin, FilterPlugin)]
_OF_REASON = {reason: plugin for plugin in _FILTERS for reason in plugin.phrases}
_POD, _NODES = re.compile(r"\b(its|it)\b"), re.compile(r"\btheir\b")
_KEPT = (Obstacle(causes.NOMINATED, 1.2, "are kept for nominated pods"),)
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
    left_out: tuple[Int64, Status] | None,
) -> list[NodeClass]:
    """Return the classes of nodes, those with the least effort first.

    `lacks`: how much each node lacks, as a share of the requests; float64 over the trace's rows. `left_out`: the rows
    of nodes that PreFilter left out, with the status.
    """
    rows = context.rows if context is not None else np.full(len(names), -1, np.intp)
    found: list[tuple[tuple[Obstacle, ...], ...]] = [()] * trace.nodes  # at each node, by plugin
    for plugin, verdict in trace.verdicts.items():
        for number, status in enumerate(verdict.statuses, 1) if verdict.codes is not None else ():
            mine = np.flatnonzero(verdict.codes == number)
            each = _obstacles(plugin, context, rows[mine].tolist(), status) if len(mine) else []
            for row, one in zip(mine.tolist(), each, strict=True):
                found[row] += (one,)
    if left_out is not None:
        left, status = left_out
        outside = _obstacles(status.plugin, context, [-1], status)[0]
        if trace.placement is not None:
            outside = (Obstacle(causes.POD_GROUP, NEVER, OUTSIDE_PHRASE),)
        outside = tuple(replace(one, effort=NEVER) for one in outside)
        for row in left.tolist():
            if trace.placement is not None or not found[row]:
                found[row] += (outside,)
    for row, refusal in trace.nominated.items():
        if refusal is not None and not found[row]:
            found[row] = (_KEPT,)
    alike: dict[tuple[int, ...], list[int]] = {}  # nodes whose obstacles are the same objects
    for row, parts in enumerate(found):
        alike.setdefault(tuple(map(id, parts)), []).append(row)
    merged: dict[tuple[Obstacle, ...], list[int]] = {}
    for mine_rows in alike.values():
        obstacles = _deduplicated(tuple(chain.from_iterable(found[mine_rows[0]])))
        merged.setdefault(obstacles, []).extend(mine_rows)
    classes, lacking = [], lacks.tolist()
    for obstacles, mine_rows in merged.items():
        nearest = sorted(sorted(mine_rows, key=names.__getitem__), key=lacking.__getitem__)
        effort = sum(one.effort for one in obstacles) + 0.05 * min(lacking[nearest[0]], 1.0)
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
        return _KEPT
    return _deduplicated(tuple(found))


def _deduplicated(obstacles: tuple[Obstacle, ...]) -> tuple[Obstacle, ...]:
    """Return the obstacles, each kind that several plugins state once."""
    found: list[Obstacle] = []
    for one in obstacles:
        if one.kind not in _ONCE or all(other.kind != one.kind for other in found):
            found.append(one)
    return tuple(found)


def _stating(name: str, status: Status) -> list[tuple[type[FilterPlugin], Status]]:
    """Return the Filter plugins that state the obstacles for a status of a plugin or predicate, each with its part."""
    cls = PLUGINS.get(successor(name))
    plugin = cls if cls is not None and issubclass(cls, FilterPlugin) else FilterPlugin
    if cls is not None and name != "GeneralPredicates":  # several plugins in one
        return [(plugin, status)]
    parts: dict[type[FilterPlugin], list[str]] = {}
    for reason in status.reasons:
        parts.setdefault(_OF_REASON.get(reason, plugin), []).append(reason)
    return [(one, replace(status, reasons=tuple(reasons))) for one, reasons in parts.items()] or [(plugin, status)]


def _obstacles(
    plugin: str, context: RejectionContext | None, rows: Sequence[int], status: Status
) -> list[tuple[Obstacle, ...]]:
    known = next((_OTHERS[reason] for reason in status.reasons if reason in _OTHERS), None)
    if known is not None:
        return [(replace(known, plugin=plugin),)] * len(rows)
    if plugin == EXTENDER or status.plugin == EXTENDER:
        phrase = f"are refused by an extender ({'; '.join(status.reasons) or status.code})"
        return [(Obstacle(causes.EXTENDER, 2.0, phrase, (), "", EXTENDER),)] * len(rows)
    if not plugin and not status.plugin:  # of PreFilter; the message names the plugins
        names = status.message.partition("[")[2].partition("]")[0].split()
        phrase = OUTSIDE_PHRASE if OUTSIDE in status.reasons else f"are excluded by {listing(names) or 'PreFilter'}"
        return [(Obstacle(causes.PLUGIN, 2.0, phrase),)] * len(rows)
    status = status if status.plugin else status.by(plugin)
    columns = []
    for one, part in _stating(plugin, status):
        usual = (one.obstacle(context, part),)
        there = iter(one.obstacles(context, [row for row in rows if row >= 0], part))
        columns.append([next(there) if row >= 0 else usual for row in rows])
    named: dict[tuple[int, ...], tuple[Obstacle, ...]] = {}
    found = []
    for parts in zip(*columns, strict=True):
        key = tuple(map(id, parts))
        if key not in named:
            named[key] = tuple(replace(one, plugin=plugin) for one in chain.from_iterable(parts))
        found.append(named[key])
    return found


def phrase_of(plugin: str, status: Status) -> str:
    """Return what a status of a Filter plugin says about nodes, a plural verb first: `are cordoned`, `lack cpu`."""
    return listing([one.phrase for one in _obstacles(plugin, None, [-1], status)[0]])


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
    ladder = [
        Rung(changes, len(names), names, f"{count(len(names))} {agree(len(names), phrase)}", of_one_node(phrase))
        for (changes, phrase), names in found.items()
    ]
    ladder.sort(key=lambda rung: (rung.changes is None, -rung.count if rung.changes is None else rung.changes))
    return ladder if whole else shortened(ladder)


def shortened(ladder: Sequence[Rung]) -> list[Rung]:
    """Return at most RUNGS of a ladder with at most NODES each, without the texts about one node."""
    return [Rung(one.changes, one.count, one.nodes[:NODES], one.text) for one in ladder[:RUNGS]]
