"""Lists and watches one kind of a live cluster, so that what it yields always leads to the state of the API server.

Source: k8s.io/client-go/tools/cache/reflector.go. Differences: lists are always paginated, and after a broken watch,
only an expired resourceVersion causes a new list, because each list hides changes from the history.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal, NoReturn

import msgspec

from scheduler_core.api.objects import Object
from scheduler_core.api.shared_parts import SharedParts
from scheduler_core.errors import InputError
from scheduler_core.live import decode
from scheduler_core.live.kinds import EVENT_REASONS, WatchedKind
from scheduler_core.live.lines import MAX_LINE, LineSplitter, LongLine
from scheduler_core.live.objects import Event
from scheduler_core.live.transport import Response, Transport, TransportError
from scheduler_core.live.watch_events import (
    ADDED,
    DELETED,
    MODIFIED,
    Bookmark,
    Gap,
    Item,
    Listed,
    WatchEvent,
    differences,
)

logger = logging.getLogger(__name__)

PAGE_SIZE = 500
DECODED_AT_ONCE = 50  # objects, about 1 ms
WATCH_SECONDS = (300, 600)
READ_MARGIN = 30.0  # seconds that a silent watch may outlast its timeoutSeconds
BOOKMARK_SILENCE = 180.0  # a server that sends bookmarks sends one a minute
INITIAL_SILENCE = 60.0  # without a further object; some servers never end the initial events
LIST_SILENCE = 75.0  # the API server ends a list after 60 s
FIRST_DELAY, MAX_DELAY = 0.8, 30.0
MAX_RETRY_AFTER = 300.0
REFUSED_DELAY = 600.0
# An API server that has just started refuses what its authorizer does not know yet, mostly for less than a second, with
# very many role bindings for minutes (kubernetes/kubernetes#121635). Until then it is retried as after a failure.
REFUSED_AFTER = 300.0
BACKOFF_RESET = 120.0  # without a failure
STEADY = 5.0  # a watch that lasts so long shows that the server is back
HEAD_SILENCE = 30.0  # until the status of a watch; servers send it before the first change
# A list that is suddenly empty counts after so many seconds and so many equal answers.
EMPTY_AFTER, EMPTY_LISTS = 20.0, 4
MAX_ERROR_BODY = 2**20
MAX_OBJECTS = 2_000_000  # of a kind; the largest clusters have 150,000 pods
MAX_UNDECODABLE = 1000  # objects that are named in the health of a kind
# After so many errors of the server or broken lines without any change between them, list again.
MAX_FRUITLESS = 5
MAX_WATCH_LIST_FAILURES = 2
NO_WATCH_LIST = (400, 405, 406, 415, 422)  # answers of servers that do not send initial events

State = Literal["waiting", "listing", "watching", "retrying", "refused", "not served"]


@dataclass(slots=True)
class KindHealth:
    """How well a kind is known.

    `state`: `refused` (403) and `not served` (404) if the server never served the kind, or no longer for five minutes.
    `last_event`: Unix seconds of the last change or bookmark, 0 for none. `stale_since`: Unix seconds from which on
    changes may be missing, because the kind is not watched now; 0 if it is watched or was never known.
    `message`: what is wrong and what it means for answers; "" if all is well. `objects`: their number. `undecodable`:
    key -> error, of objects that are missing or outdated, because what the server sent could not be decoded; at most
    1,000 are named. `lists`, `requests`: begun lists, and all requests.
    """

    kind: str
    state: State = "waiting"
    resource_version: int = 0
    last_event: float = 0.0
    stale_since: float = 0.0
    message: str = ""
    objects: int = 0
    undecodable: dict[str, str] = field(default_factory=dict)
    lists: int = 0
    requests: int = 0


class _Expired(Exception):
    """The server no longer has the resourceVersion or the continue token."""


class _Refused(Exception):
    """403 or 404."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _NoWatchList(Exception):
    """The server does not send initial events, or does not end them."""


class _Failure(Exception):
    """A request failed; try again.

    `code`: of the server's error, 0 for none. `retry_after`: seconds that the server demands. `in_stream`: a watch
    began and had an error or a line that is not one.
    """

    def __init__(self, message: str, code: int = 0, retry_after: float = 0.0, in_stream: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after
        self.in_stream = in_stream


class _Unconfirmed(_Failure):
    """A list is empty all of a sudden."""


class _TooLarge(Exception):
    """A page is too large."""


class _PartialList:
    """A list of which not all objects have arrived. `version`: of the first page. `count`: of what has arrived."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.undecodable: dict[str, str] = {}
        self.token = ""
        self.version: int | None = None
        self.count = 0


@dataclass(slots=True)
class ServerFeatures:
    """What all kinds know about the API server. `watch_list`: whether it sends a list as the beginning of a watch.

    `recovered`: set when a kind is watched again after a failure, so that the others need not wait longer.
    """

    watch_list: bool = False
    recovered: asyncio.Event = field(default_factory=asyncio.Event)

    def recover(self) -> None:
        """Wake all kinds that wait now."""
        self.recovered.set()
        self.recovered = asyncio.Event()


class Backoff:
    """Delays that double from 0.8 s to 30 s, each lengthened by up to its own length.

    They begin anew after two minutes without a failure. `clock`: seconds.
    Source: k8s.io/client-go/tools/cache/reflector.go NewReflectorWithOptions (backoff manager).
    """

    def __init__(self, source: random.Random, clock: Callable[[], float] = time.monotonic) -> None:
        self._random = source
        self._clock = clock
        self._delay = FIRST_DELAY
        self._last = clock()

    def next(self) -> float:
        """Return the seconds to wait now."""
        now = self._clock()
        if now - self._last > BACKOFF_RESET:
            self.reset()
        delay = self._delay * (1 + self._random.random())
        self._delay = min(2 * self._delay, MAX_DELAY)
        self._last = now + delay
        return delay

    def reset(self) -> None:
        """Begin with the shortest delay again."""
        self._delay = FIRST_DELAY


class Reflector:
    """Lists and watches one kind, and emits its items.

    `emit`: takes an item; it may wait, so that a slow consumer slows the connection. `list_lock`: held during a list,
    so that kinds are listed one after another. `features`: shared by the kinds of a server.
    `clock`: Unix seconds.
    """

    def __init__(
        self,
        kind: WatchedKind,
        transport: Transport,
        emit: Callable[[Item], Awaitable[None]],
        *,
        list_lock: asyncio.Lock | None = None,
        shared: SharedParts | None = None,
        features: ServerFeatures | None = None,
        clock: Callable[[], float] = time.time,
        random_source: random.Random | None = None,
        max_line: int = MAX_LINE,
    ) -> None:
        self.health = KindHealth(kind.kind)
        self._kind = kind
        self._transport = transport
        self._emit = emit
        self._list_lock = list_lock or asyncio.Lock()
        self._decoder = decode.ObjectDecoder(kind.kind, shared)
        self._features = features or ServerFeatures()
        self._clock = clock
        self._random = random_source or random.Random()
        self._max_line = max_line
        self._backoff = Backoff(self._random, clock)
        self._refused_since = 0.0  # Unix seconds of the first of the last refusals
        self._empty_lists: list[float] = []  # Unix seconds of the last lists that were suddenly empty
        self._path = 0  # index into kind.paths
        self._page_size = PAGE_SIZE
        self._objects: dict[str, Object] = {}
        self._version: int | None = None  # up to which everything was emitted; None before the first list
        self._must_list = True
        self._partial = _PartialList()
        self._fruitless = 0  # errors in streams since the last change or bookmark
        self._expirations = 0  # since the last change or bookmark
        self._watch_list_failures = 0
        self._sends_bookmarks = False
        self._skipped = False  # whether the last change was not emitted
        self._holds_lock = False
        self._failing = False  # whether requests have failed since the last watch

    def resume(self, known: Listed) -> None:
        """Continue from these objects and this resourceVersion instead of a first list.

        `known.time`: until when they are known to be current.
        """
        self._objects = {obj.key: obj for obj in known.objects}
        self._must_list = False
        self._version = self.health.resource_version = known.resource_version
        self.health.objects = len(self._objects)
        self.health.last_event = self.health.stale_since = known.time

    async def run(self) -> None:
        """List and watch until cancelled. No answer of the server ends this."""
        while True:
            may_wake = True
            try:
                await self._list_and_watch()
                delay = 0.0
            except _Expired as error:
                self._start_anew()
                self._expirations += 1
                delay = self._backoff.next() if self._expirations > 1 else 0.0
                self._retrying(str(error), delay)
            except _NoWatchList:
                self._features.watch_list = False
                delay = 0.0
            except _Refused as error:
                delay = self._refused(error)
            except _Unconfirmed as error:
                delay, lists, may_wake = self._backoff.next(), self._empty_lists, False
                self._retrying(str(error), delay)
                self._empty_lists = lists
            except _Failure as error:
                self._fruitless += error.in_stream
                if self._fruitless >= MAX_FRUITLESS:
                    self._start_anew()
                delay = max(self._backoff.next(), error.retry_after)
                may_wake = not error.retry_after
                self._retrying(str(error), delay)
            except (TransportError, OSError) as error:
                delay = self._backoff.next()
                self._retrying(str(error), delay, getattr(error, "silence", 0.0))
            except Exception:
                logger.exception("Cannot watch %s", self._kind.resource)
                self._start_anew()
                delay = self._backoff.next()
                self._retrying("An internal error; the log has its details.", delay)
            if delay:
                await self._sleep(delay, may_wake and self.health.state == "retrying")

    async def _sleep(self, delay: float, may_wake: bool) -> None:
        """Wait; with `may_wake` only until another kind is watched again."""
        if not may_wake:
            await asyncio.sleep(delay)
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._features.recovered.wait(), delay)
            self._backoff.reset()
            await asyncio.sleep(FIRST_DELAY * self._random.random())

    # ---------------------------------------------------------------- states

    def _start_anew(self) -> None:
        self._must_list = True
        self._partial = _PartialList()
        self._fruitless = 0

    def _retrying(self, reason: str, delay: float, silence: float = 0.0) -> None:
        """`silence`: seconds without a sign of the server before the failure."""
        self._empty_lists = []
        self.health.state, self._failing = "retrying", True
        if self._version is not None:
            self.health.stale_since = self.health.stale_since or self._clock() - silence
        attempt = f" The next attempt is in {delay:.0f} s." if delay >= 1 else ""
        self.health.message = f"{self._kind.resource}: {decode.shortened(reason).rstrip('.')}.{attempt}"

    def _refused(self, error: _Refused) -> float:
        """Try an older version of the kind, or wait. What was served before stays known for some minutes."""
        forbidden = error.status == HTTPStatus.FORBIDDEN
        if forbidden:
            self._path = 0  # an older group may be refused where a newer one is served later
        else:
            self._path = (self._path + 1) % len(self._kind.paths)
            self._partial = _PartialList()
            if self._path:
                return 0.0
        self._refused_since = self._refused_since or self._clock()
        lasting = self._clock() - self._refused_since >= REFUSED_AFTER
        known = self._version is not None
        verb = "refuses to list" if forbidden else "does not serve"
        delay = REFUSED_DELAY * (1 + 0.2 * self._random.random())
        if not lasting and (forbidden or known or not self._kind.optional):
            delay = self._backoff.next()
        if not lasting and known:
            self._retrying(f"the API server {verb} them ({error.status})", delay)
            return delay
        if known:
            self.health.stale_since = self.health.stale_since or self._clock()
        self.health.state = "refused" if forbidden else "not served"
        self.health.message = f"The API server {verb} {self._kind.resource}. {self._kind.consequence}"
        return delay

    def _advance(self, version: int) -> None:
        """Everything up to this version is known."""
        self._version = self.health.resource_version = version
        self.health.last_event = self._clock()

    def _progress(self, version: int) -> None:
        """A watch works."""
        self._advance(version)
        self._fruitless = self._expirations = 0
        self._backoff.reset()

    def _watching(self) -> None:
        if self._failing:
            self._failing = False
            self._features.recover()
        self._refused_since = self.health.stale_since = 0.0
        self.health.state = "watching"
        self.health.objects = len(self._objects)
        problems = self.health.undecodable
        self.health.message = ""
        if problems:
            least = "At least " if len(problems) >= MAX_UNDECODABLE else ""
            count = f"{least}{len(problems):,} of the {self._kind.resource} cannot be decoded"
            first = next(iter(problems.values()))
            self.health.message = f"{count}; answers lack their latest state. The first one: {first}"

    # ---------------------------------------------------------------- requests

    async def _list_and_watch(self) -> None:
        """Make a list if one is needed, and one watch. Return when the server ends the watch."""
        if self._must_list:
            await self._list_lock.acquire()
            self._holds_lock = True
            if self.health.state not in ("refused", "not served"):
                self.health.state = "listing"
        try:
            if self._must_list and not self._uses_watch_list():
                await self._list()
                self._release_list_lock()
            await self._watch()
        finally:
            self._release_list_lock()

    def _release_list_lock(self) -> None:
        if self._holds_lock:
            self._holds_lock = False
            self._list_lock.release()

    def _get(self, query: dict[str, str], silence: float) -> AbstractAsyncContextManager[Response]:
        self.health.requests += 1
        if self._kind.field_selector:
            query["fieldSelector"] = self._kind.field_selector
        return self._transport.get(self._kind.paths[self._path], query, read_timeout=silence)

    async def _check(self, response: Response) -> None:
        """Raise the exception for a status that is not 200."""
        if response.status == HTTPStatus.OK:
            return
        body = b""
        with suppress(_TooLarge, TransportError):
            body = await _read(response, MAX_ERROR_BODY)
        seconds = response.headers.get("Retry-After", "")
        retry_after = float(seconds) if seconds.isascii() and seconds.isdigit() else 0.0
        raise _error(response.status, decode.decode_status(body).message or "", retry_after)

    def _decode(self, raw: msgspec.Raw) -> Object:
        """Decode an object. Raises InputError alone: a bug costs one object."""
        try:
            return self._decoder.decode(raw)
        except InputError:
            raise
        except Exception as error:
            logger.exception("Cannot decode an object of %s", self._kind.resource)
            raise InputError(self._kind.kind, "", f"internal error ({type(error).__name__})") from None

    # ---------------------------------------------------------------- list

    async def _list(self) -> None:
        """List all pages; continue with the page that failed last, if its token is still valid."""
        partial, following = self._partial, None
        if not partial.token:
            self.health.lists += 1
        try:
            while True:
                body = await (following or self._page(partial.token))
                try:
                    page = decode.decode_page(body, self._kind.resource)
                except InputError as error:
                    raise _Failure(str(error)) from None
                # The server prepares the next page meanwhile.
                following = asyncio.create_task(self._page(page.token)) if page.token else None
                for index, raw in enumerate(page.items):
                    if index % DECODED_AT_ONCE == 0:
                        await asyncio.sleep(0)
                    self._collect(ADDED, raw, partial)
                partial.version = page.resource_version if partial.version is None else partial.version
                partial.token = page.token
                if not page.token:
                    break
        finally:
            if following is not None:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
        await self._replace(partial, partial.version)

    async def _page(self, token: str) -> bytes:
        """Return a page; of objects that are too large together, with fewer of them."""
        while True:
            query = {"limit": str(self._page_size), **({"continue": token} if token else {})}
            try:
                async with self._get(query, LIST_SILENCE) as response:
                    await self._check(response)
                    return await _read(response, self._max_line)
            except _TooLarge:
                if self._page_size == 1:
                    size = f"{self._max_line:,} bytes"
                    raise _Failure(f"the API server sent a single object of more than {size}") from None
                self._page_size = max(self._page_size // 2, 1)

    def _collect(self, change: str, raw: msgspec.Raw, partial: _PartialList) -> None:
        """Apply an object of a list, or a change during the initial events, to a list that is not complete."""
        partial.count += 1
        try:
            obj = self._decode(raw)
        except InputError as error:
            self._collect_undecodable(change, decode.identify(raw), str(error), partial)
            return
        partial.undecodable.pop(obj.key, None)
        if len(partial.objects) >= MAX_OBJECTS:
            raise _Failure(f"the API server has more than {MAX_OBJECTS:,} {self._kind.resource}")
        if change == DELETED or not _is_relevant(obj):
            partial.objects.pop(obj.key, None)
        else:
            partial.objects[obj.key] = obj

    def _collect_undecodable(
        self, change: str, identity: decode.Identity | None, problem: str, partial: _PartialList
    ) -> None:
        """Keep the object as it was decoded last."""
        if identity is None:
            _name(partial.undecodable, f"#{len(partial.undecodable)}", problem)
            return
        key = identity.key
        if change == DELETED:
            partial.objects.pop(key, None)
            partial.undecodable.pop(key, None)
            return
        _name(partial.undecodable, key, problem)
        old = self._objects.get(key)
        if old is not None and old.metadata.uid == identity.uid:
            partial.objects.setdefault(key, old)

    async def _replace(self, partial: _PartialList, version: int) -> None:
        """Emit what a complete list reveals: after the first one, a gap and the changes; then the list."""
        now, old, new = self._clock(), self._objects, partial.objects
        after = self._version
        self._confirm_empty(partial)
        self._objects, self._partial, self._must_list = new, _PartialList(), False
        self.health.undecodable = partial.undecodable
        self._advance(version)
        if after is not None:
            await self._emit(Gap(self._kind.kind, after, version, now))
            for event in differences(self._kind.kind, old, new, after, version, now):
                await self._emit(event)
        await self._emit(Listed(self._kind.kind, version, tuple(new.values()), now))
        self._release_list_lock()
        self._watching()

    def _confirm_empty(self, partial: _PartialList) -> None:
        """Raise _Unconfirmed for a sudden empty list until it has lasted: a server may start without its objects."""
        if partial.count or not self._objects:
            self._empty_lists = []
            return
        if not self._empty_lists:
            self._backoff.reset()
        self._empty_lists.append(self._clock())
        if len(self._empty_lists) < EMPTY_LISTS or self._clock() - self._empty_lists[0] < EMPTY_AFTER:
            self._partial = _PartialList()
            known = f"{len(self._objects):,} of them were known; they stay until further lists confirm that"
            raise _Unconfirmed(f"the API server lists none, but {known}")
        self._empty_lists = []

    # ---------------------------------------------------------------- watch

    async def _watch(self) -> None:
        """Watch until the server ends the stream. If a list is needed, the stream begins with it."""
        initial = self._must_list
        seconds = self._random.randint(*WATCH_SECONDS)
        query = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        if initial:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        else:
            query["resourceVersion"] = str(self._version)
        silence = BOOKMARK_SILENCE if self._sends_bookmarks and not initial else seconds + READ_MARGIN
        partial, lines = _PartialList(), LineSplitter(self._max_line)
        began, progress, now = self._clock(), False, asyncio.get_running_loop().time
        opened: float | None = None
        deadline = now() + INITIAL_SILENCE if initial else None
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout_at(deadline or now() + HEAD_SILENCE):
                    response = await stack.enter_async_context(self._get(query, silence))
                await self._check(response)
                if initial:
                    self.health.lists += 1
                else:
                    self._watching()
                    opened = self._clock()
                chunks = response.chunks()
                while True:
                    async with asyncio.timeout_at(deadline if self._must_list else None):
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        break
                    version, collected = self._version, partial.count
                    for line in lines.feed(chunk):
                        if self._must_list:
                            await self._receive_initial(line, partial)
                        else:
                            await self._receive(line)
                    progress = progress or self._version != version
                    if partial.count != collected:
                        deadline = now() + INITIAL_SILENCE
                    self.health.objects = len(self._objects)
                    await self._report_skipped()
        except (_Failure, _Expired, TransportError, OSError) as error:
            if self._must_list and not isinstance(error, _Unconfirmed):
                self._watch_list_failures += 1
                refused = isinstance(error, _Failure) and error.code in NO_WATCH_LIST
                if refused or isinstance(error, TimeoutError):
                    raise _NoWatchList from None
            if isinstance(error, TimeoutError):
                raise TransportError(f"the API server did not answer within {HEAD_SILENCE:g} s") from None
            raise
        finally:
            if opened is not None and self._clock() - opened >= STEADY:
                self._backoff.reset()
        if self._must_list:
            self._watch_list_failures += 1
            raise _Failure("the watch ended before its initial events were complete")
        if not progress and self._clock() - began < 1:
            raise _Failure("the API server ended the watch at once")

    def _uses_watch_list(self) -> bool:
        """After repeated failures make lists: progress is better than efficiency."""
        return self._features.watch_list and self._watch_list_failures < MAX_WATCH_LIST_FAILURES

    async def _receive_initial(self, line: bytes | LongLine, partial: _PartialList) -> None:
        """Take a line before the end of the initial events."""
        if isinstance(line, LongLine):
            change, identity = decode.line_type(line.prefix), decode.identify_prefix(line.prefix)
            self._collect_undecodable(change, identity, self._too_long(line), partial)
            return
        event = _decoded(line)
        if event.type == "BOOKMARK":
            version, ends = _bookmark(event.object)
            if ends:
                await self._replace(partial, version)
        elif event.type == "ERROR":
            self._raise_error(event.object)
        elif event.type in (ADDED, MODIFIED, DELETED):
            self._collect(event.type, event.object, partial)

    async def _receive(self, line: bytes | LongLine) -> None:
        """Take a line of a watch, and emit it."""
        if isinstance(line, LongLine):
            change, identity = decode.line_type(line.prefix), decode.identify_prefix(line.prefix)
            await self._receive_undecodable(change, identity, self._too_long(line))
            return
        event = _decoded(line)
        if event.type == "BOOKMARK":
            version, _ = _bookmark(event.object)
            self._refuse_earlier(version)
            self._sends_bookmarks = True
            self._progress(version)
            self._skipped = False
            await self._emit(Bookmark(self._kind.kind, version, self._clock()))
        elif event.type == "ERROR":
            self._raise_error(event.object)
        elif event.type in (ADDED, MODIFIED, DELETED):
            try:
                obj = self._decode(event.object)
            except InputError as error:
                await self._receive_undecodable(event.type, decode.identify(event.object), str(error))
                return
            await self._change(event.type, obj.key, int(obj.metadata.resource_version), obj)

    async def _change(self, change: str, key: str, version: int, obj: Object) -> None:
        """Apply a change to the state and emit it. A repeated one changes nothing."""
        self._refuse_earlier(version)
        if version == self._version:
            return
        kind, now, old = self._kind.kind, self._clock(), self._objects.get(key)
        self._progress(version)
        if self.health.undecodable.pop(key, None) is not None:
            self._watching()
        if change == DELETED:
            if old is None:
                self._skipped = True
                return
            del self._objects[key]
            self._skipped = False
            await self._emit(WatchEvent(kind, DELETED, key, version, obj, now))
            return
        if not _is_relevant(obj):
            self._skipped = True
            return
        if old is not None and old.metadata.uid != obj.metadata.uid:
            await self._emit(WatchEvent(kind, DELETED, key, version, old, now))
            old = None
        self._objects[key] = obj
        self._skipped = False
        await self._emit(WatchEvent(kind, ADDED if old is None else MODIFIED, key, version, obj, now))

    async def _receive_undecodable(self, change: str, identity: decode.Identity | None, problem: str) -> None:
        """Keep the object as it was, name it in the health, and go on behind the change. A deletion is applied."""
        if identity is None and change == DELETED:
            raise _Failure(f"a deletion cannot be decoded: {problem}", in_stream=True)
        if identity is None:
            _name(self.health.undecodable, f"#{len(self.health.undecodable)}", problem)
            self._watching()
            return
        key, version = identity.key, identity.resource_version or self._version or 0
        self._refuse_earlier(version)
        if identity.resource_version and version == self._version:
            return
        self._progress(version)
        self._skipped = True
        if change == DELETED:
            self.health.undecodable.pop(key, None)
            old = self._objects.pop(key, None)
            if old is not None:
                await self._emit(WatchEvent(self._kind.kind, DELETED, key, version, old, self._clock()))
        else:
            _name(self.health.undecodable, key, problem)
        self._watching()

    async def _report_skipped(self) -> None:
        """Emit a bookmark for changes that are not emitted, so that no consumer waits for them."""
        if self._skipped and self._version is not None:
            self._skipped = False
            await self._emit(Bookmark(self._kind.kind, self._version, self._clock()))

    def _refuse_earlier(self, version: int) -> None:
        if self._version is not None and version < self._version:
            # etcd was restored from a backup, or another server answers
            raise _Expired(f"the API server went back from resourceVersion {self._version} to {version}")

    def _too_long(self, line: LongLine) -> str:
        return f"the object has {line.length:,} bytes; at most {self._max_line:,} are read"

    def _raise_error(self, raw: msgspec.Raw) -> NoReturn:
        status = decode.decode_status(raw)
        raise _error(status.code, status.message or status.reason or "", status.retry_after, in_stream=True)


def _is_relevant(obj: Object) -> bool:
    return not isinstance(obj, Event) or obj.reason in EVENT_REASONS


def _decoded(line: bytes) -> decode.Line:
    try:
        return decode.decode_line(line)
    except InputError as error:
        raise _Failure(str(error), in_stream=True) from None


def _bookmark(raw: msgspec.Raw) -> tuple[int, bool]:
    try:
        return decode.decode_bookmark(raw)
    except InputError as error:
        raise _Failure(str(error), in_stream=True) from None


def _name(problems: dict[str, str], key: str, problem: str) -> None:
    if key in problems or len(problems) < MAX_UNDECODABLE:
        problems[key] = problem


def _error(code: int, message: str, retry_after: float, in_stream: bool = False) -> Exception:
    """Return the exception for an error of the API server, as HTTP status or in a stream."""
    if code == HTTPStatus.GONE or "Too large resource version" in message:
        return _Expired(message or "the resourceVersion is too old")
    if code in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):
        return _Refused(code, message)
    if code == HTTPStatus.UNAUTHORIZED:
        return _Failure("the API server does not accept the credentials (401)", code)
    retry_after = min(max(retry_after, 0.0), MAX_RETRY_AFTER)
    return _Failure(f"the API server answered {code or 'an error'}: {message}", code, retry_after, in_stream)


async def _read(response: Response, limit: int) -> bytes:
    """Return a body. Raises _TooLarge."""
    parts: list[bytes] = []
    length = 0
    async for chunk in response.chunks():
        length += len(chunk)
        if length > limit:
            raise _TooLarge
        parts.append(chunk)
    return b"".join(parts)
