"""EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits: limit a cloud's in-tree volumes on a node.

The limits do not apply to nodes where a CSI driver has replaced the in-tree plugin.
Upstream (until 1.30): pkg/scheduler/framework/plugins/nodevolumelimits (non_csi.go).
"""

import re
from collections.abc import Iterable
from functools import partial
from typing import ClassVar

import numpy as np

from scheduler_core.api import quantity
from scheduler_core.api.objects import Node, PersistentVolumeClaim, VolumeSource
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins import csi_migration
from scheduler_core.plugins.attached_volumes import Attached, Failure, VolumeLimits
from scheduler_core.plugins.node_volume_limits import NO_LIMIT, TOO_MANY
from scheduler_core.plugins.volumes import claim_name
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, less, total

NITRO = re.compile(r"^[cmr]5.*|t3|z1d")


class NonCSILimits(VolumeLimits):
    """Base class of the limits. `plugin`: the in-tree plugin. `resource`: the allocatable resource that sets
    the limit."""

    plugin: ClassVar[str]
    resource: ClassVar[str]
    reads = "has_volumes"

    def disk(self, source: VolumeSource) -> str | None:
        """Return the id of a volume that counts; None for other volumes."""
        raise NotImplementedError

    def events_to_register(self) -> list[events.EventHint]:
        return [events.registered(events.NODE, events.ADD), events.registered(events.POD, events.DELETE)]

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Skip pods without claims and without volumes that count."""
        if not self.cluster.release.prefilter_skips:
            return None
        relevant = any(claim_name(pod, v) is not None or self.disk(v) is not None for v in pod.pod.spec.volumes)
        return None if relevant else fwk.SKIPPED

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.ANYTHING if pod.pod.spec.volumes else fwk.OBJECTS

    def default_limit(self, node: Node) -> int:
        return 16

    def _disks(self, pod: PodInfo, incoming: bool) -> set[str]:
        """Return the ids of the pod's volumes that count. Raises Failure."""
        found: set[str] = set()
        for volume in pod.pod.spec.volumes:
            disk = self.disk(volume)
            name = None if disk is not None else claim_name(pod, volume)
            if name is not None:
                claim = self._claim(pod, volume, name, incoming)
                disk = None if claim is None else self._disk_of(claim)
            if disk is not None:
                found.add(disk)
        return found

    @staticmethod
    def class_of(claim: PersistentVolumeClaim) -> str:
        """Return the storage class that determines whether an unbound claim counts."""
        return claim.spec.storage_class_name or ""

    def _disk_of(self, claim: PersistentVolumeClaim) -> str | None:
        volume = self.cluster.volumes.get(claim.spec.volume_name)
        if volume is not None:
            return self.disk(volume.spec)
        storage_class = self.cluster.storage_classes.get(self.class_of(claim))
        counts = storage_class is not None and storage_class.provisioner == self.plugin
        return f"unbound {claim.key}" if counts else None

    def _on_node(self, node: str) -> Attached:
        return Attached(frozenset((self.plugin, disk) for disk in self._used(self.cluster.volume_users.on(node))))

    def _used(self, pods: Iterable[PodInfo]) -> set[str]:
        return {disk for pod in pods for disk in self._disks(pod, incoming=False)}

    def _limit(self, row: int) -> int:
        """Return the maximum number of volumes on a node; NO_LIMIT if a CSI driver replaces the in-tree plugin."""
        node = self.cluster.nodes.nodes[row]
        if csi_migration.counted_as_csi(self.cluster.csi_nodes.get(node.name), self.plugin, self.cluster.release):
            return NO_LIMIT
        amount = node.status.allocatable.get(self.resource)
        return self.default_limit(node) if amount is None else quantity.value(amount)

    def _limits(self) -> fwk.Int64:
        """Return the limits of all nodes; int64 over nodes."""
        nodes = self.cluster.nodes
        rows = range(len(nodes))
        return nodes.memo(("attach limit", self.plugin), lambda: np.array([self._limit(row) for row in rows], np.int64))

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        nodes = self.cluster.nodes
        try:
            wanted = self._disks(pod, incoming=True)
        except Failure as failure:
            return fwk.Verdict.reject(np.ones(len(nodes), np.bool_), failure.status)
        if not wanted:
            return fwk.PASSES
        self._attached.refresh()
        limits = self._limits()
        total = self._attached.count(self.plugin) + len(wanted)
        for disk in wanted:
            total -= self._attached.used((self.plugin, disk))
        failures = [(mask & (limits < NO_LIMIT), status) for mask, status in self._attached.failures()]
        return fwk.Verdict.choose(*failures, (total > limits, TOO_MANY))

    affected_nodes = VolumeLimits.nodes_with_volumes

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.NodePodsChange) -> fwk.Status | None:
        try:
            wanted = self._disks(pod, incoming=True)
            if not wanted or (limit := self._limit(change.row)) == NO_LIMIT:
                return None
            used = self._used(self._users(change))
        except Failure as failure:
            return failure.status
        return TOO_MANY if len(used | wanted) > limit else None

    # ---- explanations

    @staticmethod
    def rejection_detail(context: RejectionContext, row: int, status: fwk.Status) -> str:
        """Return the limit of the node."""
        plugin, node = context.plugin(status.plugin), context.nodes.nodes[row]
        if status.reasons != TOO_MANY.reasons or not isinstance(plugin, NonCSILimits):
            return ""
        limit = node.status.allocatable.get(plugin.resource, plugin.default_limit(node))
        return f"the node takes at most {limit} volumes of this kind ({plugin.resource})"

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        name = view.node.name
        try:
            wanted = self._disks(view.pod, incoming=True)
            if not wanted:
                return constant(False, "the pod has no such volumes").with_text(
                    f"The pod has no volumes that {self.name} counts"
                )
            limit = self._explain_limit(view)
            used = {disk: pod for pod in view.pods_on(view.row) for disk in self._disks(pod, incoming=False)}
        except Failure as failure:
            return constant(True, failure.status.message).with_text(f"{name}: {failure.status.message}")
        here = [partial(view.holds, pod, "spec", "volumes", label=f"{disk} of {pod.key}") for disk, pod in used.items()]
        attached = view.long_count(here, "volumes", "volumes of the pods on the node")
        mine = [partial(view.holds, view.pod, "spec", "volumes", label=disk) for disk in sorted(wanted - used.keys())]
        new = view.long_count(mine, "volumes", "volumes of the pod")
        refused = less(limit, total([attached, new], "volumes with this pod"))
        return refused.with_text(f"{name}: {attached.value} attached and {new.value} new, of at most {limit.value}")

    def _explain_limit(self, view: View) -> Tree:
        node = view.node
        if self._limit(view.row) == NO_LIMIT:
            return constant(NO_LIMIT, "a CSI driver replaces the plugin: no limit here")
        if self.resource in node.status.allocatable:
            return view.field(node, "status", "allocatable", self.resource, unit="")
        return constant(self.default_limit(node), "the cloud's default limit")


class EBSLimits(NonCSILimits):
    name = "EBSLimits"
    plugin = csi_migration.EBS
    resource = "attachable-volumes-aws-ebs"

    def disk(self, source: VolumeSource) -> str | None:
        return source.aws_elastic_block_store.volume_id if source.aws_elastic_block_store is not None else None

    def default_limit(self, node: Node) -> int:
        labels = node.metadata.labels
        stable = labels.get("node.kubernetes.io/instance-type", "")
        return 25 if NITRO.search(labels.get("beta.kubernetes.io/instance-type", stable)) else 39


class GCEPDLimits(NonCSILimits):
    name = "GCEPDLimits"
    plugin = csi_migration.GCE_PD
    resource = "attachable-volumes-gce-pd"

    def disk(self, source: VolumeSource) -> str | None:
        return source.gce_persistent_disk.pd_name if source.gce_persistent_disk is not None else None


class AzureDiskLimits(NonCSILimits):
    name = "AzureDiskLimits"
    plugin = csi_migration.AZURE_DISK
    resource = "attachable-volumes-azure-disk"

    def disk(self, source: VolumeSource) -> str | None:
        return source.azure_disk.disk_name if source.azure_disk is not None else None


class CinderLimits(NonCSILimits):
    name = "CinderLimits"
    opt_in = True
    plugin = csi_migration.CINDER
    resource = "attachable-volumes-cinder"

    def disk(self, source: VolumeSource) -> str | None:
        return str(source.cinder.get("volumeID") or "") if source.cinder is not None else None

    def default_limit(self, node: Node) -> int:
        return 256
