"""History of one node over a recording: arrivals and departures of pods and the requested resources."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scheduler_core.recording.recording import Recording

Int64 = npt.NDArray[np.int64]


class Arrival(NamedTuple):
    """Arrival or departure of a pod at a timepoint."""

    at: int
    pod: str
    came: bool


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """History of a node.

    `arrivals` is in order. `at`: the timepoints at which requests on the node changed, int64, the opening (0) first;
    `requested`: resource -> requests from each of these timepoints on, int64 in the scheduler's units; its key `pods`
    counts the pods. `versions`: (timepoint, row in the recording's nodes, or -1 if the node was removed), in order.
    """

    arrivals: list[Arrival]
    at: Int64
    requested: dict[str, Int64]
    versions: list[tuple[int, int]]

    def version(self, moment: int) -> int | None:
        """Return the node's row in the recording's nodes at a timepoint; -1 while removed, None before it was added."""
        return next((row for at, row in reversed(self.versions) if at <= moment), None)

    def last_known(self, moment: int) -> int:
        """Return the row at a timepoint. For a removed node, return its last row; before it was added, its first."""
        known = [(at, row) for at, row in self.versions if row >= 0]
        return next((row for at, row in reversed(known) if at <= moment), known[0][1])

    def used(self, moment: int) -> dict[str, int]:
        """Return the requests on the node at a timepoint, by resource."""
        last = int(np.searchsorted(self.at, moment, "right")) - 1
        return {resource: int(amounts[last]) for resource, amounts in self.requested.items()}


def history_of(recording: Recording, name: str) -> NodeHistory | None:
    """Return the history of a node; None if the recording has no node of that name."""
    if name not in recording.names:
        return None
    node = recording.names.index(name)
    places, pods = recording.tables["places"], recording.tables["pods"]
    rows, signs = _changes(places["pod"], places["node"] == node)
    moments, which = places["at"][rows], places["pod"][rows]
    at, place = np.unique(np.append(moments, 0), return_inverse=True)
    requested = {"pods": _running(np.append(signs, 0), place, len(at))}
    distinct, kind = pods.distinct("requests"), pods["requests"][which]
    for resource in dict.fromkeys(name for amounts in distinct for name in amounts):
        amounts = np.array([amounts.get(resource, 0) for amounts in distinct], np.int64)[kind] * signs
        if amounts.any():
            requested[resource] = _running(np.append(amounts, 0), place, len(at))
    presence = recording.tables["presence"]
    mine = presence["name"] == node
    versions = list(zip(presence["at"][mine].tolist(), presence["node"][mine].tolist(), strict=True))
    arrivals = _arrivals(moments.tolist(), pods.text("key", which), signs.tolist())
    return NodeHistory(arrivals, at, requested, versions)


def _changes(pod: Int64, here: npt.NDArray[np.bool_]) -> tuple[Int64, Int64]:
    """Return the rows with which a pod arrives (1) or leaves (-1), in order.

    For each row, `pod` is the pod and `here` says whether it is on the node from then on.
    """
    by_pod = np.argsort(pod, kind="stable")
    was = np.zeros(len(pod), np.bool_)
    same = pod[by_pod][1:] == pod[by_pod][:-1]
    was[by_pod[1:]] = here[by_pod[:-1]] & same
    rows = np.flatnonzero(was != here)
    return rows, np.where(here[rows], 1, -1)


def _running(amounts: Int64, place: Int64, size: int) -> Int64:
    total = np.zeros(size, np.int64)
    np.add.at(total, place, amounts)
    return np.cumsum(total)


def _arrivals(moments: list[int], pods: list[str], signs: list[int]) -> list[Arrival]:
    """Return arrivals and departures, without pods that leave and arrive at the same timepoint: those were updated."""
    net: dict[tuple[int, str], int] = {}
    for at, pod, sign in zip(moments, pods, signs, strict=True):
        net[at, pod] = net.get((at, pod), 0) + sign
    return [Arrival(at, pod, sign > 0) for (at, pod), sign in net.items() if sign]
