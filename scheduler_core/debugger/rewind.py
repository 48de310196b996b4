"""A run's cluster as it was before any moment, as a Simulation that can go on from there.

Nothing is scheduled again: what was where is in the recording. A cycle that is tried in the rewound cluster decides
what it decided in the run.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

import msgspec
import numpy as np

from scheduler_core.api.objects import KINDS, Node, Object, Pod
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import HostPort, PodInfo
from scheduler_core.debugger.objects import Fetch, ObjectAt, beside_nodes
from scheduler_core.debugger.recording import Recording
from scheduler_core.debugger.state import State
from scheduler_core.releases import Release
from scheduler_core.simulation import Simulation

_NODE = msgspec.json.Decoder(Node)
_READ = {name: msgspec.json.Decoder(kind) for name, kind in KINDS.items()}
Make = Callable[..., Simulation]
"""`Simulation` with the run's settings: `partial(Simulation, release=..., config=..., ...)`."""


def rewind(
    recording: Recording,
    fetch: Fetch,
    moment: int,
    make: Make,
    release: Release,
    *,
    pods: Sequence[str] | None = (),
    waiting: Collection[str] | None = None,
    start_index: int = 0,
    state: State | None = None,
) -> Simulation:
    """The run after a moment (`Recording.before_cycle` gives the one before a cycle).

    `fetch`: number of an object -> (kind, JSON). `release`: of the run. `pods`: which pending pods the simulation is to
    try if it is run, in order; None for all. `start_index`: the node that the next cycle looks at first, as its trace
    has it. `state`: that of the moment, if it is there already. Pods that Permit held or that were being bound count on
    their nodes. Raises InputError.
    """
    with _without_collecting():
        cluster = Cluster(release)
        _fill_nodes(cluster, recording, fetch, moment)
        there = [at for at in beside_nodes(state or State(recording, moment), waiting) if at.kind in KINDS]
        simulation = make([_as_it_was(at, fetch) for at in there], cluster=cluster, pods=pods)
    for at in there:
        if at.start:
            cluster.pods[at.key].start_time = at.start
    _free_ports(cluster, recording, fetch, moment)
    _hold(simulation, (at for at in there if at.node and not at.bound))
    simulation.scheduler.next_start_index = start_index
    return simulation


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Nothing that is made inside is garbage; looking for it takes twice as long as making it. What was made counts as
    old afterwards, so that it is not looked through at once."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()
        if was:
            gc.enable()


def _fill_nodes(cluster: Cluster, recording: Recording, fetch: Fetch, moment: int) -> None:
    """All that happened to nodes, in order: rows depend on it, and on how many nodes ImageLocality counts an image."""
    presence, nodes = recording.tables["presence"], recording.tables["nodes"]
    end = int(presence["at"].searchsorted(moment, "right"))
    objects, read = nodes["object"].tolist(), _NODE.decode
    stored: dict[int, Node] = {}
    for name, version in zip(presence["name"][:end].tolist(), presence["node"][:end].tolist(), strict=True):
        if version >= 0:
            stored[name] = read(fetch(objects[version])[1])
            cluster.apply(stored[name])
        elif name in stored:
            cluster.remove(stored.pop(name))


def _as_it_was(at: ObjectAt, fetch: Fetch) -> Object:
    kind, text = fetch(at.number)
    obj: Object = _READ[kind].decode(text)
    if isinstance(obj, Pod):
        obj.spec.node_name = at.node
        obj.status.nominated_node_name = at.nominated
    return obj


def _free_ports(cluster: Cluster, recording: Recording, fetch: Fetch, moment: int) -> None:
    """A node's ports in use are a set, as upstream's: a pod that went has freed its own even if others there, which
    came before it went, use them too."""
    freed: dict[tuple[str, HostPort], int] = {}  # (node, port) -> the last place in the table where it was freed
    for place, version, node in _departures(recording, moment):
        _, text = fetch(int(recording.tables["pods"]["object"][version]))
        if b"ostPort" in text:
            for port in PodInfo(msgspec.json.decode(text, type=Pod), cluster.release).host_ports:
                freed[recording.names[node], port] = place
    if not freed:
        return
    state, keys = State(recording, moment), recording.tables["pods"]
    came = {keys.at("key", pod): int(state.came[pod]) for pod in state.placed.tolist()}
    for (name, port), last in freed.items():
        entry = cluster.nodes.entries.get(name)
        users = [key for key, pod in entry.pods.items() if port in pod.host_ports] if entry is not None else []
        used = cluster.nodes.host_ports.get((port[1], port[2]), {}).get(name)
        if used is not None and not any(came[key] > last for key in users):
            used.discard(port[0])


def _departures(recording: Recording, moment: int) -> Iterator[tuple[int, int, int]]:
    """(place in the table, pod, node) of the pods that left a node."""
    places = recording.tables["places"]
    end = int(places["at"].searchsorted(moment, "right"))
    pods, nodes = places["pod"][:end], places["node"][:end]
    order = np.argsort(pods, kind="stable")  # each pod's places one after the other
    before, after = order[:-1], order[1:]
    left = (pods[before] == pods[after]) & (nodes[before] >= 0) & (nodes[before] != nodes[after])
    for was, place in sorted(zip(before[left].tolist(), after[left].tolist(), strict=True), key=lambda pair: pair[1]):
        yield place, int(pods[place]), int(nodes[was])


def _hold(simulation: Simulation, assumed: Iterable[ObjectAt]) -> None:
    """Pods that count on a node but are not bound are held by their profile's Permit plugins, if it has any."""
    for at in assumed:
        pod = simulation.cluster.pods[at.key]
        framework = simulation.scheduler.profiles.get(pod.pod.spec.scheduler_name)
        if framework is not None and framework.permit:
            framework.waiting_pods.add(pod, at.node, {plugin.name: 0.0 for plugin in framework.permit})
