"""Number of volumes attached to each node, in columns that are updated when pods, claims and volumes change."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from scheduler_core.api.objects import PersistentVolumeClaim, Volume
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import causes
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins.volumes import NO_NAME, claim_missing, claim_name, not_owned

Key = tuple[str, str]  # driver, handle of a volume


class Failure(Exception):
    """The volumes of a pod cannot be determined. `status` has the reason."""

    def __init__(self, status: fwk.Status) -> None:
        self.status = status


class Attached(NamedTuple):
    """Volumes attached to a node. `used`: volumes of pods on the node. `lingering`: volumes that are still attached but
    that no pod on the node uses."""

    used: frozenset[Key]
    lingering: frozenset[Key] = frozenset()


_NOTHING = Attached(frozenset())


class AttachedVolumes:
    """Columns over the nodes of one cluster.

    `read(node)` returns what is attached to a node, or raises Failure. It is called again when a pod with volumes is
    added or removed, when a volume is attached or detached, or when a claim or volume used on the node, any storage
    class, or the CSINode changes.
    """

    def __init__(self, cluster: Cluster, read: Callable[[str], Attached]) -> None:
        self._cluster = cluster
        self._read = read
        self._stale = cluster.volume_users.nodes()
        self._attached: dict[str, Attached] = {}
        self._failures: dict[str, fwk.Status] = {}
        self._holders: dict[Key, set[str]] = {}  # volume -> nodes with a pod that uses it
        self._concerned: dict[tuple[str, str], set[str]] = {}  # claim or volume -> nodes, may be outdated
        self._counts: dict[str, fwk.Int64] = {}  # driver -> column over `_rows`
        self._rows: dict[str, int] = {}
        cluster.volume_users.watch(self._stale.add)
        cluster.csi_nodes.watch(lambda name, old, new: self._stale.add(name))
        cluster.claims.watch(lambda key, old, new: self._stale.update(self._concerned.get(("claim", key), ())))
        cluster.volumes.watch(lambda name, old, new: self._stale.update(self._concerned.get(("volume", name), ())))
        cluster.storage_classes.watch(lambda name, old, new: self._stale.update(self._attached))

    def refresh(self) -> None:
        """Update all columns. This is free if nothing has changed; otherwise only the affected nodes are read again."""
        if self._rows is not self._cluster.nodes.rows:
            self._rows = self._cluster.nodes.rows
            self._counts.clear()
        while self._stale:
            self._count(self._stale.pop())

    def count(self, driver: str) -> fwk.Int64:
        """Return the number of the driver's volumes attached to each node; int64 over nodes."""
        column = self._counts.get(driver)
        if column is None:
            column = self._counts[driver] = np.zeros(len(self._rows), np.int64)
            for node, attached in self._attached.items():
                row = self._rows.get(node)
                if row is not None:
                    column[row] = sum(of == driver for volumes in attached for of, _ in volumes)
        return column

    def used(self, key: Key) -> fwk.Bool:
        """Return the nodes on which a pod already uses the volume; bool over nodes."""
        mask = np.zeros(len(self._rows), np.bool_)
        mask[[self._rows[node] for node in self._holders.get(key, ()) if node in self._rows]] = True
        return mask

    def failures(self) -> Iterator[tuple[fwk.Bool, fwk.Status]]:
        """Yield each reason for which volumes cannot be determined, with its nodes as bool over nodes."""
        for status in dict.fromkeys(self._failures.values()):
            mask = np.zeros(len(self._rows), np.bool_)
            mask[[self._rows[n] for n, other in self._failures.items() if other == status and n in self._rows]] = True
            yield mask, status

    def _count(self, node: str) -> None:
        self._note_concerns(node)
        self._failures.pop(node, None)
        try:
            new = self._read(node)
        except Failure as failure:
            self._failures[node] = failure.status
            new = _NOTHING
        old = self._attached.get(node, _NOTHING)
        self._attached[node] = new
        for volume in old.used - new.used:
            self._holders[volume].discard(node)
            if not self._holders[volume]:
                del self._holders[volume]
        for volume in new.used - old.used:
            self._holders.setdefault(volume, set()).add(node)
        self._recount(node, old, -1)
        self._recount(node, new, 1)

    def _recount(self, node: str, attached: Iterable[frozenset[Key]], step: int) -> None:
        row = self._rows.get(node)
        for driver, _ in () if row is None else (volume for volumes in attached for volume in volumes):
            if driver in self._counts:
                self._counts[driver][row] += step

    def _note_concerns(self, node: str) -> None:
        names = {a.spec.source.persistent_volume_name for a in self._cluster.volume_users.attachments(node)}
        for pod in self._cluster.volume_users.on(node):
            for volume in pod.pod.spec.volumes:
                name = claim_name(pod, volume)
                if name is not None:
                    key = f"{pod.namespace}/{name}"
                    self._concerned.setdefault(("claim", key), set()).add(node)
                    claim = self._cluster.claims.get(key)
                    if claim is not None:
                        names.add(claim.spec.volume_name)
        for name in names:
            self._concerned.setdefault(("volume", name), set()).add(node)


class VolumeLimits(fwk.PreFilterPlugin, fwk.FilterPlugin):
    """Base class of the plugins that limit the volumes of a node."""

    cause = causes.VOLUME_LIMIT
    effort = 1.2

    @cached_property
    def _attached(self) -> AttachedVolumes:
        return AttachedVolumes(self.cluster, self._on_node)

    def _on_node(self, node: str) -> Attached:
        """Return the volumes attached to a node. Raises Failure."""
        raise NotImplementedError

    def indifferent(self, state: fwk.CycleState, pod: PodInfo) -> bool:
        return not pod.pod.spec.volumes

    def nodes_with_volumes(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Bool:
        """Return the nodes with pods that use volumes; bool over nodes."""
        return self.cluster.nodes.mask(self.cluster.volume_users.by_node)

    def _claim(self, pod: PodInfo, volume: Volume, name: str, incoming: bool) -> PersistentVolumeClaim | None:
        """Return the claim of a pod's volume; None if it is missing and does not matter. Raises Failure."""
        if not name:
            raise Failure(fwk.error(NO_NAME))
        claim = self.cluster.claims.get(f"{pod.namespace}/{name}")
        if claim is None:
            if not incoming or not self.cluster.release.missing_claim_fails:
                return None
            reason = f"looking up PVC {pod.namespace}/{name}: {claim_missing(name)}"
            raise Failure(fwk.unresolvable(reason) if self.cluster.release.missing_claim_rejects else fwk.error(reason))
        if volume.ephemeral is not None and (problem := not_owned(pod, claim)):
            raise Failure(fwk.error(problem))
        return claim

    def _users(self, change: fwk.NodePodsChange) -> list[PodInfo]:
        """Return the pods with volumes that are on the node after the change."""
        removed = {other.key for other in change.removed}
        pods = (*self.cluster.volume_users.on(self.cluster.nodes.names[change.row]), *change.added)
        return [pod for pod in pods if pod.key not in removed]
