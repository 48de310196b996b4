"""The claims that a pending pod waits for, and why they have no volume."""

from __future__ import annotations

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.pending_pods.event_index import EventIndex
from scheduler_core.pending_pods.pending_answer import ClaimWait
from scheduler_core.plugins.volumes import PROVISIONING, WAITS_FOR_CONSUMER, claim_problems

MESSAGE = 300  # characters of a provisioner's message


def claim_waits(cluster: Cluster, pod: PodInfo, events: EventIndex) -> list[ClaimWait]:
    """Return why each unusable or unbound claim of the pod is so. Claims that are bound with the pod come last."""
    found = []
    for one in claim_problems(cluster, pod):
        reported = _reported(one.claim, events) if one.cause in ("no-class", PROVISIONING, "immediate") else ""
        reported = reported or "; it has reported nothing" * (one.cause == "immediate")
        found.append(ClaimWait(one.claim, one.cause, f"claim {one.claim} {one.text}{reported}", one.storage_class))
    return sorted(found, key=lambda wait: wait.cause == WAITS_FOR_CONSUMER)


def _reported(key: str, events: EventIndex) -> str:
    event = events.last("PersistentVolumeClaim", key)
    if event is None:
        return ""
    return f"; last event: {event.reason}: {event.message[:MESSAGE].rstrip('.')}"
