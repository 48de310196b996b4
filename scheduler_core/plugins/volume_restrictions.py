"""VolumeRestrictions: disks that only one pod may write, and claims that only one pod may use.

Upstream: pkg/scheduler/framework/plugins/volumerestrictions.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import msgspec
import numpy as np

from scheduler_core.api.objects import ISCSI, RBD, AWSElasticBlockStore, GCEPersistentDisk, Volume
from scheduler_core.cluster import formatting
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.volume_users import disk_key
from scheduler_core.framework import causes, events, signers
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins.volumes import (
    claim_missing,
    claim_obstacle,
    claims,
    claims_of,
    is_missing,
    other_users,
    own_claim_changed,
)
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, contains, equal, every, less, opposite, some

DISK_CONFLICT = fwk.unschedulable("node(s) had no available disk")
CLAIM_IN_USE = fwk.unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
OLD_CLAIM_IN_USE = fwk.unschedulable(
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
)


def _clash(one: Volume, other: Volume) -> bool:
    """Return whether two volumes conflict on the same node. All disks except EBS may be shared read-only."""
    return (
        _same_gce_disk(one.gce_persistent_disk, other.gce_persistent_disk)
        or _same_ebs_disk(one.aws_elastic_block_store, other.aws_elastic_block_store)
        or _same_target(one.iscsi, other.iscsi)
        or _same_image(one.rbd, other.rbd)
    )


def _same_gce_disk(a: GCEPersistentDisk | None, b: GCEPersistentDisk | None) -> bool:
    return a is not None and b is not None and a.pd_name == b.pd_name and not (a.read_only and b.read_only)


def _same_ebs_disk(a: AWSElasticBlockStore | None, b: AWSElasticBlockStore | None) -> bool:
    return a is not None and b is not None and a.volume_id == b.volume_id


def _same_target(a: ISCSI | None, b: ISCSI | None) -> bool:
    return a is not None and b is not None and a.iqn == b.iqn and not (a.read_only and b.read_only)


def _same_image(a: RBD | None, b: RBD | None) -> bool:
    if a is None or b is None or (a.read_only and b.read_only):
        return False
    return (a.pool, a.image) == (b.pool, b.image) and not set(a.monitors).isdisjoint(b.monitors)


_IDENTITY = {
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "iscsi": ("iqn",),
    "rbd": ("pool", "image"),
}


def _explain_clash(view: View, index: int, other: PodInfo, other_index: int) -> Tree:
    """Return the tree of `_clash` for two volumes that may be the same disk."""
    volumes = ((view.pod, index), (other, other_index))
    label = f"{view.pod.pod.spec.volumes[index].name} is also used by {other.key}"
    kind = next(kind for kind in _IDENTITY if kind in msgspec.to_builtins(view.pod.pod.spec.volumes[index]))
    parts = []
    for name in _IDENTITY[kind]:
        missing = "rbd" if name == "pool" else ""
        ours, theirs = (view.field(pod, "spec", "volumes", i, kind, name, missing=missing) for pod, i in volumes)
        parts.append(equal(ours, theirs))
    if kind == "rbd":
        ours, theirs = (view.field(pod, "spec", "volumes", i, kind, "monitors", missing=[]) for pod, i in volumes)
        common = [contains(theirs, constant(monitor, "monitor")) for monitor in ours.value]
        parts.append(some(common, "a monitor in common"))
    if kind != "awsElasticBlockStore":
        readers = [view.field(pod, "spec", "volumes", i, kind, "readOnly", missing=False) for pod, i in volumes]
        parts.append(opposite(every(readers, "both only read")))
    return every(parts, label)


@dataclass(slots=True)
class Wanted:
    """Result of PreFilter. `disks`: the pod's disks that may conflict. `claims`: names of its ReadWriteOncePod claims.
    `in_use`: how many of these claims a running pod uses."""

    disks: list[Volume]
    claims: frozenset[str]
    in_use: int

    def references(self, pods: Iterable[PodInfo]) -> int:
        """Return how often pods name one of the claims. Upstream compares names without the namespace."""
        if not self.claims:
            return 0
        return sum(
            volume.persistent_volume_claim is not None and volume.persistent_volume_claim.claim_name in self.claims
            for pod in pods
            for volume in pod.pod.spec.volumes
        )

    def clashes(self, pods: Iterable[PodInfo]) -> bool:
        return any(_clash(disk, used) for pod in pods for used in pod.pod.spec.volumes for disk in self.disks)


def _disks(pod: PodInfo) -> set[str]:
    found = set()
    for volume in pod.pod.spec.volumes:
        if volume.gce_persistent_disk is not None:
            found.add(f"GCE disk {volume.gce_persistent_disk.pd_name}")
        if volume.aws_elastic_block_store is not None:
            found.add(f"EBS volume {volume.aws_elastic_block_store.volume_id}")
        if volume.iscsi is not None:
            found.add(f"iSCSI target {volume.iscsi.iqn}")
        if volume.rbd is not None:
            found.add(f"RBD image {volume.rbd.pool}/{volume.rbd.image}")
    return found


class VolumeRestrictions(fwk.PreFilterPlugin, fwk.FilterPlugin):
    name = "VolumeRestrictions"
    cause = causes.VOLUME_CONFLICT
    effort = 1.5
    pod_fields = ("volumes",)
    precise_node_updates = "always"
    reads = "has_volumes"
    phrases = {
        DISK_CONFLICT.message: "have its disk in use",
        CLAIM_IN_USE.message: "have a pod that uses its volume exclusively",
        OLD_CLAIM_IN_USE.message: "have a pod that uses its volume exclusively",
    }

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Reject a pod whose claim is missing; skip a pod without disks that may conflict and without ReadWriteOncePod
        claims in use."""
        if pod.pod.spec.volumes:
            claims = set()
            for volume in pod.pod.spec.volumes:
                if volume.persistent_volume_claim is None or not self.cluster.release.read_write_once_pod:
                    continue
                name = volume.persistent_volume_claim.claim_name
                claim = self.cluster.claims.get(f"{pod.namespace}/{name}")
                if claim is None:
                    return fwk.unresolvable(claim_missing(name))
                if "ReadWriteOncePod" in claim.spec.access_modes:
                    claims.add(name)
            users, rows = self.cluster.volume_users, self.cluster.nodes.rows
            in_use = sum(users.claim_used(f"{pod.namespace}/{name}", rows) for name in claims)
            wanted = Wanted([v for v in pod.pod.spec.volumes if disk_key(v) is not None], frozenset(claims), in_use)
            if wanted.disks or wanted.in_use or (wanted.claims and not self.cluster.release.prefilter_skips):
                state[self.name] = wanted
                return None
        return fwk.SKIPPED if self.cluster.release.prefilter_skips else None

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.ANYTHING if pod.pod.spec.volumes else fwk.OBJECTS

    @property
    def _in_use(self) -> fwk.Status:
        return CLAIM_IN_USE if self.cluster.release.claim_in_use_reason_reworded else OLD_CLAIM_IN_USE

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        wanted: Wanted | None = state.get(self.name)
        if wanted is None:
            return fwk.PASSES
        nodes = self.cluster.nodes
        taken = np.zeros(len(nodes), np.bool_)
        if wanted.disks:
            users = self.cluster.volume_users
            for node in users.disk_users(wanted.disks):
                row = nodes.rows.get(node)
                if row is not None and wanted.clashes(users.on(node)):
                    taken[row] = True
        return fwk.Verdict.choose((taken, DISK_CONFLICT), (np.full(len(nodes), wanted.in_use > 0), self._in_use))

    def indifferent(self, state: fwk.CycleState, pod: PodInfo) -> bool:
        return self.name not in state

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.NodePodsChange) -> fwk.Status | None:
        wanted: Wanted | None = state.get(self.name)
        if wanted is None:
            return None
        if wanted.disks:
            removed = {other.key for other in change.removed}
            users = self.cluster.volume_users.on(self.cluster.nodes.names[change.row])
            if wanted.clashes(other for other in (*users, *change.added) if other.key not in removed):
                return DISK_CONFLICT
        in_use = wanted.in_use + wanted.references(change.added) - wanted.references(change.removed)
        return self._in_use if in_use > 0 else None

    def affected_nodes(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Bool:
        return self.cluster.nodes.mask(self.cluster.volume_users.by_node)

    # ---- explanations

    def explain_pre_filter(self, state: fwk.CycleState, view: View) -> Tree:
        spec, namespace = view.pod.pod.spec, view.pod.namespace
        minded = spec.volumes if self.cluster.release.read_write_once_pod else []
        named = [v.persistent_volume_claim.claim_name for v in minded if v.persistent_volume_claim is not None]
        parts = [is_missing("PersistentVolumeClaim", f"{namespace}/{name}", self.cluster.claims) for name in named]
        text = next((part.label for part in parts if part.value), "its claims exist")
        return some(parts).with_text(f"The pod as a whole: {text}")

    pod_obstacle = staticmethod(claim_obstacle)

    @staticmethod
    def rejection_detail(context: RejectionContext, row: int, status: fwk.Status) -> str:
        """Return the pod that uses the disk on the node, or the pods that use the ReadWriteOncePod claim."""
        wanted = _disks(context.pod)
        for pod in context.pods_on(row) if status.reasons == DISK_CONFLICT.reasons else ():
            shared = sorted(wanted & _disks(pod))
            if shared:
                return f"{formatting.listing(shared)} is in use by {pod.key}"
        for key, claim in claims(context):
            if claim is None or "ReadWriteOncePod" not in claim.spec.access_modes:
                continue
            if users := other_users(context.cluster, context.pod, claim):
                return f"claim {key} is in use by {formatting.some(users, 3)}"
        return ""

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        pod = view.pod
        clashes = [
            _explain_clash(view, i, other, j)
            for other in view.pods_on(view.row)
            for i, mine in enumerate(pod.pod.spec.volumes)
            for j, theirs in enumerate(other.pod.spec.volumes)
            if disk_key(mine) is not None and disk_key(mine) == disk_key(theirs)
        ]
        parts = [some(clashes, "a disk of the pod is used by a pod on the node")]
        texts = [clash.label for clash in clashes if clash.value]
        for i, name, claim in claims_of(view) if self.cluster.release.read_write_once_pod else ():
            if claim is None or pod.pod.spec.volumes[i].persistent_volume_claim is None:
                continue
            once = contains(view.field(claim, "spec", "accessModes", missing=[]), constant("ReadWriteOncePod"))
            if once.value:
                mine = view.field(pod, "spec", "volumes", i, "persistentVolumeClaim", "claimName")
                users = view.long_count(
                    list(self._explain_users(view, mine)), "pods", f"pods that use the claim {name}"
                )
                parts.append(every([once, less(constant(0), users)], f"claim {name}, for one pod only, is in use"))
                texts += [f"{name} is ReadWriteOncePod and in use by another pod"] if users.value else []
        return some(parts).with_text(f"{view.node.name}: {'; '.join(texts) or 'no disk or claim of the pod conflicts'}")

    def _explain_users(self, view: View, claim: Tree) -> Iterator[Callable[[], Tree]]:
        """Yield functions that create a tree for each pod in this namespace that uses the claim."""
        for row in range(len(self.cluster.nodes)):
            for other in view.pods_on(row):
                for i, volume in enumerate(other.pod.spec.volumes):
                    named = volume.persistent_volume_claim
                    if named is not None and other.namespace == view.pod.namespace and named.claim_name == claim.value:
                        place = ("spec", "volumes", i, "persistentVolumeClaim", "claimName")
                        yield partial(lambda pod, steps: equal(view.field(pod, *steps), claim, pod.key), other, place)

    sign = staticmethod(signers.volumes)

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered(events.POD, events.DELETE, hint=self._after_pod_deleted),
            events.registered(events.NODE, events.ADD),
            events.registered("PersistentVolumeClaim", events.ADD, hint=own_claim_changed),
        ]

    def _after_pod_deleted(self, pod: PodInfo, old: PodInfo, new: None) -> bool:
        """Return whether the deleted pod used a conflicting disk, or a claim of the same name."""
        if old.namespace != pod.namespace or not old.node:
            return False
        mine, freed = pod.pod.spec.volumes, old.pod.spec.volumes
        if any(_clash(volume, other) for volume in mine for other in freed):
            return True
        claims = {v.persistent_volume_claim.claim_name for v in mine if v.persistent_volume_claim is not None}
        return any(v.persistent_volume_claim and v.persistent_volume_claim.claim_name in claims for v in freed)
