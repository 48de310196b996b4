"""Candidates for claims, volumes, storage classes and devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from scheduler_core.api.objects import Node, PersistentVolume, PersistentVolumeClaim, StorageClass, Volume
from scheduler_core.cluster import formatting
from scheduler_core.cluster.spelling import nearest
from scheduler_core.explain.answer import Target
from scheduler_core.forks import add_node
from scheduler_core.forks.mutations import Change
from scheduler_core.forks.template_patch import Raw
from scheduler_core.framework import causes
from scheduler_core.plugins.volumes import NO_PROVISIONER, claim_name, class_of_claim, fully_bound, other_users
from scheduler_core.suggestions import commands
from scheduler_core.suggestions.candidates import Candidates, FixCandidate, Situation, shown
from scheduler_core.virtual_time.scenario import Reference

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def _claims_of(situation: Situation) -> Iterator[tuple[Volume, Target, PersistentVolumeClaim | None]]:
    """Yield (volume, claim as target, the claim or None) for each volume of the pod with a claim."""
    namespace = situation.pod.namespace
    for volume in situation.pod.pod.spec.volumes:
        name = claim_name(situation.pod, volume)
        if name is not None:
            target = Target("PersistentVolumeClaim", namespace, name)
            yield volume, target, situation.cluster.claims.get(f"{namespace}/{name}")


def volume_zone(situation: Situation) -> Candidates:
    """Say where the volume is: nodes are missing there."""
    for _, target, claim in _claims_of(situation):
        volume = situation.cluster.volumes.get(claim.spec.volume_name) if claim is not None else None
        if volume is None:
            continue
        where = _labels_of(volume)
        if not where or any(_has(node, where) for node in situation.cluster.nodes.nodes):
            continue
        like = next(situation.likes(), situation.cluster.nodes.nodes[0])
        raw = add_node.another(situation.cluster.nodes.entries, like)
        raw["metadata"]["labels"] |= {key: values[0] for key, values in where.items()}
        changes = [Change(create=raw)]
        place = formatting.listing([f"{k}={formatting.listing(v, 'or')}" for k, v in where.items()])
        text = f"add a node with {place}: volume {volume.name} of claim {target.name} can be used only there"
        text += f"; {situation.would(changes)}"
        note = "or restore its data from a snapshot into a volume where nodes are"
        yield shown("volume-zone", Target("PersistentVolume", "", volume.name), text, note, changes)


def _has(node: Node, where: dict[str, list[str]]) -> bool:
    return all(node.metadata.labels.get(key) in values for key, values in where.items())


def _labels_of(volume: PersistentVolume) -> dict[str, list[str]]:
    """Return the labels that nodes must have to reach a volume, label -> values: of its first node selector term, and
    its own zone and region labels."""
    own = {k: v.split("__") for k, v in volume.metadata.labels.items() if k.rpartition("/")[2] in ("zone", "region")}
    affinity = volume.spec.node_affinity
    terms = affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else []
    first = terms[0].match_expressions if terms else []
    return own | {req.key: list(req.values) for req in first if req.operator == "In"}


def _gone(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.metadata.deletion_timestamp) or claim.status.phase == "Lost"


def claim_missing(situation: Situation) -> Candidates:
    found = list(_claims_of(situation))
    for _, target, claim in found:
        if claim is not None and _gone(claim):
            yield _restored(claim, target)
    for volume, target, claim in found:
        if claim is not None:
            continue
        if volume.ephemeral is not None:
            text = f"find out why claim {target.name} of ephemeral volume {volume.name} was not created"
            command = commands.describe(Target("Pod", situation.pod.namespace, situation.pod.name))
            yield shown("claim-missing", target, text, command=command)
            continue
        manifest = _manifest(situation, target.name)
        cls = manifest["spec"].get("storageClassName")
        text = f"create claim {target.name}"
        text += f" of class {cls}" if cls else "; the cluster has no known storage class"
        note = "check size and access mode" if cls else "it needs a default storage class or a volume"
        command, create = commands.create(manifest), [Change(create=manifest)]
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
    chosen = (c for c in known if c.provisioner not in ("", NO_PROVISIONER) and c.name != other)
    return min(chosen, key=order, default=None)


def claim_unbound(situation: Situation) -> Candidates:
    for volume, target, claim in _claims_of(situation):
        if claim is not None and _gone(claim):
            yield _restored(claim, target)
        if claim is None or fully_bound(claim):
            continue
        name, wanted = target.name, class_of_claim(claim)
        known = situation.cluster.storage_classes
        cls, other = known.get(wanted), _class(situation, wanted)
        waits = cls is not None and cls.volume_binding_mode == "WaitForFirstConsumer" and not claim.spec.volume_name
        similar = nearest(wanted, known) if wanted and cls is None else []
        chosen = similar[0] if similar else other.name if other is not None else ""
        replaceable = chosen and volume.ephemeral is None and not claim.spec.volume_name
        again = _recreated("claim-unbound", claim, target, chosen) if replaceable else None
        if cls is None:
            yield again
            made = f"create storage class {wanted} of" if wanted else "set a storage class for"
            text = f"{made} claim {name}"
        elif cls.provisioner in ("", NO_PROVISIONER):
            text = f"create a volume of class {wanted} for claim {name}: nothing provisions this class"
        elif waits and not cls.allowed_topologies:
            continue  # it is provisioned on any node: the cause is another claim
        elif waits:
            text = f"change allowedTopologies of storage class {wanted}, or add a node there: volumes for claim {name} "
            text += f"are made only where {_places(cls)}"
        else:
            text = f"find out why provisioner {cls.provisioner} has not made the volume of claim {name}"
        yield shown("claim-unbound", target, text)
        if cls is not None:
            yield again


def _places(cls: StorageClass) -> str:
    """Return where a class with allowedTopologies provisions."""
    terms = (
        " and ".join(f"{one.key}={formatting.listing(one.values, 'or')}" for one in term.match_label_expressions)
        for term in cls.allowed_topologies
    )
    return " or ".join(filter(None, terms)) or "no node is"  # an empty term allows no node


def _restored(claim: PersistentVolumeClaim, target: Target) -> FixCandidate:
    state = "is being deleted" if claim.metadata.deletion_timestamp else f"has lost volume {claim.spec.volume_name}"
    text = f"restore claim {claim.name}, which {state}, from a backup"
    note = "a claim stays until the last pod that uses it ends; only then can it be created again"
    return shown("claim-missing", target, text, note)


def storage_capacity(situation: Situation) -> Candidates:
    for volume, target, claim in _claims_of(situation):
        if claim is None or fully_bound(claim):
            continue
        other = _class(situation, class_of_claim(claim))
        if other is not None and volume.ephemeral is None:
            yield replace(_recreated("storage-capacity", claim, target, other.name), always=False)
        size = claim.spec.resources.requests.get("storage", "")
        text = f"free {size} of storage of class {class_of_claim(claim)} for claim {target.name} where the pod may run"
        yield shown("storage-capacity", target, text)


def conflict(situation: Situation) -> Candidates:
    """Say who uses the claim that only one pod, or only one node, may use."""
    for _, target, claim in _claims_of(situation):
        if claim is None or "ReadWriteOncePod" not in claim.spec.access_modes:
            continue
        if users := other_users(situation.cluster, situation.pod, claim):
            who = formatting.some(users, 3)
            text = f"stop {who} or give this workload its own claim: only one pod may use claim {claim.name}"
            yield shown("volume-conflict", target, text)


def _recreated(kind: str, claim: PersistentVolumeClaim, target: Target, cls: str) -> FixCandidate:
    manifest = _copied(claim, claim.name, cls)
    reference = Reference(kind="PersistentVolumeClaim", namespace=claim.namespace, name=claim.name)
    text = f"delete claim {claim.name} and create it again with class {cls}"
    note = "the class of a claim cannot change; this one has no volume and so no data"
    changes = [Change(delete=reference), Change(create=manifest)]
    return FixCandidate(kind, target, text, commands.create(manifest, True), changes, manifest, note, always=True)


def driver_missing(situation: Situation) -> Candidates:
    for driver in situation.cause.objects:
        text = f"install the CSI driver {driver} on nodes where the pod may run: its DaemonSet may not reach them"
        yield shown(situation.cause.kind, Target("CSIDriver", "", driver), text)


def devices(situation: Situation) -> Candidates:
    absent = situation.cause.kind == causes.DEVICE_ABSENT
    what = formatting.listing([one.name for one in situation.pod.pod.spec.resource_claims])
    text = f"add nodes with devices for {what}, or start their driver" if absent else f"free devices for {what}"
    command = commands.describe(Target("Pod", situation.pod.namespace, situation.pod.name))
    yield shown(situation.cause.kind, situation.owner, text, command=command)
