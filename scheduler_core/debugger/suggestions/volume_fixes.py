"""Candidates for claims, volumes, storage classes and devices."""

from __future__ import annotations

import msgspec

from scheduler_core.api.objects import Node, PersistentVolumeClaim, StorageClass
from scheduler_core.cluster import formatting
from scheduler_core.cluster.spelling import nearest
from scheduler_core.debugger.mutations import Change
from scheduler_core.debugger.suggestions import add_node, commands, volumes
from scheduler_core.debugger.suggestions.candidates import Candidates, FixCandidate, Situation
from scheduler_core.debugger.suggestions.steps import Raw
from scheduler_core.explain.answer import Target
from scheduler_core.framework import causes
from scheduler_core.plugins.volumes import NO_PROVISIONER, class_of_claim, fully_bound
from scheduler_core.virtual_time.scenario import Reference

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def volume_zone(situation: Situation) -> Candidates:
    """Say where the volume is: nodes are missing there."""
    context = situation.near[0] if situation.near else None
    if context is None:
        return
    for _, _, name, claim in volumes.claims(context):
        volume = situation.cluster.volumes.get(claim.spec.volume_name) if claim is not None else None
        if volume is None:
            continue
        where = volumes.labels_of(volume)
        if not where or any(_has(node, where) for node in situation.cluster.nodes.nodes):
            continue
        like = next(situation.likes(), context.node)
        raw = add_node.another(situation.cluster.nodes.entries, like)
        raw["metadata"]["labels"] |= {key: values[0] for key, values in where.items()}
        changes = [Change(create=raw)]
        placed = len(situation.placed(changes))
        place = formatting.listing([f"{k}={formatting.listing(v, 'or')}" for k, v in where.items()])
        text = f"add a node with {place}: volume {volume.name} of claim {name} can be used only there"
        text += f"; {situation.would(placed)}"
        note = "or restore its data from a snapshot into a volume where nodes are"
        target, command = Target("PersistentVolume", "", volume.name), commands.describe("pv", volume.name)
        yield FixCandidate("volume-zone", target, text, command, changes, None, note, always=True, shows=True)


def _has(node: Node, where: dict[str, list[str]]) -> bool:
    return all(node.metadata.labels.get(key) in values for key, values in where.items())


def claim_missing(situation: Situation) -> Candidates:
    context = situation.near[0] if situation.near else None
    found = list(volumes.claims(context)) if context is not None else []
    for *_, claim in found:
        if claim is not None and (claim.metadata.deletion_timestamp or claim.status.phase == "Lost"):
            yield _deleted(claim)
    missing = [one for one in found if one[3] is None]
    for _, volume, name, _ in missing:
        namespace = situation.pod.namespace
        target = Target("PersistentVolumeClaim", namespace, name)
        if volume.ephemeral is not None:
            text = f"find out why claim {name} of ephemeral volume {volume.name} was not created"
            command = commands.describe("pod", situation.pod.name, namespace)
            yield FixCandidate("claim-missing", target, text, command, [], always=True, shows=True)
            continue
        manifest = _manifest(situation, name)
        cls = manifest["spec"].get("storageClassName")
        text = f"create claim {name}" + (f" of class {cls}" if cls else "; the cluster has no known storage class")
        note = "check size and access mode" if cls else "it needs a default storage class or a volume"
        create = [Change(create=manifest)]
        command = commands.create(manifest)
        yield FixCandidate("claim-missing", target, text, command, create, manifest, note, always=True)


def _manifest(situation: Situation, name: str) -> Raw:
    """Return a claim like those of the workload's other pods, or else of a class that the cluster has."""
    namespace, siblings = situation.pod.namespace, name.rpartition("-")[0]
    claims = [c for c in situation.cluster.claims.values() if c.namespace == namespace]
    like = next((c for c in claims if siblings and c.name.rpartition("-")[0] == siblings), None)
    if like is not None:
        return _copied(like, name, class_of_claim(like))
    found = _class(situation)
    spec: Raw = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}
    if found is not None:
        spec["storageClassName"] = found.name
    return _claim(namespace, name, spec)


def _claim(namespace: str, name: str, spec: Raw) -> Raw:
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def _copied(claim: PersistentVolumeClaim, name: str, cls: str) -> Raw:
    """Return a new claim with the spec of another one, of a class."""
    spec: Raw = msgspec.to_builtins(claim.spec)
    spec.pop("volumeName", None)
    found = _claim(claim.namespace, name, spec | ({"storageClassName": cls} if cls else {}))
    if claim.metadata.labels:
        found["metadata"]["labels"] = dict(claim.metadata.labels)
    return found


def _class(situation: Situation, other: str = "") -> StorageClass | None:
    """Return the best class but `other` that provisions: the default, one that waits for the pod, the most used."""
    used = [class_of_claim(claim) for claim in situation.cluster.claims.values()]

    def order(one: StorageClass) -> tuple[bool, bool, bool, int, str]:
        default = one.metadata.annotations.get(_DEFAULT_CLASS) == "true"
        waits = one.volume_binding_mode == "WaitForFirstConsumer"
        return not default, not waits, bool(one.allowed_topologies), -used.count(one.name), one.name

    known = situation.cluster.storage_classes.values()
    return min(
        (c for c in known if c.provisioner not in ("", NO_PROVISIONER) and c.name != other), key=order, default=None
    )


def claim_unbound(situation: Situation) -> Candidates:
    context = situation.near[0] if situation.near else None
    for _, volume, name, claim in volumes.claims(context) if context is not None else ():
        if claim is not None and (claim.metadata.deletion_timestamp or claim.status.phase == "Lost"):
            yield _deleted(claim)
        if claim is None or fully_bound(claim):
            continue
        target, wanted = Target("PersistentVolumeClaim", claim.namespace, name), class_of_claim(claim)
        known = situation.cluster.storage_classes
        cls = known.get(wanted)
        other = _class(situation, wanted)
        similar = nearest(wanted, known) if wanted and cls is None else []
        chosen = similar[0] if similar else other.name if other is not None else ""
        again = (
            _recreated(claim, chosen) if chosen and volume.ephemeral is None and not claim.spec.volume_name else None
        )
        command = commands.describe("pvc", name, claim.namespace)
        if cls is None:
            yield again
            text = (
                f"create storage class {wanted} of claim {name}" if wanted else f"set a storage class for claim {name}"
            )
        elif cls.provisioner in ("", NO_PROVISIONER):
            text = f"create a volume of class {wanted} for claim {name}: nothing provisions this class"
        else:
            text = f"find out why provisioner {cls.provisioner} has not made the volume of claim {name}"
        yield FixCandidate("claim-unbound", target, text, command, [], always=True, shows=True)
        if cls is not None:
            yield again


def _deleted(claim: PersistentVolumeClaim) -> FixCandidate:
    target = Target("PersistentVolumeClaim", claim.namespace, claim.name)
    state = "is being deleted" if claim.metadata.deletion_timestamp else f"has lost volume {claim.spec.volume_name}"
    text = f"restore claim {claim.name}, which {state}, from a backup"
    note = "a claim stays until the last pod that uses it ends; only then can it be created again"
    command = commands.describe("pvc", claim.name, claim.namespace)
    return FixCandidate("claim-missing", target, text, command, [], remark=note, always=True, shows=True)


def storage_capacity(situation: Situation) -> Candidates:
    context = situation.near[0] if situation.near else None
    for _, volume, name, claim in volumes.claims(context) if context is not None else ():
        if claim is None or fully_bound(claim):
            continue
        other = _class(situation, class_of_claim(claim))
        if other is not None and volume.ephemeral is None:
            again = _recreated(claim, other.name)
            again.kind, again.always = "storage-capacity", False
            yield again
        size = claim.spec.resources.requests.get("storage", "")
        text = f"free {size} of storage of class {class_of_claim(claim)} for claim {name} where the pod may run"
        target = Target("PersistentVolumeClaim", claim.namespace, name)
        command = commands.describe("pvc", name, claim.namespace)
        yield FixCandidate("storage-capacity", target, text, command, [], always=True, shows=True)


def conflict(situation: Situation) -> Candidates:
    """Say who uses the claim that only one pod, or only one node, may use."""
    context = situation.near[0] if situation.near else None
    for _, _, name, claim in volumes.claims(context) if context is not None else ():
        users = volumes.users(situation.cluster, claim, situation.pod) if claim is not None else []
        if claim is None or not users:
            continue
        who = formatting.some([pod.key for pod in users], 3)
        text = f"stop {who} or give this workload its own claim: only one pod may use claim {name}"
        target = Target("PersistentVolumeClaim", claim.namespace, name)
        command = commands.describe("pvc", name, claim.namespace)
        yield FixCandidate("volume-conflict", target, text, command, [], always=True, shows=True)


def _recreated(claim: PersistentVolumeClaim, cls: str) -> FixCandidate:
    target = Target("PersistentVolumeClaim", claim.namespace, claim.name)
    manifest = _copied(claim, claim.name, cls)
    reference = Reference(kind="PersistentVolumeClaim", namespace=claim.namespace, name=claim.name)
    text = f"delete claim {claim.name} and create it again with class {cls}"
    note = "the class of a claim cannot change; this one has no volume and so no data"
    changes = [Change(delete=reference), Change(create=manifest)]
    return FixCandidate(
        "claim-unbound", target, text, commands.recreate(manifest), changes, manifest, note, always=True
    )


def devices(situation: Situation) -> Candidates:
    absent = situation.cause.kind == causes.DEVICE_ABSENT
    what = formatting.listing([one.name for one in situation.pod.pod.spec.resource_claims])
    text = f"add nodes with devices for {what}, or start their driver" if absent else f"free devices for {what}"
    command = commands.describe("pod", situation.pod.name, situation.pod.namespace)
    yield FixCandidate(situation.cause.kind, situation.owner, text, command, [], always=True, shows=True)
