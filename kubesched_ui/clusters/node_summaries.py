"""The sentence about a node of a live cluster and the pods that wait for it."""

import threading
from functools import lru_cache

from kubesched_ui.clusters import fork, history
from kubesched_ui.clusters.models import Cluster
from scheduler_core.debugger.node_demand import Demands, demands_of, summary_of
from scheduler_core.errors import InputError
from scheduler_core.legacy.configuration import load
from scheduler_core.releases import NEWEST, get_release
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.preflight import Choices
from scheduler_core.snapshot.prepare import prepare

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
            simulation, demands = _state(
                cluster.pk, cluster.resource_version, cluster.used_release, cluster.used_config
            )
            return summary_of(simulation, name, demands)
    except InputError as problem:
        return f"What keeps the pending pods from the node is not known: {str(problem).rstrip('.')}."


@lru_cache(maxsize=2)
def _state(cluster_id: int, version: int, release_name: str, config: str) -> tuple[Simulation, Demands]:
    """Return the cluster at a resourceVersion, and the pods that wait. Raises InputError."""
    state = history.checked_state_at(Cluster.everything.get(pk=cluster_id), version)
    release = get_release(release_name or NEWEST)
    configuration = load(config or None, release, unknown="leave_out")
    objects = [obj for _, obj in fork.raw_objects(state)]
    # Controllers of the cluster create the pods of its workloads.
    prepared = prepare(objects, release=release, schedulers=configuration.schedulers, choices=Choices(), only=())
    simulation = Simulation(prepared.objects, release=release, config=configuration)
    return simulation, demands_of(simulation)
