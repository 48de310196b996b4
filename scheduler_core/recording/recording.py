"""The recording of a run. It complements the traces so that the cluster at any timepoint is known quickly.

A `Recorder` receives a run and writes blocks of bytes; a `Recording` is built from them. A timepoint is a number. In a
single pass, it is the number of cycles begun so far; in virtual time, it is the increasing number of a record. Changes
*at* a timepoint are the results of that cycle or record: the cluster before cycle K is the result of all changes at
timepoints before that of K. (In a single pass, cycles are recorded in the order in which they end. A cycle that Permit
holds ends after some that began later.)

A run has blocks of three parts. Each part is independent of the others, and its blocks are ordered:

* `moves`: which objects exist and where pods are. The first block, at timepoint 0, is the opening: the cluster before
  any change.
* `facts`: one row per cycle (`cycle_index.py`).
* `objects`: the objects, numbered from 0 in the order in which they were first recorded.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

import msgspec
import numpy as np
from isal import isal_zlib

from scheduler_core.api.objects import Metadata, Namespace, Node, Object, OwnerReference, kind_of
from scheduler_core.api.selector_text import taint_text
from scheduler_core.cluster import change_log, resources
from scheduler_core.cluster.change_log import LoggedChange
from scheduler_core.cluster.nodes import zone_key
from scheduler_core.cluster.pod_info import NO_TERMS, PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError, damaged
from scheduler_core.recording.columnar import FLOAT, INT, JSON, TEXT, Schema, Table, pack
from scheduler_core.recording.cycle_index import SCHEMA as FACTS
from scheduler_core.recording.cycle_index import (
    Facts,
    PlainFacts,
    Refused,
    facts_of,
    facts_row,
)
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.engine import Record

VERSION = 1
_OBJECTS = msgspec.msgpack.Decoder(list[tuple[str, bytes]])
_PLAIN = msgspec.msgpack.Decoder(list[PlainFacts])
_ENCODE = msgspec.msgpack.Encoder().encode
_ENCODE_JSON = msgspec.json.Encoder().encode
_UNSCORED = None, 1, -1, 0  # score, ties, runner-up, margin

Row = tuple[Any, ...] | None  # None: a plain cycle's, which is made from its facts

MOVES_PART, FACTS_PART, OBJECTS_PART = "moves", "facts", "objects"
OBJECTS_PER_BLOCK = 1000
REFUSED_KEPT = 64
ENCODED_AT_ONCE = 128  # facts of plain cycles

# State of a pod. An assumed pod counts on its node only for the scheduler: Permit holds it, or its binding is in
# progress.
GONE, PENDING, ASSUMED, BOUND = 0, 1, 2, 3

TABLES: dict[str, Schema] = {
    # Versions of pods and nodes. Each change adds a row.
    "pods": {
        "key": TEXT,
        "requests": JSON,  # resource -> quantity, in the scheduler's units
        "nonzero_cpu": INT,
        "nonzero_memory": INT,
        "priority": INT,
        "labels": JSON,
        "owner": TEXT,  # "Kind name" of the controller
        "scheduler": TEXT,
        "gated": INT,
        "object": INT,
        "plain": INT,  # 1 if its effect on a node is fully in this row: no host ports, no volumes ... (`_plain`)
        "deleting": INT,
    },
    "nodes": {
        "name": INT,  # an index of `names`
        "zone": TEXT,
        "allocatable": JSON,
        "taints": JSON,  # ["key=value:Effect", ...]
        "unschedulable": INT,
        "labels": JSON,
        "object": INT,
        "not_ready": INT,
    },
    # Changes of pods and nodes. `node` of `places` is an index of `names`, -1 for none. `arrived`: the pod is the
    # youngest on that node. `node` of `presence` is a row of `nodes`, -1 if the node is gone.
    "places": {"at": INT, "pod": INT, "node": INT, "state": INT, "arrived": INT, "start": FLOAT},
    "presence": {"at": INT, "name": INT, "node": INT},
    "nominated": {"at": INT, "pod": TEXT, "node": INT},
    "others": {"at": INT, "kind": TEXT, "key": TEXT, "object": INT},
    "instants": {"at": INT, "t": FLOAT},  # the first timepoint of each distinct time `t`
    "cycles": {"at": INT},
}


class Block(NamedTuple):
    """Serialised data of one part.

    `first` and `last` are the range that it covers: recorder steps for `moves` (finished cycles in a single pass,
    timepoints in virtual time), cycle numbers for `facts`, object numbers for `objects`.
    """

    part: str
    first: int
    last: int
    data: bytes


class PodState(msgspec.Struct):
    """The recorder's knowledge of the pod with a certain key.

    `stored` is the pod's row as it exists in the cluster, and `placed` its row as it counts on a node; both are -1 if
    there is none. They differ while a pod is updated during its binding. `written_row` and
    `written_place` are what was written last.
    """

    stored: int = -1
    stored_info: PodInfo | None = None
    placed: int = -1
    placed_info: PodInfo | None = None
    node: int = -1
    assumed: bool = False
    written_row: int = -1
    written_place: tuple[int, int] = (-1, GONE)


class PodStates(dict[str, PodState]):
    """Key -> the state of a pod, made for a new pod. That of a pod bound at the opening is made when it is first read:
    most never move."""

    def add_bound(self, pods: Sequence[PodInfo], rows: Sequence[int], nodes: Sequence[int]) -> None:
        """Add pods on nodes. `rows`: those in which they count there."""
        self._infos, self._rows, self._nodes = pods, rows, nodes
        self._bound = dict(zip([pod.key for pod in pods], range(len(pods)), strict=True))

    def __init__(self) -> None:
        super().__init__()
        self.add_bound((), (), ())

    def __missing__(self, key: str) -> PodState:
        index = self._bound.pop(key, None)
        if index is None:
            state = PodState()
        else:
            info, row, node = self._infos[index], self._rows[index], self._nodes[index]
            state = PodState(row - (info.held != info.requests), info, row, info, node, False, row, (node, BOUND))
        self[key] = state
        return state


class Recorder:
    """Records a run from its beginning.

    Data up to step `stored` is already saved and is not returned again. A step is a finished cycle in a single pass and
    a timepoint in virtual time. -1 means that nothing is saved, not even the opening.
    """

    def __init__(self, simulation: Simulation, stored: int = -1) -> None:
        self.stored = stored
        self._step = 0
        self._moment = 0
        self._cluster = simulation.cluster
        self._fresh = stored < 0
        self._rows: dict[str, list[Row]] = {name: [] for name in TABLES}
        self._columns: dict[str, list[Sequence[Any]]] = {}  # table -> its columns before the rows
        self._names: dict[str, int] = {}
        self._new_names: list[str] = []
        self._facts: list[Row] = []
        self._plain: list[tuple[Any, ...]] = []  # as PlainFacts
        self._encoded: list[bytes] = []  # earlier ones
        self._refusals: list[Refused] = []
        self._refused: dict[int, tuple[object, Refused]] = {}  # id of a list of statuses, which is kept
        self._indexes: dict[int, tuple[object, int]] = {}  # id of such a list -> index of its refusals
        self._bits: list[bytes] = []
        self._objects: list[tuple[str, bytes]] = []
        self._counts = {"pods": 0, "nodes": 0, "objects": 0}
        self._cycles = 0
        self._drained = {"moves": stored + 1, "cycles": 0, "objects": 0}
        self._pods = PodStates()
        self._t = -1.0
        self._open(simulation)
        self._cluster.journal.entries = []

    # ---- input

    def cycle(self, trace: CycleTrace, seconds: float = 0.0) -> None:
        """Record the next cycle of a single pass, which took so many seconds, before the one after it begins."""
        changes = self.changes()
        if not (only_places(trace, changes) and self.placed(trace, changes[1], seconds)):
            self.changed(trace, changes)

    def placed(self, trace: CycleTrace, change: LoggedChange, seconds: float) -> bool:
        """Record a cycle that `only_places` its pod by this change, if it is plain. Return whether it was. Cycles that
        follow each other may be recorded together, after the last one."""
        if not self._fresh or not trace.is_plain:
            return False
        pod = self._pods.get(trace.pod)
        if pod is None:
            return False
        info, row = pod.stored_info, pod.stored
        if info is None or change.subject is not info or pod.placed != -1 or pod.written_row not in (-1, row):
            return False
        self._moment += 1
        self._cycles = number = self._cycles + 1
        self._begin_step(number)
        place = self._name(change.node)
        pod.placed, pod.placed_info, pod.node, pod.assumed = row, info, place, False
        pod.written_row, pod.written_place = row, (place, BOUND)
        statuses = trace.decisive_statuses()
        known = self._indexes.get(id(statuses))  # cycles of equal pods share the list
        refused = self._add_refused(trace, statuses) if known is None else known[1]
        if bits := self._refusals[refused].bits:
            self._bits.append(bits)
        nodes, feasible, found = trace.nodes, trace.feasible, trace.selection()
        cycle = trace.number, self._moment, row, trace.pod, trace.attempt, trace.node, place, info.start_time
        selection = _UNSCORED if found is None else (found.score, found.ties, found.runner_up, found.margin)
        took = sum(trace.durations.values()), seconds
        self._plain.append((*cycle, nodes if feasible is None else len(feasible), nodes, *selection, *took, refused))
        if len(self._plain) >= ENCODED_AT_ONCE:
            self._encode_plain()
        self._rows["places"].append(None)
        self._rows["cycles"].append(None)
        self._facts.append(None)
        return True

    def changed(self, trace: CycleTrace, changes: Iterable[LoggedChange]) -> None:
        """Record any cycle. `changes`: those since the last one. It may be recorded later as for `placed`."""
        self._begin_step(self._cycles + 1)
        step: list[LoggedChange] = []
        for change in changes:
            if change.kind == change_log.TRIED:
                self._apply(self._moment, step)
                self._moment, step = self._moment + 1, []
            else:
                step.append(change)
        if trace.result == "scheduled" and not trace.group:  # the members of a group are bound with the last of them
            step.append(LoggedChange(change_log.BOUND, self._pods[trace.pod].stored_info))
        self._apply(self._moment, step)
        self._cycle(trace.number, 0.0, trace, None)

    def _encode_plain(self) -> None:
        self._encoded.append(_ENCODE(self._plain))
        self._plain = []

    def _add_refused(self, trace: CycleTrace, statuses: object) -> int:
        """Add what a cycle refused, and return its index."""
        known = self._refused.get(id(statuses))
        if known is None:
            if len(self._refused) >= REFUSED_KEPT:
                self._refused.clear()
            known = self._refused[id(statuses)] = statuses, Refused.from_trace(trace)
        self._indexes[id(statuses)] = statuses, len(self._refusals)
        self._refusals.append(known[1])
        return len(self._refusals) - 1

    def rest(self) -> None:
        """Record the changes after the last cycle of a single pass."""
        changes = self.changes()
        self._begin_step(self._cycles + 1)
        self._apply(self._moment, [change for change in changes if change.kind != change_log.TRIED])

    def changes(self) -> list[LoggedChange]:
        """Return the changes of the cluster since the last call."""
        changes, self._cluster.journal.entries = self._cluster.journal.entries or [], []
        return changes

    def record(self, record: Record, at: int | None = None) -> None:
        """Record the next record of a run in virtual time. Call this when the clock has advanced past its time.

        `at` is the timepoint to use; it defaults to the record's own number.
        """
        at = record.seq if at is None else at
        t = round(record.time, 6)
        self._begin_step(at)
        self._instant(at, t)
        if record.trace is not None:
            self._cycle(at, t, record.trace, record.data)
        if record.changes:
            self._apply(at, record.changes)

    def _begin_step(self, number: int) -> None:
        self._step = number
        self._fresh = number > self.stored

    def _instant(self, at: int, t: float) -> None:
        if t != self._t:
            self._t = t
            self._row("instants", at, t)

    def _cycle(self, at: int, t: float, trace: CycleTrace, outcome: Mapping[str, Any] | None) -> None:
        self._cycles += 1
        self._row("cycles", at)
        if not self._fresh:
            self._drained["cycles"] = self._cycles
            return
        row, bits = facts_of(trace, at, t, self._pods[trace.pod].stored, outcome)
        self._facts.append(row)
        if bits:
            self._bits.append(bits)

    def _row(self, table: str, *values: Any) -> None:
        if self._fresh:
            self._rows[table].append(values)

    # ---- initial state

    def _open(self, simulation: Simulation) -> None:
        cluster = self._cluster
        cluster.nodes.refresh()
        self._begin_step(0)
        self._instant(0, 0.0)
        for entry in cluster.nodes.entries.values():  # in order of arrival, which ImageLocality depends on
            if entry.node is not None:
                self._object(0, entry.node)
        for name, labels in cluster.namespaces.items():
            self._object(0, Namespace(Metadata(name, labels=labels)))
        for obj in cluster.others():
            self._object(0, obj)
        self._open_pods(list(cluster.pods.values()), simulation.pending)
        for name in cluster.nominator.nodes():
            for pod in cluster.nominator.on(name):
                self._row("nominated", 0, pod.key, self._name(name))

    def _open_pods(self, bound: list[PodInfo], pending: list[PodInfo]) -> None:
        """Record the pods in columns: a large cluster has many, and most never move."""
        twice = [pod.held is not pod.requests and pod.held != pod.requests for pod in bound]
        rows, versions = list(range(len(bound))), bound
        if any(twice):
            rows = [number - 1 for number in accumulate(1 + one for one in twice)]
            versions = [pod for pod, one in zip(bound, twice, strict=True) for _ in range(1 + one)]
        number_of = {node: self._name(node) for node in dict.fromkeys([pod.node for pod in bound])}
        nodes = [number_of[pod.node] for pod in bound]
        self._pods.add_bound(bound, rows, nodes)
        first, size, waiting = len(versions), len(bound), len(pending)
        for row, pod in enumerate(pending, first):
            self._pods[pod.key] = PodState(row, pod, -1, None, -1, False, row, (-1, PENDING))
        self._add_columns("pods", self._versions([*versions, *pending]))
        self._counts["pods"] += first + waiting
        places = {
            "at": [0] * (size + waiting),
            "pod": [*rows, *range(first, first + waiting)],
            "node": nodes + [-1] * waiting,
            "state": [BOUND] * size + [PENDING] * waiting,
            "arrived": [1] * size + [0] * waiting,
            "start": [pod.start_time for pod in bound] + [0.0] * waiting,
        }
        self._add_columns("places", [*places.values()])

    def _add_columns(self, table: str, columns: list[Sequence[Any]]) -> None:
        if self._fresh:
            self._columns[table] = columns

    # ---- changes

    def _apply(self, at: int, changes: Iterable[LoggedChange]) -> None:
        touched: dict[str, bool] = {}  # pod -> whether it has arrived on a node; in order of arrival
        nominated: dict[str, str] = {}
        for change in changes:
            kind, subject, node = change.kind, change.subject, change.node
            if kind == change_log.OBJECT:
                self._object(at, subject)
                continue
            if kind == change_log.REMOVED:
                self._remove(at, subject)
                continue
            if kind == change_log.NOMINATED:
                nominated[subject] = node
                continue
            key = subject if kind == change_log.GONE else subject.key
            arrived = touched.pop(key, False)
            self._move(kind, key, subject, node)
            touched[key] = arrived or kind == change_log.PLACED
        for key, arrived in touched.items():
            self._show(at, key, arrived)
        for key, node in nominated.items():
            self._row("nominated", at, key, self._name(node) if node else -1)

    def _move(self, kind: str, key: str, subject: Any, node: str) -> None:
        pod = self._pods[key]
        match kind:
            case change_log.POD:
                pod.stored, pod.stored_info = self._version(pod, subject), subject
            case change_log.GONE:
                pod.stored, pod.stored_info = -1, None
            case change_log.PLACED:
                pod.placed, pod.placed_info = self._version(pod, subject), subject
                pod.node, pod.assumed = self._name(node), True
            case change_log.TAKEN:
                pod.placed, pod.placed_info, pod.node, pod.assumed = -1, None, -1, False
            case change_log.ASSUMED:
                pod.assumed = True
            case change_log.BOUND:
                pod.assumed = False

    def _version(self, pod: PodState, info: PodInfo) -> int:
        """Return the row of this version of the pod. Add a row if this version is new."""
        amounts = info.held if info.node else info.requests  # they are equal except in old releases
        if info is pod.stored_info and amounts == info.requests:
            return pod.stored
        if info is pod.placed_info:
            return pod.placed
        self._row("pods", *[column[0] for column in self._versions([info])])
        self._counts["pods"] += 1
        return self._counts["pods"] - 1

    def _versions(self, infos: Sequence[PodInfo]) -> list[Sequence[Any]]:
        """Return the columns of the table `pods` for these pods, whose objects are stored."""
        pods = [info.pod for info in infos]
        owners = [pod.metadata.owner_references for pod in pods]
        first = self._keep("Pod", pods)
        columns: dict[str, Sequence[Any]] = {
            "key": [info.key for info in infos],
            "requests": [info.held if info.node else info.requests for info in infos],
            "nonzero_cpu": [info.nonzero[0] for info in infos],
            "nonzero_memory": [info.nonzero[1] for info in infos],
            "priority": [info.priority for info in infos],
            "labels": [info.labels for info in infos],
            "owner": [_controller(some) if some else "" for some in owners],
            "scheduler": [pod.spec.scheduler_name for pod in pods],
            "gated": [1 if pod.spec.scheduling_gates else 0 for pod in pods],
            "object": range(first, first + len(pods)),
            "plain": [1 if _plain(info) else 0 for info in infos],
            "deleting": [1 if info.terminating else 0 for info in infos],
        }
        return [*columns.values()]

    def _show(self, at: int, key: str, arrived: bool) -> None:
        """Write where a pod is, unless that was written last."""
        pod = self._pods[key]
        written_row, node, state, start = pod.stored, -1, PENDING, 0.0
        if pod.placed >= 0:
            assert pod.placed_info is not None
            written_row, node, state = pod.placed, pod.node, ASSUMED if pod.assumed else BOUND
            start = 0.0 if pod.assumed else pod.placed_info.start_time
        if pod.written_row not in (-1, written_row):
            self._row("places", at, pod.written_row, -1, GONE, 0, 0.0)
        if written_row < 0:
            del self._pods[key]
        elif arrived or (written_row, node, state) != (pod.written_row, *pod.written_place):
            self._row("places", at, written_row, node, state, int(arrived), start)
            pod.written_row, pod.written_place = written_row, (node, state)

    def _object(self, at: int, obj: Object | dict[str, Any]) -> None:
        kind, key = _kind_and_key(obj)
        number = self._keep(kind, [obj])
        if not isinstance(obj, Node):
            self._row("others", at, kind, key, number)
            return
        taints = [taint_text(taint) for taint in obj.spec.taints]
        allocatable = resources.amounts(obj.status.allocatable)
        name = self._name(obj.name)
        zone = zone_key(obj, self._cluster.release.stable_zone_labels)
        facts = allocatable, taints, int(obj.spec.unschedulable), obj.metadata.labels, number, int(not obj.ready)
        self._row("nodes", name, zone, *facts)
        self._row("presence", at, name, self._counts["nodes"])
        self._counts["nodes"] += 1

    def _remove(self, at: int, obj: Object | dict[str, Any]) -> None:
        if isinstance(obj, Node):
            self._row("presence", at, self._name(obj.name), -1)
        else:
            self._row("others", at, *_kind_and_key(obj), -1)

    def _keep(self, kind: str, objects: Sequence[Object | dict[str, Any]]) -> int:
        """Store objects of a kind unchanged and return the number of the first; those of the others follow."""
        if self._fresh:
            self._objects += [(kind, _ENCODE_JSON(obj)) for obj in objects]
        self._counts["objects"] += len(objects)
        if not self._fresh:
            self._drained["objects"] = self._counts["objects"]
        return self._counts["objects"] - len(objects)

    def _name(self, node: str) -> int:
        number = self._names.get(node)
        if number is None:
            number = self._names[node] = len(self._names)
            if self._fresh:
                self._new_names.append(node)
        return number

    # ---- output

    def drain(self) -> list[Block]:
        """Return the blocks of everything recorded since the last call."""
        return blocks_of(self.take())

    def read_back(self) -> tuple[Recording, Facts, list[tuple[str, bytes]]]:
        """Return what was recorded since the last call: the moves, the facts, and (kind, JSON) of each object."""
        parts: dict[str, list[bytes]] = {}
        for block in self.drain():
            parts.setdefault(block.part, []).append(block.data)
        objects = [one for data in parts[OBJECTS_PART] for one in objects_from(data)]
        return Recording(parts[MOVES_PART]), facts_from(parts.get(FACTS_PART, ())), objects

    def take(self) -> Unpacked:
        """Return everything recorded since the last call, for `blocks_of`, which another process may call."""
        found = Unpacked()
        if any(self._rows.values()):
            tables = {name: rows for name, rows in self._rows.items() if rows or name in self._columns}
            found.moves = self._drained["moves"], self._step, self._new_names, tables
            found.columns, self._columns = self._columns, {}
            self._drained["moves"] = self._step + 1
            self._rows = {name: [] for name in TABLES}
            self._new_names = []
        if self._facts:
            found.facts = self._drained["cycles"] + 1, self._cycles, self._facts, self._bits
            self._facts, self._bits = [], []
        self._drained["cycles"] = self._cycles
        found.objects = self._drained["objects"], self._objects
        self._objects = []
        self._drained["objects"] = self._counts["objects"]
        self._encode_plain()
        found.plain = self._encoded
        found.refusals = self._refusals
        self._encoded, self._refusals, self._indexes = [], [], {}
        return found


def only_places(trace: CycleTrace, changes: Sequence[LoggedChange]) -> bool:
    """Return whether a cycle of a single pass changed nothing but where its pod is. `changes`: those since the last
    one."""
    return (
        len(changes) == 2
        and changes[0].kind == change_log.TRIED
        and changes[1].kind == change_log.PLACED
        and trace.result == "scheduled"
        and not trace.group
        and changes[1].subject.held == changes[1].subject.requests
    )


@dataclass(slots=True)
class Unpacked:
    """What a recorder has recorded: the range of each part and its rows.

    `columns`: table of `moves` -> its columns before the rows. `plain`: encoded lists of the facts of cycles that only
    placed their pods. Such a cycle has a None among the rows of `places` and `cycles` and among the facts. `refusals`:
    what they refused.
    """

    moves: tuple[int, int, list[str], dict[str, list[Row]]] | None = None
    columns: dict[str, list[Sequence[Any]]] = field(default_factory=dict)
    facts: tuple[int, int, list[Row], list[bytes]] | None = None
    objects: tuple[int, list[tuple[str, bytes]]] = (0, [])
    plain: list[bytes] = field(default_factory=list)
    refusals: list[Refused] = field(default_factory=list)

    def plain_cycles(self) -> list[tuple[PlainFacts, Refused]]:
        """Return the facts of the plain cycles, and what they refused."""
        return [(facts, self.refusals[facts.refused]) for some in self.plain for facts in _PLAIN.decode(some)]


def blocks_of(unpacked: Unpacked) -> list[Block]:
    """Return the rows of a recorder as blocks."""
    blocks, plain = [], unpacked.plain_cycles()
    if unpacked.moves is not None:
        first, last, names, tables = unpacked.moves
        places = ((one.moment, one.row, one.place, BOUND, 1, one.start) for one, _ in plain)
        made = {"places": places, "cycles": ((one.number,) for one, _ in plain)}
        packed = {
            name: pack(TABLES[name], _filled(rows, made.get(name, iter(()))), unpacked.columns.get(name))
            for name, rows in tables.items()
        }
        blocks.append(Block(MOVES_PART, first, last, encode({"version": VERSION, "names": names, **packed})))
    if unpacked.facts is not None:
        first, last, facts, bits = unpacked.facts
        rows = _filled(facts, (facts_row(*one) for one in plain))
        blocks.append(Block(FACTS_PART, first, last, encode((pack(FACTS, rows), b"".join(bits)))))
    first, objects = unpacked.objects
    for begin in range(0, len(objects), OBJECTS_PER_BLOCK):
        some = objects[begin : begin + OBJECTS_PER_BLOCK]
        blocks.append(Block(OBJECTS_PART, first + begin, first + begin + len(some) - 1, encode(some)))
    return blocks


def _filled(rows: Iterable[Row], plain: Iterator[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the rows with those of plain cycles."""
    return [next(plain) if row is None else row for row in rows]


def _controller(owners: Iterable[OwnerReference]) -> str:
    """Return the kind and the name of the controller; "" if none of the owners is it."""
    return next((f"{owner.kind} {owner.name}" for owner in owners if owner.controller), "")


def _plain(pod: PodInfo) -> bool:
    """Return whether a pod affects its node only by its requests, labels and priority."""
    return not (pod.host_ports or pod.volumes or pod.group or pod.terminating) and pod.terms() is NO_TERMS


def _kind_and_key(obj: Object | dict[str, Any]) -> tuple[str, str]:
    if isinstance(obj, Object):
        return kind_of(type(obj)), obj.key
    meta = obj["metadata"]  # of a workload, which was decoded before
    return obj["kind"], f"{meta.get('namespace') or 'default'}/{meta['name']}"


def encode(value: Any) -> bytes:
    """Serialise and compress the content of a block."""
    return isal_zlib.compress(msgspec.msgpack.encode(value), 1)


def _decode(data: bytes) -> Any:
    return msgspec.msgpack.decode(zlib.decompress(data))


class Recording:
    """The `moves` of a run in columns: node names, the tables of TABLES, and `end`, the last known timepoint."""

    def __init__(self, blocks: Sequence[bytes]) -> None:
        """Decode all blocks of a run, the opening first. Raises InputError if one is damaged or has another version."""
        with damaged("recording"):
            self._read([_decode(block) for block in blocks])

    def _read(self, blocks: Sequence[dict[str, Any]]) -> None:
        if any(block["version"] != VERSION for block in blocks):
            raise InputError("recording", "version", f"expected {VERSION}")
        self.names: list[str] = [name for block in blocks for name in block["names"]]
        self.tables = {
            name: Table(schema, [block.get(name, []) for block in blocks]) for name, schema in TABLES.items()
        }
        self.end = max(int(table["at"][-1]) for table in self.tables.values() if "at" in table.columns and len(table))
        self.size = sum(column.nbytes for table in self.tables.values() for column in table.columns.values())

    @property
    def cycles(self) -> int:
        """Number of cycles."""
        return len(self.tables["cycles"])

    def before_cycle(self, number: int) -> int:
        """Return the timepoint before a cycle; `cycles + 1` stands for the end. Raises InputError if there is no such
        cycle."""
        if not 1 <= number <= self.cycles + 1:
            raise InputError("cycle", "", f"must be in 1..{self.cycles + 1}, got {number}")
        return self.end if number == self.cycles + 1 else int(self.tables["cycles"]["at"][number - 1]) - 1

    def after_time(self, t: float) -> int:
        """Return the timepoint after everything that happened up to second `t`."""
        instants = self.tables["instants"]
        later = int(np.searchsorted(instants["t"], t, "right"))
        return self.end if later == len(instants) else int(instants["at"][later]) - 1

    def cycle_after(self, moment: int) -> int:
        """Return the number of the first cycle after a timepoint."""
        return int(np.count_nonzero(self.tables["cycles"]["at"] <= moment)) + 1

    def time_of_cycle(self, number: int) -> float:
        """Return the second of a cycle. For `cycles + 1`, return the second of the last event."""
        cycles = self.tables["cycles"]["at"]
        return self.time_of(int(cycles[number - 1]) if number <= len(cycles) else self.end)

    def time_of(self, moment: int) -> float:
        """Return the second of a timepoint."""
        instants = self.tables["instants"]
        return float(instants["t"][max(0, instants.until(moment) - 1)])


def facts_from(blocks: Iterable[bytes]) -> Facts:
    """Decode the facts of a run's cycles. Raises InputError if they are damaged."""
    with damaged("recording"):
        return Facts([_decode(block) for block in blocks])


def objects_from(data: bytes) -> list[tuple[str, bytes]]:
    """Return (kind, JSON) of each object of a block, in order of number. Raises InputError if the block is damaged."""
    with damaged("recording"):
        return _OBJECTS.decode(zlib.decompress(data))
