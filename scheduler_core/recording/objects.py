"""The objects at a timepoint of a recording."""

import datetime
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import msgspec
import numpy as np

from scheduler_core.api.objects import GROUPS, VERSIONS
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.recording import BOUND, PENDING, Recording

Fetch = Callable[[int], tuple[str, bytes]]
"""Number of an object -> (kind, JSON)."""


class ObjectAt(NamedTuple):
    """An object by its number.

    For a pod: `node` is where it counts, `bound` whether it is bound there, and `nominated` the nominated node. `start`
    is its start time in seconds since 1970 if the run decided it, else 0.
    """

    kind: str
    key: str
    number: int
    node: str = ""
    bound: bool = False
    nominated: str = ""
    start: float = 0.0


def objects_at(recording: Recording, moment: int) -> list[ObjectAt]:
    """Return all objects after a timepoint: nodes by row, other objects, placed pods in order of arrival, other pods.

    A cluster that loads them in this order has the same rows.
    """
    state = StateAtTimepoint(recording, moment)
    return [*_nodes(state), *others(state), *_placed(state), *pending(state)]


def _nodes(state: StateAtTimepoint) -> Iterator[ObjectAt]:
    nodes, names = state.recording.tables["nodes"], state.recording.names
    numbers = nodes["object"][state.versions].tolist()
    for name, number in zip(state.rows.tolist(), numbers, strict=True):
        yield ObjectAt("Node", names[name], number)


def others(state: StateAtTimepoint) -> Iterator[ObjectAt]:
    """Yield the objects that are neither nodes nor pods."""
    table = state.recording.tables["others"]
    end = table.until(state.moment)
    known: dict[tuple[str, str], int] = {}
    kinds, keys = table.text("kind", slice(end)), table.text("key", slice(end))
    for kind, key, number in zip(kinds, keys, table["object"][:end].tolist(), strict=True):
        if number >= 0:
            known[kind, key] = number
        else:
            known.pop((kind, key), None)
    for (kind, key), number in known.items():
        yield ObjectAt(kind, key, number)


def _placed(state: StateAtTimepoint) -> Iterator[ObjectAt]:
    """Yield the pods on nodes, in order of arrival."""
    pods, names, nominated = state.recording.tables["pods"], state.recording.names, state.nominated()
    columns = (pods["object"], state.node, state.state == BOUND, state.start)
    there = (pods.text("key", state.placed), *(column[state.placed].tolist() for column in columns))
    for name, number, node, bound, start in zip(*there, strict=True):
        yield ObjectAt("Pod", name, number, names[node], bound, nominated.get(name, ""), start)


def pending(state: StateAtTimepoint, waiting: Collection[str] | None = None) -> Iterator[ObjectAt]:
    """Yield the pods without a node. `waiting` restricts them to these pods and to nominated ones; None yields all."""
    pods, nominated = state.recording.tables["pods"], state.nominated()
    rows = np.flatnonzero(state.state == PENDING)
    for name, number in zip(pods.text("key", rows), pods["object"][rows].tolist(), strict=True):
        if waiting is None or name in waiting or name in nominated:
            yield ObjectAt("Pod", name, number, nominated=nominated.get(name, ""))


def written(at: ObjectAt, fetch: Fetch) -> dict[str, Any]:
    """Return an object as the API server would return it at that timepoint."""
    kind, text = fetch(at.number)
    group = GROUPS.get(kind, ("",))[0]
    obj: dict[str, Any] = msgspec.json.decode(text)
    if kind == "Pod":
        spec, status = obj.setdefault("spec", {}), obj.setdefault("status", {})
        _set(spec, "nodeName", at.node if at.bound else "")
        _set(status, "nominatedNodeName", at.nominated)
        if at.start:
            status["startTime"] = datetime.datetime.fromtimestamp(abs(at.start), datetime.UTC).isoformat()
    version = VERSIONS.get(kind, "v1")
    return {"apiVersion": f"{group}/{version}" if group else version, "kind": kind.partition(".")[0], **obj}


def _set(where: dict[str, Any], field: str, value: str) -> None:
    where.pop(field, None)
    if value:
        where[field] = value
