"""Answers about a node of a live cluster and the pods that wait for it, about the quotas of its namespaces, and about
its NodePools."""

import threading
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from kubesched_ui.clusters import fork, history, queries
from kubesched_ui.clusters.models import Cluster, PendingPod
from scheduler_core.api.text_checks import escaped
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.explain import node_zones
from scheduler_core.explain.answer import NewNode, NodeAnswer, Rung
from scheduler_core.explain.node_answer import refusal
from scheduler_core.explain.node_zones import NodeZones
from scheduler_core.explain.packed_ladder import unpack
from scheduler_core.explain.quotas import QuotaPicture, picture_of
from scheduler_core.releases import NEWEST, get_release
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.preflight import Choices
from scheduler_core.snapshot.prepare import prepare
from scheduler_core.stations.node_pools import NodePools
from scheduler_core.stations.snapshots import surroundings_of
from scheduler_core.stations.surroundings import Surroundings
from scheduler_core.suggestions.answers import node_answer_now
from scheduler_core.suggestions.node_demand import Demands, demands_of, summary_of

MOST = 10_000  # objects; the state of a larger cluster takes seconds to read, and it changes all the time

_lock = threading.Lock()  # dry cycles modify a cached cluster, and revert that


def of_cluster(cluster: Cluster, name: str) -> str:
    """Return the sentence about a node in the newest stored state, or why there is none."""
    if not cluster.resource_version:
        return ""
    if sum(cluster.counts.get("kinds", {}).values()) > MOST:
        return (
            f"The cluster has more than {MOST:,} objects: a fork of it says what keeps the pending pods from the node."
        )
    try:
        with _lock:
            return summary_of(_simulation(*_now(cluster)), name, _demands(*_now(cluster)))
    except InputError as problem:
        return f"What keeps the pending pods from the node is not known: {str(problem).rstrip('.')}."


def node_answer(cluster: Cluster, key: str, node: str) -> NodeAnswer:
    """Return why a pending pod (namespace/name) would, or would not, go to a node in the newest stored state; of a
    large cluster the text of the stored ladder. Raises InputError."""
    if sum(cluster.counts.get("kinds", {}).values()) > MOST or not cluster.resource_version:
        for rung in ladder_of_pod(cluster, key) or []:
            if node in rung.nodes:
                if rung.changes == 0:
                    return NodeAnswer(node, "feasible", f"{node} {rung.each}.")
                return NodeAnswer(node, "refused", refusal(node, rung.changes, rung.each))
        raise InputError(f"Node {node[:253]}", "", "has no stored answer for this pod yet")
    with _lock:
        return node_answer_now(_simulation(*_now(cluster)), key, node)


def zones_of_node(cluster: Cluster, name: str, key: str) -> tuple[NodeZones, list[str]] | None:
    """Return the NUMA zones of a node in the newest stored state with a pending pod (namespace/name), and the pending
    pods; None if its zones are not known."""
    simulation = _with_kind(cluster, "NodeResourceTopology")
    if simulation is None:
        return None
    topology, row = simulation.cluster.node_topologies.get(name), simulation.cluster.nodes.rows.get(name)
    if topology is None or row is None:
        return None
    pods = {pod.key: pod.pod for pod in simulation.pending}
    return node_zones.zones_of_node(topology, simulation.cluster.nodes.nodes[row], pods.get(key)), list(pods)


def quotas_with(cluster: Cluster, key: str) -> QuotaPicture | None:
    """Return the quotas in the newest stored state with a pending pod (namespace/name); None if they are not known."""
    simulation = _with_kind(cluster, "ElasticQuota")
    if simulation is None:
        return None
    with _lock:
        return picture_of(simulation.cluster, next((pod for pod in simulation.pending if pod.key == key), None))


def new_node_for(cluster: Cluster, key: str) -> NewNode | None:
    """Return whether a new node of each NodePool takes a pending pod (namespace/name) in the newest stored state; None
    if no NodePool is known or the pod is not pending there."""
    simulation = _with_kind(cluster, "NodePool")
    if simulation is None:
        return None
    with _lock:
        pod = next((pod for pod in simulation.pending if pod.key == key), None)
        if pod is None or pod.pod.spec.scheduler_name not in simulation.scheduler.profiles:
            return None
        return NodePools(simulation, _surroundings(*_now(cluster))).new_node_for(pod)


def _with_kind(cluster: Cluster, kind: str) -> Simulation | None:
    """Return the newest stored state of a cluster that has objects of a kind; None if it has none, is too large, or
    cannot be read."""
    kinds = cluster.counts.get("kinds", {})
    if not kinds.get(kind) or sum(kinds.values()) > MOST or not cluster.resource_version:
        return None
    try:
        with _lock:
            return _simulation(*_now(cluster))
    except InputError:
        return None


def ladder_of_pod(cluster: Cluster, key: str) -> list[Rung] | None:
    """Return the stored ladder of a pending pod with all nodes; None if there is none, or it is of other nodes."""
    row = PendingPod.objects.filter(cluster=cluster, key=key).only("ladder").first()
    columns = queries.columns_now(cluster) if row is not None and row.ladder else None
    found = unpack(bytes(row.ladder), columns["nodes"]["name"]) if row is not None and columns else None
    return found and [replace(rung, text=escaped(rung.text), each=escaped(rung.each)) for rung in found]


def _now(cluster: Cluster) -> tuple[int, int, str, str]:
    return cluster.pk, cluster.resource_version, cluster.used_release, cluster.used_config


@lru_cache(maxsize=2)
def _demands(*now: Any) -> Demands:
    """Return the pods that wait, in the cluster of `_simulation`."""
    return demands_of(_simulation(*now))


@lru_cache(maxsize=2)
def _surroundings(cluster_id: int, version: int, *how: str) -> Surroundings:
    """Return what Karpenter has and says, with the cluster of `_simulation`."""
    state = history.checked_state_at(Cluster.everything.get(pk=cluster_id), version)
    simulation = _simulation(cluster_id, version, *how)
    extra = [(kind, obj) for kind in ("NodePool", "NodeClaim", "Event") for obj in state.typed(kind)]
    return surroundings_of((), extra, simulation.cluster, simulation.scheduler.profiles)


@lru_cache(maxsize=2)
def _simulation(cluster_id: int, version: int, release_name: str, config: str) -> Simulation:
    """Return the cluster at a resourceVersion. Raises InputError."""
    state = history.checked_state_at(Cluster.everything.get(pk=cluster_id), version)
    release = get_release(release_name or NEWEST)
    configuration = load(config or None, release, unknown="leave_out")
    objects = [obj for _, obj in fork.raw_objects(state)]
    # Controllers of the cluster create the pods of its workloads.
    prepared = prepare(objects, release=release, schedulers=configuration.schedulers, choices=Choices(), only=())
    return Simulation(prepared.objects, release=release, config=configuration)
