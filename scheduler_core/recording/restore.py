"""Restores a run's cluster at any timepoint as a Simulation that can continue from there.

Nothing is scheduled again: the recording has all positions. A cycle in the restored cluster makes the same decision as
in the run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, partial

import msgspec
import numpy as np

from scheduler_core.api.objects import KINDS, Metadata, Node, NodeSpec, NodeStatus, Object
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import HostPort, PodInfo
from scheduler_core.garbage_collection import without_collecting
from scheduler_core.recording.cluster_state import StateAtTimepoint
from scheduler_core.recording.lazy_pods import StoredPods, nominate, read
from scheduler_core.recording.objects import Fetch, others, pending
from scheduler_core.recording.recording import ASSUMED, BOUND, Recording
from scheduler_core.releases import Release
from scheduler_core.simulation import Simulation

_READ = {name: msgspec.json.Decoder(kind) for name, kind in KINDS.items()}
Make = Callable[..., Simulation]
"""`Simulation` with the run's settings: `partial(Simulation, release=..., config=..., ...)`."""


def restore_run(
    recording: Recording,
    fetch: Fetch,
    moment: int,
    make: Make,
    release: Release,
    *,
    pods: Sequence[str] | None = (),
    waiting: Collection[str] | None = None,
    start_index: int = 0,
    state: StateAtTimepoint | None = None,
) -> Simulation:
    """Restore the run after a timepoint (`Recording.before_cycle` returns the one before a cycle).

    `fetch`: number of an object -> (kind, JSON). `release`: the run's release. `pods`: pending pods that the simulation
    tries if it runs, in order; None for all. `waiting`: pending pods to load, with nominated ones; None for all.
    Plugins that list pods get all of them in any case.
    `start_index`: the node at which the next cycle starts, from its trace. `state`: the state at the timepoint, if it
    exists already. Pods that Permit held or whose binding was in progress count on their nodes. Raises InputError.
    """
    state = state or StateAtTimepoint(recording, moment)
    with without_collecting():
        cluster = Cluster(release)
        _fill_nodes(cluster, recording, fetch, moment)
        cluster.nodes.refresh()
        cluster.add_pods(list(_placed(state, StoredPods(recording, fetch, cluster))))
        objects: list[Object] = [_READ[at.kind].decode(fetch(at.number)[1]) for at in others(state) if at.kind in KINDS]
        objects += [read(fetch, at.number, "", at.nominated) for at in pending(state, waiting)]
        simulation = make(objects, cluster=cluster, pods=pods)
    if waiting is not None:
        _list_all(simulation, state, fetch)
    _free_ports(cluster, state, fetch)
    _hold(simulation, state)
    _recall(simulation, state, fetch)
    simulation.scheduler.next_start_index = start_index
    return simulation


def _list_all(simulation: Simulation, state: StateAtTimepoint, fetch: Fetch) -> None:
    """Let plugins that list pods get those that were not loaded as well, decoded at the first call."""
    loaded = {pod.key for pod in simulation.pending}
    release = simulation.cluster.release

    @cache
    def rest() -> list[PodInfo]:
        return [PodInfo(read(fetch, at.number), release) for at in pending(state) if at.key not in loaded]

    for framework in simulation.scheduler.profiles.values():
        framework.list_pods = partial(_listed, framework.list_pods, rest)


def _listed(loaded: Callable[[], Iterable[PodInfo]], rest: Callable[[], list[PodInfo]]) -> list[PodInfo]:
    return [*loaded(), *rest()]


def _fill_nodes(cluster: Cluster, recording: Recording, fetch: Fetch, moment: int) -> None:
    """Replay all changes of nodes in order: it determines row numbers and ImageLocality's node count per image."""
    presence, nodes = recording.tables["presence"], recording.tables["nodes"]
    end = presence.until(moment)
    objects, decode = nodes["object"].tolist(), _node_reader()
    stored: dict[int, Node] = {}
    came: list[Node] = []  # since the last node was removed
    for name, version in zip(presence["name"][:end].tolist(), presence["node"][:end].tolist(), strict=True):
        if version >= 0:
            stored[name] = node = decode(fetch(objects[version])[1])
            came.append(node)
        elif name in stored:
            cluster.apply_nodes(came)
            came = []
            cluster.remove(stored.pop(name))
    cluster.apply_nodes(came)


class _RawNode(msgspec.Struct, gc=False):
    metadata: Metadata
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: msgspec.Raw = msgspec.Raw(b"{}")


def _node_reader() -> Callable[[bytes], Node]:
    """Return a decoder of nodes that decodes equal parts, which are most, once and shares them."""
    raw_of = msgspec.json.Decoder(_RawNode).decode
    spec_of = cache(msgspec.json.Decoder(NodeSpec).decode)
    status_of = cache(msgspec.json.Decoder(NodeStatus).decode)

    def read_node(text: bytes) -> Node:
        raw = raw_of(text)
        return Node(raw.metadata, spec_of(bytes(raw.spec)), status_of(bytes(raw.status)))

    return read_node


def _placed(state: StateAtTimepoint, pods: StoredPods) -> Iterator[PodInfo]:
    """Yield the pods on nodes, in order of arrival."""
    names, nominated = state.recording.names, state.nominated()
    columns = (state.placed, state.node[state.placed], state.start[state.placed])
    for row, node, start in zip(*(column.tolist() for column in columns), strict=True):
        pod = pods.on(row, names[node], start)
        if pod.key in nominated:
            nominate(pod, nominated[pod.key])
        yield pod


def _free_ports(cluster: Cluster, state: StateAtTimepoint, fetch: Fetch) -> None:
    """Free the host ports of departed pods: as upstream, also ports that a pod that arrived before still uses."""
    freed: dict[tuple[str, HostPort], int] = {}  # (node, port) -> the last row of the table at which it was freed
    recording, pods = state.recording, state.recording.tables["pods"]
    for place, row, node in _departures(recording, state.moment):
        if not pods["plain"][row]:
            for port in PodInfo(read(fetch, int(pods["object"][row])), cluster.release).host_ports:
                freed[recording.names[node], port] = place
    if not freed:
        return
    came = {pods.at("key", pod): int(state.came[pod]) for pod in state.placed.tolist()}
    for (name, port), last in freed.items():
        entry = cluster.nodes.entries.get(name)
        users = [key for key, pod in entry.pods.items() if port in pod.host_ports] if entry is not None else []
        used = cluster.nodes.host_ports.get((port[1], port[2]), {}).get(name)
        if used is not None and not any(came[key] > last for key in users):
            used.discard(port[0])


def _departures(recording: Recording, moment: int) -> Iterator[tuple[int, int, int]]:
    """Yield (row in the table, pod, node) of each pod that left a node."""
    places = recording.tables["places"]
    end = places.until(moment)
    pods, nodes = places["pod"][:end], places["node"][:end]
    order = np.argsort(pods, kind="stable")  # groups the rows of each pod
    before, after = order[:-1], order[1:]
    left = (pods[before] == pods[after]) & (nodes[before] >= 0) & (nodes[before] != nodes[after])
    for was, place in sorted(zip(before[left].tolist(), after[left].tolist(), strict=True), key=lambda pair: pair[1]):
        yield place, int(pods[place]), int(nodes[was])


def _hold(simulation: Simulation, state: StateAtTimepoint) -> None:
    """Let each profile's Permit plugins, if any, hold the pods that count on a node without being bound."""
    keys = state.recording.tables["pods"]
    for row in state.placed[state.state[state.placed] == ASSUMED].tolist():
        pod = simulation.cluster.pods[keys.at("key", row)]
        framework = simulation.scheduler.profiles.get(pod.pod.spec.scheduler_name)
        if framework is not None and framework.permit:
            framework.waiting_pods.add(pod, pod.node, {plugin.name: 0.0 for plugin in framework.permit})


def _recall(simulation: Simulation, state: StateAtTimepoint, fetch: Fetch) -> None:
    """Let plugins remember the pods that cycles placed, and those that were bound and are gone."""
    frameworks = simulation.scheduler.profiles.values()
    plugins = [plugin for framework in frameworks for plugin in framework.plugins if plugin.memory]
    if not plugins:
        return
    recording, cluster = state.recording, simulation.cluster
    pods, places, cycles = recording.tables["pods"], recording.tables["places"], recording.tables["cycles"]["at"]
    by_cycle = np.isin(places["at"], cycles) & (places["at"] > 0) & (places["node"] >= 0)
    tried = set(pods.text("key", np.unique(places["pod"][by_cycle & (places["at"] <= state.moment)])))
    placed = [pod for pod in cluster.pods.values() if pod.key in tried]
    evicted = []
    bound = set(zip(places["pod"].tolist(), places["node"].tolist(), (places["state"] == BOUND).tolist(), strict=True))
    for _, row, node in _departures(recording, state.moment):
        key, name = pods.at("key", row), recording.names[node]
        there = cluster.pods.get(key)
        if (there is None or there.node != name) and (row, node, True) in bound:
            pod = PodInfo(read(fetch, int(pods["object"][row]), name), cluster.release)
            evicted.append((pod, key in tried))
    for plugin in plugins:
        plugin.recall_pods(placed, evicted)
