"""One of the two runs that are compared, and what became of its pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.cluster_state import State
from scheduler_core.debugger.cycle_index import Facts
from scheduler_core.debugger.objects import Fetch
from scheduler_core.debugger.recording import BOUND, PENDING, Recording


class Cycle(NamedTuple):
    """A recorded cycle; `names`: the nodes in the order of its rows."""

    trace: CycleTrace
    names: Sequence[str]


Cycles = Callable[[Sequence[int]], Mapping[int, Cycle]]
"""Numbers of cycles -> the cycles."""


class Outcome(NamedTuple):
    """What became of a pod. `cycle`: of its last attempt, 0 for a pod that was held back before any. `node`: "" for
    none; `score`: None where nothing was scored. `owner`: kind and name of its controller."""

    result: str
    node: str
    score: int | None
    cycle: int
    owner: str

    @property
    def placed(self) -> bool:
        return self.result in ("scheduled", "waiting")

    def as_dict(self) -> dict[str, Any]:
        return {"result": self.result, "node": self.node, "score": self.score, "cycle": self.cycle}


@dataclass(frozen=True)
class Side:
    """A run. `settings`: path -> value; `usual`: what those that follow from others (a release's configuration) have if
    nothing is said of them. `cycles`, `fetch`: read a few of its cycles, an object of its recording."""

    settings: Mapping[str, Any]
    usual: Mapping[str, Any]
    recording: Recording
    facts: Facts
    cycles: Cycles
    fetch: Fetch

    @cached_property
    def end(self) -> State:
        """The cluster at the end."""
        return State(self.recording, self.recording.end)

    @cached_property
    def keys(self) -> list[str]:
        """namespace/name of the pod of each cycle."""
        keys = self.recording.tables["pods"]
        return [keys.texts["key"][i] for i in keys["key"][self.facts.table["pod"]].tolist()]

    @cached_property
    def outcomes(self) -> dict[str, Outcome]:
        """Pod -> what became of it, in the order of the last cycles, gated pods that had none after them."""
        table, pods = self.facts.table, self.recording.tables["pods"]
        last = {key: row for row, key in enumerate(self.keys)}
        at_end = self._at_end()
        owners, owner = pods.texts["owner"], pods["owner"][table["pod"]].tolist()
        results, result = table.texts["result"], table["result"].tolist()
        nodes, node = table.texts["node"], table["node"].tolist()
        scored, score = table["scored"].tolist(), table["score"].tolist()
        found: dict[str, Outcome] = {}
        for key, row in sorted(last.items(), key=lambda item: item[1]):
            came_to, where = results[result[row]], nodes[node[row]]
            if came_to in ("scheduled", "waiting"):
                came_to, where = _later(came_to, where, at_end.get(key))
            points = score[row] if scored[row] else None
            found[key] = Outcome(came_to, where, points, row + 1, owners[owner[row]])
        for key, number in self._held_back():
            if key not in found:
                found[key] = Outcome("gated", "", None, 0, pods.at("owner", number))
        return found

    def _at_end(self) -> dict[str, int]:
        """Pod -> where it is at the end, of those that are there."""
        keys = self.recording.tables["pods"]
        rows = (self.end.state > 0).nonzero()[0]
        names = (keys.texts["key"][i] for i in keys["key"][rows].tolist())
        return dict(zip(names, self.end.state[rows].tolist(), strict=True))

    def _held_back(self) -> Iterable[tuple[str, int]]:
        """(key, row) of the gated pods at the end, if their scheduler had any cycle here."""
        pods = self.recording.tables["pods"]
        names, scheduler = pods.texts["scheduler"], pods["scheduler"]
        mine = {names[i] for i in set(scheduler[self.facts.table["pod"]].tolist())}
        for row in ((self.end.state == PENDING) & (pods["gated"] == 1)).nonzero()[0].tolist():
            if names[scheduler[row]] in mine:
                yield pods.at("key", row), row


def _later(result: str, node: str, at_end: int | None) -> tuple[str, str]:
    """What an attempt that found a node came to in the end: it may have been bound since, or been rejected."""
    if at_end == BOUND:
        return "scheduled", node
    if at_end == PENDING:  # Permit rejected it, or binding failed
        return ("unschedulable" if result == "waiting" else "error"), ""
    return result, node
