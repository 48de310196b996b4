"""Data for maps of the cluster: its state at a timepoint in columns, and a stream of changes after or before it.

Pods are identified by their rows in the recording's `pods` table and nodes by name. Both mean the same in every answer
about a recording. Each change includes the previous value, so a client can apply the stream in both directions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.errors import InputError
from scheduler_core.recording.cluster_state import StateAtTimepoint, places_at
from scheduler_core.recording.columnar import Table
from scheduler_core.recording.recording import GONE, PENDING, Recording

Int64 = npt.NDArray[np.int64]

MAX_TIMEPOINTS = 4000  # maximum number of timepoints in one piece of the stream
MAX_CHANGES = 4000  # maximum number of pod changes in one piece, unless a single timepoint has more
# States of pods in the columns, beyond those of the recording: with scheduling gates; being deleted, with or without a
# node.
GATED, DELETING = 4, 5
FEW = 8  # a label that fewer than 1 / FEW of the nodes have is stored with its rows


def cluster_columns(state: StateAtTimepoint) -> dict[str, Any]:
    """Return the cluster at a timepoint.

    `nodes`: see `node_columns`. `pods`: see `pod_columns`, with `node` (an index of `nodes`, -1 for no node or a
    missing one), `state` (1 pending, 2 assumed, 3 bound, 4 gated, 5 being deleted) and `came`: of two pods on a node,
    the later one has the higher number. `before`: pods with a `came` below it existed before the run. `nominated`: pod
    -> node. `orphans`: pod -> missing node.
    """
    recording = state.recording
    there = np.concatenate([state.placed, np.flatnonzero(state.state == PENDING)])
    table, names = recording.tables["nodes"], recording.names
    places = recording.tables["places"]
    named = zip(table["name"][state.versions].tolist(), state.versions.tolist(), strict=True)
    return {
        **position(recording, state.moment),
        "nodes": node_columns({"name": names[name], **_node(recording, version)} for name, version in named),
        "pods": pods_at(state, there),
        "before": places.until(0),
        "nominated": state.nominated(),
        "orphans": state.orphans(),
    }


def pods_at(state: StateAtTimepoint, pods: Int64) -> dict[str, Any]:
    """Return these pods in the columns `pods` of `cluster_columns`."""
    return {
        **pod_columns(state.recording, pods.tolist()),
        "node": state.row_of[state.node[pods]].tolist(),
        "state": _states(state.recording, pods, state.state[pods]).tolist(),
        "came": state.came[pods].tolist(),
    }


def _states(recording: Recording, pods: Int64, states: Int64) -> Int64:
    """Return the states of pods in columns for those of the recording."""
    table = recording.tables["pods"]
    found = np.where((states == PENDING) & (table["gated"][pods] == 1), GATED, states)
    return np.where((states != GONE) & (table["deleting"][pods] == 1), DELETING, found)


def position(recording: Recording, moment: int) -> dict[str, Any]:
    """Return a timepoint's position: {moment, end, cycle, cycles, t}; `cycle` is the first one after it."""
    cycle, t = recording.cycle_after(moment), recording.time_of(moment)
    return {"moment": moment, "end": recording.end, "cycle": cycle, "cycles": recording.cycles, "t": t}


def node_columns(nodes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return nodes, each as `one_node` with its name, in columns.

    `name`; `allocatable` and `taints` (indexes of `amounts` and `taint_sets`); `unschedulable` and `ready` (0 or 1);
    `labels`: key -> {values, of: index of the node's value, -1 for none}; for a label of few nodes, `of` has only these
    nodes, whose numbers are in `rows`.
    """
    nodes = list(nodes)
    amounts, allocatable = distinct(node["allocatable"] for node in nodes)
    taint_sets, taints = distinct(node["taints"] for node in nodes)
    return {
        "name": [node["name"] for node in nodes],
        "allocatable": allocatable,
        "amounts": amounts,
        "taints": taints,
        "taint_sets": taint_sets,
        "unschedulable": [node["unschedulable"] for node in nodes],
        "ready": [node["ready"] for node in nodes],
        "labels": _label_columns([node["labels"] for node in nodes]),
    }


def distinct(values: Iterable[Any]) -> tuple[list[Any], list[int]]:
    """Return (the distinct values, the index of each value among them)."""
    index: dict[str, int] = {}
    found: list[Any] = []
    numbers = []
    for value in values:
        number = index.setdefault(str(value), len(found))
        if number == len(found):
            found.append(value)
        numbers.append(number)
    return found, numbers


def _label_columns(labels: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return the labels of nodes in columns. Their size is at most FEW times the number of labels."""
    columns: dict[str, tuple[list[int], list[int], dict[str, int]]] = {}  # key -> rows, of, values
    for row, labelled in enumerate(labels):
        for key, value in labelled.items():
            if key not in columns:
                columns[key] = [], [], {}
            rows, of, values = columns[key]
            rows.append(row)
            of.append(values.setdefault(value, len(values)))
    found: dict[str, Any] = {}
    for key, (rows, of, values) in columns.items():
        found[key] = {"values": list(values), "of": of}
        if len(rows) * FEW < len(labels):
            found[key]["rows"] = rows
        elif len(rows) < len(labels):
            known = dict(zip(rows, of, strict=True))
            found[key]["of"] = [known.get(row, -1) for row in range(len(labels))]
    return found


def pod_columns(recording: Recording, pods: Sequence[int]) -> dict[str, Any]:
    """Return pods as `id`, `key`, `priority`, `requests` and `owner` (indexes of `amounts` and `owners`)."""
    table = recording.tables["pods"]
    rows = np.array(pods, np.int64)
    amounts, requests = _used(table.distinct("requests"), table["requests"][rows])
    owners, owner = _used(table.distinct("owner"), table["owner"][rows])
    found = {"id": rows.tolist(), "key": table.text("key", rows), "priority": table["priority"][rows].tolist()}
    return found | {"requests": requests, "amounts": amounts, "owner": owner, "owners": owners}


def _used(values: Sequence[Any], of: Int64) -> tuple[list[Any], list[int]]:
    """Return the referenced values, and the references into them."""
    used, index = np.unique(of, return_inverse=True)
    return [values[i] for i in used.tolist()], index.tolist()


def stream(recording: Recording, after: int | None = None, until: int | None = None) -> dict[str, Any]:
    """Return one piece of the changes after a timepoint, or up to one, as `changes_between`. Raises InputError unless
    exactly one timepoint is given.
    """
    if (after is None) == (until is None):
        raise InputError("moment", "", "must be one of after and until")
    return changes_between(recording, *_covered(recording, after, until))


def changes_between(recording: Recording, first: int, last: int) -> dict[str, Any]:
    """Return the changes after timepoint `first` up to `last`.

    {from, to}: it covers the timepoints after `from` up to `to`. `places`: columns `at`, `pod`, `node` (a name, "" for
    none), `state`, `came`, and the previous values as `was_...`. `pods`: the pods in it, as in `pod_columns`. `nodes`:
    [{at, name, now, was}], each as in `one_node` or None. `nominated`: [{at, pod, now, was}]. `cycles`: columns
    `number`, `at`. `instants`: columns `at`, `t`.
    """
    moved = _moved(recording, first, last)
    cycles = recording.tables["cycles"]["at"]
    numbers = np.flatnonzero((cycles > first) & (cycles <= last))
    instants = recording.tables["instants"]
    begun = instants.between(first, last)
    return {
        "from": first,
        "to": last,
        "end": recording.end,
        "total": recording.cycles,
        "places": moved,
        "pods": pod_columns(recording, list(dict.fromkeys(moved["pod"]))),
        "nodes": _presences(recording, first, last),
        "nominated": _nominations(recording, first, last),
        "cycles": {"number": (numbers + 1).tolist(), "at": cycles[numbers].tolist()},
        "instants": {"at": instants["at"][begun].tolist(), "t": instants["t"][begun].tolist()},
    }


def _covered(recording: Recording, after: int | None, until: int | None) -> tuple[int, int]:
    """Return (from, to) of the piece."""
    at = recording.tables["places"]["at"]
    if after is not None:
        first = min(after, recording.end)
        last = min(recording.end, first + MAX_TIMEPOINTS)
        next_row = int(np.searchsorted(at, first, "right")) + MAX_CHANGES
        if next_row < len(at) and at[next_row] <= last:
            last = max(first + 1, int(at[next_row]) - 1)
        return first, last
    last = min(until or 0, recording.end)
    first = max(0, last - MAX_TIMEPOINTS)
    row = int(np.searchsorted(at, last, "right")) - MAX_CHANGES - 1
    if row >= 0 and at[row] > first:
        first = min(max(0, last - 1), int(at[row]))
    return first, last


def _moved(recording: Recording, first: int, last: int) -> dict[str, list[Any]]:
    places = recording.tables["places"]
    rows = places.between(first, last)
    pods = np.unique(places["pod"][rows])
    before = (column[pods].tolist() for column in places_at(recording, first))
    known = {pod: (node, state, came) for pod, state, node, came in zip(pods.tolist(), *before, strict=True)}
    moved: dict[str, list[Any]] = {name: [] for name in ("at", "pod", "node", "state", "came")}
    moved |= {name: [] for name in ("was_node", "was_state", "was_came")}

    name_of = ["", *recording.names]  # -1: none
    columns = (places[name][rows].tolist() for name in ("at", "pod", "node", "state", "arrived"))
    for row, (at, pod, node, state, arrived) in enumerate(zip(*columns, strict=True), rows.start):
        was = known[pod]
        now = known[pod] = (node, state, row if arrived else was[2])
        values = (at, pod, name_of[now[0] + 1], *now[1:], name_of[was[0] + 1], *was[1:])
        for column, value in zip(moved.values(), values, strict=True):
            column.append(value)
    of = np.array(moved["pod"], np.int64)
    for name in ("state", "was_state"):
        moved[name] = _states(recording, of, np.array(moved[name], np.int64)).tolist()
    return moved


def _presences(recording: Recording, first: int, last: int) -> list[dict[str, Any]]:
    """Return the nodes that were added, changed or removed."""
    presence = recording.tables["presence"]
    return [
        {"at": at, "name": recording.names[name], "now": one_node(recording, now), "was": one_node(recording, was)}
        for at, name, now, was in _changes(presence, presence["name"].tolist(), first, last)
    ]


def _changes(table: Table, keys: Sequence[Any], first: int, last: int) -> Iterator[tuple[int, Any, int, int]]:
    """Yield (timepoint, key, its `node` from then on, the one before it or -1) of the rows between two timepoints."""
    at, nodes = table["at"], table["node"].tolist()
    rows = table.between(first, last)
    latest = dict(zip(keys[: rows.start], nodes, strict=False)) if rows.start < rows.stop else {}
    for row in range(rows.start, rows.stop):  # the last row of a key counts
        yield int(at[row]), keys[row], nodes[row], latest.get(keys[row], -1)
        latest[keys[row]] = nodes[row]


def one_node(recording: Recording, version: int) -> dict[str, Any] | None:
    """Return a node, by its row in the table, as {allocatable, taints, unschedulable, ready, labels}; None for -1."""
    return None if version < 0 else _node(recording, version)


def _node(recording: Recording, version: int) -> dict[str, Any]:
    table = recording.tables["nodes"]
    found = {name: table.at(name, version) for name in ("allocatable", "taints", "labels")}
    flags = {"unschedulable": int(table["unschedulable"][version]), "ready": 1 - int(table["not_ready"][version])}
    return found | flags


def _nominations(recording: Recording, first: int, last: int) -> list[dict[str, Any]]:
    nominated, name_of = recording.tables["nominated"], ["", *recording.names]
    return [
        {"at": at, "pod": pod, "now": name_of[now + 1], "was": name_of[was + 1]}
        for at, pod, now, was in _changes(nominated, nominated.text("pod"), first, last)
    ]
