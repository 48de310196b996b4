"""Checks that old releases make before they evaluate nodes.

Source: pkg/scheduler/core/generic_scheduler.go (podPassesBasicChecks, until 1.18).
"""

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo


def claims_fail(cluster: Cluster, pod: PodInfo) -> str:
    """Return the error of the pod's first claim that is missing or being deleted; "" if there is none."""
    for volume in pod.pod.spec.volumes:
        if volume.persistent_volume_claim is None:
            continue
        name = volume.persistent_volume_claim.claim_name
        claim = cluster.claims.get(f"{pod.namespace}/{name}")
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.metadata.deletion_timestamp:
            return f'persistentvolumeclaim "{name}" is being deleted'
    return ""
