"""`kubectl kubesched drain`: where the pods of a node would be placed again, and which would stay pending."""

import time

import msgspec
from msgspec.structs import replace

from scheduler_core.api import patches
from scheduler_core.api.devices import ResourceClaimStatus
from scheduler_core.api.objects import Node, Pod, PodStatus
from scheduler_core.cluster.formatting import count
from scheduler_core.commands.kubectl.cluster_reader import ReadCluster
from scheduler_core.commands.kubectl.why import PodPlacement, place
from scheduler_core.dra.claims import claims_used
from scheduler_core.errors import InputError
from scheduler_core.live.watch_events import DELETED, MODIFIED, WatchEvent
from scheduler_core.preemption.victims import compile_budgets


class Drain(msgspec.Struct, omit_defaults=True):
    """What a drain of a node would do.

    `placements`: the pods that their controllers create again. `stay`: pods of DaemonSets and of the kubelet, which a
    drain skips. `lost`: pods without a controller, which nothing creates again. `refused`: pods whose eviction a
    PodDisruptionBudget refuses at present. `notes`: remarks, as sentences.
    """

    node: str
    placements: list[PodPlacement]
    stay: list[str] = []
    lost: list[str] = []
    refused: list[str] = []
    notes: list[str] = []


def drain(cluster: ReadCluster, name: str, fix: bool) -> Drain:
    """Cordon a node of the mirror, evict its pods and schedule them again. Raises InputError if it does not exist."""
    mirror = cluster.mirror
    if "Node" in cluster.refused:
        raise InputError(f"Node {name}", "", "nodes cannot be read: the API server refuses it")
    node = mirror.store.get("Node", name)
    if not isinstance(node, Node):
        raise InputError(f"Node {name[:253]}", "", "does not exist")
    there = list(mirror.cluster.nodes.entries[name].pods.values())
    found = Drain(name, [])
    evicted = [pod for pod in there if not pod.pod.stays_in_drain]
    found.stay = [pod.key for pod in there if pod.pod.stays_in_drain]
    # The eviction API ignores budgets for pods that have not started.
    # Source: pkg/registry/core/pod/storage/eviction.go (canIgnorePDB)
    running = [pod for pod in evicted if pod.pod.status.phase not in ("", "Pending")]
    found.refused = [pod.key for pod in compile_budgets(mirror.cluster).split(running)[0]]
    local = [pod.key for pod in evicted if any(volume.empty_dir is not None for volume in pod.pod.spec.volumes)]
    if local:
        found.notes.append(f"{count(len(local), 'pod')} would lose the data of emptyDir volumes.")
    if "PodDisruptionBudget" in cluster.refused:
        found.notes.append("Disruption budgets cannot be read, so it is unknown which evictions they refuse.")
    now, version = time.time(), mirror.resource_version
    cordoned = patches.cordoned(node, True)
    mirror.apply(WatchEvent("Node", MODIFIED, name, version, cordoned, now))
    again: list[Pod] = []
    for info in evicted:
        pod = info.pod
        for claim in claims_used(info, mirror.cluster.device_claims):
            if len(claim.status.reserved_for) < 2:
                mirror.cluster.apply(replace(claim, status=ResourceClaimStatus()))
        mirror.apply(WatchEvent("Pod", DELETED, pod.key, version, pod, now))
        if not any(owner.controller for owner in pod.metadata.owner_references):
            found.lost.append(pod.key)
            continue
        metadata = replace(pod.metadata, deletion_timestamp="", finalizers=[])
        spec = replace(pod.spec, node_name="")
        status = PodStatus(resource_claim_statuses=pod.status.resource_claim_statuses)
        again.append(replace(pod, metadata=metadata, spec=spec, status=status))
    found.placements = place(cluster, again, fix, cordoned) if again else []
    return found
