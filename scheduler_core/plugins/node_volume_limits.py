"""NodeVolumeLimits: limits the volumes of a CSI driver on a node to the count in its CSINode.

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits (csi.go).
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np

from scheduler_core.api import quantity
from scheduler_core.api.objects import CSINode, Node, PersistentVolumeClaim, Volume, VolumeAttachment
from scheduler_core.cluster import formatting
from scheduler_core.cluster.pod_info import PodInfo, counts
from scheduler_core.dra.allocator import NIL_POINTER
from scheduler_core.framework import causes, events, signers
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins import csi_migration
from scheduler_core.plugins.attached_volumes import Attached, Failure, Key, VolumeLimits
from scheduler_core.plugins.csi_migration import TranslationError
from scheduler_core.plugins.volumes import claim_name, class_of_claim, own_claim_changed
from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, contains, every, less, opposite, some, total

TOO_MANY = fwk.unschedulable("node(s) exceed max volume count")

_NOT_INSTALLED = " CSI driver is not installed on the node"

NO_LIMIT = quantity.MAX_INT64

_ATTACHABLE = "attachable-volumes-"  # prefix of the resources that limit volumes
_PREFIX = f"{_ATTACHABLE}csi-"
_LONGEST_KEY = 63


class Attachment(NamedTuple):
    """A volume to attach. `plugin`: its in-tree plugin, which must be migrated on the node, or "". `problem`: why it
    cannot be translated to CSI."""

    handle: str
    driver: str
    plugin: str = ""
    problem: str = ""


def limit_key(driver: str) -> str:
    """Return the node resource that limits a driver's volumes in old releases (upstream GetCSIAttachLimitKey)."""
    if len(_PREFIX) + len(driver) >= _LONGEST_KEY:
        driver = driver[:23] + hashlib.sha1(driver.encode(), usedforsecurity=False).hexdigest()[:16]
    return _PREFIX + driver


def _limit_text(limit: int) -> str:
    return "any number" if limit == NO_LIMIT else str(limit)


class NodeVolumeLimits(VolumeLimits):
    name = "NodeVolumeLimits"
    pod_fields = ("volumes",)
    reads = "has_volumes"
    phrases = {TOO_MANY.message: "have reached their volume limit"}

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Skip pods that have neither claims nor in-tree volumes that a CSI driver may serve."""
        if not self.cluster.release.prefilter_skips:
            return None
        for volume in pod.pod.spec.volumes:
            if claim_name(pod, volume) is not None:
                return None
            if csi_migration.is_inline_migratable(volume, self.cluster.release):
                return None
        return fwk.SKIPPED

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.ANYTHING if pod.pod.spec.volumes else fwk.OBJECTS

    # ---- volumes of a pod

    def _attachments(self, pod: PodInfo, incoming: bool) -> list[Attachment]:
        """Return the volumes of a pod that may count. Raises Failure."""
        each = (self._attachment(pod, volume, incoming) for volume in pod.pod.spec.volumes)
        return [attachment for attachment in each if attachment is not None]

    def _attachment(self, pod: PodInfo, volume: Volume, incoming: bool) -> Attachment | None:
        name = claim_name(pod, volume)
        if name is None:
            return self._inline(volume)
        claim = self._claim(pod, volume, name, incoming)
        return None if claim is None else self._of_claim(claim)

    def _inline(self, volume: Volume) -> Attachment | None:
        plugin = csi_migration.plugin_of(volume)
        if not plugin:
            return None
        driver = csi_migration.DRIVERS[plugin]
        try:
            return Attachment(csi_migration.handle(volume, {}), driver, plugin)
        except TranslationError as problem:
            return Attachment("", driver, plugin, f"converting volume({volume.name}) from inline to csi: {problem}")

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
        """Return the attachment of an unbound claim: it counts as a separate volume of its storage class's
        provisioner."""
        storage_class = self.cluster.storage_classes.get(class_of_claim(claim))
        if storage_class is None or not storage_class.provisioner:
            return None
        if storage_class.provisioner == csi_migration.RBD and self.cluster.release.rbd_migratable:
            return None  # the translation supports it, but its feature gate is off
        handle, provisioner = f"unbound {claim.key}", storage_class.provisioner
        driver = csi_migration.DRIVERS.get(provisioner)
        return Attachment(handle, provisioner) if driver is None else Attachment(handle, driver, provisioner)

    # ---- volumes attached to a node

    def _on_node(self, node: str) -> Attached:
        used = self._used(self.cluster.csi_nodes.get(node), self.cluster.volume_users.on(node))
        return Attached(frozenset(used), frozenset(self._lingering(node) - used))

    def _used(self, csi_node: CSINode | None, pods: Iterable[PodInfo]) -> set[Key]:
        """Return the volumes of a node's pods that count on that node. Raises Failure."""
        used: set[Key] = set()
        for pod in pods:
            if csi_node is None and self._crashes(pod):
                raise Failure(fwk.error(NIL_POINTER))
            for attachment in self._attachments(pod, incoming=False):
                if self._counts(attachment, csi_node):
                    if attachment.problem:
                        raise Failure(fwk.error(attachment.problem))
                    used.add((attachment.driver, attachment.handle))
        return used

    def _lingering(self, node: str) -> set[Key]:
        """Return the CSI volumes with a VolumeAttachment: volumes of deleted pods may still be attached."""
        found: set[Key] = set()
        for attachment in self.cluster.volume_users.attachments(node):
            volume = self.cluster.volumes.get(attachment.spec.source.persistent_volume_name)
            if attachment.spec.attacher and volume is not None and volume.spec.csi is not None:
                found.add((attachment.spec.attacher, volume.spec.csi.volume_handle))
        return found if self.cluster.release.counts_attachments_without_pods else set()

    def _counts(self, attachment: Attachment, csi_node: CSINode | None) -> bool:
        plugin = attachment.plugin
        return not plugin or csi_migration.counted_as_csi(csi_node, plugin, self.cluster.release)

    def _counting(self, attachment: Attachment) -> fwk.Bool:
        """Return the nodes on which an attachment counts; bool over nodes."""
        nodes, csi_nodes = self.cluster.nodes, self.cluster.csi_nodes

        def make() -> fwk.Bool:
            return np.array([self._counts(attachment, csi_nodes.get(name)) for name in nodes.names], np.bool_)

        return nodes.memo(("counted as CSI", attachment.plugin), make)

    def _crashes(self, pod: PodInfo) -> bool:
        """Return whether upstream panics on nodes without a CSINode, because a volume of the pod is an in-tree disk."""
        release = self.cluster.release
        return release.missing_csi_node_crashes and any(
            csi_migration.is_inline_migratable(volume, release) for volume in pod.pod.spec.volumes
        )

    def _without_csi_node(self) -> fwk.Bool:
        """Return the nodes without a CSINode; bool over nodes."""
        nodes, csi_nodes = self.cluster.nodes, self.cluster.csi_nodes
        return nodes.memo("no CSINode", lambda: np.array([csi_nodes.get(name) is None for name in nodes.names]))

    # ---- drivers of a node

    def _prevents(self, driver: str) -> bool:
        """Return whether pods with volumes of the driver need a node on which it is installed."""
        found = self.cluster.csi_drivers.get(driver) if self.cluster.release.missing_driver_rejects else None
        return found is not None and found.spec.prevent_pod_scheduling_if_missing

    def _missing(self, attachments: Iterable[Attachment], csi_node: CSINode | None) -> str:
        """Return the first driver that is needed and not installed on the node; "" if there is none."""
        there = {entry.name for entry in csi_node.spec.drivers} if csi_node is not None else set()
        return next((a.driver for a in attachments if a.driver not in there and self._prevents(a.driver)), "")

    def _without(self, driver: str) -> fwk.Bool:
        """Return the nodes on which a driver is not installed; bool over nodes."""
        nodes, csi_nodes = self.cluster.nodes, self.cluster.csi_nodes

        def installed(name: str) -> bool:
            csi_node = csi_nodes.get(name)
            return csi_node is not None and any(entry.name == driver for entry in csi_node.spec.drivers)

        return nodes.memo(("driver not installed", driver), lambda: np.array([not installed(n) for n in nodes.names]))

    # ---- limits of a node

    def _limit(self, row: int, driver: str) -> int | None:
        """Return the maximum number of the driver's volumes on a node; None for no limit."""
        nodes, limit = self.cluster.nodes, None
        if self.cluster.release.attach_limits_from_allocatable:
            amount = nodes.nodes[row].status.allocatable.get(limit_key(driver))
            limit = None if amount is None else quantity.value(amount)
        csi_node = self.cluster.csi_nodes.get(nodes.names[row])
        for entry in csi_node.spec.drivers if csi_node is not None else ():
            if entry.name == driver and entry.allocatable is not None and entry.allocatable.count is not None:
                limit = entry.allocatable.count
        return None if limit is None else min(max(limit, -1), NO_LIMIT - 1)

    def _has_limits(self) -> fwk.Bool:
        """Return the nodes with a limit for any driver; bool over nodes. Upstream looks up attached volumes only on
        these."""
        nodes, by_node = self.cluster.nodes, self.cluster.release.attach_limits_from_allocatable

        def limits(name: str, node: Node) -> bool:
            csi_node = self.cluster.csi_nodes.get(name)
            drivers = csi_node.spec.drivers if csi_node is not None else ()
            limited = any(entry.allocatable is not None and entry.allocatable.count is not None for entry in drivers)
            return limited or (by_node and any(key.startswith(_ATTACHABLE) for key in node.status.allocatable))

        def make() -> fwk.Bool:
            return np.array([limits(*pair) for pair in zip(nodes.names, nodes.nodes, strict=True)], np.bool_)

        return nodes.memo("has attach limits", make)

    def _limits(self, driver: str) -> fwk.Int64:
        """Return the limits of all nodes; int64 over nodes, NO_LIMIT where there is none."""
        nodes = self.cluster.nodes

        def make() -> fwk.Int64:
            limits = [self._limit(row, driver) for row in range(len(nodes))]
            return np.array([NO_LIMIT if limit is None else limit for limit in limits], np.int64)

        return nodes.memo(("attach limit", driver), make)

    # ---- Filter

    def _wanted(self, pod: PodInfo) -> list[Attachment]:
        if not any(counts(volume) or csi_migration.plugin_of(volume) for volume in pod.pod.spec.volumes):
            return []
        return self._attachments(pod, incoming=True)

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        """Reject nodes where a driver that prevents this is missing, and nodes where the attached and the new volumes
        together exceed a limit. Of several missing drivers, upstream reports any, this plugin the first one."""
        nodes = self.cluster.nodes
        crashing = [(self._without_csi_node(), fwk.error(NIL_POINTER))] if self._crashes(pod) else []
        try:
            wanted = self._wanted(pod)
        except Failure as failure:
            return fwk.Verdict.choose(*crashing, (np.ones(len(nodes), np.bool_), failure.status))
        if not wanted:
            return fwk.Verdict.choose(*crashing) if crashing else fwk.PASSES
        self._attached.refresh()
        problems = [(self._counting(a), fwk.error(a.problem)) for a in wanted if a.problem]
        wanted_where: dict[Key, fwk.Bool] = {}
        for a in wanted:
            key, counting = (a.driver, a.handle), self._counting(a)
            wanted_where[key] = wanted_where[key] | counting if key in wanted_where else counting
        missing = [
            (self._counting(a) & self._without(a.driver), fwk.unschedulable(a.driver + _NOT_INSTALLED))
            for a in wanted
            if self._prevents(a.driver)
        ]
        limited, too_many = np.zeros(len(nodes), np.bool_), np.zeros(len(nodes), np.bool_)
        for driver in {driver for driver, _ in wanted_where}:
            limits, new = self._limits(driver), np.zeros(len(nodes), np.int64)
            for key, where in wanted_where.items():
                if key[0] == driver:
                    limited |= where & self._has_limits()
                    new += where & ~self._attached.used(key)
            too_many |= (new > 0) & (new + self._attached.count(driver) > limits)
        failures = [(mask & limited, status) for mask, status in self._attached.failures()]
        return fwk.Verdict.choose(*crashing, *problems, *missing, *failures, (too_many, TOO_MANY))

    affected_nodes = VolumeLimits.nodes_with_volumes

    def filter_node(self, state: fwk.CycleState, pod: PodInfo, change: fwk.NodePodsChange) -> fwk.Status | None:
        node = self.cluster.nodes.names[change.row]
        csi_node = self.cluster.csi_nodes.get(node)
        if csi_node is None and self._crashes(pod):
            return fwk.error(NIL_POINTER)
        try:
            new = [a for a in self._wanted(pod) if self._counts(a, csi_node)]
            for attachment in new:
                if attachment.problem:
                    return fwk.error(attachment.problem)
            if driver := self._missing(new, csi_node):
                return fwk.unschedulable(driver + _NOT_INSTALLED)
            limits = {a.driver: limit for a in new if (limit := self._limit(change.row, a.driver)) is not None}
            if not new or not self._has_limits()[change.row]:
                return None
            used = self._used(csi_node, self._users(change))
        except Failure as failure:
            return failure.status
        attached = Counter(driver for driver, _ in used | self._lingering(node))
        more = Counter(driver for driver, _ in {(a.driver, a.handle) for a in new} - used)
        if any(more[driver] and more[driver] + attached[driver] > limit for driver, limit in limits.items()):
            return TOO_MANY
        return None

    # ---- explanations

    @classmethod
    def obstacle(cls, context: RejectionContext | None, status: fwk.Status) -> Obstacle:
        driver = status.message.removesuffix(_NOT_INSTALLED)
        if driver == status.message:
            return super().obstacle(context, status)
        return Obstacle(causes.DRIVER_MISSING, cls.effort, f"lack the CSI driver {driver}", (driver,))

    @staticmethod
    def rejection_detail(context: RejectionContext, row: int, status: fwk.Status) -> str:
        """Return the limits, or the drivers, in the node's CSINode."""
        csi_node = context.cluster.csi_nodes.get(context.nodes.names[row])
        if status.message.endswith(_NOT_INSTALLED):
            there = sorted(driver.name for driver in csi_node.spec.drivers) if csi_node is not None else []
            return f"the node has {formatting.listing(there) if there else 'no CSI driver'}"
        limits = [
            f"{formatting.count(driver.allocatable.count, 'volume')} of {driver.name}"
            for driver in (csi_node.spec.drivers if csi_node is not None else ())
            if driver.allocatable is not None and driver.allocatable.count is not None
        ]
        if status.reasons != TOO_MANY.reasons or not limits:
            return ""
        return f"the node takes at most {formatting.listing(limits)}"

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        name, csi_node = view.node.name, self.cluster.csi_nodes.get(view.node.name)
        try:
            wanted = [a for a in self._wanted(view.pod) if self._counts(a, csi_node)]
            problem = next((a.problem for a in wanted if a.problem), "")
            if problem:
                return constant(True, problem).with_text(f"{name}: {problem}")
            if driver := self._missing(wanted, csi_node):
                return self._explain_missing(view, driver, csi_node)
            limits = {a.driver: self._explain_limit(view, a.driver) for a in wanted}
            used = self._explain_used(view, csi_node) if wanted and self._has_limits()[view.row] else {}
        except Failure as failure:
            return constant(True, failure.status.message).with_text(f"{name}: {failure.status.message}")
        parts, texts = [], []
        for driver, limit in limits.items():
            there = [make for (of, _), make in used.items() if of == driver]
            attached = view.long_count(there, "volumes", f"volumes of {driver} that are attached")
            users = {key for key in used if key[0] == driver and key not in self._lingering_only(view, csi_node)}
            handles = sorted({a.handle for a in wanted if a.driver == driver and (driver, a.handle) not in users})
            mine = [partial(view.holds, view.pod, "spec", "volumes", label=handle) for handle in handles]
            new = view.long_count(mine, "volumes", "volumes of the pod")
            over_limit = less(limit, total([attached, new], "volumes with this pod"))
            parts.append(every([less(constant(0), new), over_limit], f"too many volumes of {driver}"))
            texts.append(
                f"{driver}: {attached.value} attached and {new.value} new, of at most {_limit_text(limit.value)}"
            )
        return some(parts).with_text(f"{name}: {'; '.join(texts) or 'no volume of the pod counts here'}")

    def _explain_missing(self, view: View, driver: str, csi_node: CSINode | None) -> Tree:
        prevents = view.field(self.cluster.csi_drivers[driver], "spec", "preventPodSchedulingIfMissing")
        names = [entry.name for entry in csi_node.spec.drivers] if csi_node is not None else []
        there = constant(names, "drivers in the node's CSINode" if csi_node is not None else "the node has no CSINode")
        installed = contains(there, constant(driver), f"{driver} is installed")
        return every([prevents, opposite(installed)], f"{driver} is not installed").with_text(
            f"{view.node.name}: the CSI driver {driver} is not installed"
        )

    def _explain_used(self, view: View, csi_node: CSINode | None) -> dict[Key, Callable[[], Tree]]:
        """Return the volumes attached to the node, each with a function that creates its tree. Raises Failure."""
        found: dict[Key, Callable[[], Tree]] = {}
        for pod in view.pods_on(view.row):
            self._used(csi_node, [pod])  # raises Failure if a volume cannot be determined
            for i, volume in enumerate(pod.pod.spec.volumes):
                a = self._attachment(pod, volume, incoming=False)
                if a is not None and self._counts(a, csi_node):
                    label = f"{a.handle} of {pod.key}"
                    found.setdefault((a.driver, a.handle), partial(view.holds, pod, "spec", "volumes", i, label=label))
        for driver, handle in self._lingering(view.node.name):
            leaf = partial(constant, True, f"{handle}, by a VolumeAttachment")
            found.setdefault((driver, handle), leaf)
        return found

    def _lingering_only(self, view: View, csi_node: CSINode | None) -> set[Key]:
        """Return the attached volumes that no pod on the node uses."""
        return self._lingering(view.node.name) - self._used(csi_node, view.pods_on(view.row))

    def _explain_limit(self, view: View, driver: str) -> Tree:
        limit, node = self._limit(view.row, driver), view.node
        if limit is None:
            return constant(NO_LIMIT, f"nothing limits {driver} on the node")
        csi_node = self.cluster.csi_nodes.get(node.name)
        for i, entry in enumerate(csi_node.spec.drivers if csi_node is not None else ()):
            if csi_node is not None and entry.name == driver and entry.allocatable and entry.allocatable.count == limit:
                return view.field(csi_node, "spec", "drivers", i, "allocatable", "count", missing=0)
        leaf = view.field(node, "status", "allocatable", limit_key(driver), unit="", missing=limit)
        return leaf if leaf.value == limit else constant(limit, f"limit of {driver}")

    # ---- events that may make a pod schedulable

    sign = staticmethod(signers.volumes)

    def events_to_register(self) -> list[events.EventHint]:
        release = self.cluster.release
        registered = [
            events.registered("CSINode", events.ADD),
            events.registered(events.POD, events.DELETE, hint=self._after_pod_deleted),
            events.registered("PersistentVolumeClaim", events.ADD, hint=own_claim_changed),
        ]
        if release.counts_attachments_without_pods:
            hint = self._after_detachment if release.queueing_hint_volume_limits else None
            registered.append(events.registered("VolumeAttachment", events.DELETE, hint=hint))
        if release.queueing_hint_volume_limits:
            registered.append(events.registered("CSINode", events.UPDATE, hint=self._after_limits_changed))
        return registered

    def _after_pod_deleted(self, pod: PodInfo, old: PodInfo, new: None) -> bool:
        """Return whether the deleted pod, placed or nominated, had a volume that can count."""
        if not old.node and not (old.nominated_node and self.cluster.release.queueing_hint_nominated_pods):
            return False
        return any(
            volume.persistent_volume_claim or volume.ephemeral or csi_migration.plugin_of(volume)
            for volume in old.pod.spec.volumes
        )

    @staticmethod
    def _after_detachment(pod: PodInfo, old: VolumeAttachment, new: None) -> bool:
        """Return whether the pod has a claim, or an in-tree volume of the driver that detached a volume."""
        for volume in pod.pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                return True
            plugin = csi_migration.plugin_of(volume)
            if plugin and csi_migration.DRIVERS[plugin] == old.spec.attacher:
                return True
        return False

    @staticmethod
    def _after_limits_changed(pod: PodInfo, old: CSINode, new: CSINode) -> bool:
        """Return whether the limit of a driver was raised. A missing limit is 0."""
        before, now = (
            {driver.name: (driver.allocatable and driver.allocatable.count) or 0 for driver in one.spec.drivers}
            for one in (old, new)
        )
        return any(limit > before.get(name, 0) for name, limit in now.items())
