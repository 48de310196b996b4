"""Steps for persistent volume claims, volumes, storage classes and disks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from scheduler_core.api.objects import PersistentVolume, PersistentVolumeClaim, StorageClass, Volume
from scheduler_core.cluster import formatting
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.volume_users import disk_key
from scheduler_core.debugger.mutations import Change
from scheduler_core.debugger.suggestions.evict_pods import evict
from scheduler_core.debugger.suggestions.node_context import NodeContext, nearest
from scheduler_core.debugger.suggestions.steps import ADD, POD, Raw, Step, patch_of
from scheduler_core.plugins.volumes import (
    BIND_COMPLETED,
    NO_PROVISIONER,
    SELECTED_NODE,
    claim_name,
    class_of_claim,
    fully_bound,
)

_BOUND = {BIND_COMPLETED: "yes"}
_DISKS = ["gce_persistent_disk", "aws_elastic_block_store", "azure_disk", "iscsi", "rbd", "cinder", "vsphere_volume"]


def claims(context: NodeContext) -> Iterator[tuple[int, Volume, str, PersistentVolumeClaim | None]]:
    """Yield (index in spec.volumes, volume, claim's name, the claim or None) for each volume with a claim."""
    for i, volume in enumerate(context.pod.pod.spec.volumes):
        name = claim_name(context.pod, volume)
        if name is not None:
            yield i, volume, name, context.cluster.claims.get(f"{context.pod.namespace}/{name}")


def volumes(context: NodeContext) -> list[Step]:
    """All volume plugins: steps for each claim."""
    return [step for found in claims(context) for step in _claim_steps(context, *found)]


def _use_claim(place: int, name: str, document: Raw) -> None:
    document["spec"]["volumes"][place]["persistentVolumeClaim"]["claimName"] = name


def _is_used(context: NodeContext, name: str) -> bool:
    """Return whether another pod uses a claim."""
    pods = (pod for pods in context.cluster.volume_users.by_node.values() for pod in pods.values())
    mine = (pod for pod in pods if pod.namespace == context.pod.namespace and pod.key != context.pod.key)
    return any(claim_name(pod, volume) == name for pod in mine for volume in pod.pod.spec.volumes)


def _claim_steps(
    context: NodeContext, place: int, volume: Volume, name: str, claim: PersistentVolumeClaim | None
) -> Iterator[Step]:
    key = f"{context.pod.namespace}/{name}"
    mine = [c for c in context.cluster.claims.values() if c.namespace == context.pod.namespace]
    if claim is None:
        if volume.persistent_volume_claim is not None:
            known = [c.name for c in mine if not _is_used(context, c.name)]
            for other in nearest(name, known)[:2]:
                text = f"claim {key} does not exist; there is {formatting.some(sorted(known), 3)}: use claim {other}"
                yield Step(text, POD, 0.2, partial(_use_claim, place, other))
        yield from _created(context, name, None, f"create claim {key}", owned=volume.ephemeral is not None)
        return
    if claim.metadata.deletion_timestamp or claim.status.phase == "Lost":
        what = "is being deleted" if claim.metadata.deletion_timestamp else f"has lost volume {claim.spec.volume_name}"
        yield from _made_anew(context, claim, f"claim {key} {what}: create it again")
    bound = context.cluster.volumes.get(claim.spec.volume_name)
    if fully_bound(claim):
        if bound is None:
            text = f"volume {claim.spec.volume_name} of claim {key} does not exist: create it"
            yield _adding(text, 3.0, Change(create=_volume(claim, claim.spec.volume_name)))
        else:
            yield from _reachable(context, key, claim, bound)
    else:
        yield from _classes(context, key, claim)
        yield from _bindings(context, key, claim)
    yield from _users(context, key, claim)


def _served_class(context: NodeContext) -> StorageClass | None:
    """Return a class that provisions volumes where their pods go."""

    def order(one: StorageClass) -> tuple[bool, bool, str]:
        default = one.metadata.annotations.get("storageclass.kubernetes.io/is-default-class") == "true"
        return not default, bool(one.allowed_topologies), one.name

    waiting = (c for c in context.cluster.storage_classes.values() if c.volume_binding_mode == "WaitForFirstConsumer")
    return min((c for c in waiting if c.provisioner not in ("", NO_PROVISIONER)), key=order, default=None)


def _created(
    context: NodeContext, name: str, like: PersistentVolumeClaim | None, text: str, owned: bool = False
) -> Iterator[Step]:
    """Yield steps that create a claim: one for a storage class, one bound to a volume."""
    found = _served_class(context)
    meta: Raw = {"name": name, "namespace": context.pod.namespace}
    if owned:
        owner = {"apiVersion": "v1", "kind": "Pod", "name": context.pod.name, "uid": context.pod.pod.metadata.uid}
        meta["ownerReferences"] = [owner | {"controller": True}]
    spec: Raw = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    if found is not None:
        claim = {"kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec | {"storageClassName": found.name}}
        yield _adding(f"{text} of class {found.name}", 1.0, Change(create=claim))
    unclaimed = (v for v in context.cluster.volumes.values() if v.spec.claim_ref is None)
    free = next((v for v in unclaimed if v.status.phase != "Bound"), None)
    volume = free.name if free is not None else f"{name}-volume"
    bound = {
        "kind": "PersistentVolumeClaim",
        "metadata": meta | {"annotations": dict(_BOUND)},
        "spec": spec | {"volumeName": volume, "storageClassName": free.spec.storage_class_name if free else ""},
        "status": {"phase": "Bound"},
    }
    changes = [Change(create=bound)]
    if free is None:
        changes.append(Change(create=_raw_volume(volume, context.pod.namespace, name, "1Gi", ["ReadWriteOnce"], "")))
    which = f"volume {volume}" if free is not None else f"a new volume {volume}"
    yield _adding(f"{text}, bound to {which}", 1.5, *changes)


def _made_anew(context: NodeContext, claim: PersistentVolumeClaim, text: str) -> Iterator[Step]:
    found = _served_class(context)
    meta: Raw = {"deletionTimestamp": None}
    if found is not None:
        spec: Raw = {"volumeName": None, "storageClassName": found.name}
        patch: Raw = {"metadata": meta | {"annotations": None}, "spec": spec, "status": {"phase": "Pending"}}
        yield _adding(f"{text} of class {found.name}", 1.0, _patch_claim(claim, patch))
    volume = f"{claim.name}-new"
    changes = _bind(claim, volume, **meta), Change(create=_volume(claim, volume))
    yield _adding(f"{text}, bound to a new volume {volume}", 1.5, *changes)


def _adding(text: str, cost: float, *changes: Change) -> Step:
    return Step(text, ADD, cost, None, changes)


def _bind(claim: PersistentVolumeClaim, volume: str, **meta: Any) -> Change:
    """Return the patch that makes a claim bound to a volume."""
    bound: Raw = {"spec": {"volumeName": volume}, "status": {"phase": "Bound"}}
    return _patch_claim(claim, {"metadata": meta | {"annotations": dict(_BOUND)}, **bound})


def _patch_claim(claim: PersistentVolumeClaim, patch: Raw) -> Change:
    return patch_of("PersistentVolumeClaim", claim.namespace, claim.name, patch)


def _volume(claim: PersistentVolumeClaim, name: str, node: str = "") -> Raw:
    size = str(claim.spec.resources.requests.get("storage", "1Gi"))
    raw = _raw_volume(name, claim.namespace, claim.name, size, claim.spec.access_modes, class_of_claim(claim))
    if claim.metadata.uid:
        raw["spec"]["claimRef"]["uid"] = claim.metadata.uid
    if claim.spec.volume_mode:
        raw["spec"]["volumeMode"] = claim.spec.volume_mode
    if node:
        required = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
        raw["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [required]}}
    return raw


def _raw_volume(name: str, namespace: str, claim: str, size: str, modes: list[str], cls: str) -> Raw:
    ref = {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim}
    spec = {"capacity": {"storage": size}, "accessModes": modes, "storageClassName": cls, "claimRef": ref}
    return {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec, "status": {"phase": "Bound"}}


def _classes(context: NodeContext, key: str, claim: PersistentVolumeClaim) -> Iterator[Step]:
    """Yield steps that give an unbound claim a similarly named or a working class, or that create its class."""
    wanted, known = class_of_claim(claim), context.cluster.storage_classes
    forget = {"volumeName": None} if claim.spec.volume_name else {}
    why = f"class {wanted or '(none)'} of claim {key} does not exist" if wanted not in known else ""
    if why and known:
        why += f"; classes are {formatting.some(sorted(known), 4)}"
    names = nearest(wanted, known)[:2] if why else []
    served = _served_class(context)
    if served is not None and served.name not in names and served.name != wanted:
        names.append(served.name)
    for other in names:
        text = f"{why}: have the claim use class {other}" if why else f"have claim {key} use class {other}"
        cost = 0.3 if why and other in nearest(wanted, known) else 2.0
        yield _adding(text, cost, _patch_claim(claim, {"spec": {"storageClassName": other, **forget}}))
    if why and wanted:
        raw = {"kind": "StorageClass", "metadata": {"name": wanted}, "provisioner": "example.com/provisioner"}
        change = Change(create=raw | {"volumeBindingMode": "WaitForFirstConsumer"})
        yield _adding(f"class {wanted} of claim {key} does not exist: create it, with a provisioner", 2.5, change)


def _bindings(context: NodeContext, key: str, claim: PersistentVolumeClaim) -> Iterator[Step]:
    """Yield steps that give an unbound claim a volume."""
    if claim.metadata.annotations.get(SELECTED_NODE):
        patch: Raw = {"metadata": {"annotations": {SELECTED_NODE: None}}}
        there = claim.metadata.annotations[SELECTED_NODE]
        text = f"claim {key} is being provisioned on {there}: let it be provisioned elsewhere"
        yield _adding(text, 1.5, _patch_claim(claim, patch))
    cls = context.cluster.storage_classes.get(class_of_claim(claim))
    node = context.labels.get("kubernetes.io/hostname", "")
    if cls is not None and cls.volume_binding_mode == "WaitForFirstConsumer":
        volume = f"{claim.name}-on-{context.name}"[:253]
        text = f"create a volume for claim {key} that {context.name} can reach ({volume})"
        yield _adding(text, 1.8, Change(create=_volume(claim, volume, node)))
    volume = claim.spec.volume_name or f"{claim.name}-volume"
    changes = [_bind(claim, volume)]
    if volume not in context.cluster.volumes:
        changes.append(Change(create=_volume(claim, volume)))
    yield _adding(f"have claim {key} bound to volume {volume}", 2.0, *changes)


def _reachable(
    context: NodeContext, key: str, claim: PersistentVolumeClaim, volume: PersistentVolume
) -> Iterator[Step]:
    """Yield a step that makes a bound volume reachable from this node."""
    zones = {k: context.labels.get(k) for k in volume.metadata.labels if k.rpartition("/")[2] in ("zone", "region")}
    patch: Raw = {}
    if volume.spec.node_affinity is not None:
        patch["spec"] = {"nodeAffinity": None}
    if zones and any(volume.metadata.labels[k] != v for k, v in zones.items()):
        patch["metadata"] = {"labels": zones}
    if patch:
        change = patch_of("PersistentVolume", "", volume.name, patch)
        yield _adding(f"move volume {volume.name} of claim {key} to where {context.name} is", 4.0, change)


def _users(context: NodeContext, key: str, claim: PersistentVolumeClaim) -> list[Step]:
    """Return steps that delete the other users of a ReadWriteOncePod claim."""
    return evict(users(context.cluster, claim, context.pod))


def users(cluster: Cluster, claim: PersistentVolumeClaim, pod: PodInfo) -> list[PodInfo]:
    """Return the other pods with a node that use a ReadWriteOncePod claim."""
    if "ReadWriteOncePod" not in claim.spec.access_modes:
        return []
    return [
        other
        for pods in cluster.volume_users.by_node.values()
        for other in pods.values()
        if other.namespace == claim.namespace
        and other.key != pod.key
        and any(claim_name(other, volume) == claim.name for volume in other.pod.spec.volumes)
    ]


def disk_users(context: NodeContext) -> list[Step]:
    """VolumeRestrictions: delete pods on the node that use one of this pod's disks."""
    mine = {k for volume in context.pod.pod.spec.volumes if (k := disk_key(volume)) is not None}
    users = [pod for pod in context.pods() if any(disk_key(volume) in mine for volume in pod.pod.spec.volumes)]
    return evict(users)


def fewer_volumes(context: NodeContext) -> list[Step]:
    """Limits on attached volumes: delete one to four pods with volumes on the node."""
    there = [pod for pod in context.cluster.volume_users.on(context.name) if pod.key != context.pod.key]
    return [step for number in range(1, min(len(there), 4) + 1) for step in evict(there, number)]


def labels_of(volume: PersistentVolume) -> dict[str, list[str]]:
    """Return the labels that nodes must have to reach a volume, label -> values: of its first node selector term, and
    its own zone and region labels."""
    own = {k: v.split("__") for k, v in volume.metadata.labels.items() if k.rpartition("/")[2] in ("zone", "region")}
    affinity = volume.spec.node_affinity
    terms = affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else []
    first = terms[0].match_expressions if terms else []
    return own | {req.key: list(req.values) for req in first if req.operator == "In"}
