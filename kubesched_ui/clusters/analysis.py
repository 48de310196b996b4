"""The analysis process of a follower: mirrors the cluster and stores why its pods are pending, counts and the map.

It reads items from a pipe and ends with its follower. It changes no history, so killing it loses nothing: the next one
begins with the current objects.
"""

import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, BinaryIO

import msgspec
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import F, Model
from django.utils import timezone

from kubesched_ui.clusters.item_frames import START, Forget, FrameReader
from kubesched_ui.clusters.models import MAX_KEY, MAX_NODE, Cluster, PendingPod
from kubesched_ui.clusters.safe_columns import safe_columns
from kubesched_ui.clusters.writer import LostLease, at
from kubesched_ui.websockets.publisher import Publisher, group
from scheduler_core.api.objects import Object
from scheduler_core.api.text_checks import escaped, escaped_values
from scheduler_core.config import Configuration
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.live.cluster_mirror import ClusterMirror
from scheduler_core.live.watch_events import Gap, Item, Listed
from scheduler_core.pending_pods.answer import PendingAnswers
from scheduler_core.pending_pods.pending_answer import PendingAnswer
from scheduler_core.releases import Release, get_release

logger = logging.getLogger(__name__)

MAX_QUEUE = 20_000  # items; with more, the pipe fills and the follower keeps them
DRAIN_S = 0.25  # seconds of applying items before answers get their turn
ANSWER_S = 0.25  # seconds of answering before items get their turn
STORE_EVERY_S = 1.0
VIEW_COST = 20  # a map is made after this many times the seconds that the last one took
AGAIN_S = 1.0  # until results are stored again after a failure of the database
MAX_SENTENCE = 5000  # characters


class ItemQueue:
    """The items of a pipe, read in a thread."""

    def __init__(self, reader: FrameReader) -> None:
        self.items: queue.Queue[Item | Forget | None] = queue.Queue(MAX_QUEUE)
        self.reader = reader
        threading.Thread(target=self._read, name="items", daemon=True).start()

    def _read(self) -> None:
        try:
            for item in self.reader.items():
                self.items.put(item)
        except Exception:
            logger.exception("Cannot read the items of the follower")
        self.items.put(None)

    def drain(self, apply: Callable[[Item | Forget], None], wait_s: float, seconds: float) -> bool:
        """Apply the items that have arrived, for at most `seconds`; wait `wait_s` for the first one. Return False at
        the end of the pipe."""
        try:
            item = self.items.get(timeout=max(0.001, wait_s))
            end = time.monotonic() + seconds
            while item is not None:
                apply(item)
                if time.monotonic() > end:
                    return True
                item = self.items.get_nowait()
        except queue.Empty:
            return True
        return False


class LeaseHolder:
    """Writes of a process that shares the lease of its follower."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.pk, self.token = start["cluster"], start["token"]
        self.publisher = Publisher("cluster-hints")

    def update(self, **columns: Any) -> None:
        """Update the cluster's row. Raises LostLease."""
        if not Cluster.everything.filter(pk=self.pk, follower=self.token).update(**columns):
            raise LostLease

    def hint(self) -> None:
        """Notify the pages of the cluster."""
        self.publisher.publish(group(self.pk, "cluster"), {"type": "cluster.changed", "cluster": self.pk})


def scheduler_of(start: dict[str, Any]) -> tuple[Release, Configuration]:
    """Return release and configuration of the first frame. Raises InputError."""
    release = get_release(start["release"])
    return release, load(start["config"] or None, release, unknown="leave_out")


class PendingAnalysis:
    """Mirrors the cluster and keeps the rows of its pending pods up to date."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.holder = LeaseHolder(start)
        release, configuration = scheduler_of(start)
        self.mirror = ClusterMirror(release)
        self.answers = PendingAnswers(self.mirror, configuration, namespace=start.get("namespace", ""))
        self.unknown = set(start["kinds"])
        self.refused: set[str] = set()
        self.changed: dict[str, PendingAnswer] = {}
        self.gone: set[str] = set()
        self.first = True
        self.lag = 0.0
        self.stored_counts: dict[str, Any] = {}
        self.stored_at = 0.0
        self.view: threading.Thread | None = None
        self.view_at = 0.0
        self.view_cost = 0.0
        self.viewed_version = -1

    @property
    def ready(self) -> bool:
        """Whether each kind is known or refused."""
        return not self.unknown

    def run(self, items: ItemQueue) -> None:
        """Analyse until the pipe ends. Raises LostLease."""
        outdated = 0
        while items.drain(self.apply, 0.0 if outdated else 0.1, DRAIN_S):
            if not self.ready:
                continue
            found = self.answers.update(time.time(), ANSWER_S)
            outdated = found.outdated
            self.changed.update({answer.key: answer for answer in found.changed})
            self.gone.update(found.gone)
            self.gone -= self.changed.keys() & self.answers.answers.keys()
            for key in found.gone:
                self.changed.pop(key, None)
            if time.monotonic() - self.stored_at >= STORE_EVERY_S:
                self._try_to_store()
                self._view_if_due()

    def apply(self, item: Item | Forget) -> None:
        """Apply an item to the mirror."""
        if isinstance(item, Forget):
            self.unknown.discard(item.kind)
            self.refused.add(item.kind)
            self.answers.refused = frozenset(self.refused)
            self.answers.note(None)
            return
        change = self.mirror.apply(item)
        if change is not None:
            self.answers.note(change)
        elif isinstance(item, Listed | Gap):
            if isinstance(item, Listed):
                self.unknown.discard(item.kind)
                self.refused.discard(item.kind)
                self.answers.refused = frozenset(self.refused)
            self.answers.note(None)
        self.lag = max(self.lag, time.time() - item.time)

    # ---- rows

    def _try_to_store(self) -> None:
        self.stored_at = time.monotonic()
        try:
            self._store()
        except (DatabaseError, InterfaceError) as error:
            logger.warning("Results wait for the database: %s", error)
            connection.close()
            self.stored_at += AGAIN_S

    def _store(self) -> None:
        """Store what has changed since the last time."""
        counts = self.counts()
        news = bool(self.changed or self.gone or self.first or counts != self.stored_counts)
        columns: dict[str, Any] = {
            "analysed_version": self.mirror.resource_version,
            "analysis_lag_seconds": round(max(0.0, self.lag), 3),
            "analysis_message": "",
        }
        if news:
            columns |= {"counts": counts, "version": F("version") + 1}
        with transaction.atomic():
            self.holder.update(**columns)
            rows = PendingPod.objects.filter(cluster=self.holder.pk)
            if self.first:
                waiting = self._waiting()
                known = set(rows.values_list("key", flat=True))
                self._delete(known - waiting.keys() - self.changed.keys())
                PendingPod.objects.bulk_create(
                    [self._unanswered(key, waiting[key]) for key in waiting.keys() - known - self.changed.keys()], 500
                )
            self._delete(self.gone)
            self._upsert(list(self.changed.values()))
        self.changed.clear()
        self.gone.clear()
        self.first = False
        self.lag = 0.0
        self.stored_counts = counts
        if news:
            self.holder.hint()

    def _delete(self, keys: set[str]) -> None:
        some = sorted(keys)
        for start in range(0, len(some), 500):
            PendingPod.objects.filter(cluster=self.holder.pk, key__in=some[start : start + 500]).delete()

    def _upsert(self, answers: list[PendingAnswer]) -> None:
        now, version = timezone.now(), self.mirror.resource_version
        rows = [
            PendingPod(
                cluster_id=self.holder.pk,
                key=printable(answer.key[:MAX_KEY]),
                subject=answer.subject,
                namespace=answer.key.partition("/")[0][:MAX_NODE],
                since=at(answer.details.since or time.time()),
                category=answer.category,
                cause=answer.cause,
                sentence=printable(answer.sentence[:MAX_SENTENCE]),
                details=cleaned(msgspec.to_builtins(answer.details)),
                ladder=answer.ladder,
                answered_version=version,
                answered_at=now,
            )
            for answer in answers
        ]
        upsert(PendingPod, rows, ["cluster", "key"])

    def _waiting(self) -> dict[str, Object]:
        """Return the pods without a node."""
        return {key: info.pod for key, info in self.mirror.pending.items()}

    def _unanswered(self, key: str, pod: Object) -> PendingPod:
        return PendingPod(
            cluster_id=self.holder.pk,
            key=key,
            namespace=pod.metadata.namespace,
            since=created_at(pod),
        )

    def counts(self) -> dict[str, Any]:
        """Return the numbers of nodes, pods and answers."""
        store = self.mirror.store
        found = self.answers.answers.values()
        answers = Counter[str](answer.category for answer in found if answer.subject == "Pod")
        return {
            "nodes": len(store.objects("Node")),
            "pods": len(self.mirror.pods),
            "bound": len(self.mirror.pods) - len(self.mirror.pending),
            "pending": len(self.mirror.pending),
            **{category: answers[category] for category in PendingPod.Category.values},
            "kinds": {kind: len(store.objects(kind)) for kind in sorted(store.resource_versions)},
        }

    # ---- the map

    def _view_if_due(self) -> None:
        """Make the map in a thread, so that items do not wait for it."""
        version = self.mirror.resource_version
        due = time.monotonic() - self.view_at >= max(STORE_EVERY_S, VIEW_COST * self.view_cost)
        if version == self.viewed_version or not due or (self.view is not None and self.view.is_alive()):
            return
        self.view_at, self.viewed_version = time.monotonic(), version
        objects = [*self.mirror.store.objects("Node"), *self.mirror.store.objects("Pod")]
        versions = {kind: self.mirror.store.resource_versions.get(kind, 0) for kind in ("Node", "Pod")}
        self.view = threading.Thread(target=self._make_view, args=(objects, versions), name="map", daemon=True)
        self.view.start()

    def _make_view(self, objects: list[Object], versions: dict[str, int]) -> None:
        began = time.thread_time()
        try:
            columns = safe_columns(objects) | {"versions": versions}
            self.view_cost = time.thread_time() - began
            self.holder.update(view=columns, version=F("version") + 1)
            self.holder.hint()
        except (DatabaseError, InterfaceError, LostLease) as error:
            logger.warning("The map was not stored: %s", error or "another process follows the cluster")
            self.viewed_version = -1
        finally:
            connection.close()


def upsert(model: type[Model], rows: list[Any], unique: list[str]) -> None:
    """Insert rows, or replace those with the same values in `unique`."""
    fields = [field.name for field in model._meta.concrete_fields if not field.primary_key and field.name not in unique]
    if rows:
        model._default_manager.bulk_create(rows, 500, update_conflicts=True, unique_fields=unique, update_fields=fields)


def created_at(obj: Object) -> Any:
    """Return when an object was created; now if it does not say."""
    from django.utils.dateparse import parse_datetime

    try:
        found = parse_datetime(obj.metadata.creation_timestamp)
    except ValueError:
        found = None
    return found if found is not None and timezone.is_aware(found) else timezone.now()


def printable(text: str) -> str:
    """Return a text of the cluster that both databases can store and pages can show."""
    return escaped(text, "\n\t")


cleaned = escaped_values  # of JSON


def run(file: BinaryIO, analyse: Callable[[dict[str, Any]], Any], failed: str) -> None:
    """Analyse the items of a pipe until it ends. `analyse`: makes the analysis from the values of the first frame.
    `failed`: what is missing if the configuration cannot be used, as the beginning of a sentence."""
    reader = FrameReader(file)
    values = reader.values()
    if values is None or values[0] != START:
        return
    start = values[1]
    try:
        analysis = analyse(start)
    except InputError as problem:
        message = printable(f"{failed}: {problem}.")
        Cluster.everything.filter(pk=start["cluster"], follower=start["token"]).update(analysis_message=message)
        connection.close()
        while reader.values() is not None:  # a new process would fail as well
            pass
        return
    try:
        analysis.run(ItemQueue(reader))
    except LostLease:
        logger.info("Another process follows the cluster now")
