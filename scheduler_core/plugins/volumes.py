"""Helpers of the volume plugins: the claims of a pod, their storage classes, and node affinity of volumes over all
nodes.

Upstream: k8s.io/component-helpers/storage (volume, ephemeral).
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scheduler_core.api import quantity
from scheduler_core.api.objects import (
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    Quantities,
    Requirement,
    Volume,
)
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.nodes import NodeTable
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.spelling import nearest
from scheduler_core.framework import causes
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.interface import Status
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, equal, every, opposite, over

Rows = npt.NDArray[np.intp]

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
PROVISIONING, WAITS_FOR_CONSUMER = "provisioning", "waits-for-consumer"
_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_CLASS = "volume.beta.kubernetes.io/storage-class"

NO_NAME = "PersistentVolumeClaim had no name"


def not_found(resource: str, name: str) -> str:
    """Return the API machinery's message for a missing object."""
    return f'{resource} "{name}" not found'


def claim_missing(name: str) -> str:
    return not_found("persistentvolumeclaim", name)


def claim_name(pod: PodInfo, volume: Volume) -> str | None:
    """Return the name of the volume's claim, explicit or generated for a generic ephemeral volume; None if it
    has none. API servers of older releases drop ephemeral volumes."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    if volume.ephemeral is not None and pod.release.ephemeral_volumes:
        return f"{pod.name}-{volume.name}"
    return None


def names_claim(pod: PodInfo, claim: PersistentVolumeClaim) -> bool:
    """Return whether the pod uses this claim."""
    if pod.namespace != claim.namespace:
        return False
    return any(claim_name(pod, volume) == claim.name for volume in pod.pod.spec.volumes)


def other_users(cluster: Cluster, pod: PodInfo, claim: PersistentVolumeClaim) -> list[str]:
    """Return the other pods on nodes that use a claim."""
    running = (one for pods in cluster.volume_users.by_node.values() for one in pods.values())
    return [one.key for one in running if one.key != pod.key and names_claim(one, claim)]


def own_claim_changed(pod: PodInfo, old: object, new: PersistentVolumeClaim) -> bool:
    """Return whether the pod uses the claim that was added or changed (a queueing hint)."""
    return names_claim(pod, new)


def not_owned(pod: PodInfo, claim: PersistentVolumeClaim) -> str:
    """Return why the claim was not created for an ephemeral volume of the pod; "" if it was."""
    controller = next((owner for owner in claim.metadata.owner_references if owner.controller), None)
    if controller is not None and controller.uid == pod.pod.metadata.uid:
        return ""
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """Return the claim's storage class, "" for none. The old annotation takes precedence."""
    return claim.metadata.annotations.get(_CLASS, claim.spec.storage_class_name or "")


def class_of_volume(volume: PersistentVolume) -> str:
    return volume.metadata.annotations.get(_CLASS, volume.spec.storage_class_name)


def fully_bound(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether the volume is bound to, or reserved for, the claim (upstream IsVolumeBoundToClaim)."""
    ref = volume.spec.claim_ref
    if ref is None or (ref.name, ref.namespace) != (claim.name, claim.namespace):
        return False
    return ref.uid in ("", claim.metadata.uid)


def storage(quantities: Quantities) -> int:
    """Return the exact amount of `storage` in nano units, for comparisons."""
    amount = quantities.get("storage")
    return 0 if amount is None else quantity.nano_value(amount)


# ---------------------------------------------------------------- node affinity of volumes


def _rows_by_value(nodes: NodeTable, key: str) -> dict[str, Rows]:
    topology = nodes.topology(key)
    ids, values = topology.ids, topology.values
    order = np.argsort(ids, kind="stable")
    edges = np.searchsorted(ids[order], np.arange(len(values) + 1))
    return {value: order[edges[i] : edges[i + 1]] for i, value in enumerate(values)}


_NONE: Rows = np.zeros(0, np.intp)


def _requirement_rows(nodes: NodeTable, req: Requirement) -> Rows:
    if req.operator != "In":
        key = ("requirement rows", req.key, req.operator, *req.values)
        return nodes.memo(key, lambda: np.flatnonzero(nodes.requirement_mask(req)))
    # a local volume names one host: the index avoids a scan of all nodes for each of many volumes
    index = nodes.memo(("rows by value", req.key), lambda: _rows_by_value(nodes, req.key))
    found = [index[value] for value in dict.fromkeys(req.values) if value in index]
    return np.concatenate(found) if len(found) > 1 else found[0] if found else _NONE


def _term_rows(nodes: NodeTable, term: NodeSelectorTerm) -> Rows:
    if not term.match_expressions and not term.match_fields:
        return _NONE
    # upstream matches volumes against labels only, so matchFields never match a node
    if any(req.operator == "In" for req in term.match_fields):
        return _NONE
    rows: Rows | None = None
    for req in term.match_expressions:
        found = _requirement_rows(nodes, req)
        rows = found if rows is None else np.intersect1d(rows, found, assume_unique=True)
    return np.arange(len(nodes)) if rows is None else rows


def admitted_rows(nodes: NodeTable, terms: list[NodeSelectorTerm] | None) -> Rows | None:
    """Return the rows of the nodes that a volume's required node affinity matches; None for all."""
    if terms is None:
        return None
    found = [_term_rows(nodes, term) for term in terms]
    if len(found) == 1:
        return found[0]
    return np.unique(np.concatenate(found)) if found else _NONE


def affinity_terms(volume: PersistentVolume) -> list[NodeSelectorTerm] | None:
    """Return the volume's required node affinity; None if it has none."""
    affinity = volume.spec.node_affinity
    return affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else None


# ---------------------------------------------------------------- explanations of rejections


def is_missing(kind: str, name: str, known: Mapping[str, object]) -> Tree:
    """Explain whether there is no object of that name."""
    there = over("count", int(name in known), len(known), f"{kind}s named {name}")
    return equal(there, constant(0), f"there is no {kind} {name}")


def claims_of(view: View) -> Iterator[tuple[int, str, PersistentVolumeClaim | None]]:
    """Yield (index of the volume, the claim's name, the claim or None) of the pod's volumes that have a claim."""
    for i, volume in enumerate(view.pod.pod.spec.volumes):
        name = claim_name(view.pod, volume)
        if name is not None:
            yield i, name, view.cluster.claims.get(f"{view.pod.namespace}/{name}")


def class_field(view: View, claim: PersistentVolumeClaim) -> Tree:
    """Return the field with the claim's storage class."""
    if _CLASS in claim.metadata.annotations:
        return view.field(claim, "metadata", "annotations", _CLASS)
    return view.field(claim, "spec", "storageClassName")


def waits(view: View, claim: PersistentVolumeClaim) -> Tree:
    """Explain whether the claim is bound with its first pod."""
    name = class_of_claim(claim)
    found = view.cluster.storage_classes.get(name)
    if found is None:
        return opposite(is_missing("StorageClass", name, view.cluster.storage_classes))
    mode = view.field(found, "volumeBindingMode", missing=found.volume_binding_mode)
    first = equal(mode, constant("WaitForFirstConsumer", "VolumeBindingWaitForFirstConsumer"))
    unnamed = equal(view.field(claim, "spec", "volumeName"), constant("", "no volume"), "names no volume")
    return every([first, unnamed], f"{claim.name} gets its volume with its first pod")


def claims(context: RejectionContext) -> Iterator[tuple[str, PersistentVolumeClaim | None]]:
    """Yield the pod's claims: `namespace/name` and the claim, None if it is missing."""
    for volume in context.pod.pod.spec.volumes:
        name = claim_name(context.pod, volume)
        if name is not None:
            key = f"{context.pod.namespace}/{name}"
            yield key, context.cluster.claims.get(key)


class VolumeClaimProblem(NamedTuple):
    """Why a claim (namespace/name) has no volume that its pod can use. `cause`: as in `pending_answer.ClaimWait`.
    `text`: a clause whose subject is the claim. `storage_class`: of an unbound claim."""

    claim: str
    cause: str
    text: str
    storage_class: str = ""

    @property
    def is_bound_later(self) -> bool:
        """Whether the claim gets its volume with the pod, so that it keeps the pod from no node."""
        return self.cause in (WAITS_FOR_CONSUMER, PROVISIONING)


def claim_problems(cluster: Cluster, pod: PodInfo) -> Iterator[VolumeClaimProblem]:
    """Yield what is wrong with each claim of the pod that is not bound to an existing volume."""
    for volume in pod.pod.spec.volumes:
        name = claim_name(pod, volume)
        if name is None:
            continue
        key = f"{pod.namespace}/{name}"
        claim = cluster.claims.get(key)
        if claim is None:
            yield VolumeClaimProblem(key, "missing", _why_missing(cluster, pod, volume, name))
        elif claim.metadata.deletion_timestamp:
            yield VolumeClaimProblem(key, "deleted", "is being deleted")
        elif claim.status.phase == "Lost":
            yield VolumeClaimProblem(key, "lost", f"lost its volume {claim.spec.volume_name}")
        elif not fully_bound(claim) or claim.spec.volume_name not in cluster.volumes:
            yield VolumeClaimProblem(key, *_why_unbound(cluster, claim), class_of_claim(claim))


def _why_missing(cluster: Cluster, pod: PodInfo, volume: Volume, name: str) -> str:
    owner = pod.pod.metadata.controller_ref
    if volume.ephemeral is not None:
        return f"of its ephemeral volume {volume.name} does not exist yet; its controller creates it"
    if owner is not None and owner.kind == "StatefulSet":
        return "does not exist; the StatefulSet's controller creates it"
    like = nearest(name, (one.name for one in cluster.claims.values() if one.namespace == pod.namespace))
    return f"does not exist; there is {like[0]}" if like else "does not exist"


def _why_unbound(cluster: Cluster, claim: PersistentVolumeClaim) -> tuple[str, str]:
    """Return (cause, text)."""
    volume, name = claim.spec.volume_name, class_of_claim(claim)
    if volume:
        there = "" if volume in cluster.volumes else ", which does not exist"
        return "waits-for-volume", f"{'is' if fully_bound(claim) else 'waits to be'} bound to volume {volume}{there}"
    classes = cluster.storage_classes
    if not name:
        default = next((c.name for c in classes.values() if _is_default(c.metadata.annotations)), "")
        why = f"the default class {default} does not apply to it" if default else "there is no default class"
        return "no-class", f"names no storage class and {why}"
    if name not in classes:
        like = nearest(name, classes)
        more = f"; there is {like[0]}" if like else ""
        return "class-missing", f"names storage class {name}, which does not exist{more}"
    maker = classes[name].provisioner
    manual = maker in ("", NO_PROVISIONER)
    if classes[name].volume_binding_mode == "WaitForFirstConsumer":
        node = claim.metadata.annotations.get(SELECTED_NODE, "")
        if node and not manual:
            return PROVISIONING, f"waits for {maker} to create a volume for node {node}"
        text = f"gets its volume when the pod gets its node (class {name}, WaitForFirstConsumer)"
        return WAITS_FOR_CONSUMER, text
    if manual:
        text = f"waits for a volume of class {name}, which has no provisioner: an administrator creates one"
        return "no-provisioner", text
    return "immediate", f"waits for {maker} to create a volume of class {name}"


def _is_default(annotations: Mapping[str, str]) -> bool:
    return any(annotations.get(key) == "true" for key in _DEFAULT)


def claim_obstacle(context: RejectionContext | None, status: Status) -> Obstacle:
    """Return which claim of the pod keeps it from all nodes, and who usually brings it."""
    for one in claim_problems(context.cluster, context.pod) if context is not None else ():
        if not one.is_bound_later:
            kind = causes.CLAIM_MISSING if one.cause in ("missing", "deleted") else causes.CLAIM_UNBOUND
            return Obstacle(kind, 1.0, f"Its PersistentVolumeClaim {one.claim} {one.text}.", (one.claim,))
    reasons = "; ".join(status.reasons) or status.code
    kind = causes.CLAIM_MISSING if "not found" in reasons else causes.CLAIM_UNBOUND
    return Obstacle(kind, 1.0, f"One of its claims cannot be used: {reasons}.")


def bound_claims(context: RejectionContext) -> Iterator[tuple[str, PersistentVolume]]:
    for key, claim in claims(context):
        volume = context.cluster.volumes.get(claim.spec.volume_name) if claim is not None else None
        if volume is not None:
            yield key, volume
