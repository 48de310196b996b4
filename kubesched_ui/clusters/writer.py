"""Writes the items of a source to the stored history of a cluster.

Each batch is one transaction, which begins by checking that this process still holds the cluster's lease. So the rows
are exactly the changes up to `Cluster.versions`, whatever process is killed: the next follower continues there, or
marks a gap if the server no longer has the changes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from kubesched_ui.clusters.history import ADD, DELETE, MODIFY, ClusterChange, encode_changes, encode_part, merge_patch
from kubesched_ui.clusters.models import ChangeBlock, Checkpoint, CheckpointPart, Cluster, HistoryGap
from scheduler_core.api.objects import Object
from scheduler_core.live.watch_events import DELETED, Gap, Item, Listed, WatchEvent

logger = logging.getLogger(__name__)

BLOCK = 2000  # changes
PART = 1000  # objects
AGAIN_S = 1.0  # until a batch is written again after a failure of the database
LEAST_BYTES = 2_000_000  # of changes between two checkpoints
PART_PAUSE_S = 0.02  # between the parts of a checkpoint, so that batches are not delayed
GONE = "The API server no longer had the changes since the last stored one, so the objects were listed again."
BEGINS = "The history begins here."
STOPPED = "The cluster was not followed, and its objects were listed again."


class LostLease(Exception):
    """Another process follows the cluster now."""


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
        self.changed_at = cluster.changed_at or timezone.now()
        self.checkpoint_size = point.size if point else 0
        self.unsaved = LEAST_BYTES if point is None else 0  # bytes of changes since the last checkpoint
        self.opened_gap = False
        self.failing = False
        self.checkpointing: threading.Thread | None = None

    @property
    def rows(self) -> Any:
        """The cluster's row, if this process still holds the lease."""
        return Cluster.everything.filter(pk=self.pk, follower=self.token)

    # ---- batches

    def write(self, items: Sequence[Item]) -> int:
        """Store a batch and return its number of changes. Waits while the database fails. Raises LostLease."""
        changes, gaps = self._changes(items)
        blocks = [changes[start : start + BLOCK] for start in range(0, len(changes), BLOCK)] or [[]]
        for number, block in enumerate(blocks):
            last = number == len(blocks) - 1
            data = encode_changes(block) if block else b""
            self._retry(lambda: self._write(block, data, gaps if number == 0 else [], last))  # noqa: B023
            self.unsaved += len(data)
        self.on_stored()
        return len(changes)

    def _retry(self, write: Callable[[], None]) -> None:
        while True:
            try:
                write()
            except (DatabaseError, InterfaceError) as error:
                if not self.failing:
                    logger.warning("Changes wait for the database: %s", error)
                self.failing = True
                connection.close()
                time.sleep(AGAIN_S)
            else:
                self.failing = False
                return

    def _write(self, block: Sequence[ClusterChange], data: bytes, gaps: Sequence[Gap], last: bool) -> None:
        now = time.time()
        columns: dict[str, Any] = {"heartbeat_at": Now()}
        if block:
            columns |= {
                "changes": F("changes") + len(block),
                "resource_version": max(self.resource_version, max(change.resource_version for change in block)),
                "changed_at": at(block[-1].time),
                "lag_seconds": round(max(0.0, now - min(change.time for change in block)), 3),
            }
        if last:
            columns["versions"] = self.versions
        with transaction.atomic():
            if not self.rows.update(**columns):
                raise LostLease
            HistoryGap.objects.bulk_create(self._gap(gap) for gap in gaps)
            if block:
                ChangeBlock.objects.create(
                    cluster_id=self.pk,
                    number=self.block + 1,
                    first_version=min(change.resource_version for change in block),
                    last_version=max(change.resource_version for change in block),
                    first_at=at(block[0].time),
                    last_at=at(block[-1].time),
                    count=len(block),
                    size=len(data),
                    data=data,
                )
        if block:
            self.block += 1
            self.resource_version = columns["resource_version"]
            self.changed_at = columns["changed_at"]

    def _gap(self, gap: Gap) -> HistoryGap:
        return HistoryGap(
            cluster_id=self.pk,
            kind=gap.kind,
            after=gap.after,
            until=gap.until,
            began_at=min(self.changed_at, at(gap.time)),
            ended_at=at(gap.time),
            reason=GONE,
        )

    def _changes(self, items: Sequence[Item]) -> tuple[list[ClusterChange], list[Gap]]:
        changes: list[ClusterChange] = []
        gaps: list[Gap] = []
        for item in items:
            if isinstance(item, Gap):
                gaps.append(item)
                continue
            if isinstance(item, Listed):
                changes += self._listed(item)
            elif isinstance(item, WatchEvent) and (change := self._change(item)):
                changes.append(change)
            self.versions[item.kind] = max(self.versions.get(item.kind, 0), item.resource_version)
        return changes, gaps

    def _change(self, event: WatchEvent) -> ClusterChange | None:
        """Return the change of an event; None if it is stored already."""
        objects = self.objects.setdefault(event.kind, {})
        old = objects.get(event.key)
        where = (event.resource_version, event.time)
        if event.type == DELETED:
            return ClusterChange(event.kind, DELETE, event.key, *where, None) if objects.pop(event.key, None) else None
        if old is not None and old.metadata.resource_version == event.object.metadata.resource_version:
            return None
        objects[event.key] = event.object
        if old is None:
            return ClusterChange(event.kind, ADD, event.key, *where, event.object)
        patch = merge_patch(msgspec.to_builtins(old), msgspec.to_builtins(event.object))
        return ClusterChange(event.kind, MODIFY, event.key, *where, patch)

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
        """Begin to store a checkpoint in a thread if the changes since the last one take as much space as half of
        it."""
        if self.unsaved < max(LEAST_BYTES, self.checkpoint_size // 2):
            return
        if self.checkpointing is not None and self.checkpointing.is_alive():
            return
        self.unsaved = 0
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


def at(seconds: float) -> datetime:
    """Return Unix seconds as a time."""
    return datetime.fromtimestamp(seconds, tz=UTC)
