"""The object that a person edits to change a pod: its controller, or the controller of that."""

from typing import Any

import msgspec

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.explain.answer import Target
from scheduler_core.metrics.groups import OF_ONE_POD, workload_of

PATCHED = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController")
"""Kinds with a pod template that can be changed in place."""
ROLLS_OUT = ("Deployment", "DaemonSet")
"""Kinds that replace pods that are not ready after a change of the template. The others replace no pending pod."""
_OF_ONE_POD = frozenset((*OF_ONE_POD, "batch.kubernetes.io/job-completion-index"))
_ENCODE = msgspec.json.Encoder(order="deterministic").encode


def owner_of(cluster: Cluster, pod: PodInfo) -> Target:
    """Return the workload of a pod, or the pod if it has no controller.

    A ReplicaSet stands for the Deployment that owns it, or whose name results from the label pod-template-hash if the
    cluster has no such ReplicaSet.
    """
    found = workload_of(pod.pod)
    if found is None:
        return Target("Pod", pod.namespace, pod.name)
    kind, name = found
    if kind == "ReplicaSet":
        stored = cluster.replica_sets.get(f"{pod.namespace}/{name}")
        above = stored.metadata.controller_ref if stored is not None else None
        if above is not None:
            kind, name = above.kind, above.name
    return Target(kind, "" if kind == "Node" else pod.namespace, name)


def equality_of(pod: PodInfo) -> bytes:
    """Return a key that is equal for pods that the scheduler treats equally, also for several without a controller."""
    metadata, spec = pod.pod.metadata, pod.pod.spec
    labels = {key: value for key, value in pod.labels.items() if key not in _OF_ONE_POD}
    plain: dict[str, Any] = msgspec.to_builtins(spec)
    for name in ("hostname", "subdomain"):
        plain.pop(name, None)
    return _ENCODE((pod.namespace, labels, metadata.owner_references, plain, pod.nominated_node))
