"""How many volumes are attached to each node, as columns that follow pods, claims and volumes as they come and go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.framework.interface import Bool, Int64, Status
from scheduler_core.plugins.volumes import claim_name

Key = tuple[str, str]  # driver, handle of a volume


class Failure(Exception):
    """The volumes of a pod cannot be told; carries the status."""

    def __init__(self, status: Status) -> None:
        self.status = status


class Attached(NamedTuple):
    """`used`: volumes of the pods on a node. `lingering`: others that are attached to it still."""

    used: frozenset[Key]
    lingering: frozenset[Key] = frozenset()


_NOTHING = Attached(frozenset())


class AttachedVolumes:
    """Columns over the nodes of one cluster.

    `read(node)` says what is attached to a node, or raises Failure. It is asked again when a pod with volumes comes or
    goes, a volume is attached or detached, a claim or volume used there, any storage class, or the CSINode changes.
    """

    def __init__(self, cluster: Cluster, read: Callable[[str], Attached]) -> None:
        self._cluster = cluster
        self._read = read
        self._stale = cluster.volume_users.nodes()
        self._attached: dict[str, Attached] = {}
        self._failures: dict[str, Status] = {}
        self._holders: dict[Key, set[str]] = {}  # a volume -> the nodes with a pod that uses it
        self._concerned: dict[tuple[str, str], set[str]] = {}  # a claim or volume -> nodes, some perhaps no longer
        self._counts: dict[str, Int64] = {}  # driver -> column over `_rows`
        self._rows: dict[str, int] = {}
        cluster.volume_users.watch(self._stale.add)
        cluster.csi_nodes.watch(lambda name, old, new: self._stale.add(name))
        cluster.claims.watch(lambda key, old, new: self._stale.update(self._concerned.get(("claim", key), ())))
        cluster.volumes.watch(lambda name, old, new: self._stale.update(self._concerned.get(("volume", name), ())))
        cluster.storage_classes.watch(lambda name, old, new: self._stale.update(self._attached))

    def refresh(self) -> None:
        """Brings everything up to date. Costs nothing when nothing changed, else a look at the nodes concerned."""
        if self._rows is not self._cluster.nodes.rows:
            self._rows = self._cluster.nodes.rows
            self._counts.clear()
        while self._stale:
            self._look(self._stale.pop())

    def count(self, driver: str) -> Int64:
        """Volumes of the driver that are attached to each node; int64 over nodes."""
        column = self._counts.get(driver)
        if column is None:
            column = self._counts[driver] = np.zeros(len(self._rows), np.int64)
            for node, attached in self._attached.items():
                row = self._rows.get(node)
                if row is not None:
                    column[row] = sum(of == driver for volumes in attached for of, _ in volumes)
        return column

    def used(self, key: Key) -> Bool:
        """Where a pod uses the volume already; bool over nodes."""
        mask = np.zeros(len(self._rows), np.bool_)
        mask[[self._rows[node] for node in self._holders.get(key, ()) if node in self._rows]] = True
        return mask

    def failures(self) -> Iterator[tuple[Bool, Status]]:
        """Where the volumes of the pods cannot be told, by reason."""
        for status in dict.fromkeys(self._failures.values()):
            mask = np.zeros(len(self._rows), np.bool_)
            mask[[self._rows[n] for n, other in self._failures.items() if other == status and n in self._rows]] = True
            yield mask, status

    def _look(self, node: str) -> None:
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
