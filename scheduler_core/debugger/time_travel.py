"""A run's cluster that moves between timepoints and reuses what did not change, so that short moves are fast."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import msgspec
import numpy as np

from scheduler_core.api.objects import KINDS, timestamp
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.debugger.cluster_state import Int64, StateAtTimepoint
from scheduler_core.debugger.lazy_pods import StoredPods, nominate, read, unread
from scheduler_core.debugger.objects import Fetch
from scheduler_core.debugger.recording import ASSUMED, GONE, PENDING, Recording
from scheduler_core.debugger.restore import Make, restore_run, without_collecting
from scheduler_core.releases import Release
from scheduler_core.simulation import Simulation


class RestoredRun:
    """A run's cluster at a movable timepoint. Arguments: as for `restore_run`. `state`: at the current timepoint."""

    def __init__(self, recording: Recording, fetch: Fetch, make: Make, release: Release) -> None:
        self.recording, self.fetch = recording, fetch
        self._make, self._release = make, release
        self._simulation: Simulation | None = None
        self._rows: dict[str, int] = {}  # pod -> its current row in the recording's pods
        self._infos: dict[str, PodInfo] = {}
        self._stored: StoredPods | None = None  # pods of the simulation
        self.state: StateAtTimepoint

    def at(self, moment: int, waiting: Collection[str] | None = None) -> Simulation:
        """Return the run after a timepoint, as `restore_run` restores it. This changes the previous simulation.

        `waiting` is as for `restore_run`, but plugins that list pods always get all of them. Raises InputError.
        """
        simulation = self._simulation
        if simulation is not None and self.state.moment == moment:
            state = self.state
        else:
            state = StateAtTimepoint(self.recording, moment)
        if simulation is None or not self._near(simulation, state):
            self._simulation = self._stored = None  # frees their memory before the next is built
            run = (self.recording, self.fetch, moment, self._make, self._release)
            simulation = restore_run(*run, waiting=waiting, state=state)
            self._infos = simulation.cluster.pods | {pod.key: pod for pod in simulation.pending}
            alive = np.flatnonzero(state.state != GONE)
            rows = zip(self._keys(alive), alive.tolist(), strict=True)
            self._rows = {key: row for key, row in rows if key in self._infos}
            for framework in simulation.scheduler.profiles.values():
                framework.list_pods = self._everyone
            self._simulation = simulation
        elif state is not self.state:
            with without_collecting():
                self._others(simulation, state)
                self._pods(simulation, state)
        self.state = state
        self._wait(simulation, waiting)
        return simulation

    def _everyone(self) -> list[PodInfo]:
        """Return all existing pods, in the recording's order."""
        alive = np.flatnonzero(self.state.state != GONE)
        return [self._info(row, key) for row, key in zip(alive.tolist(), self._keys(alive), strict=True)]

    def _keys(self, rows: Int64) -> list[str]:
        return self.recording.tables["pods"].text("key", rows)

    def _between(self, table: str, state: StateAtTimepoint) -> slice:
        return self.recording.tables[table].between(*sorted((self.state.moment, state.moment)))

    def _near(self, simulation: Simulation, state: StateAtTimepoint) -> bool:
        """Return whether the cluster can be changed in place: only pods moved and objects were updated.

        Otherwise the result depends on the history: node rows, host ports that count as free though in use, volume
        numbers, and the pods that Permit holds.
        """
        presence = self._between("presence", state)
        if presence.start < presence.stop:
            return False
        if any((one.state == ASSUMED).any() for one in (self.state, state)):
            return False
        if any(now < 0 or was < 0 for _, was, now in self._changed_objects(state)):
            return False
        pods, moved = self.recording.tables["pods"], self._moved(state)
        special = moved[pods["plain"][moved] == 0]
        return not any(b"ostPort" in self.fetch(number)[1] for number in pods["object"][special].tolist())

    def _changed_objects(self, state: StateAtTimepoint) -> Iterator[tuple[str, int, int]]:
        """Yield (kind, number of the old object, number of the new one; -1 for none) of each changed object."""
        others, between = self.recording.tables["others"], self._between("others", state)
        kinds = others.texts["kind"]
        touched = set(zip(others["kind"][between].tolist(), others["key"][between].tolist(), strict=True))
        for kind, key in touched:
            same = np.flatnonzero((others["kind"] == kind) & (others["key"] == key))
            numbers = []
            for moment in (self.state.moment, state.moment):
                end = int(np.searchsorted(others["at"][same], moment, "right"))
                numbers.append(int(others["object"][same[end - 1]]) if end else -1)
            if numbers[0] != numbers[1] and kinds[kind] in KINDS:
                yield kinds[kind], numbers[0], numbers[1]

    def _moved(self, state: StateAtTimepoint) -> Int64:
        """Return the pods with another position, row or start time."""
        was = self.state
        return np.flatnonzero((was.state != state.state) | (was.node != state.node) | (was.start != state.start))

    def _others(self, simulation: Simulation, state: StateAtTimepoint) -> None:
        for kind, _, number in list(self._changed_objects(state)):
            simulation.cluster.apply(msgspec.json.decode(self.fetch(number)[1], type=KINDS[kind]))

    def _pods(self, simulation: Simulation, state: StateAtTimepoint) -> None:
        cluster, was, moved = simulation.cluster, self.state, self._moved(state)
        if self._stored is None:
            self._stored = StoredPods(self.recording, self.fetch, cluster)
        keys = dict(zip(moved.tolist(), self._keys(moved), strict=True))
        touched: set[str] = set()
        for row in moved[was.state[moved] >= ASSUMED].tolist():
            touched.add(cluster.pods[keys[row]].node)
            cluster.remove_pod(cluster.pods[keys[row]])
        for row in moved[state.state[moved] == GONE].tolist():
            self._infos.pop(keys[row], None)
            self._rows.pop(keys[row], None)
        order = moved[np.argsort(state.came[moved], kind="stable")]
        for row in order[state.state[order] != GONE].tolist():
            key, placed = keys[row], state.state[row] >= ASSUMED
            node = self.recording.names[int(state.node[row])] if placed else ""
            info = self._infos.get(key) if self._rows.get(key) == row else None
            if info is not None and not unread(info):
                info.pod.spec.node_name = node
                info.start_time = float(state.start[row]) or timestamp(info.pod.status.start_time)
            elif placed:
                info = self._infos[key] = self._stored.on(row, node, float(state.start[row]))
                self._rows[key] = row
            else:  # decoded on request
                self._infos.pop(key, None)
                self._rows.pop(key, None)
            if info is not None and placed:
                cluster.add_pod(info, node)
                touched.add(node)
        self._arrange(simulation, state, touched)

    def _info(self, row: int, key: str) -> PodInfo:
        if self._rows.get(key) != row:
            pod = read(self.fetch, int(self.recording.tables["pods"]["object"][row]))
            self._rows[key], self._infos[key] = row, PodInfo(pod, self._release)
        return self._infos[key]

    def _arrange(self, simulation: Simulation, state: StateAtTimepoint, nodes: Iterable[str]) -> None:
        """Sort the pods of these nodes by arrival."""
        for name in nodes:
            entry = simulation.cluster.nodes.entries.get(name)
            if entry is not None:
                came = {key: int(state.came[self._rows[key]]) for key in entry.pods}
                entry.pods = dict(sorted(entry.pods.items(), key=lambda pod: came[pod[0]]))

    def _wait(self, simulation: Simulation, waiting: Collection[str] | None) -> None:
        """Set the simulation's pending pods and nominations."""
        rows, nominated = np.flatnonzero(self.state.state == PENDING), self.state.nominated()
        pending = zip(self._keys(rows), rows.tolist(), strict=True)
        simulation.pending = [
            self._info(row, key) for key, row in pending if waiting is None or key in waiting or key in nominated
        ]
        nominator = simulation.cluster.nominator
        for name in nominator.nodes():
            for pod in nominator.on(name):
                nominator.forget(pod)
        for key, info in self._infos.items():
            if info.nominated_node != nominated.get(key, ""):
                nominate(info, nominated.get(key, ""))
        for pod in simulation.pending:
            if pod.nominated_node:
                nominator.nominate(pod, pod.nominated_node)
