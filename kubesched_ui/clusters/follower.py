"""The follower of one cluster: reads it, stores its history, and feeds the analysis processes.

`manage.py follow NAME` runs it.

One event loop reads all kinds; one thread writes batches to the database.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import F
from django.db.models.functions import Now

from kubesched_ui.clusters import history, leases
from kubesched_ui.clusters.analysis_process import AnalysisProcess
from kubesched_ui.clusters.connections import Connection, open_transport
from kubesched_ui.clusters.models import Cluster, HistoryGap, state_fields
from kubesched_ui.clusters.writer import HistoryWriter, LostLease, ReplacedCluster, at
from kubesched_ui.websockets.publisher import Publisher, group
from scheduler_core.api.objects import Namespace, Object
from scheduler_core.api.text_checks import escaped, escaped_values
from scheduler_core.errors import InputError
from scheduler_core.live import discovery
from scheduler_core.live.kinds import KINDS, WatchedKind, namespace_of
from scheduler_core.live.reflector import KindHealth
from scheduler_core.live.source import LiveSource
from scheduler_core.live.store import Store
from scheduler_core.live.transport import Transport, TransportError
from scheduler_core.live.watch_events import Item, Listed, WatchEvent
from scheduler_core.releases import NEWEST, get_release
from scheduler_core.releases.remarks import nearest_release

logger = logging.getLogger(__name__)

FLUSH_S = 0.2  # until an item is written; items in between are written together
BATCH = 5000  # items
MAX_WAITING = 20_000  # items; with more, reading pauses
DISCOVER_EVERY_S = 600  # requests few small objects
DISCOVER_AGAIN_S = 10  # after a change of a pod of kube-scheduler
SCHEDULER_PODS = "kube-system/kube-scheduler"  # begins the keys of its static pods
NO_RIGHTS = "The API server refuses all kinds. Check the rights of its user (docs/live.md)."
SYSTEM = "kube-system"  # its uid identifies a cluster
MAX_NAMESPACE = 1_000_000  # bytes
FIRST = "pending"  # analysis that starts at once
WITHOUT = ("refused", "not served")  # states of a kind of which no item comes
SILENT_S = 100  # an API server sends at least a bookmark of each kind a minute

T = TypeVar("T")


class Follower:
    """Follows a cluster until cancelled, or until another process has its lease. `token`: of the lease."""

    def __init__(
        self, cluster: Cluster, token: str, transport: Transport, kinds: Mapping[str, WatchedKind] = KINDS
    ) -> None:
        self.kinds = kinds
        self.cluster, self.token, self.transport = cluster, token, transport
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="database")
        self.publisher = Publisher("cluster-hints")
        self.waiting: deque[Item] = deque()
        self.arrived, self.has_space = asyncio.Event(), asyncio.Event()
        self.store = Store()
        self.listed: set[str] = set()
        self.stored: dict[str, Any] = {}  # columns as written last
        self.complete = False
        self.scheduler_changed = False  # since release and configuration were looked for
        self.without: set[str] = set()  # kinds of which no item comes
        self.failing = False  # whether a kind could not be watched since the cluster was identified
        self.writer: HistoryWriter
        self.source: LiveSource
        self.analyses: list[AnalysisProcess]

    async def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Follow. `started` is called when heartbeats come from here. Raises LostLease, and ReplacedCluster if the
        stored history is another cluster's."""
        objects = await self._in_thread(self._restore)
        if known := objects.get("Namespace", {}).get(SYSTEM):
            await self._identify(known.metadata.uid)
        self.source = LiveSource(self.transport, self.kinds, known=self._known(objects))
        start = {"cluster": self.cluster.pk, "token": self.token, "kinds": list(self.source.health)}
        start["namespace"] = namespace_of(self.kinds)
        self.analyses = [AnalysisProcess(part, dict(start), self.store) for part in (FIRST, "decisions")]
        started()
        try:
            async with asyncio.TaskGroup() as group_of_tasks:
                for task in (self._read, self._write, self._report, self._discover, self._verify):
                    group_of_tasks.create_task(task())
                for analysis in self.analyses:
                    group_of_tasks.create_task(analysis.run())
        except BaseExceptionGroup as problems:
            raise problems.exceptions[0] from None
        finally:
            await asyncio.to_thread(self.publisher.close)
            await self._in_thread(lambda: connection.close())
            self.thread.shutdown(wait=False)

    async def _in_thread(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.thread, function)

    # ---- the stored state

    async def _identify(self, uid: str) -> bool:
        """Return whether the API server's kube-system has this uid; False if it does not answer. Raises ReplacedCluster
        if it has another one: its resourceVersions may be near those of the stored cluster, so a watch succeeds."""
        body = b""
        with suppress(TransportError, msgspec.DecodeError):
            async with self.transport.get(f"/api/v1/namespaces/{SYSTEM}", {}) as response:
                async for chunk in response.chunks():
                    body += chunk[: MAX_NAMESPACE - len(body)]
                if response.status == HTTPStatus.OK:
                    if msgspec.json.decode(body, type=Namespace).metadata.uid != uid:
                        raise ReplacedCluster
                    return True
        return False

    async def _verify(self) -> None:
        """Identify the cluster again after each interruption: another one may answer now."""
        uid = ""
        while True:
            known = self.store.get("Namespace", SYSTEM)
            uid = uid or (known.metadata.uid if known else "")
            health = self.source.health.values()
            self.failing = self.failing or any(one.state == "retrying" for one in health)
            if uid and self.failing and any(one.state == "watching" for one in health):
                self.failing = not await self._identify(uid)
            await asyncio.sleep(1.0)

    def _restore(self) -> dict[str, dict[str, Object]]:
        """Read the stored objects. Kinds without a stored resourceVersion are listed."""
        state = history.state_at(self.cluster)
        objects = {kind: {obj.key: obj for obj in state.typed(kind)} for kind in state.objects if kind in self.kinds}
        self.writer = HistoryWriter(self.cluster, self.token, objects, self._hint)
        unfinished = HistoryGap.objects.filter(cluster=self.cluster, kind="", until=None).exists()
        if unfinished or not self.writer.versions:
            self.writer.open_gap()
        return {kind: dict(by_key) for kind, by_key in objects.items()}

    def _known(self, objects: Mapping[str, Mapping[str, Object]]) -> dict[str, Listed]:
        """Return the stored objects as lists from which the source continues, with the times of their last events."""
        changed_at, health = self.writer.changed_at.timestamp(), self.cluster.health
        known = {
            kind: Listed(
                kind,
                version,
                tuple(objects.get(kind, {}).values()),
                health.get(kind, {}).get("event_at") or changed_at,
            )
            for kind, version in self.writer.versions.items()
            if kind in self.kinds
        }
        for item in known.values():
            self.store.apply(item)
            self.listed.add(item.kind)
        return known

    # ---- items

    async def _read(self) -> None:
        async for item in self.source.items():
            self.store.apply(item)
            if isinstance(item, Listed):
                self.listed.add(item.kind)
            elif isinstance(item, WatchEvent) and item.kind == "Pod" and item.key.startswith(SCHEDULER_PODS):
                self.scheduler_changed = True
            for analysis in self.analyses:
                analysis.send(item)
            self.waiting.append(item)
            self.arrived.set()
            if len(self.waiting) > MAX_WAITING:
                self.has_space.clear()
                await self.has_space.wait()

    async def _write(self) -> None:
        while True:
            await self.arrived.wait()
            await asyncio.sleep(FLUSH_S)
            self.arrived.clear()
            while self.waiting:
                batch = [self.waiting.popleft() for _ in range(min(BATCH, len(self.waiting)))]
                await self._in_thread(lambda: self.writer.write(batch))  # noqa: B023
                if len(self.waiting) <= MAX_WAITING // 2:
                    self.has_space.set()
            if not self.complete and self._knows_all():
                self.complete = True
                await self._in_thread(self.writer.close_gap)
                self._hint()
            if self.complete:
                await self._in_thread(self.writer.checkpoint_if_due)

    def _knows_all(self) -> bool:
        """Whether each kind is listed and written, or cannot be."""
        return not self.waiting and all(
            kind in self.listed or health.state in WITHOUT for kind, health in self.source.health.items()
        )

    def _hint(self) -> None:
        self.publisher.publish(
            group(self.cluster.pk, "cluster"), {"type": "cluster.changed", "cluster": self.cluster.pk}
        )

    # ---- state and health

    async def _report(self) -> None:
        """Store state, health and heartbeat regularly."""
        while True:
            self._forget_and_remember()
            columns = self._columns()
            with suppress(DatabaseError, InterfaceError):  # the writer waits for the database
                if not await self._in_thread(lambda: self._store(columns)):  # noqa: B023
                    raise LostLease
            if not self.arrived.is_set() and not self.complete and self._knows_all():
                self.arrived.set()  # all kinds are known without a further item
            await asyncio.sleep(leases.HEARTBEAT_S)

    def _forget_and_remember(self) -> None:
        """Let the analyses not wait for kinds of which no item comes, until they are served again."""
        health = self.source.health
        now = {kind for kind, one in health.items() if one.state in WITHOUT}
        again = {kind for kind in self.without - now if health[kind].state == "watching"}
        for analysis in self.analyses:
            for kind in now:
                analysis.forget(kind)
            for kind in again:
                analysis.remember(kind)
        self.scheduler_changed = self.scheduler_changed or bool(again)
        self.without = (self.without | now) - again

    def _columns(self) -> dict[str, Any]:
        version = str(self.source.version.get("gitVersion", ""))[:40]
        state, message = self._state()
        columns: dict[str, Any] = {
            "state": state,
            "message": message,
            "health": {kind: described(health) for kind, health in self.source.health.items()},
        }
        found: dict[str, Any] = escaped_values(columns | ({"git_version": version} if version else {}))
        return found

    def _state(self) -> tuple[str, str]:
        health = [one for one in self.source.health.values() if one.state not in WITHOUT]
        if not health:
            return Cluster.State.FAILED, NO_RIGHTS
        broken = next((one.message for one in health if one.state == "retrying"), "")
        if all(one.stale_since or one.state in ("waiting", "retrying") for one in health):
            known = self.complete or not broken
            return (Cluster.State.CONNECTING if known else Cluster.State.FAILED), broken
        if not self.complete:
            return Cluster.State.LISTING if self.listed else Cluster.State.CONNECTING, broken
        if time.time() - (last := max(one.last_event for one in health)) > SILENT_S:
            return Cluster.State.CONNECTING, f"The API server has sent nothing since {at(last):%Y-%m-%d %H:%M:%S} UTC."
        return Cluster.State.FOLLOWING, broken

    def _store(self, columns: dict[str, Any]) -> bool:
        """Store what has changed. Return whether this process still holds the lease."""
        changed = {name: value for name, value in columns.items() if self.stored.get(name) != value}
        update: dict[str, Any] = dict(changed)
        if "state" in changed or "message" in changed:
            update |= state_fields(columns["state"], columns["message"])
        if set(changed) - {"health"} or _visible(columns["health"]) != _visible(self.stored.get("health", {})):
            update["version"] = F("version") + 1
            self._hint()
        if not self.writer.rows.update(heartbeat_at=Now(), **update):
            return False
        self.stored |= changed
        return True

    # ---- release and configuration

    async def _discover(self) -> None:
        """Find release and configuration: first by the version alone, then by the objects, then regularly. Configure
        the analysis with them, or with what a user has chosen."""
        found_at = 0.0
        loop = asyncio.get_running_loop()
        while not self.source.version and not self.complete:
            await asyncio.sleep(0.1)
        while True:
            due = DISCOVER_AGAIN_S if self.scheduler_changed else DISCOVER_EVERY_S
            if self.complete and (not found_at or loop.time() - found_at > due):
                found_at, self.scheduler_changed = loop.time(), False
                self.source.version = await discovery.fetch_version(self.transport) or self.source.version
                objects = await discovery.fetch(self.transport, self.store, self.source.version)
                found = discovery.discover(self.store, self.source.version, objects)
                await self._in_thread(lambda: self._store_found(found))  # noqa: B023
            with suppress(DatabaseError, InterfaceError):
                release, config = await self._in_thread(self._used)
                for analysis in self.analyses:
                    if analysis.part == FIRST or found_at:  # decisions wait, so that the first answers come sooner
                        analysis.configure(release, config)
            await asyncio.sleep(1.0)

    def _store_found(self, found: discovery.Discovered) -> None:
        columns = {
            "release": found.release,
            "release_source": escaped(found.release_source),
            "config": found.config,
            "config_source": escaped(found.config_source),
            "notes": escaped_values(found.notes),
        }
        with suppress(DatabaseError, InterfaceError):
            self.writer.rows.update(**columns, version=F("version") + 1)
        self._hint()

    def _used(self) -> tuple[str, str]:
        row = Cluster.everything.only("release", "chosen_release", "config", "chosen_config").get(pk=self.cluster.pk)
        return row.used_release or release_of_version(self.source.version), row.used_config


def release_of_version(version: Mapping[str, Any]) -> str:
    """Return the release of an API server's version, or the nearest one; the newest if the version is unknown."""
    text = str(version.get("gitVersion", ""))
    try:
        return get_release(text).name
    except InputError:
        return nearest_release(text) or NEWEST


def described(health: KindHealth) -> dict[str, Any]:
    """Return the health of a kind as JSON."""
    refused = health.state in WITHOUT
    return {
        "state": health.state,
        "resource_version": health.resource_version,
        "event_at": health.last_event or None,
        "stale_since": health.stale_since or None,
        "message": health.message[:1000],
        "objects": health.objects,
        "lists": health.lists,
        "requests": health.requests,
        "consequence": KINDS[health.kind].consequence if refused and not KINDS[health.kind].optional else "",
    }


def _visible(health: Mapping[str, Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """Return what a page shows at once of the health: not the numbers that change with each item."""
    return [(kind, one["state"], one["message"], one["stale_since"]) for kind, one in health.items()]


async def follow(cluster: Cluster, token: str, connection: Connection, started: Callable[[], None]) -> None:
    """Follow a cluster whose lease `token` holds. `started`: see `Follower.run`. Raises LostLease."""
    async with open_transport(connection) as transport:
        await Follower(cluster, token, transport, connection.kinds).run(started)
