"""The HTTP side of the test API server: discovery, lists, watches, writes, authorization and faults.

Source: k8s.io/apiserver (pkg/endpoints/handlers/get.go and watch.go, pkg/storage/cacher, pkg/storage/continue.go).
"""

from __future__ import annotations

import asyncio
import base64
import random
import ssl
import time
import zlib
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import msgspec
from aiohttp import web

from tests.api_server.patches import PATCHES, merge_patch
from tests.api_server.resources import (
    RESOURCES,
    Resource,
    group_document,
    openapi_document,
    resource_list,
    version_document,
)
from tests.api_server.selectors import Selector, UnknownField
from tests.api_server.storage import Change, Collection, Conflict, Encoded, Expired, Raw, Storage, encoded
from tests.api_server.tables import table

GZIP_THRESHOLD = 128 * 1024
WRITE_SIZE = 256 * 1024
REASONS = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed",
    409: "AlreadyExists", 410: "Expired", 415: "UnsupportedMediaType", 422: "Invalid", 429: "TooManyRequests",
    500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout",
}  # fmt: skip


@dataclass
class Fault:
    """What goes wrong with one response.

    `status`: answer this instead, with `retry_after` seconds or a `location`. `expired`: answer 410 as an ERROR event
    of a watch. `cut_after`: break the line after that many bytes of the body, -1 before the status (aiohttp then
    repeats a GET once). `end_after`: end the body there as if it were complete. `delay`: seconds before the status.
    `bytes_per_second`: speed of the body. `silent`: a watch that sends nothing. `empty`: a list, or the initial events
    of a watch, without objects.
    """

    status: int | None = None
    retry_after: int | None = None
    location: str = ""
    expired: bool = False
    cut_after: int | None = None
    end_after: int | None = None
    delay: float = 0.0
    bytes_per_second: float | None = None
    silent: bool = False
    empty: bool = False


@dataclass
class LoggedRequest:
    """A request in the log.

    `verb`: as in RBAC. `resource`: plural.group, or empty. `client`: port of the connection. `status`: 0 before the
    answer.
    """

    verb: str
    resource: str
    namespace: str
    name: str
    path: str
    query: dict[str, str]
    user_agent: str
    accept_encoding: str
    authentication: str
    client: int
    time: float = field(default_factory=time.time)
    status: int = 0
    items: int = 0
    bytes: int = 0
    open: bool = True


class ApiError(Exception):
    """A response that is a Status."""

    def __init__(self, status: int, message: str, retry_after: int | None = None, metadata: Raw | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after
        self.metadata = metadata or {}

    def document(self) -> Raw:
        """Return the Status."""
        document = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
            "reason": REASONS.get(self.status, "Unknown"),
            "code": self.status,
        }
        if self.retry_after is not None:
            document["details"] = {"retryAfterSeconds": self.retry_after}
        return document


class LineCut(Exception):
    """The line was cut or ended by a fault."""


class ApiServer:
    """An API server in this process. Use it as an async context manager; write through `storage` meanwhile.

    It listens on a TCP port of 127.0.0.1, or on `unix_socket`. `tls`: a server context; clients with a certificate that
    it verifies are authenticated. Change the attributes at any time: `authorizations` (accepted Authorization headers;
    None accepts all), `rules` (of a ClusterRole; None allows all), `namespace_rules` (of Roles), `storage.unserved`
    (resources that get 404), `watch_list` (True, False: 422 as with the gate off, None: ignored as in 1.26),
    `expired_as` ("event" or "status"), `bookmark_interval` in seconds, `watch_timeout` (instead of timeoutSeconds),
    `gzip_threshold` in bytes.
    """

    def __init__(
        self,
        storage: Storage | None = None,
        git_version: str = "v1.36.2",
        unix_socket: Path | None = None,
        tls: ssl.SSLContext | None = None,
        port: int = 0,
    ) -> None:
        self.storage = storage or Storage()
        self.version = version_document(git_version)
        self.authorizations: set[str] | None = None
        self.rules: list[Raw] | None = None
        self.namespace_rules: dict[str, list[Raw]] = {}
        self.watch_list: bool | None = True
        self.expired_as = "event"
        self.bookmark_interval = 60.0
        self.watch_timeout: float | None = None
        self.gzip_threshold: int | None = GZIP_THRESHOLD
        self.requests: list[LoggedRequest] = []
        self.fault_of: Callable[[LoggedRequest], Fault | None] = lambda request: None
        self.churn: Callable[..., Coroutine[Any, Any, Any]] | None = None  # makes changes: (rate, seconds)
        self.url = ""
        self._faults: list[tuple[str | None, str | None, Fault]] = []
        self._streams: dict[_Body, LoggedRequest] = {}
        self._unix_socket = unix_socket
        self._tls = tls
        self._port = port
        self.application = web.Application(client_max_size=2**25)
        self.application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(self.application, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen, and set `url`."""
        await self._runner.setup()
        site: web.BaseSite
        if self._unix_socket:
            site = web.UnixSite(self._runner, self._unix_socket)
            self.url = "http://localhost"
            await site.start()
            return
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, ssl_context=self._tls)
        await site.start()
        self._port = self._runner.addresses[0][1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    async def stop(self) -> None:
        """Cut all responses and stop listening."""
        self.cut()
        await self._runner.cleanup()

    def inject(self, fault: Fault, resource: str | None = None, verb: str | None = None, times: int = 1) -> None:
        """Let the next requests of a resource and verb (None: any) fail."""
        self._faults.extend([(resource, verb, fault)] * times)

    def clear_faults(self) -> int:
        """Let no further request fail. Return how many would have failed."""
        left = len(self._faults)
        self._faults.clear()
        self.fault_of = lambda request: None
        return left

    def restart(self, seconds: float, **fault: Any) -> None:
        """Cut all responses, and let all requests of the next seconds fail, as a server that starts."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        self.cut()
        self.fault_of = lambda request: Fault(**fault) if loop.time() < end else None

    def cut(self, resource: str | None = None, clean: bool = False) -> int:
        """Cut the open responses of a resource (None: of all), or end them as complete. Return how many."""
        found = [body for body, request in self._streams.items() if resource in (None, request.resource)]
        for body in found:
            body.interrupt(clean)
        return len(found)

    def count(self, verb: str, resource: str | None = None) -> int:
        """Return the number of logged requests. Pages of a list after the first are not counted."""
        return sum(
            request.verb == verb and resource in (None, request.resource) and "continue" not in request.query
            for request in self.requests
        )

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.path.startswith("/test/"):
            return await self._control(request)
        target = _Target(request, self.storage)
        logged = LoggedRequest(
            target.verb,
            target.resource.name if target.resource else "",
            target.namespace,
            target.name,
            request.path,
            dict(request.query),
            request.headers.get("User-Agent", ""),
            request.headers.get("Accept-Encoding", ""),
            self._authentication(request),
            (request.transport.get_extra_info("peername") or (0, 0))[1] if request.transport else 0,
        )
        self.requests.append(logged)
        fault = self._fault(logged)
        body = _Body(request, fault, logged)
        try:
            if fault.delay:
                await asyncio.sleep(fault.delay)
            if fault.cut_after is not None and fault.cut_after < 0:
                body.interrupt(clean=False)
                raise LineCut
            if fault.status:
                raise ApiError(fault.status, f"injected {fault.status}", fault.retry_after)
            if not logged.authentication:
                raise ApiError(401, "Unauthorized")
            return await self._answer(request, target, body)
        except ApiError as error:
            headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else {}
            if fault.location:
                headers["Location"] = fault.location
            with suppress(LineCut, ConnectionError):
                await body.send(msgspec.json.encode(error.document()), status=error.status, headers=headers)
            return body.response
        except (LineCut, ConnectionError):
            return body.response
        finally:
            logged.open = False
            self._streams.pop(body, None)

    async def _answer(self, request: web.Request, target: _Target, body: _Body) -> web.StreamResponse:
        if target.resource is None:
            document = self._discovery(target)
            if isinstance(document, str):
                status, text = (200, document) if document else (404, "404 page not found\n")
                return await body.send(text.encode(), status, content_type="text/plain")
            return await body.send(msgspec.json.encode(document))
        self._authorize(target)
        collection = self.storage.collection(target.resource.name)
        try:
            if target.verb == "watch":
                self._streams[body] = body.logged
                return await self._watch(request, target, collection, body)
            if target.verb == "list":
                return await self._list(request, target, collection, body)
            status, document = await self._object(request, target)
        except UnknownField as error:
            raise ApiError(400, str(error)) from None
        except Conflict as error:
            raise ApiError(404 if "not found" in str(error) else 409, str(error)) from None
        return await body.send(msgspec.json.encode(document), status=status)

    def _fault(self, logged: LoggedRequest) -> Fault:
        for index, (resource, verb, fault) in enumerate(self._faults):
            if resource in (None, logged.resource) and verb in (None, logged.verb):
                del self._faults[index]
                return fault
        return self.fault_of(logged) or Fault()

    def _authentication(self, request: web.Request) -> str:
        """Return how a request is authenticated, or an empty text."""
        given = request.headers.get("Authorization", "")
        if request.transport and request.transport.get_extra_info("peercert"):
            return "certificate"
        if self.authorizations is not None and given not in self.authorizations:
            return ""
        return given.split(" ")[0] or "anonymous"

    def _authorize(self, target: _Target) -> None:
        assert target.resource
        if self.rules is None:
            return
        rules = [*self.rules, *self.namespace_rules.get(target.namespace, [])]
        if not any(_allows(rule, target) for rule in rules):
            scope = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
            raise ApiError(
                403,
                f'{target.resource.name} is forbidden: User "test" cannot {target.verb} resource '
                f'"{target.resource.plural}" in API group "{target.resource.group}" {scope}',
            )

    def _served(self) -> list[Resource]:
        return [resource for resource in RESOURCES if resource.name not in self.storage.unserved]

    def _discovery(self, target: _Target) -> Raw | str:
        served = self._served()
        groups = sorted({resource.group for resource in served} - {""})
        match target.parts:
            case ["version"]:
                return self.version
            case ["healthz" | "readyz" | "livez", *_]:
                return "ok"
            case ["openapi", "v3"]:
                groups_of = {r.api_version(version) for r in served for version in r.versions}
                paths = [f"{'apis' if '/' in one else 'api'}/{one}" for one in sorted(groups_of)]
                return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in paths}}
            case ["openapi", "v3", _, *rest]:
                version = "/".join(rest)
                return openapi_document([(r, v) for r in served for v in r.versions if r.api_version(v) == version])
            case ["openapi", "v2"]:
                return "\n\x032.0"  # in protobuf: a document without schemas, so that kubectl 1.27 checks nothing
            case ["api"]:
                return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
            case ["apis"]:
                documents = [group_document(g, [r for r in served if r.group == g]) for g in groups]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": documents}
            case ["apis", group] if group in groups:
                return group_document(group, [r for r in served if r.group == group])
            case ["api", "v1"]:
                return resource_list("v1", [r for r in served if not r.group])
            case ["apis", group, version]:
                found = [r for r in served if r.group == group and version in r.versions]
                if found:
                    return resource_list(f"{group}/{version}", found)
        return ""

    async def _list(
        self, request: web.Request, target: _Target, collection: Collection, body: _Body
    ) -> web.StreamResponse:
        assert target.resource
        query = request.query
        revision, start = self.storage.revision, ""
        limit = _number(query, "limit")
        try:
            if token := query.get("continue"):
                revision, start = _continuation(token)
                if revision < 0:
                    revision = self.storage.revision
            elif query.get("resourceVersion", "0") == "0":
                # Served from the watch cache, which ignores the limit.
                limit = limit if "resourceVersion" not in query else 0
            else:
                wanted = _number(query, "resourceVersion")
                self._check_future(wanted)
                if query.get("resourceVersionMatch") == "Exact":
                    revision = wanted
            objects = [] if body.fault.empty else collection.at(revision)
        except Expired:
            token = _token(-1, start) if start else ""
            metadata = {"continue": token} if token else {}
            raise ApiError(
                410,
                "The provided continue parameter is too old to display a consistent list result. You can start a new "
                "list without the continue parameter, or use the continue token in this response",
                metadata=metadata,
            ) from None
        if start:
            objects = objects[_after(objects, start) :]
        selector = Selector(target.resource, query, target.namespace)
        found: list[bytes] = []
        left = 0
        last = ""
        for index, (key, obj) in enumerate(objects):
            if limit and len(found) == limit:
                left = len(objects) - index
                break
            raw = encoded(obj)
            if selector.matches(key, raw):
                found.append(raw)
                last = key
        metadata: Raw = {"resourceVersion": str(revision)}
        if left:
            metadata["continue"] = _token(revision, last)
            if not selector.selects:
                metadata["remainingItemCount"] = left
        body.logged.items = len(found)
        api_version = target.resource.api_version(target.version)
        if "as=Table" in request.headers.get("Accept", ""):
            return await body.send(msgspec.json.encode(table(target.resource, api_version, found, metadata)))
        head = msgspec.json.encode(
            {"kind": f"{target.resource.kind}List", "apiVersion": api_version, "metadata": metadata}
        )
        parts = [head[:-1], b',"items":[', b",".join(found), b"]}\n"]
        return await body.send(b"".join(parts), gzip_threshold=self.gzip_threshold)

    async def _watch(
        self, request: web.Request, target: _Target, collection: Collection, body: _Body
    ) -> web.StreamResponse:
        assert target.resource
        query = request.query
        initial = query.get("sendInitialEvents") in ("true", "1")
        if "sendInitialEvents" in query and self.watch_list is None:
            initial = False
        elif initial and not self.watch_list:
            raise ApiError(
                422,
                f'{target.resource.kind}List.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: '
                "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
            )
        bookmarks = query.get("allowWatchBookmarks") in ("true", "1")
        if initial and (query.get("resourceVersionMatch") != "NotOlderThan" or not bookmarks):
            raise ApiError(422, "sendInitialEvents requires resourceVersionMatch=NotOlderThan and bookmarks")
        last = _number(query, "resourceVersion")
        self._check_future(last)
        selector = Selector(target.resource, query, target.namespace)
        lines = _Lines(target.resource, target.version, selector)
        fault = body.fault
        expired = (last and last < collection.compacted and not initial) or fault.expired
        if expired and self.expired_as == "status" and not fault.expired:
            raise ApiError(410, f"too old resource version: {last} ({collection.compacted})")
        timeout = self.watch_timeout or _number(query, "timeoutSeconds") or random.uniform(1800, 3600)
        end = time.monotonic() + timeout
        next_bookmark = time.monotonic() + self.bookmark_interval
        await body.begin()
        if fault.silent:
            await asyncio.sleep(timeout)
            return await body.end()
        if expired:
            await body.write(lines.error(ApiError(410, f"too old resource version: {last} ({collection.compacted})")))
            return await body.end()
        if initial or not last:
            last = self.storage.revision
            for chunk in _joined(lines.initial([] if fault.empty else collection.at(last))):
                await body.write(chunk)
            if initial:
                await body.write(lines.bookmark(last, initial_events_end=True))
        wake = asyncio.Event()
        collection.watchers.add(wake.set)
        try:
            while True:
                wake.clear()
                if last < collection.dropped:
                    await body.write(lines.error(ApiError(410, f"too old resource version: {last}")))
                    return await body.end()
                changes = collection.history[collection.position(max(last, collection.compacted)) :]
                if changes:
                    last = changes[-1].revision
                    for chunk in _joined(lines.change(change) for change in changes):
                        await body.write(chunk)
                    continue
                now = time.monotonic()
                if bookmarks and now >= min(next_bookmark, end):
                    last = max(last, self.storage.revision)
                    await body.write(lines.bookmark(last))
                    next_bookmark = now + self.bookmark_interval
                if now >= end:
                    return await body.end()
                with suppress(TimeoutError):
                    await asyncio.wait_for(wake.wait(), max(0.0, min(next_bookmark, end) - now))
        finally:
            collection.watchers.discard(wake.set)

    def _check_future(self, revision: int) -> None:
        if revision > self.storage.revision:
            raise ApiError(504, f"Too large resource version: {revision}, current: {self.storage.revision}", 1)

    async def _object(self, request: web.Request, target: _Target) -> tuple[int, Raw]:
        """Read or write one object. Return (HTTP status, document)."""
        assert target.resource
        storage, name = self.storage, target.resource.name
        given: Any = None
        if target.verb in ("create", "update", "patch"):
            if "protobuf" in request.content_type:  # kubectl 1.37 writes some kinds as protobuf
                raise ApiError(415, f"the body of the request was in an unknown format: {request.content_type}")
            try:
                given = msgspec.json.decode(await request.read())
            except msgspec.DecodeError as error:
                raise ApiError(400, f"the body of the request is not valid: {error}") from None
        if target.verb == "create" and target.subresource == "binding":
            storage.bind(target.key, given["target"]["name"])
            return 201, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
        if target.verb == "create":
            if target.namespace:
                given.setdefault("metadata", {})["namespace"] = target.namespace
            return 201, target.identify(storage.create(name, given))
        if target.verb == "update":
            return 200, target.identify(storage.update(name, given))
        if target.verb == "patch":
            apply = PATCHES.get(request.content_type, merge_patch)
            return 200, target.identify(storage.patch(name, target.key, given, apply))
        if target.verb == "delete":
            return 200, target.identify(storage.delete(name, target.key))
        if target.verb != "get":
            raise ApiError(405, "the server does not allow this method on the requested resource")
        found = storage.get(name, target.key)
        if found is None:
            raise ApiError(404, f'{name} "{target.name}" not found')
        if "as=Table" in request.headers.get("Accept", ""):
            api_version = target.resource.api_version(target.version)
            metadata = {"resourceVersion": found["metadata"]["resourceVersion"]}
            return 200, table(target.resource, api_version, [msgspec.json.encode(found)], metadata)
        return 200, target.identify(found)

    async def _control(self, request: web.Request) -> web.Response:
        """Serve /test/: what a test in another process changes or reads. Bodies are JSON objects of arguments."""
        given = msgspec.json.decode(await request.read() or b"{}")
        match request.path.removeprefix("/test/"):
            case "requests":
                return web.json_response([vars(logged) for logged in self.requests])
            case "compact":
                self.storage.compact(**given)
            case "advance":
                self.storage.advance(**given)
            case "cut":
                return web.json_response(self.cut(**given))
            case "restart":
                self.restart(**given)
            case "inject":
                scope = {name: given.pop(name) for name in ("resource", "verb", "times") if name in given}
                self.inject(Fault(**given), **scope)
            case "refuse":
                self.storage.refuse(**given)
            case "set":
                if not given.keys() <= _SETTINGS:
                    raise web.HTTPBadRequest(text=f"settings are {sorted(_SETTINGS)}")
                for name, value in given.items():
                    if name == "unserved":
                        self.storage.unserved = set(value)
                    else:
                        setattr(self, name, set(value) if name == "authorizations" and value is not None else value)
            case "churn" if self.churn is not None:
                self._churn = asyncio.create_task(self.churn(**given))
            case "times":
                after = float(request.query.get("after", 0))
                resource = request.query.get("resource", "pods")
                history = self.storage.collection(resource).history
                return web.json_response([[c.revision, c.key, c.time] for c in history if c.revision > after])
            case "state":
                sizes = {name: len(found.objects) for name, found in self.storage.collections.items()}
                return web.json_response({"revision": self.storage.revision, "objects": sizes})
            case _:
                raise web.HTTPNotFound
        return web.json_response({})


_SETTINGS = {
    *("authorizations", "rules", "namespace_rules", "watch_list", "expired_as", "bookmark_interval", "watch_timeout"),
    *("gzip_threshold", "unserved"),
}


class _Target:
    """What a request is about. Source: k8s.io/apiserver/pkg/endpoints/request/requestinfo.go."""

    def __init__(self, request: web.Request, storage: Storage) -> None:
        self.parts = [part for part in request.path.split("/") if part]
        self.resource: Resource | None = None
        self.version = self.namespace = self.name = self.subresource = ""
        self.verb = "get"
        group, rest = "", self.parts[2:]
        if self.parts[:1] == ["apis"] and len(self.parts) > 3:
            group, rest = self.parts[1], self.parts[3:]
            self.version = self.parts[2]
        elif self.parts[:1] == ["api"]:
            self.version = "".join(self.parts[1:2])
        else:
            rest = []
        if not rest:
            return
        if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
            self.namespace, rest = rest[1], rest[2:]
        served = [r for r in RESOURCES if r.group == group and r.plural == rest[0] and self.version in r.versions]
        if not served or served[0].name in storage.unserved:
            return
        self.resource = served[0]
        self.name, self.subresource = ([*rest[1:], "", ""])[:2]
        query = request.query
        verbs = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}
        self.verb = verbs.get(request.method, request.method.lower())
        if self.verb == "get" and not self.name:
            self.verb = "watch" if query.get("watch") in ("1", "true") else "list"
            # A field selector of one name counts as that name for resourceNames of a role.
            for part in query.get("fieldSelector", "").split(","):
                if part.startswith("metadata.name="):
                    self.name = part.split("=")[-1]

    @property
    def key(self) -> str:
        """Return the key of the object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def identify(self, obj: Raw) -> Raw:
        """Return an object with kind and apiVersion."""
        assert self.resource
        return {"kind": self.resource.kind, "apiVersion": self.resource.api_version(self.version), **obj}


class _Lines:
    """The lines of a watch of one resource."""

    def __init__(self, resource: Resource, version: str, selector: Selector) -> None:
        self.selector = selector
        self.identity = f'"kind":"{resource.kind}","apiVersion":"{resource.api_version(version)}"'.encode()
        self.begin = {
            type_: b'{"type":"%s","object":{%s,' % (type_.encode(), self.identity)
            for type_ in ("ADDED", "MODIFIED", "DELETED")
        }
        self.empty = b"," + resource.empty if resource.empty else b""

    def initial(self, objects: Iterable[tuple[str, Encoded]]) -> Iterable[bytes]:
        """Yield ADDED for each object."""
        for key, obj in objects:
            raw = encoded(obj)
            if self.selector.matches(key, raw):
                yield self._line("ADDED", raw)

    def change(self, change: Change) -> bytes:
        """Return the line of a change; empty if the selector excludes the object before and after it."""
        raw = encoded(change.object)
        if not self.selector.selects:
            return self._line(change.type, raw)
        after = change.type != "DELETED" and self.selector.matches(change.key, raw)
        before = change.previous is not None and self.selector.matches(change.key, encoded(change.previous))
        if after:
            return self._line("MODIFIED" if before else "ADDED", raw)
        return self._line("DELETED", raw) if before else b""

    def bookmark(self, revision: int, initial_events_end: bool = False) -> bytes:
        """Return a bookmark: an empty object with a resourceVersion."""
        annotation = b',"annotations":{"k8s.io/initial-events-end":"true"}' if initial_events_end else b""
        return b'{"type":"BOOKMARK","object":{%s,"metadata":{"resourceVersion":"%d"%s}%s}}\n' % (
            *(self.identity, revision, annotation, self.empty),
        )

    def error(self, error: ApiError) -> bytes:
        """Return an ERROR event."""
        return b'{"type":"ERROR","object":%s}\n' % msgspec.json.encode(error.document())

    def _line(self, type_: str, raw: bytes) -> bytes:
        return b"%s%s}\n" % (self.begin[type_], raw[1:])


class _Body:
    """The body of a response, with its fault."""

    def __init__(self, request: web.Request, fault: Fault, logged: LoggedRequest) -> None:
        self.request = request
        self.fault = fault
        self.logged = logged
        self.response = web.StreamResponse()
        self._interrupted = False

    async def begin(
        self,
        status: int = 200,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        length: int | None = None,
    ) -> None:
        """Send the status and the headers."""
        self.response.set_status(status)
        self.response.content_type = content_type
        self.response.headers.update(headers or {})
        if length is None:
            self.response.enable_chunked_encoding()
        else:
            self.response.content_length = length
        self.logged.status = status
        await self.response.prepare(self.request)

    async def send(
        self,
        data: bytes,
        status: int = 200,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
        gzip_threshold: int | None = None,
    ) -> web.StreamResponse:
        """Send a complete response."""
        headers = headers or {}
        if gzip_threshold is not None and len(data) >= gzip_threshold and "gzip" in self.logged.accept_encoding:
            compressor = zlib.compressobj(1, wbits=31)
            data = compressor.compress(data) + compressor.flush()
            headers["Content-Encoding"] = "gzip"
        await self.begin(status, content_type, headers, length=None if self.fault.end_after is not None else len(data))
        await self.write(data)
        return await self.end()

    async def write(self, data: bytes) -> None:
        """Send a part of the body, slowly or up to the byte where the fault breaks the line."""
        if self._interrupted:
            raise LineCut
        stop = self.fault.cut_after if self.fault.cut_after is not None else self.fault.end_after
        if stop is not None:
            data = data[: max(0, stop - self.logged.bytes)]
        step = len(data) if not self.fault.bytes_per_second else max(1, int(self.fault.bytes_per_second / 20))
        for start in range(0, len(data), max(1, step)):
            await self.response.write(data[start : start + step])
            self.logged.bytes += len(data[start : start + step])
            if self.fault.bytes_per_second:
                await asyncio.sleep(0.05)
        if stop is not None and self.logged.bytes >= stop:
            if self.fault.cut_after is not None:
                self.interrupt(clean=False)
            else:
                await self.response.write_eof()
            raise LineCut

    async def end(self) -> web.StreamResponse:
        """Complete the response."""
        if not self._interrupted:
            await self.response.write_eof()
        return self.response

    def interrupt(self, clean: bool) -> None:
        """Break the line after what has been written, or end the body as if it were complete."""
        self._interrupted = True
        transport = self.request.transport
        if transport and not transport.is_closing():
            if clean:
                transport.write(b"0\r\n\r\n")
            transport.close()


def _joined(lines: Iterable[bytes]) -> Iterable[bytes]:
    """Yield lines joined to chunks of about WRITE_SIZE bytes."""
    chunk: list[bytes] = []
    size = 0
    for line in lines:
        chunk.append(line)
        size += len(line)
        if size >= WRITE_SIZE:
            yield b"".join(chunk)
            chunk, size = [], 0
    if size:
        yield b"".join(chunk)


def _allows(rule: Raw, target: _Target) -> bool:
    """Tell whether a rule of a role allows a request."""
    assert target.resource
    resource = "/".join(filter(None, (target.resource.plural, target.subresource)))
    names = rule.get("resourceNames")
    return (
        bool({target.verb, "*"} & set(rule["verbs"]))
        and bool({target.resource.group, "*"} & set(rule.get("apiGroups", [])))
        and bool({resource, "*"} & set(rule.get("resources", [])))
        and (not names or target.name in names)
    )


def _number(query: Mapping[str, str], name: str) -> int:
    try:
        return int(query.get(name) or 0)
    except ValueError:
        raise ApiError(400, f"{name}: Invalid value: {query[name]!r}") from None


def _token(revision: int, last: str) -> str:
    document = {"v": "meta.k8s.io/v1", "rv": revision, "start": f"{last}\0"}
    return base64.urlsafe_b64encode(msgspec.json.encode(document)).decode().rstrip("=")


def _continuation(token: str) -> tuple[int, str]:
    """Return (revision, last key) of a continue token."""
    try:
        document: Any = msgspec.json.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return document["rv"], document["start"].removesuffix("\0")
    except (ValueError, KeyError, TypeError, msgspec.DecodeError):
        raise ApiError(400, "continue key is not valid") from None


def _after(objects: list[tuple[str, Encoded]], start: str) -> int:
    """Return the index of the first object after a key."""
    low, high = 0, len(objects)
    while low < high:
        middle = (low + high) // 2
        if objects[middle][0] <= start:
            low = middle + 1
        else:
            high = middle
    return low
