"""Tables of a run's cycles for SQL, as columns of NumPy arrays, one block of cycles at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework.interface import Verdict
from scheduler_core.recording.cycle_index import SCHEMA, facts_of

Columns = Mapping[str, npt.NDArray[Any]]

# Column -> SQL type. `node` is text in every table; reasons and victims are lists of text.
CYCLES = {
    "cycle": "INTEGER", "t": "DOUBLE", "pod": "VARCHAR", "attempt": "INTEGER", "result": "VARCHAR", "node": "VARCHAR",
    "nominated": "VARCHAR", "message": "VARCHAR", "nodes": "INTEGER", "looked": "INTEGER", "feasible": "INTEGER",
    "score": "BIGINT", "margin": "BIGINT", "tied": "INTEGER", "duration_ms": "DOUBLE", "victims": "VARCHAR[]",
}  # fmt: skip
VERDICTS = {
    "cycle": "INTEGER", "pod": "VARCHAR", "node": "VARCHAR", "plugin": "VARCHAR", "code": "VARCHAR",
    "reasons": "VARCHAR[]", "decisive": "BOOLEAN",
}  # fmt: skip
SCORES = {
    "cycle": "INTEGER", "pod": "VARCHAR", "node": "VARCHAR", "plugin": "VARCHAR", "raw": "BIGINT",
    "normalized": "BIGINT", "weight": "BIGINT", "weighted": "BIGINT", "chosen": "BOOLEAN",
}  # fmt: skip

_FACTS = list(SCHEMA)
_TYPES = {"INTEGER": np.int64, "BIGINT": np.int64, "BOOLEAN": np.bool_, "VARCHAR": object, "VARCHAR[]": object}
_Part = tuple[int, dict[str, Any]]
"""(number of rows, column -> its values, or one value for all rows)."""


def cycle_row(trace: CycleTrace, number: int) -> tuple[Any, ...]:
    """Return a row of CYCLES, with lists as JSON."""
    row, _ = facts_of(trace, number, trace.time, 0, None)
    fact = dict(zip(_FACTS, row, strict=True))
    scored = bool(fact["scored"])
    return (
        *(number, trace.time, trace.pod, trace.attempt, fact["result"], fact["node"], fact["nominated"]),
        *(fact["message"], fact["nodes"], fact["looked"], fact["feasible"]),
        *(fact["score"] if scored else None, fact["margin"] if scored else None, fact["tied"]),
        *(fact["duration"] / 1e6, _listed(trace.victims)),
    )


class TableBlock:
    """The verdicts and scores of some cycles, with their numbers of rows. A row without a node is about all nodes."""

    def __init__(self) -> None:
        self.verdicts = self.scores = 0
        self._verdicts: list[_Part] = []
        self._scores: list[_Part] = []

    def add(self, trace: CycleTrace, number: int, names: npt.NDArray[np.object_], most: int) -> bool:
        """Add a cycle with the `most` best nodes per plugin. `names`: all nodes. Return whether nodes were left out."""
        left_out = self._add_verdicts(trace, number, names, most)
        return self._add_scores(trace, number, names, most) or left_out

    def _add_verdicts(self, trace: CycleTrace, number: int, names: npt.NDArray[np.object_], most: int) -> bool:
        whole = trace.preenqueue if trace.preenqueue is not None else trace.prefilter
        if whole is not None:
            self._verdict(number, trace.pod, None, whole.plugin, whole.code, whole.reasons, True)
        decisive, left_out = trace.decisive(), False
        for place, (plugin, verdict) in enumerate(trace.verdicts.items(), 1):
            for code, rows in _refused(verdict):
                status = verdict.statuses[code - 1]
                left_out |= len(rows) > most
                chosen = rows[:most]
                decided = decisive[chosen] == place if decisive is not None else np.zeros(len(chosen), np.bool_)
                self._verdict(number, trace.pod, names[chosen], plugin, status.code, status.reasons, decided)
        for late in (trace.reserve, trace.permit, trace.prebind, trace.bind):
            if late is not None and late.rejected:
                self._verdict(number, trace.pod, np.array([trace.node], object), late.plugin, late.code, late.reasons)
        return left_out

    def _verdict(
        self, number: int, pod: str, nodes: Any, plugin: str, code: Any, reasons: Sequence[str], decisive: Any = True
    ) -> None:
        nodes = np.array([None], object) if nodes is None else nodes
        values = {"cycle": number, "pod": pod, "node": nodes, "plugin": plugin, "code": str(code)}
        self._verdicts.append((len(nodes), values | {"reasons": _listed(reasons), "decisive": decisive}))
        self.verdicts += len(nodes)

    def _add_scores(self, trace: CycleTrace, number: int, names: npt.NDArray[np.object_], most: int) -> bool:
        if not trace.scores:
            return False
        rows, total = trace.feasible_rows(), trace.total()
        place = np.arange(len(rows))
        if len(rows) > most:
            place = np.sort(np.argsort(-total, kind="stable")[:most])
        nodes, chosen = names[rows[place]], rows[place] == trace.selected_row
        for plugin, score in trace.scores.items():
            values = {"cycle": number, "pod": trace.pod, "node": nodes, "plugin": plugin, "raw": score.raw[place]}
            normalized = score.normalized[place]
            values |= {"normalized": normalized, "weight": score.weight, "weighted": normalized * score.weight}
            self._scores.append((len(place), values | {"chosen": chosen}))
            self.scores += len(place)
        return len(rows) > most

    def take_verdicts(self) -> Columns:
        """Return the columns of VERDICTS and remove them from the block."""
        parts, self._verdicts, self.verdicts = self._verdicts, [], 0
        return {name: _column(parts, name, kind) for name, kind in VERDICTS.items()}

    def take_scores(self) -> Columns:
        """Return the columns of SCORES and remove them from the block."""
        parts, self._scores, self.scores = self._scores, [], 0
        return {name: _column(parts, name, kind) for name, kind in SCORES.items()}


def _refused(verdict: Verdict) -> list[tuple[int, npt.NDArray[np.intp]]]:
    """Return (number of the status, the rows that have it)."""
    if verdict.codes is None:
        return []
    return [(code, np.flatnonzero(verdict.codes == code)) for code in np.unique(verdict.codes).tolist() if code > 0]


def _listed(texts: Sequence[str]) -> str:
    return msgspec.json.encode(list(texts)).decode()


def _column(parts: Sequence[_Part], name: str, kind: str) -> npt.NDArray[Any]:
    found: list[npt.NDArray[Any]] = [np.zeros(0, _TYPES[kind])]
    found += [np.broadcast_to(np.asarray(values[name], _TYPES[kind]), count) for count, values in parts]
    return np.concatenate(found)
