"""What is never suggested, because it harms others or does not run the pod as intended (docs/answers.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from scheduler_core.api import patches
from scheduler_core.api.objects import Container, Pod, decode
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.node_labels import GIVEN_LABELS
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.resources import amounts
from scheduler_core.cluster.system_taints import NEVER, NOT_READY, UNSCHEDULABLE
from scheduler_core.debugger.mutations import Change
from scheduler_core.debugger.suggestions.immutable_fields import changes_immutable
from scheduler_core.debugger.suggestions.owner import owner_of
from scheduler_core.plugins.volumes import claim_name

SYSTEM_TAINTS = {UNSCHEDULABLE, *NOT_READY, *NEVER}
"""Taints that the system sets. A pod that tolerates one runs where it should not."""
_DECISIONS = {
    "skip": "leaves a plugin out",
    "weight": "changes the profile",
    "place": "ignores all plugins",
    "drain": "deletes the pods of a node",
    "taint": "taints a node",
}


def forbidden(cluster: Cluster, pods: Sequence[PodInfo], changes: Iterable[Change], command: str = "") -> str:
    """Return why changes must not be suggested for pods of one workload, "" if they may be.

    `command`: the command that makes them. A change of an immutable field needs one that creates the object anew.
    """
    return next((why for change in changes for why in _reasons(cluster, pods, change, command) if why), "")


def _reasons(cluster: Cluster, pods: Sequence[PodInfo], change: Change, command: str) -> Iterator[str]:
    name, what = change.operation
    yield _DECISIONS.get(name, "")
    if name == "untaint" and what.key != UNSCHEDULABLE:
        yield "removes a taint of a node"
    if name == "delete":
        yield from _deletion(cluster, pods, what)
    if name != "patch":
        return
    key = f"{what.namespace or 'default'}/{what.name}"
    if what.kind == "Pod":
        pod = next((pod for pod in pods if pod.key == key), None) or cluster.pods.get(key)
        mine = pod is not None and owner_of(cluster, pod) in [owner_of(cluster, one) for one in pods]
        yield from _edit(cluster, pod, what.patch, command) if mine and pod is not None else ("changes another pod",)
    elif what.kind == "PersistentVolumeClaim":
        yield "changes a claim in place" if "spec" in what.patch else ""
        yield _claim_of_others(cluster, pods, what.namespace or "default", what.name)
    elif what.kind == "Node":
        shows = command.startswith("kubectl describe node")
        labels = (what.patch.get("metadata") or {}).get("labels") or {}
        yield "changes what a node is" if not shows and {"spec", "status"} & what.patch.keys() else ""
        yield "changes a label that describes a node" if labels.keys() & {*GIVEN_LABELS} else ""
    else:
        yield f"changes a {what.kind}"


def _deletion(cluster: Cluster, pods: Sequence[PodInfo], what: Any) -> Iterator[str]:
    if what.kind == "PersistentVolumeClaim":
        yield _claim_of_others(cluster, pods, what.namespace or "default", what.name)
        claim = cluster.claims.get(f"{what.namespace or 'default'}/{what.name}")
        yield "deletes a bound claim and its data" if claim is not None and claim.spec.volume_name else ""
        return
    if what.kind != "Pod":
        yield f"deletes a {what.kind}"
        return
    victim = cluster.pods.get(f"{what.namespace or 'default'}/{what.name}")
    if victim is None:
        yield "deletes a pod that waits"
        return
    owner = owner_of(cluster, victim)
    for pod in pods:
        if owner.kind != "Pod" and owner == owner_of(cluster, pod):
            yield "deletes a pod of the same owner"
        if victim.priority > pod.priority:
            yield "deletes a pod of a higher priority"
        if owner.kind == "DaemonSet" or (owner.kind != "Pod" and victim.priority == pod.priority):
            yield "deletes a pod that its controller creates again ahead of this one"
        if victim.pod.placed_by == "kubelet":
            yield "deletes a static pod"


def _claim_of_others(cluster: Cluster, pods: Sequence[PodInfo], namespace: str, name: str) -> str:
    """Return a reason if another workload uses a claim, or if this one does not name it."""
    owners = [owner_of(cluster, pod) for pod in pods]
    for users in cluster.volume_users.by_node.values():
        for user in users.values():
            if user.namespace == namespace and name in _claims(user) and owner_of(cluster, user) not in owners:
                return "uses the claim of another workload"
    return "" if any(pod.namespace == namespace and name in _claims(pod) for pod in pods) else "uses another claim"


def _claims(pod: PodInfo) -> set[str]:
    return {name for volume in pod.pod.spec.volumes if (name := claim_name(pod, volume))}


def _containers(pod: Pod) -> list[Container]:
    return [*pod.spec.containers, *pod.spec.init_containers]


def _edit(cluster: Cluster, pod: PodInfo, patch: Any, command: str) -> Iterator[str]:
    """Yield what is wrong with an edit of a pod of the workload."""
    document: dict[str, Any] = msgspec.to_builtins(pod.pod)
    changed = decode({"kind": "Pod", **patches.merge_patch(document, patch)})
    assert isinstance(changed, Pod)
    new = PodInfo(changed, cluster.release)
    if command.startswith("kubectl patch pod"):
        yield "changes an immutable field in place" if changes_immutable(pod.pod, patch) else ""
    for container, edited in zip(_containers(pod.pod), _containers(changed), strict=True):
        was, now = amounts(container.resources.requests), amounts(edited.resources.requests)
        renamed = sum(name not in was for name in now)
        gone = [name for name, amount in was.items() if amount and not now.get(name)]
        yield f"requests no {gone[0]}" if len(gone) > renamed else ""
    old_volumes, new_volumes = pod.pod.spec.volumes, changed.spec.volumes
    yield "runs without a volume" if len(new_volumes) < len(old_volumes) else ""
    yield "uses another claim" if _claims(new) - _claims(pod) else ""
    yield "runs without a device" if len(changed.spec.resource_claims) < len(pod.pod.spec.resource_claims) else ""
    # Services and the owner select by them, and the API server refuses a template that its owner does not select
    yield "changes a label" if any(new.labels.get(key) != value for key, value in pod.labels.items()) else ""
    before = {(one.key, one.operator, one.value, one.effect) for one in pod.pod.spec.tolerations}
    for one in changed.spec.tolerations:
        if (one.key, one.operator, one.value, one.effect) not in before:
            yield f"tolerates taint {one.key} of the system" if one.key in SYSTEM_TAINTS else ""
            yield "tolerates every taint" if not one.key else ""
