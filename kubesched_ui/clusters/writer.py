"""Writes the items of a source to the stored history of a cluster.

Each batch is one transaction, which begins by checking that this process still holds the cluster's lease. So the rows
are exactly the changes up to `Cluster.versions`, whatever process is killed: the next follower continues there, or
marks a gap if the server no longer has the changes.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from kubesched_ui.clusters.history import ADD, DELETE, MODIFY, ClusterChange, encode_changes, encode_part
from kubesched_ui.clusters.models import (
    ChangeBlock,
    Checkpoint,
    CheckpointPart,
    Cluster,
    Decision,
    HistoryGap,
    PendingPod,
)
from kubesched_ui.housekeeping import disk_space
from kubesched_ui.runtime.outages import DATABASE
from scheduler_core.api.objects import Object
from scheduler_core.api.patches import difference
from scheduler_core.live.watch_events import DELETED, Gap, Item, Listed, WatchEvent

logger = logging.getLogger(__name__)

BLOCK = 2000  # changes
TAIL, TAIL_S = 250, 10.0  # changes and seconds up to which further changes are added to the last block
PART = 1000  # objects
AGAIN_S = 1.0  # until a batch is written again after a failure of the database
LEAST_BYTES = 2_000_000  # of changes between two checkpoints
PART_PAUSE_S = 0.02  # between the parts of a checkpoint, so that batches are not delayed
GONE = "The API server no longer had the changes since the last stored one, so the objects were listed again."
BEGINS = "The history begins here."
STOPPED = "The cluster was not followed, and its objects were listed again."
REPLACED = "This is another cluster than before, or it was restored from a backup. The history begins anew."


class LostLease(Exception):
    """Another process follows the cluster now."""


class ReplacedCluster(Exception):
    """The server has another cluster than the stored one, or an older state of it: resourceVersions begin anew."""


def forget_history(pk: int, token: str) -> None:
    """Delete all that is stored of a cluster that was replaced. Raises LostLease."""
    columns: dict[str, Any] = {"versions": {}, "resource_version": 0, "analysed_version": 0, "changed_at": None}
    columns |= {"view": None, "counts": {}, "report": {}, "version": F("version") + 1}
    with transaction.atomic():
        if not Cluster.everything.filter(pk=pk, follower=token).update(**columns):
            raise LostLease
        for model in (ChangeBlock, Checkpoint, HistoryGap, PendingPod, Decision):
            model._default_manager.filter(cluster=pk).delete()


class HistoryWriter:
    """Writes items in the thread that calls `write`.

    `objects`: kind -> key -> object, as stored. `versions`: kind -> resourceVersion up to which all changes are stored.
    """

    def __init__(
        self,
        cluster: Cluster,
        token: str,
        objects: dict[str, dict[str, Object]],
        on_stored: Callable[[], None] = lambda: None,
    ) -> None:
        self.pk, self.token, self.on_stored = cluster.pk, token, on_stored
        self.objects = objects
        self.versions: dict[str, int] = dict(cluster.versions)
        self.resource_version = cluster.resource_version
        last = ChangeBlock.objects.filter(cluster=cluster).order_by("number").last()
        point = Checkpoint.objects.filter(cluster=cluster, complete=True).order_by("block").last()
        self.block = max(last.number if last else 0, point.block if point else 0)
        if not self.block:  # a backup does not contain the history
            self.versions, self.resource_version = {}, 0
        self.changed_at = cluster.changed_at or timezone.now()
        self.checkpoint_size = point.size if point else 0
        self.unsaved = LEAST_BYTES if point is None else 0  # bytes of changes since the last checkpoint
        self.checkpoint_at = time.monotonic()
        self.stored = cluster.changes
        self.tail: list[ClusterChange] = []  # of the last block
        self.tail_size = 0
        self.tail_at = self.arrived_at = 0.0
        self.comparing: set[str] = set()  # kinds with a gap before their next list
        self.opened_gap = False
        self.failing = False
        self.checkpointing: threading.Thread | None = None

    @property
    def rows(self) -> Any:
        """The cluster's row, if this process still holds the lease."""
        return Cluster.everything.filter(pk=self.pk, follower=self.token)

    # ---- batches

    def write(self, items: Sequence[Item]) -> None:
        """Store a batch. Waits while the database fails. Raises LostLease."""
        self._wait_for_space()
        self.arrived_at = min((item.time for item in items), default=time.time())
        changes, gaps = self._changes(items)
        now = time.time()
        if len(self.tail) >= TAIL or now - self.tail_at > TAIL_S:
            self.tail, self.tail_size = [], 0
        if not changes:
            self._retry(partial(self._write, b"", gaps, True))
        elif not self.tail:
            self.block, self.tail_at = self.block + 1, now
        everything = [*self.tail, *changes]
        for start in range(0, len(everything) if changes else 0, BLOCK):
            if start:
                self.block, self.tail_size = self.block + 1, 0
            self.tail = everything[start : start + BLOCK]
            data = encode_changes(self.tail)
            self._retry(partial(self._write, data, [] if start else gaps, start + BLOCK >= len(everything)))
            self.unsaved += len(data) - self.tail_size
            self.tail_size = len(data)
        self.on_stored()

    def _wait_for_space(self) -> None:
        """Wait while the disk or the database is almost full, as new work does; keep the lease meanwhile."""

        def keep_lease(message: str) -> None:
            if not self.rows.update(heartbeat_at=Now(), message=message):
                raise LostLease

        waited = False
        while problem := disk_space.recent_problem():
            waited = True
            self._retry(partial(keep_lease, problem))
            time.sleep(AGAIN_S)
        if waited:
            self._retry(partial(keep_lease, ""))

    def _retry(self, write: Callable[[], None]) -> None:
        while True:
            try:
                write()
            except DATABASE as error:
                if not self.failing:
                    logger.warning("Changes wait for the database: %s", error)
                self.failing = True
                connection.close()
                time.sleep(AGAIN_S)
            else:
                self.failing = False
                return

    def _write(self, data: bytes, gaps: Sequence[Gap], last: bool) -> None:
        """Write the tail as the block with the current number. May be repeated, if it is unknown whether a failed
        transaction was committed."""
        block = self.tail if data else []
        columns: dict[str, Any] = {"heartbeat_at": Now()}
        if block:
            self.resource_version = max(self.resource_version, *(change.resource_version for change in block))
            self.changed_at = at(block[-1].time)
            columns |= {
                "changes": self.stored,
                "resource_version": self.resource_version,
                "changed_at": self.changed_at,
                "lag_seconds": round(max(0.0, time.time() - self.arrived_at), 3),
            }
        if last:
            columns["versions"] = self.versions
        with transaction.atomic():
            if not self.rows.update(**columns):
                raise LostLease
            for gap in gaps:
                self._store_gap(gap)
            if block:
                ChangeBlock.objects.update_or_create(
                    cluster_id=self.pk,
                    number=self.block,
                    defaults={
                        "first_version": min(change.resource_version for change in block),
                        "last_version": max(change.resource_version for change in block),
                        "first_at": at(block[0].time),
                        "last_at": at(block[-1].time),
                        "count": len(block),
                        "size": len(data),
                        "data": data,
                    },
                )

    def _store_gap(self, gap: Gap) -> None:
        times = {"began_at": min(self.changed_at, at(gap.time)), "ended_at": at(gap.time)}
        HistoryGap.objects.get_or_create(
            cluster_id=self.pk, kind=gap.kind, after=gap.after, until=gap.until, defaults={"reason": GONE, **times}
        )

    def _changes(self, items: Sequence[Item]) -> tuple[list[ClusterChange], list[Gap]]:
        """Return the changes and the gaps of a batch."""
        changes: list[ClusterChange] = []
        gaps: list[Gap] = []
        for item in items:
            if isinstance(item, Gap):
                gaps.append(item)
                self.comparing.add(item.kind)
                continue
            if isinstance(item, Listed):
                if self._is_replaced(item):
                    raise ReplacedCluster
                self.comparing.add(item.kind)
                changes += self._listed(item)
                self.comparing.discard(item.kind)
            elif isinstance(item, WatchEvent) and (change := self._change(item)):
                changes.append(change)
            if item.kind not in self.comparing:  # the differences of a list are complete only with the list
                self.versions[item.kind] = max(self.versions.get(item.kind, 0), item.resource_version)
        self.stored += len(changes)
        return changes, gaps

    def _change(self, event: WatchEvent) -> ClusterChange | None:
        """Return the change of an event; None if it is stored already."""
        objects = self.objects.setdefault(event.kind, {})
        old = objects.get(event.key)
        where = (event.resource_version, event.time)
        version = event.resource_version if event.type == DELETED else version_of(event.object)
        if old is not None and event.kind in self.comparing and version < version_of(old):
            raise ReplacedCluster
        if event.type == DELETED:
            return ClusterChange(event.kind, DELETE, event.key, *where, None) if objects.pop(event.key, None) else None
        if old is not None and version_of(old) >= version_of(event.object):
            return None
        objects[event.key] = event.object
        if old is None:
            return ClusterChange(event.kind, ADD, event.key, *where, event.object)
        patch = difference(msgspec.to_builtins(old), msgspec.to_builtins(event.object))
        return ClusterChange(event.kind, MODIFY, event.key, *where, patch)

    def _is_replaced(self, item: Listed) -> bool:
        """Return whether a list is of another cluster: it is older than what is stored, or kube-system is another."""
        if item.resource_version < self.versions.get(item.kind, 0):
            return True
        old = self.objects.get(item.kind, {}).get("kube-system") if item.kind == "Namespace" else None
        return old is not None and any(
            obj.key == "kube-system" and obj.metadata.uid != old.metadata.uid for obj in item.objects
        )

    def _listed(self, item: Listed) -> Iterator[ClusterChange]:
        """Yield the differences of a list from what is stored: all of it, if nothing is stored."""
        listed = {obj.key: obj for obj in item.objects}
        for key, old in list(self.objects.get(item.kind, {}).items()):
            if key not in listed and (
                change := self._change(WatchEvent(item.kind, DELETED, key, item.resource_version, old, item.time))
            ):
                yield change
        for key, obj in listed.items():
            if change := self._change(WatchEvent(item.kind, "MODIFIED", key, item.resource_version, obj, item.time)):
                yield change

    # ---- gaps

    def open_gap(self) -> None:
        """Mark that changes of all kinds may be missing from the last stored one until `close_gap`. It is stored before
        anything is listed, so a kill in between leaves it open."""
        if HistoryGap.objects.filter(cluster=self.pk, kind="", until=None).exists():
            self.opened_gap = True
            return

        def write() -> None:
            with transaction.atomic():
                if not self.rows.update(heartbeat_at=Now()):
                    raise LostLease
                HistoryGap.objects.create(
                    cluster_id=self.pk,
                    after=self.resource_version,
                    began_at=self.changed_at,
                    reason=STOPPED if self.resource_version else BEGINS,
                )

        self._retry(write)
        self.opened_gap = True

    def close_gap(self) -> None:
        """Mark that all kinds are known now. Does nothing if no gap is open."""
        if not self.opened_gap:
            return

        def write() -> None:
            rows = HistoryGap.objects.filter(cluster=self.pk, kind="", until=None)
            rows.update(until=max(self.versions.values(), default=0), ended_at=timezone.now())

        self._retry(write)
        self.opened_gap = False

    # ---- checkpoints

    def checkpoint_if_due(self) -> None:
        """Begin to store a checkpoint in a thread: if the changes since the last one take as much space as half of it,
        or if it is old, because the history can only be cut at a checkpoint."""
        old = time.monotonic() - self.checkpoint_at > settings.HISTORY_HOURS * 3600 / 4
        if self.unsaved < max(LEAST_BYTES, self.checkpoint_size // 2) and not (old and self.unsaved):
            return
        if self.checkpointing is not None and self.checkpointing.is_alive():
            return
        self.unsaved, self.tail, self.tail_size = (
            0,
            [],
            0,
        )  # further changes are not part of the checkpoint's last block
        objects = {kind: dict(by_key) for kind, by_key in self.objects.items()}
        columns = {
            "block": self.block,
            "resource_version": self.resource_version,
            "versions": dict(self.versions),
            "at": self.changed_at,
        }
        self.checkpointing = threading.Thread(
            target=self._store_checkpoint, args=(objects, columns), name="checkpoint", daemon=True
        )
        self.checkpointing.start()

    def _store_checkpoint(self, objects: Mapping[str, Mapping[str, Object]], columns: dict[str, Any]) -> None:
        """Store the objects. They do not change, because each change makes a new object."""
        size = count = 0
        try:
            Checkpoint.objects.filter(cluster=self.pk, complete=False).delete()
            point = Checkpoint.objects.create(cluster_id=self.pk, **columns)
            for kind, by_key in objects.items():
                keys = list(by_key)
                for start in range(0, len(keys), PART):
                    some = keys[start : start + PART]
                    data = encode_part({key: by_key[key] for key in some})
                    CheckpointPart.objects.create(checkpoint=point, kind=kind, data=data)
                    size, count = size + len(data), count + len(some)
                    time.sleep(PART_PAUSE_S)
            with transaction.atomic():
                if not self.rows.update(heartbeat_at=Now()):
                    raise LostLease
                Checkpoint.objects.filter(pk=point.pk).update(complete=True, size=size, objects_count=count)
            self.checkpoint_size = size
        except (DatabaseError, InterfaceError, LostLease) as error:
            logger.warning("A checkpoint was not stored: %s", error or "another process follows the cluster")
        finally:
            connection.close()


def version_of(obj: Object) -> int:
    """Return the resourceVersion of an object as a number."""
    return int(obj.metadata.resource_version or 0)


def at(seconds: float) -> datetime:
    """Return Unix seconds as a time."""
    return datetime.fromtimestamp(seconds, tz=UTC)
