"""State of the cluster at a timepoint of a recording, computed from columns without scheduling again."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.node_tree import NodeTree
from scheduler_core.cluster.resources import CPU, MEMORY
from scheduler_core.plugins.node_resources_fit import PODS
from scheduler_core.recording.recording import ASSUMED, GONE, PENDING, Recording

Int64 = npt.NDArray[np.int64]


class NodeOrder(NodeTree[int]):
    """The nodes in row order.

    `versions` maps a node to its row in the recording's nodes. Nodes are indexes of the recording's names.
    """

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self.recording = recording
        self.versions: dict[int, int] = {}
        self._next = 0  # row of the next presence

    def advance(self, moment: int) -> bool:
        """Advance to the state after a timepoint. Return whether nodes were added, removed or moved to another row."""
        presence, nodes = self.recording.tables["presence"], self.recording.tables["nodes"]
        end = presence.until(moment)
        moved = False
        names, versions = presence["name"][self._next : end].tolist(), presence["node"][self._next : end].tolist()
        zones = nodes.text("zone") if versions else []
        for name, version in zip(names, versions, strict=True):
            moved |= self.put(name, zones[version] if version >= 0 else None)
            if version >= 0:
                self.versions[name] = version
            else:
                self.versions.pop(name, None)
        self._next = end
        return moved

    def row_of(self, name: int) -> int:
        """Return the row of a node, -1 if it does not exist."""
        zone = self.zone_of.get(name)
        if zone is None:
            return -1
        place, before, row = self.zones[zone].index(name), True, 0
        for other, names in self.zones.items():
            before = before and other != zone
            row += min(len(names), place) + (before and len(names) > place)
        return row


def places_at(recording: Recording, moment: int) -> tuple[Int64, Int64, Int64]:
    """Return columns over the recording's pods at a timepoint: state, node (-1 for none), row of `places` at which the
    pod reached its node."""
    places, count = recording.tables["places"], len(recording.tables["pods"])
    end = places.until(moment)
    pod, arrived = places["pod"][:end], np.flatnonzero(places["arrived"][:end])
    state, node, came = np.full(count, GONE, np.int64), np.full(count, -1, np.int64), np.zeros(count, np.int64)
    # NumPy assigns in order, so the last value of a pod counts.
    state[pod], node[pod], came[pod[arrived]] = places["state"][:end], places["node"][:end], arrived
    return state, node, came


class StateAtTimepoint:
    """The cluster after a timepoint. All columns are int64 except where noted.

    `rows`: the node of each row, an index of the recording's names; `versions`: its row in the recording's nodes;
    `row_of`: the row of each name, -1 if the node does not exist. `state`, `node` and `start` (float64): the last
    values in table `places` of each pod of the recording. `placed`: the pods on nodes, in order of arrival; `of_row`:
    their rows. `requested`: resource -> quantities by row, as the scheduler counts them; `nonzero_cpu`,
    `nonzero_memory`.
    """

    def __init__(self, recording: Recording, moment: int) -> None:
        self.recording, self.moment = recording, moment
        order = NodeOrder(recording)
        order.advance(moment)
        self.rows = np.array(order.names(), np.int64)
        self.versions = np.array([order.versions[name] for name in self.rows.tolist()], np.int64)
        self.row_of = np.full(len(recording.names) + 1, -1, np.int64)  # the last element is for -1, no node
        self.row_of[self.rows] = np.arange(len(self.rows))
        self._place(moment)
        self._sum()

    def _place(self, moment: int) -> None:
        self.state, self.node, self.came = places_at(self.recording, moment)
        places = self.recording.tables["places"]
        end = places.until(moment)
        self.start = np.zeros(len(self.state), np.float64)
        self.start[places["pod"][:end]] = np.where(places["at"][:end] > 0, places["start"][:end], 0.0)
        placed = np.flatnonzero(self.state >= ASSUMED)
        self.placed = placed[np.argsort(self.came[placed], kind="stable")]
        self.of_row = self.row_of[self.node[self.placed]]

    def _sum(self) -> None:
        pods, size = self.recording.tables["pods"], len(self.rows)
        there = self.of_row >= 0
        placed, rows = self.placed[there], self.of_row[there]

        def total(amounts: Int64) -> Int64:
            column = np.zeros(size, np.int64)
            np.add.at(column, rows, amounts)  # wraps at int64, as Go's sums do
            return column

        self.pod_count = np.bincount(rows, minlength=size).astype(np.int64)
        self.nonzero_cpu = total(pods["nonzero_cpu"][placed])
        self.nonzero_memory = total(pods["nonzero_memory"][placed])
        distinct = pods.distinct("requests")
        kind = pods["requests"][placed]
        self.requested: dict[str, Int64] = {}
        for resource in dict.fromkeys(name for amounts in distinct for name in amounts):
            by_kind = np.array([amounts.get(resource, 0) for amounts in distinct], np.int64)
            self.requested[resource] = total(by_kind[kind])

    def used(self, resource: str) -> Int64:
        """Return the requested quantity of a resource by row; `pods` is the number of pods."""
        return self.pod_count if resource == PODS else self.requested.get(resource, np.zeros(len(self.rows), np.int64))

    def allocatable(self, resource: str) -> Int64:
        """Return the allocatable quantity of a resource by row; `pods` is the maximum number of pods."""
        by_kind = np.array([kind.get(resource, 0) for kind in self.node_kinds], np.int64)
        found: Int64 = by_kind[self.recording.tables["nodes"]["allocatable"][self.versions]]
        return found

    @cached_property
    def node_kinds(self) -> list[dict[str, int]]:
        """The distinct allocatable resources of the recording's nodes."""
        return self.recording.tables["nodes"].distinct("allocatable")

    def as_dict(self) -> dict[str, Any]:
        """Return the state with the keys of docs/debugger.md."""
        found = self._head() | {"nodes": list(self.nodes().values()), "nominated": self.nominated()}
        found |= {"waiting": self.waiting(), "pending": self.pending(), "orphans": self.orphans()}
        return found | {"added": [], "removed": []}

    def _head(self) -> dict[str, Any]:
        return {"cycle": self.recording.cycle_after(self.moment), "t": self.recording.time_of(self.moment)}

    def nodes(self, of: Iterable[int] | None = None) -> dict[str, dict[str, Any]]:
        """Return node -> its data, in row order. `of` restricts it to these rows."""
        recording = self.recording
        table, names = recording.tables["nodes"], recording.names
        pods = self._pods_of_rows()
        requested = {name: column.tolist() for name, column in self.requested.items()}
        cpu, memory, counts = self.nonzero_cpu.tolist(), self.nonzero_memory.tolist(), self.pod_count.tolist()
        rows, versions = self.rows.tolist(), self.versions.tolist()
        found = {}
        for row in range(len(rows)) if of is None else of:
            version = versions[row]
            allocatable = table.at("allocatable", version)
            used = {name: requested[name][row] if name in requested else 0 for name in (CPU, MEMORY)}
            used["pods"] = counts[row]
            for name, column in requested.items():
                if name not in used and (column[row] or name in allocatable):
                    used[name] = column[row]
            name = names[rows[row]]
            found[name] = {
                "name": name,
                "allocatable": allocatable,
                "requested": used,
                "nonzero_requested": {CPU: cpu[row], MEMORY: memory[row]},
                "taints": table.at("taints", version),
                "unschedulable": bool(table["unschedulable"][version]),
                "pods": pods[row],
            }
        return found

    def _pods_of_rows(self) -> list[list[str]]:
        found: list[list[str]] = [[] for _ in range(len(self.rows))]
        for key, row in zip(self._keys(self.placed), self.of_row.tolist(), strict=True):
            if row >= 0:
                found[row].append(key)
        return found

    def nominated(self) -> dict[str, str]:
        """Return pod -> nominated node."""
        return nominated_at(self.recording, self.moment)

    def waiting(self) -> dict[str, str]:
        """Return pod -> node of pods that count on a node but are not bound: Permit holds them, or they are being
        bound."""
        return self._on(self.placed[self.state[self.placed] == ASSUMED])

    def orphans(self) -> dict[str, str]:
        """Return pod -> node of pods on nodes that do not exist."""
        return self._on(self.placed[self.of_row < 0])

    def _on(self, pods: Int64) -> dict[str, str]:
        names = self.recording.names
        return {key: names[node] for key, node in sorted(zip(self._keys(pods), self.node[pods].tolist(), strict=True))}

    def pending(self) -> list[str]:
        """Return the names of the pods without a node."""
        return sorted(self._keys(np.flatnonzero(self.state == PENDING)))

    def _keys(self, pods: Int64) -> list[str]:
        return self.recording.tables["pods"].text("key", pods)


def nominated_at(recording: Recording, moment: int) -> dict[str, str]:
    """Return pod -> nominated node after a timepoint."""
    nominated, names = recording.tables["nominated"], recording.names
    end = nominated.until(moment)
    latest = dict(zip(nominated.text("pod", slice(end)), nominated["node"][:end].tolist(), strict=True))
    return {pod: names[node] for pod, node in sorted(latest.items()) if node >= 0}


def changes(before: StateAtTimepoint, after: StateAtTimepoint) -> dict[str, Any]:
    """Return the differences between two timepoints, in either direction, with the keys of docs/debugger.md."""
    found = after._head()
    names = after.recording.names
    was, now = set(before.rows.tolist()), set(after.rows.tolist())
    touched = _touched(before, after)
    old, new = before.nodes(_rows(before, touched)), after.nodes(_rows(after, touched))
    found["nodes"] = [node for name, node in new.items() if old.get(name) != node]
    found["added"] = [names[name] for name in after.rows.tolist() if name not in was]
    found["removed"] = [names[name] for name in before.rows.tolist() if name not in now]
    if not np.array_equal(before.rows, after.rows):
        found["order"] = [names[name] for name in after.rows.tolist()]
    for part in ("nominated", "waiting", "orphans"):
        found[part] = _differences(getattr(before, part)(), getattr(after, part)())
    pending, settled = set(after.pending()), set(before.pending())
    found["pending"] = sorted(pending - settled)
    found["no_longer_pending"] = sorted(settled - pending)
    return found


def _touched(before: StateAtTimepoint, after: StateAtTimepoint) -> set[int]:
    """Return the nodes affected by changes between the two timepoints."""
    tables = after.recording.tables
    first, last = sorted((before.moment, after.moment))
    places, presence = tables["places"], tables["presence"]
    pods = np.unique(places["pod"][places.between(first, last)])
    found = {*before.node[pods].tolist(), *after.node[pods].tolist()}
    return found | set(presence["name"][presence.between(first, last)].tolist())


def _rows(state: StateAtTimepoint, names: Iterable[int]) -> list[int]:
    return sorted(row for name in names if (row := int(state.row_of[name])) >= 0)


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    changed: dict[str, str | None] = {key: node for key, node in after.items() if before.get(key) != node}
    return changed | dict.fromkeys(key for key in before if key not in after)
