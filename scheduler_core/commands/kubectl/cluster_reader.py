"""Reads all objects of a cluster that answers need, once, in pages."""

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from scheduler_core.api.objects import Object
from scheduler_core.api.shared_parts import SharedParts
from scheduler_core.cluster.formatting import count
from scheduler_core.config import Configuration
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.live import discovery
from scheduler_core.live.cluster_mirror import ClusterMirror
from scheduler_core.live.decode import ObjectDecoder, decode_page, shortened
from scheduler_core.live.kinds import KINDS, WatchedKind
from scheduler_core.live.store import Store
from scheduler_core.live.transport import Transport, TransportError
from scheduler_core.live.watch_events import Listed
from scheduler_core.releases import Release, chosen_release
from scheduler_core.stations.extra_kinds import EXTRA

PAGE = 500
LISTS = 4  # kinds that are listed at once
STARTS = 3  # of a list whose continue token expires
AGAIN = 3  # attempts of a request that the server answers with 429 or 5xx
# An API server that has just started refuses everything until its authorizer is ready.
SETTLE = 1.0  # seconds after which refused lists are repeated once
NAMED = 3  # unreadable objects that a note names


@dataclass
class ReadCluster:
    """A cluster that was read. `refused`: kinds that may not be read. `notes`: remarks, as sentences.

    `namespace`: the only one whose pods could be read; "" for all.
    """

    mirror: ClusterMirror
    configuration: Configuration
    refused: set[str]
    release_source: str
    config_source: str
    notes: list[str] = field(default_factory=list)
    namespace: str = ""

    @property
    def release(self) -> Release:
        return self.mirror.release


class ClusterReader:
    """Lists the kinds of a cluster. `namespace`: where to look for pods if those of all namespaces are refused."""

    def __init__(self, transport: Transport, namespace: str = "") -> None:
        self._transport = transport
        self._namespace = namespace
        self._shared = SharedParts()
        self._lists: dict[str, Listed] = {}
        self.refused: set[str] = set()
        self.only_namespace = ""
        self.notes: list[str] = []
        self._settled: asyncio.Task[None] | None = None

    async def read(self, release: str = "", config: Any = None) -> ReadCluster:
        """Read everything and find release and configuration unless they are given. Raises TransportError, InputError.

        `config`: a KubeSchedulerConfiguration, as text.
        """
        version = await self._version()
        slots = asyncio.Semaphore(LISTS)

        async def one(kind: WatchedKind) -> None:
            async with slots:
                await self._list(kind)

        try:
            async with asyncio.TaskGroup() as tasks:
                for kind in KINDS.values():
                    tasks.create_task(one(kind))
        except ExceptionGroup as problems:
            raise problems.exceptions[0] from None
        store = Store()
        for listed in self._lists.values():
            store.apply(listed)
        found = discovery.discover(store, version, await discovery.fetch(self._transport, store, version))
        chosen, lacking = chosen_release(release, found.release)
        self.notes += lacking
        self.notes += found.notes if not (release and config) else ()
        configuration = self._configuration(config, found.config, chosen)
        mirror = ClusterMirror(chosen)
        for name in KINDS:
            if name in self._lists:
                mirror.apply(self._lists.pop(name))
        config_source = found.config_source if found.config else f"default ({found.config_source})"
        return ReadCluster(
            mirror,
            configuration,
            self.refused,
            "--release" if release else found.release_source,
            "--config" if config is not None else config_source,
            self.notes,
            self.only_namespace,
        )

    def _configuration(self, given: Any, found: str, release: Release) -> Configuration:
        if given is not None:
            return load(given, release)
        try:
            return load(found or None, release, unknown="leave_out")
        except InputError as problem:
            self.notes.append(f"The configuration of the cluster is left out: {shortened(str(problem))}")
            return load(None, release)

    async def _version(self) -> Mapping[str, Any]:
        status, body = await self._get("/version", {})
        try:
            version = msgspec.json.decode(body) if status == 200 else {}
        except msgspec.DecodeError:
            version = {}
        return version if isinstance(version, dict) else {}

    async def _list(self, kind: WatchedKind) -> None:
        for path in kind.paths:
            for start in range(STARTS):
                status = await self._pages(kind, path)
                if status in (401, 403) and (self._settled is None or not self._settled.done()):
                    self._settled = self._settled or asyncio.create_task(asyncio.sleep(SETTLE))
                    await self._settled
                    status = await self._pages(kind, path)
                if status != 410:
                    break
                if start == STARTS - 1:
                    raise TransportError(f"The list of {kind.resource} expired {STARTS} times before it was complete.")
            if status == 200:
                return
            if status == 403 and kind.namespaced and self._namespace:
                group, _, resource = path.rpartition("/")
                if await self._pages(kind, f"{group}/namespaces/{self._namespace}/{resource}") == 200:
                    self.only_namespace = self._namespace if kind.kind == "Pod" else self.only_namespace
                    self.notes.append(f"Only the {kind.resource} of namespace {self._namespace} can be read.")
                    return
            if status in (401, 403):
                self.refused.add(kind.kind)
                return
            if status != 404:
                raise TransportError(f"The server answers {status} to the list of {kind.resource}.")
        if not kind.optional:
            self.refused.add(kind.kind)

    async def _pages(self, kind: WatchedKind, path: str) -> int:
        """Read all pages of a list and keep it. Return the status of the last response."""
        decoder, objects = ObjectDecoder(kind.kind, self._shared), list[Object]()
        bad, query = list[str](), {"limit": str(PAGE)}
        if kind.field_selector:
            query["fieldSelector"] = kind.field_selector
        while True:
            status, body = await self._get(path, query)
            if status != 200:
                return status
            page = decode_page(body, kind.resource)
            for raw in page.items:
                try:
                    objects.append(decoder.decode(raw))
                except InputError as problem:
                    bad.append(shortened(str(problem)))
            if not page.token:
                break
            query["continue"] = page.token
        if bad:
            self.notes.append(f"{count(len(bad), 'object')} cannot be read and left out: {'; '.join(bad[:NAMED])}")
        self._lists[kind.kind] = Listed(kind.kind, page.resource_version, tuple(objects), time.time())
        return 200

    async def _get(self, path: str, query: Mapping[str, str]) -> tuple[int, bytes]:
        """Return status and body. Requests that the server is too busy for are repeated."""
        for attempt in range(AGAIN):
            async with self._transport.get(path, query) as response:
                body = b"".join([chunk async for chunk in response.chunks()])
                if (response.status != 429 and response.status < 500) or attempt == AGAIN - 1:
                    return response.status, body
            await asyncio.sleep(2.0**attempt)
        raise AssertionError


def sentences(refused: Iterable[str]) -> list[str]:
    """Return what answers lack because kinds cannot be read.

    The limits of an answer name the objects of neighbours that a cluster can lack, where it waits for them.
    """
    wanted = set(refused) - {kind for kind in EXTRA if KINDS[kind].optional}
    return [f"{kind.resource} cannot be read: {kind.consequence}" for kind in KINDS.values() if kind.kind in wanted]
