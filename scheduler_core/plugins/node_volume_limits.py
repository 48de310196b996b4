"""NodeVolumeLimits: a node attaches at most as many volumes of a CSI driver as its CSINode says.

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits (csi.go).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from scheduler_core import quantity
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.volume_users import counts
from scheduler_core.framework import events
from scheduler_core.framework.interface import (
    PASSES,
    SKIPPED,
    Change,
    CycleState,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    Status,
    Verdict,
    error,
    unresolvable,
    unschedulable,
)
from scheduler_core.objects import CSINode, PersistentVolumeClaim, Volume
from scheduler_core.plugins import csi_migration
from scheduler_core.plugins.csi_migration import TranslationError
from scheduler_core.plugins.volumes import NO_NAME, claim_missing, claim_name, class_of_claim, names_claim, not_owned

TOO_MANY = unschedulable("node(s) exceed max volume count")

_PREFIX = "attachable-volumes-csi-"
_LONGEST_KEY = 63


class Attachment(NamedTuple):
    """A volume to attach. `plugin`: the in-tree plugin it comes from, which must be migrated on the node, or "".
    `problem`: why it cannot be translated."""

    handle: str
    driver: str
    plugin: str = ""
    problem: str = ""


class Failure(Exception):
    """The volumes of a pod cannot be told; carries the status."""

    def __init__(self, status: Status) -> None:
        self.status = status


def limit_key(driver: str) -> str:
    """The resource of a node that once limited a driver's volumes (upstream GetCSIAttachLimitKey)."""
    if len(_PREFIX) + len(driver) >= _LONGEST_KEY:
        driver = driver[:23] + hashlib.sha1(driver.encode(), usedforsecurity=False).hexdigest()[:16]
    return _PREFIX + driver


class NodeVolumeLimits(PreFilterPlugin, FilterPlugin):
    name = "NodeVolumeLimits"

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | PreFilterResult | None:
        """Skips pods without claims and without in-tree volumes that a CSI driver may serve."""
        if not self.cluster.release.prefilter_skips:
            return None
        for volume in pod.pod.spec.volumes:
            if claim_name(pod, volume) is not None or csi_migration.plugin_of(volume):
                return None
        return SKIPPED

    # ---- what a pod attaches

    def _attachments(self, pod: PodInfo, incoming: bool) -> list[Attachment]:
        """The volumes of a pod that may count. Raises Failure."""
        found: list[Attachment] = []
        for volume in pod.pod.spec.volumes:
            name = claim_name(pod, volume)
            attachment = self._inline(volume) if name is None else self._claimed(pod, volume, name, incoming)
            if attachment is not None:
                found.append(attachment)
        return found

    def _inline(self, volume: Volume) -> Attachment | None:
        plugin = csi_migration.plugin_of(volume)
        if not plugin:
            return None
        driver = csi_migration.DRIVERS[plugin]
        try:
            return Attachment(csi_migration.handle(volume, {}), driver, plugin)
        except TranslationError as problem:
            return Attachment("", driver, plugin, f"converting volume({volume.name}) from inline to csi: {problem}")

    def _claimed(self, pod: PodInfo, volume: Volume, name: str, incoming: bool) -> Attachment | None:
        if not name:
            raise Failure(error(NO_NAME))
        claim = self.cluster.claims.get(f"{pod.namespace}/{name}")
        if claim is None:
            if not incoming:
                return None
            reason = f"looking up PVC {pod.namespace}/{name}: {claim_missing(name)}"
            raise Failure(unresolvable(reason) if self.cluster.release.missing_claim_rejects else error(reason))
        if volume.ephemeral is not None and (problem := not_owned(pod, claim)):
            raise Failure(error(problem))
        return self._of_claim(claim)

    def _of_claim(self, claim: PersistentVolumeClaim) -> Attachment | None:
        volume = self.cluster.volumes.get(claim.spec.volume_name)
        if volume is None:
            return self._of_class(claim)
        if volume.spec.csi is not None:
            csi = volume.spec.csi
            return Attachment(csi.volume_handle, csi.driver) if csi.driver and csi.volume_handle else None
        plugin = csi_migration.plugin_of(volume.spec)
        if not plugin:
            return None
        try:
            handle = csi_migration.handle(volume.spec, volume.metadata.labels)
        except TranslationError:
            return None
        return Attachment(handle, csi_migration.DRIVERS[plugin], plugin) if handle else None

    def _of_class(self, claim: PersistentVolumeClaim) -> Attachment | None:
        """A claim without a volume counts as one of its class's provisioner, unlike any other volume."""
        storage_class = self.cluster.storage_classes.get(class_of_claim(claim))
        if storage_class is None or not storage_class.provisioner:
            return None
        handle, provisioner = f"unbound {claim.key}", storage_class.provisioner
        driver = csi_migration.DRIVERS.get(provisioner)
        return Attachment(handle, provisioner) if driver is None else Attachment(handle, driver, provisioner)

    # ---- what a node allows

    def _limits(self, row: int, drivers: Iterable[str]) -> dict[str, int]:
        """Limits of a node for those of the drivers that it limits."""
        nodes, limits = self.cluster.nodes, {}
        if self.cluster.release.attach_limits_of_nodes:
            allocatable = nodes.nodes[row].status.allocatable
            for driver in drivers:
                amount = allocatable.get(limit_key(driver))
                if amount is not None:
                    limits[driver] = quantity.value(amount)
        csi_node = self.cluster.csi_nodes.get(nodes.names[row])
        for entry in csi_node.spec.drivers if csi_node is not None else ():
            if entry.name in drivers and entry.allocatable is not None and entry.allocatable.count is not None:
                limits[entry.name] = entry.allocatable.count
        return limits

    def _counts(self, attachment: Attachment, csi_node: CSINode | None) -> bool:
        plugin = attachment.plugin
        return not plugin or csi_migration.counted_as_csi(csi_node, plugin, self.cluster.release)

    def _judge(self, row: int, wanted: list[Attachment], pods: Iterable[PodInfo]) -> Status | None:
        csi_node = self.cluster.csi_nodes.get(self.cluster.nodes.names[row])
        new = {a for a in wanted if self._counts(a, csi_node)}
        for attachment in new:
            if attachment.problem:
                return error(attachment.problem)
        limits = self._limits(row, {a.driver for a in new})
        if not limits:
            return None
        present: set[tuple[str, str]] = set()
        try:
            for pod in pods:
                for attachment in self._attachments(pod, incoming=False):
                    if self._counts(attachment, csi_node):
                        if attachment.problem:
                            return error(attachment.problem)
                        present.add((attachment.driver, attachment.handle))
        except Failure as failure:
            return failure.status
        added = {(a.driver, a.handle) for a in new} - present
        for driver, limit in limits.items():
            more = sum(d == driver for d, _ in added)
            if more and more + sum(d == driver for d, _ in present) > limit:
                return TOO_MANY
        return None

    def _wanted(self, pod: PodInfo) -> list[Attachment]:
        if not any(counts(volume) or csi_migration.plugin_of(volume) for volume in pod.pod.spec.volumes):
            return []
        return self._attachments(pod, incoming=True)

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        if not pod.pod.spec.volumes:
            return PASSES
        nodes, users = self.cluster.nodes, self.cluster.volume_users
        try:
            wanted = self._wanted(pod)
        except Failure as failure:
            return Verdict.reject(np.ones(len(nodes), np.bool_), failure.status)
        if not wanted:
            return PASSES
        statuses: list[Status | None] = [None] * len(nodes)
        for row, name in enumerate(nodes.names):
            if name in self.cluster.csi_nodes or self.cluster.release.attach_limits_of_nodes:
                statuses[row] = self._judge(row, wanted, users.by_node.get(name, {}).values())
        return Verdict.of_statuses(statuses)

    def filter_node(self, state: CycleState, pod: PodInfo, change: Change) -> Status | None:
        if not pod.pod.spec.volumes:
            return None
        try:
            wanted = self._wanted(pod)
        except Failure as failure:
            return failure.status
        if not wanted:
            return None
        removed = {other.key for other in change.removed}
        users = self.cluster.volume_users.on(self.cluster.nodes.names[change.row])
        return self._judge(change.row, wanted, [p for p in (*users, *change.added) if p.key not in removed])

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered("CSINode", events.ADD),
            events.registered(events.POD, events.DELETE, hint=self._after_pod_deleted),
            events.registered("PersistentVolumeClaim", events.ADD, hint=self._after_claim_added),
        ]

    def _after_pod_deleted(self, pod: PodInfo, old: PodInfo, new: None) -> bool:
        return bool(old.node and old.pod.spec.volumes)

    def _after_claim_added(self, pod: PodInfo, old: None, new: PersistentVolumeClaim) -> bool:
        return names_claim(pod, new)
