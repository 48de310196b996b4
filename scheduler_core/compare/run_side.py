"""One of the two compared runs, with the outcomes of its pods."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.cycle_index import Facts
from scheduler_core.recording.objects import Fetch
from scheduler_core.recording.recording import BOUND, PENDING, Recording


class RunCycle(NamedTuple):
    """A recorded cycle. `names` are the nodes in row order."""

    trace: CycleTrace
    names: Sequence[str]


Cycles = Callable[[Sequence[int]], Mapping[int, RunCycle]]
"""Numbers of cycles -> the cycles."""


class RecordedOutcome(NamedTuple):
    """A pod's outcome. `cycle`: of its last attempt, 0 if gated. `score`: None without scores. `owner`: kind, name."""

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
class RunSide:
    """One run: settings by path, `usual` defaults that follow from other settings, its recording and readers.

    `scenario`: two runs with the same number began with the same pods, except for changes of forks; 0 if unknown.
    """

    settings: Mapping[str, Any]
    usual: Mapping[str, Any]
    recording: Recording
    facts: Facts
    cycles: Cycles
    fetch: Fetch
    scenario: int = 0

    @cached_property
    def end(self) -> StateAtTimepoint:
        """The cluster at the end."""
        return StateAtTimepoint(self.recording, self.recording.end)

    @cached_property
    def keys(self) -> list[str]:
        """namespace/name of each cycle's pod."""
        return self.recording.tables["pods"].text("key", self.facts.table["pod"])

    @cached_property
    def results(self) -> list[tuple[str, ...]]:
        """(result, node, nominated node, victims) of each cycle."""
        return list(zip(*map(self.facts.table.text, ("result", "node", "nominated", "victims")), strict=True))

    @cached_property
    def outcomes(self) -> dict[str, RecordedOutcome]:
        """Outcome of each pod, ordered by last cycle, followed by gated pods without a cycle."""
        table, pods = self.facts.table, self.recording.tables["pods"]
        last = {key: row for row, key in enumerate(self.keys)}
        at_end = self.at_end
        owners, results, nodes = pods.text("owner", table["pod"]), table.text("result"), table.text("node")
        scored, score = table["scored"].tolist(), table["score"].tolist()
        found: dict[str, RecordedOutcome] = {}
        for key, row in sorted(last.items(), key=lambda item: item[1]):
            came_to, where = results[row], nodes[row]
            if came_to in ("scheduled", "waiting"):
                came_to, where = _later(came_to, where, at_end.get(key))
            points = score[row] if scored[row] else None
            found[key] = RecordedOutcome(came_to, where, points, row + 1, owners[row])
        for key, number in self._held_back():
            if key not in found:
                found[key] = RecordedOutcome("gated", "", None, 0, pods.at("owner", number))
        return found

    @cached_property
    def at_end(self) -> dict[str, int]:
        """Map each existing pod to its state at the end."""
        rows = (self.end.state > 0).nonzero()[0]
        return dict(zip(self.recording.tables["pods"].text("key", rows), self.end.state[rows].tolist(), strict=True))

    @cached_property
    def places(self) -> dict[str, tuple[str, int]]:
        """Map each pod on a node at the end to that node and to its row in the recording's pods."""
        rows = self.end.placed
        keys, nodes = self.recording.tables["pods"].text("key", rows), self.end.node[rows].tolist()
        return {
            key: (self.recording.names[node], row) for key, node, row in zip(keys, nodes, rows.tolist(), strict=True)
        }

    def outcome(self, pod: str) -> RecordedOutcome | None:
        """Return the outcome of a pod; without a cycle, where it is at the end. None if it has neither."""
        if pod in self.outcomes or pod not in self.places:
            return self.outcomes.get(pod)
        node, row = self.places[pod]
        return RecordedOutcome("scheduled", node, None, 0, self.recording.tables["pods"].at("owner", row))

    def _held_back(self) -> Iterable[tuple[str, int]]:
        """Yield (key, row) of the gated pods at the end, if their scheduler had any cycle."""
        pods = self.recording.tables["pods"]
        names, scheduler = pods.texts["scheduler"], pods["scheduler"]
        mine = {names[i] for i in set(scheduler[self.facts.table["pod"]].tolist())}
        for row in ((self.end.state == PENDING) & (pods["gated"] == 1)).nonzero()[0].tolist():
            if names[scheduler[row]] in mine:
                yield pods.at("key", row), row


def _later(result: str, node: str, at_end: int | None) -> tuple[str, str]:
    """Return the final result of an attempt that found a node: the pod may be bound or rejected since."""
    if at_end == BOUND:
        return "scheduled", node
    if at_end == PENDING:  # Permit rejected it, or binding failed
        return ("unschedulable" if result == "waiting" else "error"), ""
    return result, node
