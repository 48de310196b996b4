"""A small summary of each cycle, stored separately from its trace, for searches of all cycles of a run.

A cycle refuses a node if PreFilter rejects the pod or excludes the node, or if a Filter plugin that ran rejects it.
Refused nodes are stored as one bit per node, unless they are none or all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.framework.interface import Status
from scheduler_core.recording.columnar import FLOAT, INT, JSON, TEXT, Schema, Table

SCHEMA: Schema = {
    "at": INT,  # timepoint of the cycle
    "t": FLOAT,
    "pod": INT,  # a row of the recording's pods
    "attempt": INT,
    "result": TEXT,
    "node": TEXT,
    "nominated": TEXT,
    "message": TEXT,
    "feasible": INT,
    "nodes": INT,  # number of nodes in the cluster
    "looked": INT,  # number of nodes that the cycle evaluated
    "scored": INT,
    "score": INT,  # valid where `scored` is 1, like `margin`
    "margin": INT,
    "tied": INT,
    "duration": INT,  # nanoseconds
    "victims": JSON,
    "refusals": JSON,  # plugin -> nodes
    "reasons": JSON,  # reason -> nodes
    "mask": INT,  # refused nodes: NONE, ALL, or SOME, whose nodes are in the bits
    "denied": TEXT,  # the chosen node, if Reserve or Permit rejected it
}
NONE, ALL, SOME = 0, 1, 2

_NAMED = "node(s) didn't satisfy plugin(s) ["


def facts_of(
    trace: CycleTrace, at: int, t: float, pod: int, outcome: Mapping[str, Any] | None = None
) -> tuple[tuple[Any, ...], bytes]:
    """Return the cycle's row and its bits, which are empty unless `mask` is SOME.

    `outcome`, in virtual time, is the data of the attempt's record. It holds the result at that time; binding may have
    failed since.
    """
    result = trace.result if outcome is None else outcome["result"]
    node = trace.node if result in ("scheduled", "waiting") else ""
    message = (trace.message or trace.error) if outcome is None else outcome.get("message", "")
    scored, score, margin, tied = _selection(trace)
    refusals, reasons = _sums(_decisive(trace))
    mask, bits = _mask(trace)
    row = (
        *(at, t, pod, trace.attempt, result, node, trace.nominated_node, message),
        *(_feasible(trace), trace.nodes, _looked(trace)),
        *(scored, score, margin, tied, sum(trace.durations.values()), trace.victims),
        *(refusals, reasons, mask, trace.node if _denials(trace) else ""),
    )
    return row, bits


@dataclass(slots=True)
class Refused:
    """What a cycle refuses, as in SCHEMA. `bits`: empty unless `mask` is SOME. `listed`: (plugin, reason, nodes), most
    nodes first."""

    refusals: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    mask: int = NONE
    bits: bytes = b""
    listed: list[tuple[str, str, int]] = field(default_factory=list)

    @staticmethod
    def from_trace(trace: CycleTrace) -> Refused:
        """Return what a plain cycle refuses (`CycleTrace.is_plain`)."""
        counts: dict[Status, int] = {}
        for status, rows in trace.decisive_statuses():
            counts[status] = counts.get(status, 0) + len(rows)
        most = sorted(counts.items(), key=lambda item: -item[1])
        listed = [(status.plugin, reason, count) for status, count in most for reason in status.reasons]
        return Refused(*_sums((s, (s.plugin,), count) for s, count in counts.items()), *_mask(trace), listed)


class PlainFacts(msgspec.Struct, array_like=True, gc=False):
    """The facts of a cycle that only placed its pod (`CycleTrace.is_plain`), to send to another process.

    `moment`: timepoint of the placement. `row`: the row of the pod. `place`: the index of the node's name. `start`: as
    in the recording's places. `score`: None without scores. `other`: row of the runner-up. `took`: nanoseconds in
    extension points. `seconds`: all that it took. `refused`: the index of what it refused.
    """

    number: int
    moment: int
    row: int
    pod: str
    attempt: int
    node: str
    place: int
    start: float | None
    feasible: int
    nodes: int
    score: int | None
    ties: int
    other: int
    margin: int
    took: int
    seconds: float
    refused: int


def facts_row(facts: PlainFacts, refused: Refused) -> tuple[Any, ...]:
    """Return the row of SCHEMA."""
    return (
        *(facts.number, 0.0, facts.row, facts.attempt, "scheduled", facts.node, "", ""),
        *(facts.feasible, facts.nodes, facts.nodes),
        *(int(facts.score is not None), facts.score or 0, facts.margin, facts.ties, facts.took, []),
        *(refused.refusals, refused.reasons, refused.mask, ""),
    )


def _feasible(trace: CycleTrace) -> int:
    return trace.nodes if trace.feasible is None else len(trace.feasible)


def _looked(trace: CycleTrace) -> int:
    if trace.preenqueue is not None or trace.prefilter is not None or (trace.error and not trace.verdicts):
        return 0
    if trace.looked is not None:
        return int(np.count_nonzero(trace.looked))
    return trace.nodes if trace.subset is None else len(trace.subset)


def _selection(trace: CycleTrace) -> tuple[int, int, int, int]:
    """Return (1 if nodes were scored, else 0; the chosen node's total; its lead; the number of nodes with it)."""
    if not trace.node:
        return 0, 0, 0, 0
    if not trace.scores or _feasible(trace) < 2:
        return 0, 0, 0, 1
    if trace.selected_row >= 0:
        selection = trace.selection()
        if selection is None:  # placed by a change, ignoring scores
            return 0, 0, 0, 1
        return 1, selection.score, selection.margin, selection.ties
    total = trace.total()
    place = int(total.argmax())  # Reserve or Permit rejected it: take one of the best
    score = int(total[place])
    tied = int(np.count_nonzero(total == score))
    others = max(int(part.max()) for part in (total[:place], total[place + 1 :]) if len(part))
    return 1, score, score - others, tied


def _sums(decisive: Iterable[tuple[Status, Sequence[str], int]]) -> tuple[dict[str, int], dict[str, int]]:
    """Return (plugin -> number of nodes it refused, reason -> number of nodes). `decisive`: as from `_decisive`."""
    refusals: dict[str, int] = {}
    reasons: dict[str, int] = {}
    for status, plugins, count in decisive:
        for plugin in plugins:
            refusals[plugin] = refusals.get(plugin, 0) + count
        for reason in status.reasons:
            reasons[reason] = reasons.get(reason, 0) + count
    return refusals, reasons


def _decisive(trace: CycleTrace) -> Iterator[tuple[Status, Sequence[str], int]]:
    """Yield (status, its plugins, number of nodes they refused).

    A plugin that holds the pod back before any node is evaluated counts 0 nodes. A plugin that rejects the pod as a
    whole counts all nodes. A plugin that rejects the chosen node counts 1.
    """
    if trace.preenqueue is not None:
        yield trace.preenqueue, (trace.preenqueue.plugin,), 0
    elif trace.prefilter is not None:
        yield trace.prefilter, (trace.prefilter.plugin,), trace.nodes
    else:
        for status, rows in trace.decisive_statuses():
            yield status, (status.plugin,), len(rows)
        if trace.subset is not None and trace.subset_status is not None and len(trace.subset) < trace.nodes:
            yield trace.subset_status, _narrowing(trace.subset_status), trace.nodes - len(trace.subset)
    for denial in _denials(trace):
        yield denial, (denial.plugin,), 1


def _denials(trace: CycleTrace) -> list[Status]:
    """Return the statuses that rejected the chosen node."""
    return [status for status in (trace.reserve, trace.permit) if status is not None and status.rejected]


def _narrowing(status: Status) -> list[str]:
    """Return the plugins that left nodes out in PreFilter. Only the message of the status names them."""
    message = status.message
    return message.removeprefix(_NAMED).rstrip("]").split() if message.startswith(_NAMED) else []


def _mask(trace: CycleTrace) -> tuple[int, bytes]:
    if trace.preenqueue is not None:
        return NONE, b""
    if trace.prefilter is not None:
        return ALL, b""
    left_out = trace.subset if trace.subset_status is not None else None
    statuses = trace.decisive_statuses()
    count = sum(len(rows) for _, rows in statuses) + (0 if left_out is None else trace.nodes - len(left_out))
    if count in (0, trace.nodes):
        return (ALL if count else NONE), b""
    refused = np.full(trace.nodes, left_out is not None)
    if left_out is not None:
        refused[left_out] = False
    for _, rows in statuses:
        refused[rows] = True
    return SOME, np.packbits(refused).tobytes()


class Facts:
    """The facts of a run's cycles. `table` has one row per cycle, from cycle 1. `bits` are those of cycles with mask
    SOME."""

    def __init__(self, blocks: Sequence[tuple[Sequence[Any], bytes]]) -> None:
        self.table = Table(SCHEMA, [rows for rows, _ in blocks])
        self.bits = np.frombuffer(b"".join(bits for _, bits in blocks), np.uint8)
        sizes = np.where(self.table["mask"] == SOME, (self.table["nodes"] + 7) // 8, 0)
        self._begins = np.cumsum(sizes) - sizes

    def __len__(self) -> int:
        return len(self.table)

    def refused_at(self, cycle: int, row: int) -> bool:
        """Return whether the cycle with this index (from 0) refused the node in this row; False for row -1."""
        mask = int(self.table["mask"][cycle])
        if row < 0 or mask != SOME:
            return row >= 0 and mask == ALL
        return bool(self.bits[self._begins[cycle] + (row >> 3)] >> (7 - (row & 7)) & 1)
