"""After any interruption, the state of a follower is that of the API server, and each deletion was emitted once."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from scheduler_core.api.objects import Pod
from scheduler_core.live import reflector
from scheduler_core.live.decode import ObjectDecoder
from scheduler_core.live.kinds import KINDS as LIVE_KINDS
from scheduler_core.live.store import Store
from scheduler_core.live.watch_events import MODIFIED, Bookmark, Gap, Listed, WatchEvent
from tests.api_server.large_cluster import LargeCluster
from tests.api_server.recordings import Recording
from tests.api_server.server import ApiServer, Fault, LoggedRequest
from tests.api_server.storage import Storage
from tests.recordings import LIVE_A
from tests.scheduler_core.live.following import Follower
from tests.scheduler_core.live.virtual_loop import run_virtual

KINDS = ("Node", "Pod", "PersistentVolumeClaim")
Scenario = Callable[[ApiServer, random.Random], Awaitable[None]]


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "labels": {"app": name[:3]}, **metadata}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def node(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": "4"}}}


def write_randomly(server: ApiServer, source: random.Random, changes: int) -> None:
    """Create, change, delete and create again objects of the three kinds."""
    storage = server.storage
    for _ in range(changes):
        resource = source.choice(("pods", "pods", "pods", "nodes", "persistentvolumeclaims"))
        name = f"{resource[:3]}-{source.randrange(25)}"
        key = name if resource == "nodes" else f"default/{name}"
        exists = key in storage.collection(resource).objects
        if not exists:
            storage.create(resource, node(name) if resource == "nodes" else pod(name))
        elif source.random() < 0.45:
            storage.delete(resource, key)
            if source.random() < 0.3:
                storage.create(resource, node(name) if resource == "nodes" else pod(name))
        else:
            storage.patch(resource, key, {"metadata": {"labels": {"n": str(source.randrange(1000))}}})
    if source.random() < 0.2:
        storage.advance(source.randrange(50))


# ---------------------------------------------------------------- interruptions


def interrupt(name: str, server: ApiServer, source: random.Random) -> None:
    """Interrupt the follower in a way: what is open now, or a response of the next requests."""
    resource = source.choice(("pods", "nodes", None))
    if name == "cut":  # at any byte
        server.cut(resource)
        size = int(10 ** source.uniform(0, 4))
        server.inject(Fault(cut_after=size), resource, times=source.randint(1, 4))
    elif name == "end":  # in the middle of a line, as if the response were complete
        server.cut(resource, clean=True)
        server.inject(Fault(end_after=int(10 ** source.uniform(0, 4))), resource, times=source.randint(1, 4))
    elif name in ("410-status", "410-event"):
        server.expired_as = name.removeprefix("410-")
        server.cut(resource)
        write_randomly(server, source, source.randint(1, 30))
        server.storage.compact()
        if source.random() < 0.3:
            server.inject(Fault(expired=True), resource, "watch")
    elif name in ("429", "500", "503", "504"):
        server.cut(resource)
        retry_after = source.choice((None, 1, 7)) if name == "429" else None
        server.inject(Fault(status=int(name), retry_after=retry_after), resource, times=source.randint(1, 8))
    elif name == "continue":  # the token of a list expires between two pages
        server.expired_as = "status"
        server.storage.compact()
        server.inject(Fault(status=410), None, "list", times=source.randint(1, 3))
        server.cut(resource)
        server.storage.compact()
        server.fault_of = compact_between_pages(server, source.randint(1, 3))
    elif name == "silence":
        server.cut(resource)
        server.inject(Fault(silent=True), resource, "watch", times=source.randint(1, 2))
    elif name == "bookmarks":  # hours of bookmarks alone
        server.storage.advance(source.randint(1, 5000))
    elif name == "token":
        server.authorizations = {f"Bearer {source.random()}"}
        server.cut(resource)
    elif name == "watch-list":
        server.watch_list = False
        server.cut(resource)
        server.storage.compact()
    elif name == "slow":
        server.cut(resource)
        server.inject(Fault(bytes_per_second=source.choice((200, 20_000)), delay=source.uniform(0, 90)), resource)
    else:
        raise ValueError(name)


INTERRUPTIONS = (
    *("cut", "end", "410-status", "410-event", "429", "500", "503", "504", "continue", "silence", "bookmarks"),
    *("token", "watch-list", "slow", "restart"),
)


def compact_between_pages(server: ApiServer, times: int) -> Callable[[LoggedRequest], Fault | None]:
    """Compact before the next pages of lists that are not the first ones."""
    left = [times]

    def fault_of(request: LoggedRequest) -> Fault | None:
        if "continue" in request.query and left[0]:
            left[0] -= 1
            server.storage.advance()
            server.storage.compact()
        return None

    return fault_of


async def survive(seed: int, interruptions: int) -> None:
    """Follow a changing server through random interruptions."""
    source = random.Random(seed)
    turn = seed * interruptions // len(INTERRUPTIONS)  # each turn has all interruptions in an order of its own
    order = random.Random(turn).sample(INTERRUPTIONS, len(INTERRUPTIONS))
    version = source.choice(("v1.27.16", "v1.33.1", "v1.34.0", "v1.36.2"))
    async with ApiServer(git_version=version) as server:
        server.watch_list = source.choice((True, True, False))
        server.gzip_threshold = None
        write_randomly(server, source, 60)
        async with Follower(server, KINDS, seed) as follower:
            if source.random() < 0.7:
                await follower.synced()
            for number in range(interruptions):
                name = order[(seed * interruptions + number) % len(order)]
                if name == "restart":
                    server.cut()
                    await follower.restart()
                else:
                    interrupt(name, server, source)
                for _ in range(source.randint(0, 4)):
                    write_randomly(server, source, source.randint(0, 12))
                    await asyncio.sleep(10 ** source.uniform(-3, 2.5))
                await asyncio.sleep(source.choice((0, 1, 30)) if name != "bookmarks" else source.uniform(0, 20_000))
                if name == "token":
                    follower.token = next(iter(server.authorizations or ())).removeprefix("Bearer ")
            server.clear_faults()
            await follower.synced()
            await follower.healthy()
            lists = [request for request in server.requests if request.verb == "list"]
            assert all(request.query["limit"] for request in lists)


@pytest.mark.parametrize("seed", range(6))
def test_the_state_is_that_of_the_server_after_random_interruptions(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "PAGE_SIZE", 7)
    run_virtual(survive(seed, 5), monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_1000_random_interruptions(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "PAGE_SIZE", 7)
    for seed in range(20):
        run_virtual(survive(1000 + block * 20 + seed, 5), monkeypatch)


def test_the_recorded_streams_of_a_real_server_arrive_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        recording, storage = Recording(LIVE_A), Storage(0)
        recording.load(storage)
        async with ApiServer(storage, recording.version["gitVersion"]) as server:
            kinds = [
                name for name, kind in LIVE_KINDS.items() if kind.resource in recording.resources and name != "Event"
            ]
            async with Follower(server, kinds) as follower:
                await follower.synced()
                playing = asyncio.create_task(recording.play(storage, speed=100))
                while not playing.done():
                    await asyncio.sleep(0.3)
                    server.cut("pods")
                await follower.synced()
                received = [i.resource_version for i in follower.items if isinstance(i, WatchEvent) and i.kind == "Pod"]
                assert received == [change.revision for change in recording.changes if change.resource == "pods"]
                assert not any(health.undecodable for health in follower.source.health.values())
                assert server.count("list") == 0

    run_virtual(main(), monkeypatch)


def test_a_store_continues_before_a_list_whose_differences_it_has_in_part() -> None:
    store, decoder = Store(), ObjectDecoder("Pod")
    one, two = (decoder.decode(b'{"metadata":{"name":"a","resourceVersion":"%d"}}' % version) for version in (3, 30))
    store.apply(Listed("Pod", 10, (one,), 0))
    store.apply(Gap("Pod", 10, 50, 0))
    store.apply(WatchEvent("Pod", MODIFIED, two.key, 30, two, 0))
    assert (store.get("Pod", two.key), store.resource_versions["Pod"]) == (two, 10)
    store.apply(Listed("Pod", 50, (two,), 0))
    store.apply(Bookmark("Pod", 60, 0))
    assert store.resource_versions["Pod"] == 60


@pytest.mark.long
@pytest.mark.parametrize("version", ["v1.33.1", "v1.36.2"])
def test_a_large_cluster_is_listed_once_and_in_pages(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        storage = Storage()
        cluster = LargeCluster(nodes=200, pods=4000, pending=10)
        cluster.load(storage)
        async with ApiServer(storage, version) as server, Follower(server, LIVE_KINDS) as follower:
            await follower.synced()
            for _ in range(1000):
                cluster.change(storage)
            await follower.synced()
            begun = Counter(
                request.resource
                for request in server.requests
                if request.status == 200
                if "sendInitialEvents" in request.query or (request.verb == "list" and "continue" not in request.query)
            )
            assert set(begun.values()) == {1}
            served = [kind for kind, health in follower.source.health.items() if health.state == "watching"]
            assert len(begun) == len(served) > 20
            lists = [request for request in server.requests if request.verb == "list"]
            assert all(request.query["limit"] == "500" and request.items <= 500 for request in lists)
            assert len(lists) == (0 if version == "v1.36.2" else len(begun) + 7)
            # Pods of one template share its parts: there are four sizes and one for pending pods.
            pods = [pod for pod in follower.store.objects("Pod") if isinstance(pod, Pod)]
            assert len({id(pod.spec.containers) for pod in pods}) == 5
            assert len({id(pod.status.conditions) for pod in pods}) == 2
            assert len({id(pod.metadata.labels) for pod in pods}) == 80

    run_virtual(main(), monkeypatch)
