"""Converts the core's records of a run in virtual time to events, cycles, results and moves.

It is pure and deterministic like the records: a worker that repeats a run gets the same numbers and skips stored data.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from kubesched_ui.event_log.events import cycle_events, event, group_event
from kubesched_ui.event_log.queue_sizes import LANE, NOWHERE, Move
from kubesched_ui.event_log.rows import CycleRow, NodeNames, RecordEntry, ResultRow, columns_of, pod_result
from kubesched_ui.event_log.timeline_markers import mark_of
from scheduler_core.pod_groups.serialize import group_to_dict
from scheduler_core.virtual_time.engine import Record


class TimelineRecorder:
    """Converts records to entries.

    `nodes`: the initial nodes in row order. `slow_binding`: whether binding takes time. `recorded`: messages of the
    real cluster by pod. `stored`: number of the last stored event; traces up to it are omitted. `seq`: number of the
    last event before the first record (`run.started`).
    """

    def __init__(
        self,
        nodes: list[str],
        slow_binding: bool = False,
        recorded: Mapping[str, str] | None = None,
        stored: int = 0,
        seq: int = 1,
    ) -> None:
        self.nodes, self.version = nodes, 0
        self.seq = seq
        self.stored = stored
        self.cycles = 0
        self.counts: Counter[str] = Counter()  # pods by their latest result, and evictions, by columns of Run
        self._slow_binding = slow_binding
        self._recorded = recorded or {}
        self._seq_of = [0]  # index of a record -> number of its last event
        self._attempts: dict[str, int] = {}
        self._positions: dict[str, int] = {}
        self._outcomes: dict[str, list[str]] = {}  # pod -> the columns that count its latest result
        self._rows: dict[str, ResultRow] = {}  # of existing pods
        self._indexes: dict[str, int] = {}  # indexes of pods, in the order of their first moves
        self._lanes: list[int] = []  # index of a pod -> its current part of the queue or state

    def begin(self, bound: Iterable[str]) -> RecordEntry:
        """Add moves for the pods that are on a node when the run begins, with the event `run.started`."""
        entry = RecordEntry(0.0, "", self.seq, [])
        for pod in bound:
            entry.pod = pod
            self._enter(entry, LANE["bound"])
        return entry

    def take(self, record: Record) -> RecordEntry:
        """Convert the next record."""
        data = dict(record.data)
        pod = data.pop("pod", "")
        t = round(record.time, 6)
        entry = RecordEntry(t, pod, 0, [])
        cause = self._seq_of[record.cause]
        if record.kind == "attempt":
            self._attempt(record, entry)
        elif record.group is not None:
            entry.group = group_to_dict(record.group)
            entry.events = [group_event(entry.group, t)]
        elif record.kind == "nodes.listed":
            self._listed(entry, data["names"])
        else:
            self._happened(record.kind, entry, data, cause)
        entry.seq = self.seq = self.seq + len(entry.events)
        self._seq_of.append(self.seq)
        if entry.events and (mark := mark_of(entry.events[-1], self.seq)):
            entry.marks.append(mark)
        self._move(entry, record.kind, data)
        return entry

    # ---- conversion of records

    def _attempt(self, record: Record, entry: RecordEntry) -> None:
        trace, data = record.trace, record.data
        assert trace is not None
        self.cycles += 1
        self._attempts[entry.pod] = trace.attempt
        entry.events = cycle_events(trace, self.nodes, outcome=data)
        namespace, _, name = entry.pod.partition("/")
        encoded = trace.encode() if self.seq >= self.stored else b""
        entry.cycle = CycleRow(self.cycles, namespace, name, trace.attempt, data["result"], encoded, self.version)
        took = sum(trace.durations.values()) / 1e9
        self._result(
            entry, pod_result(entry.events, self._position(entry.pod), self._recorded.get(entry.pod, ""), took)
        )

    def _listed(self, entry: RecordEntry, names: list[str]) -> None:
        if names != self.nodes:
            self.nodes, self.version = names, self.version + 1
            entry.nodes = NodeNames(self.version, names)
            entry.events = [event("nodes.listed", entry.t, data={"version": self.version, "nodes": len(names)})]

    def _happened(self, kind: str, entry: RecordEntry, data: dict[str, Any], cause: int) -> None:
        pod, node = entry.pod, data.get("node", "")
        attempt = self._attempts.get(pod, 0)

        def say(type_: str, **more: Any) -> None:
            entry.events.append(event(type_, entry.t, pod, attempt, more))

        match kind:
            case "pod.bound":
                for point in ("prebind", "bind"):
                    say(point, node=node, status=None)
                say("postbind", node=node)
                self._change(entry, result="scheduled", node=node)
            case "bind.failed":
                say("bind", node=node, status={"plugin": "", "code": "Error", "reasons": [data["message"]]})
                say("unreserve", node=node)
                self._change(entry, result="error", node="", message=data["message"])
            case "permit.rejected":
                say("unreserve", node=node)
                self._change(entry, result="unschedulable", node="", message=data["message"])
            case "permit.waiting":
                data["seconds"] = min(data["plugins"].values(), default=0.0)
            case "pod.evicted":
                self.counts["evicted"] += 1
                if data["by"]:
                    self._change(entry, evicted_by=data["by"])
            case "pod.nominated":
                self._change(entry, nominated_node=node)
            case "pod.deleted":
                if pod in self._rows and self._rows[pod].nominated_node:
                    self._change(entry, nominated_node="")
                self._attempts.pop(pod, None)
                self._rows.pop(pod, None)
            case "queue.moved" if data["to"] == "gated":
                namespace, _, name = pod.partition("/")
                recorded = self._recorded.get(pod, "")
                gated = ResultRow(namespace, name, self._position(pod), "gated", attempts=attempt)
                self._result(entry, gated._replace(recorded_message=recorded))
            case "node.changed":
                data = {"name": node, "change": data["change"], "what": data["what"]}
        say(kind, **data, cause=cause)

    # ---- results

    def _position(self, pod: str) -> int:
        return self._positions.setdefault(pod, len(self._positions))

    def _result(self, entry: RecordEntry, row: ResultRow) -> None:
        self.counts.subtract(self._outcomes.get(entry.pod, ()))
        self._outcomes[entry.pod] = columns_of(row.result, bool(row.nominated_node))
        self.counts.update(self._outcomes[entry.pod])
        self._rows[entry.pod] = entry.result = row

    def _change(self, entry: RecordEntry, **changes: Any) -> None:
        """Change the result of a pod that has one."""
        row = self._rows.get(entry.pod)
        if row is not None:
            self._result(entry, row._replace(**changes))

    # ---- moves

    def _lane(self, kind: str, data: Mapping[str, Any]) -> str:
        """Return the part of the queue or state that the record's pod enters; "" for none."""
        match kind:
            case "queue.moved":
                return data["to"] if data["to"] in LANE and data["to"] != "gone" else ""
            case "permit.waiting":
                return "waiting"
            case "attempt":
                return "waiting" if self._slow_binding and data["result"] == "scheduled" else ""
            case "pod.created":
                return "bound" if data["node"] else ""
            case "pod.bound":
                return "bound"
            case "pod.deleted" | "pod.skipped":
                return "gone"
        return ""

    def _move(self, entry: RecordEntry, kind: str, data: Mapping[str, Any]) -> None:
        if lane := self._lane(kind, data):
            self._enter(entry, LANE[lane])

    def _enter(self, entry: RecordEntry, lane: int) -> None:
        index = self._indexes.get(entry.pod)
        if index is None:
            index = self._indexes[entry.pod] = len(self._lanes)
            self._lanes.append(NOWHERE)
            entry.names.append(entry.pod)
        entry.moves.append(Move(entry.t, index, lane, self._lanes[index], entry.seq))
        self._lanes[index] = lane
