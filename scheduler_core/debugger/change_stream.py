"""Data for maps of the cluster: its state at a timepoint in columns, and a stream of changes after or before it.

Pods are identified by their rows in the recording's `pods` table and nodes by name. Both mean the same in every answer
about a recording. Each change includes the previous value, so a client can apply the stream in both directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.debugger.cluster_state import StateAtTimepoint, places_at
from scheduler_core.debugger.columnar import Table
from scheduler_core.debugger.recording import Recording
from scheduler_core.errors import InputError

Int64 = npt.NDArray[np.int64]

MAX_TIMEPOINTS = 4000  # maximum number of timepoints in one piece of the stream
MAX_CHANGES = 4000  # maximum number of pod changes in one piece, unless a single timepoint has more
MAX_VALUES = 1000  # maximum number of values of a label by which nodes can be grouped


def cluster_columns(recording: Recording, moment: int) -> dict[str, Any]:
    """Return the state of the cluster after a timepoint.

    `nodes`: see `node_columns`. `pods`: see `pod_columns`, with `node` (an index of `nodes`, -1 for no node or a
    missing one), `state` (1 pending, 2 assumed, 3 bound) and `came`: of two pods on a node, the later one has the
    higher number. `before`: pods with a `came` below it existed before the run. `nominated`: pod -> node.
    """
    state = StateAtTimepoint(recording, moment)
    there = np.concatenate([state.placed, np.flatnonzero(state.state == 1)])
    places = recording.tables["places"]
    return {
        **position(recording, moment),
        "nodes": node_columns(recording, state.versions),
        "pods": {
            **pod_columns(recording, there.tolist()),
            "node": state.row_of[state.node[there]].tolist(),
            "state": state.state[there].tolist(),
            "came": state.came[there].tolist(),
        },
        "before": places.until(0),
        "nominated": state.nominated(),
    }


def position(recording: Recording, moment: int) -> dict[str, Any]:
    """Return a timepoint's position: {moment, end, cycle, cycles, t}; `cycle` is the first one after it."""
    cycle, t = recording.cycle_after(moment), recording.time_of(moment)
    return {"moment": moment, "end": recording.end, "cycle": cycle, "cycles": recording.cycles, "t": t}


def node_columns(recording: Recording, versions: Int64) -> dict[str, Any]:
    """Return nodes, given by rows of the recording's table, in columns.

    `name`; `allocatable` and `taints` (indexes of `amounts` and `taint_sets`); `unschedulable` (0 or 1); `labels`: key
    -> {values, of: index of the node's value, -1 for none}.
    """
    table = recording.tables["nodes"]
    labels = [table.at("labels", version) for version in versions.tolist()]
    amounts, allocatable = _distinct(table.at("allocatable", version) for version in versions.tolist())
    taint_sets, taints = _distinct(table.at("taints", version) for version in versions.tolist())
    return {
        "name": [recording.names[name] for name in table["name"][versions].tolist()],
        "allocatable": allocatable,
        "amounts": amounts,
        "taints": taints,
        "taint_sets": taint_sets,
        "unschedulable": table["unschedulable"][versions].tolist(),
        "labels": _columns(labels),
    }


def _distinct(values: Iterable[Any]) -> tuple[list[Any], list[int]]:
    """Return (the distinct values, the index of each value among them)."""
    found: dict[str, Any] = {}
    keys = [str(found.setdefault(str(value), value)) for value in values]
    index = {key: number for number, key in enumerate(found)}
    return list(found.values()), [index[key] for key in keys]


def _columns(labels: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return key -> {values, of} of labels whose values some nodes share."""
    found: dict[str, Any] = {}
    most = min(MAX_VALUES, max(len(labels) - 1, 1))
    for key in dict.fromkeys(key for labelled in labels for key in labelled):
        index: dict[str, int] = {}
        of = [index.setdefault(labelled[key], len(index)) if key in labelled else -1 for labelled in labels]
        if len(index) <= most:
            found[key] = {"values": list(index), "of": of}
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
    """Return one piece of the changes after a timepoint, or up to one.

    {from, to}: it covers the timepoints after `from` up to `to`. `places`: columns `at`, `pod`, `node` (a name, "" for
    none), `state`, `came`, and the previous values as `was_...`. `pods`: the pods in it, as in `pod_columns`. `nodes`:
    [{at, name, now, was}], each as in `one_node` or None. `nominated`: [{at, pod, now, was}]. `cycles`: columns
    `number`, `at`. `instants`: columns `at`, `t`. Raises InputError unless exactly one timepoint is given.
    """
    if (after is None) == (until is None):
        raise InputError("moment", "", "must be one of after and until")
    first, last = _covered(recording, after, until)
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
    """Return a node, by its row in the table, as {allocatable, taints, unschedulable, labels}; None for -1."""
    if version < 0:
        return None
    table = recording.tables["nodes"]
    found = {name: table.at(name, version) for name in ("allocatable", "taints", "labels")}
    return found | {"unschedulable": int(table["unschedulable"][version])}


def _nominations(recording: Recording, first: int, last: int) -> list[dict[str, Any]]:
    nominated, name_of = recording.tables["nominated"], ["", *recording.names]
    return [
        {"at": at, "pod": pod, "now": name_of[now + 1], "was": name_of[was + 1]}
        for at, pod, now, was in _changes(nominated, nominated.text("pod"), first, last)
    ]
