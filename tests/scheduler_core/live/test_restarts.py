"""An API server that restarts under the reflectors: what was known stays known, and is marked as stale."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from scheduler_core.live import reflector
from scheduler_core.live.kinds import KINDS
from scheduler_core.live.reflector import ServerFeatures
from scheduler_core.live.transport import TransportError
from scheduler_core.live.watch_events import Gap, Listed
from tests.api_server.server import ApiServer, Fault
from tests.api_server.storage import Storage
from tests.scheduler_core.live.following import Follower
from tests.scheduler_core.live.test_reflector import node, write_randomly
from tests.scheduler_core.live.test_watch import Run, bookmark, line, page, pod, run, summary
from tests.scheduler_core.live.test_watch import reflect as reflect_with_clock
from tests.scheduler_core.live.virtual_loop import START

__all__ = ["run"]  # a fixture

FOLLOWED = ("Node", "Pod", "Namespace", "PersistentVolumeClaim", "PriorityClass")
FAILING: tuple[dict[str, Any], ...] = (
    {"status": 403},
    {"status": 401},
    {"status": 429, "retry_after": 1},
    {"status": 429},
    {"status": 500},
    {"status": 503},
    {"status": 404},
    {"cut_after": -1},
    {"cut_after": 40},
    {"delay": 1000.0},
)


async def reflect(*answers: Any, **options: Any) -> Any:
    return await reflect_with_clock(*answers, clock=asyncio.get_running_loop().time, **options)


def filled(storage: Storage) -> None:
    for number in range(9):
        storage.create("nodes", node(f"n{number}"))
        storage.create("pods", pod(f"p{number}"))
    storage.create("namespaces", {"metadata": {"name": "kube-system"}})
    storage.create("priorityclasses", {"metadata": {"name": "high"}, "value": 9})


async def observe(follower: Follower, problems: list[str]) -> None:
    """Check all the time that no kind that was served is refused or empty without being stale."""
    while True:
        for kind, health in follower.source.health.items():
            known = kind in follower.store.resource_versions
            if known and health.state in ("refused", "not served"):
                problems.append(f"{kind} is {health.state}")
            if known and kind in ("Node", "Namespace") and not follower.store.objects(kind):
                problems.append(f"{kind} is empty")
            if known and health.state != "watching" and not (health.stale_since or health.state == "listing"):
                problems.append(f"{kind} is {health.state}, and not stale")
        await asyncio.sleep(0.05)


async def restarts(seed: int, times: int) -> None:
    source, problems = random.Random(seed), list[str]()
    async with ApiServer(git_version=source.choice(("v1.31.1", "v1.36.2"))) as server:
        filled(server.storage)
        server.gzip_threshold = None
        server.expired_as = source.choice(("event", "status"))
        async with Follower(server, FOLLOWED, seed) as follower:
            if source.random() < 0.5:
                server.restart(source.uniform(0, 3), **source.choice(FAILING))  # it starts at the same time
            observer = asyncio.create_task(observe(follower, problems))
            await asyncio.sleep(source.uniform(0, 40))
            for _ in range(times):
                listed = len(follower.store.resource_versions) == len(FOLLOWED)
                fault = source.choice((*FAILING, {"empty": True}) if listed else FAILING)
                server.restart(10 ** source.uniform(-1, 0.7), **fault)
                write_randomly(server, source, source.randint(0, 8))
                if source.random() < 0.3:
                    server.storage.compact()
                await asyncio.sleep(10 ** source.uniform(-1, 1.5))
            server.clear_faults()
            await follower.synced(60)
            await follower.healthy(60)
            observer.cancel()
            assert problems == [], problems[:5]
            assert not any(one.stale_since or one.message for one in follower.source.health.values())


@pytest.mark.parametrize("seed", range(4))
def test_a_server_that_restarts_costs_nothing(seed: int, run: Run) -> None:
    run(lambda: restarts(seed, 12))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 110))
def test_200_restarts_cost_nothing(seed: int, run: Run) -> None:
    run(lambda: restarts(seed, 200))


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("status", [403, 404])
def test_a_kind_that_was_served_is_stale_until_it_is_served_again(status: int, run: Run) -> None:
    async def main() -> None:
        broken = [TransportError("It broke.")]
        one, items, transport = await reflect(page(10, pod("a", 1)), broken, *[status] * 3, seconds=4)
        assert one.health.state == "retrying"
        assert one.health.stale_since == pytest.approx(one._clock() - 4, abs=1)
        assert one.health.message.startswith("pods: the API server ")
        assert f"({status})" in one.health.message
        one, items, transport = await reflect(page(10, pod("a", 1)), broken, *[status] * 3, [bookmark(11), None])
        assert summary(items) == [("LISTED", ["a"], 10), ("BOOKMARK", 11)]
        assert (one.health.state, one.health.message, one.health.stale_since) == ("watching", "", 0)
        times = [time for _, _, time in transport.requests][1:]
        assert 0.8 <= times[1] - times[0] <= 1.6
        assert times[-1] - times[0] < 25

    run(main)


def test_a_kind_that_is_refused_for_minutes_is_refused(run: Run) -> None:
    async def main() -> None:
        answers = [page(10, pod("a", 1)), [TransportError("It broke.")], *[403] * 100]
        one, _, _ = await reflect(*answers, seconds=290)
        assert one.health.state == "retrying"
        one, items, transport = await reflect(*answers, seconds=3600)
        assert one.health.state == "refused"
        assert one.health.message.startswith("The API server refuses to list pods.")
        assert one.health.stale_since == pytest.approx(one._clock() - 3600, abs=1)
        assert 12 < len(transport.requests) < 25
        assert summary(items) == [("LISTED", ["a"], 10)]

    run(main)


def test_a_kind_that_is_refused_from_the_beginning_is_refused_and_tried_again_soon(run: Run) -> None:
    async def main() -> None:
        one, items, transport = await reflect(403, 403, page(10, pod("a", 1)))
        assert summary(items) == [("LISTED", ["a"], 10)]
        assert transport.requests[2][2] - START < 5
        one, _, _ = await reflect(403, seconds=0.5)
        assert (one.health.state, one.health.stale_since) == ("refused", 0)

    run(main)


# ---------------------------------------------------------------- other states


@pytest.mark.parametrize("watch_list", [False, True])
@pytest.mark.parametrize("version", [50, 1])
def test_a_sudden_empty_list_must_last(watch_list: bool, version: int, run: Run) -> None:
    """With a lower resourceVersion it may be another etcd, and it must last as well."""

    def listed(at: int, *objects: dict[str, Any]) -> Any:
        if not watch_list:
            return page(at, *objects)
        return [*(line("ADDED", obj) for obj in objects), bookmark(at, ends=True)]

    first = [listed(10, pod("a", 1)), *([] if watch_list else [[]])]

    async def main() -> None:
        features = ServerFeatures(watch_list)
        answers = [*first, 410, *[listed(version)] * 2, listed(60, pod("a", 1))]
        one, items, _ = await reflect(*answers, features=features, seconds=600)
        assert summary(items) == [("LISTED", ["a"], 10), ("GAP", 10, 60), ("LISTED", ["a"], 60)]
        answers = [*first, 410, *[listed(version)] * 20]
        one, items, _ = await reflect(*answers, features=ServerFeatures(watch_list), seconds=5)
        assert summary(items) == [("LISTED", ["a"], 10)]
        assert "the API server lists none, but 1 of them were known" in one.health.message
        assert one.health.stale_since
        one, items, _ = await reflect(*answers, features=ServerFeatures(watch_list), seconds=60)
        changes = [("GAP", 10, version), ("DELETED", "a", version), ("LISTED", [], version)]
        assert summary(items)[:4] == [("LISTED", ["a"], 10), *changes]

    run(main)


def test_a_server_that_accepts_and_never_answers_is_stale(run: Run) -> None:
    async def main() -> None:
        async with ApiServer(git_version="v1.31.0") as server:
            filled(server.storage)
            async with Follower(server, ("Node",)) as follower:
                await follower.synced()
                server.restart(1000, delay=10_000)
                await asyncio.sleep(200)
                health = follower.source.health["Node"]
                assert health.state == "retrying"
                assert "did not answer within 30 s" in health.message
                assert health.stale_since == pytest.approx(asyncio.get_running_loop().time() - 200, abs=2)
                await asyncio.sleep(900)
                assert health.state == "watching"

    run(main)


def test_silence_is_stale_from_its_beginning(run: Run) -> None:
    async def main() -> None:
        silent = TransportError("It sent nothing for 180 s.", silence=180)
        one, _, _ = await reflect(page(10, pod("a", 1)), [bookmark(11), silent], 500, seconds=1)
        assert one.health.stale_since == pytest.approx(one._clock() - 181, abs=1)

    run(main)


def test_an_etcd_restored_from_a_backup_is_listed_anew(run: Run) -> None:
    async def main() -> None:
        storage = Storage(5000)
        filled(storage)
        async with ApiServer(storage) as server, Follower(server, FOLLOWED) as follower:
            await follower.synced()
            server.storage = Storage(100)  # resourceVersions are too large: 504
            filled(server.storage)
            server.storage.create("pods", pod("old"))
            server.restart(0.5, status=503)
            await asyncio.sleep(60)
            assert follower.differences() == []
            gaps = [item for item in follower.items if isinstance(item, Gap)]
            assert {gap.kind for gap in gaps} == set(FOLLOWED)
            assert all(gap.until < gap.after for gap in gaps)

    run(main)


def test_a_resumed_kind_is_stale_until_it_is_watched(run: Run) -> None:
    async def main() -> None:
        one, _, _ = await reflect(page(10, pod("a", 1)), seconds=1)
        known = Listed("Pod", 10, tuple(one._objects.values()), one._clock() - 500)
        other = reflector.Reflector(KINDS["Pod"], one._transport, one._emit, clock=one._clock)
        other.resume(known)
        assert (other.health.stale_since, other.health.objects) == (known.time, 1)

    run(main)


def test_an_unavailable_version_is_no_reason_to_stop(run: Run) -> None:
    async def main() -> None:
        async with ApiServer() as server:
            filled(server.storage)
            server.inject(Fault(status=403), times=6)  # /version too
            async with Follower(server, FOLLOWED) as follower:
                await follower.synced(30)

    run(main)
