"""What a reflector requests, and what it makes of each answer."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from scheduler_core.live import reflector
from scheduler_core.live.decode import ObjectDecoder
from scheduler_core.live.kinds import KINDS
from scheduler_core.live.lines import LineSplitter, LongLine
from scheduler_core.live.reflector import Backoff, Reflector, ServerFeatures
from scheduler_core.live.source import LiveSource, release_of
from scheduler_core.live.transport import TransportError
from scheduler_core.live.watch_events import Bookmark, Gap, Item, Listed, WatchEvent
from tests.api_server.server import ApiServer, Fault
from tests.scheduler_core.live.following import Follower
from tests.scheduler_core.live.virtual_loop import run_virtual

Run = Callable[[Callable[[], Awaitable[None]]], None]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a coroutine function with a virtual clock."""
    monkeypatch.setattr(reflector, "PAGE_SIZE", 7)
    return lambda main: run_virtual(main(), monkeypatch)


def pod(name: str, version: int | None = None, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", **({"resourceVersion": str(version)} if version else {})}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c"}]}, **fields}


def line(change: str, obj: dict[str, Any]) -> bytes:
    return json.dumps({"type": change, "object": obj}).encode() + b"\n"


def bookmark(version: int, *, ends: bool = False) -> bytes:
    annotations = {"annotations": {"k8s.io/initial-events-end": "true"}} if ends else {}
    return line("BOOKMARK", {"metadata": {"resourceVersion": str(version), **annotations}})


def page(version: int, *objects: dict[str, Any]) -> bytes:
    return json.dumps({"metadata": {"resourceVersion": str(version)}, "items": objects}).encode()


class ScriptedResponse:
    """`body`: chunks; an exception is raised; None waits forever."""

    def __init__(self, status: int, body: list[bytes | Exception | None], headers: Mapping[str, str]) -> None:
        self.status = status
        self.headers = headers
        self._body = body

    async def chunks(self) -> AsyncIterator[bytes]:
        for part in self._body:
            if part is None:
                await asyncio.Event().wait()
            elif isinstance(part, Exception):
                raise part
            else:
                yield part


class ScriptedTransport:
    """Gives answers in order, then waits forever. `requests`: (path, query, virtual seconds) of each request."""

    def __init__(self, *answers: bytes | int | list[bytes | Exception | None] | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[tuple[str, dict[str, str], float]] = []
        self.read_timeouts: list[float] = []

    @asynccontextmanager
    async def get(
        self, path: str, query: Mapping[str, str], *, read_timeout: float = 60.0
    ) -> AsyncIterator[ScriptedResponse]:
        self.requests.append((path, dict(query), asyncio.get_running_loop().time()))
        self.read_timeouts.append(read_timeout)
        answer = self.answers.pop(0) if self.answers else [None]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, int):
            body = json.dumps({"kind": "Status", "code": answer, "message": "because"}).encode()
            yield ScriptedResponse(answer, [body], {"Retry-After": "20"} if answer == 429 else {})
        else:
            yield ScriptedResponse(200, [answer] if isinstance(answer, bytes) else answer, {})

    async def close(self) -> None:
        pass


async def reflect(
    *answers: bytes | int | list[bytes | Exception | None] | Exception,
    kind: str = "Pod",
    seconds: float = 3600.0,
    **options: Any,
) -> tuple[Reflector, list[Item], ScriptedTransport]:
    """Return a reflector after some time, the items that it emitted, and the transport."""
    transport, items = ScriptedTransport(*answers), []

    async def emit(item: Item) -> None:
        items.append(item)

    one = Reflector(KINDS[kind], transport, emit, random_source=random.Random(1), **options)
    task = asyncio.create_task(one.run())
    await asyncio.sleep(seconds)
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return one, items, transport


def summary(items: list[Item]) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for item in items:
        if isinstance(item, WatchEvent):
            found.append((item.type, item.key.removeprefix("default/"), item.resource_version))
        elif isinstance(item, Listed):
            found.append(("LISTED", sorted(obj.name for obj in item.objects), item.resource_version))
        elif isinstance(item, Gap):
            found.append(("GAP", item.after, item.until))
        else:
            found.append(("BOOKMARK", item.resource_version))
    return found


# ---------------------------------------------------------------- lists


def test_lists_are_paginated_and_made_one_after_another(run: Run) -> None:
    async def main() -> None:
        async with ApiServer(git_version="v1.33.0") as server:
            for number in range(20):
                server.storage.create("pods", pod(f"p{number}"))
                server.storage.create("nodes", {"metadata": {"name": f"n{number}"}})
            server.fault_of = lambda request: Fault(delay=5) if request.verb == "list" else None
            async with Follower(server, ("Node", "Pod", "Namespace")) as follower:
                await follower.synced()
                await follower.healthy()
                lists = [request for request in server.requests if request.verb == "list"]
                assert [request.resource for request in lists] == ["nodes"] * 3 + ["pods"] * 3 + ["namespaces"]
                assert {request.query["limit"] for request in lists} == {"7"}
                assert all("resourceVersion" not in request.query for request in lists)
                assert [health.lists for health in follower.source.health.values()] == [1, 1, 1]
                watches = [request for request in server.requests if request.verb == "watch"]
                assert all(300 <= int(request.query["timeoutSeconds"]) <= 600 for request in watches)
                assert {request.query["allowWatchBookmarks"] for request in watches} == {"true"}
                assert {request.accept_encoding for request in server.requests} == {"gzip"}
                assert {request.user_agent for request in server.requests} == {"kubesched"}

    run(main)


@pytest.mark.parametrize(
    ("version", "served", "lists"), [("v1.34.0", True, 0), ("v1.34.0", False, 2), ("v1.33.9", True, 2)]
)
def test_the_list_is_the_beginning_of_the_watch_where_the_server_can(
    version: str, served: bool, lists: int, run: Run
) -> None:
    async def main() -> None:
        async with ApiServer(git_version=version) as server:
            server.watch_list = served
            server.storage.create("pods", pod("a"))
            async with Follower(server, ("Node", "Pod")) as follower:
                await follower.synced()
                await follower.healthy()
                server.storage.delete("pods", "default/a")
                await follower.synced()
                assert server.count("list") == lists
                assert server.count("watch") == (3 if version == "v1.34.0" and not served else 2)
                assert follower.source.version["gitVersion"] == version

    run(main)


def test_a_server_that_never_ends_the_initial_events_is_listed(run: Run) -> None:
    async def main() -> None:
        async with ApiServer(git_version="v1.36.2") as server:
            server.watch_list = None
            server.storage.create("pods", pod("a"))
            async with Follower(server, ("Node", "Pod")) as follower:
                await follower.synced(100)
                await follower.healthy()
                assert server.count("list") == 2
                assert server.count("watch") == 3

    run(main)


def test_a_list_goes_on_with_the_page_that_failed(run: Run) -> None:
    first = json.dumps({"metadata": {"resourceVersion": "9", "continue": "t"}, "items": [pod("a", 3)]}).encode()

    async def main() -> None:
        _, items, transport = await reflect(first, 500, 429, TransportError("It broke."), page(9, pod("b", 4)))
        assert [query.get("continue") for _, query, _ in transport.requests] == [None, "t", "t", "t", "t", None]
        assert summary(items) == [("LISTED", ["a", "b"], 9)]
        seconds = [time for _, _, time in transport.requests]
        assert 0.8 <= seconds[2] - seconds[1] <= 1.6
        assert seconds[3] - seconds[2] >= 20  # Retry-After
        assert 3.2 <= seconds[4] - seconds[3] <= 6.4

    run(main)


def test_an_expired_token_starts_the_list_anew(run: Run) -> None:
    first = json.dumps({"metadata": {"resourceVersion": "9", "continue": "t"}, "items": [pod("a", 3)]}).encode()

    async def main() -> None:
        _, items, transport = await reflect(first, 410, page(12, pod("b", 11)))
        assert [query.get("continue") for _, query, _ in transport.requests] == [None, "t", None, None]
        assert summary(items) == [("LISTED", ["b"], 12)]
        assert transport.requests[-1][1]["resourceVersion"] == "12"

    run(main)


def test_a_list_without_end_is_given_up(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "MAX_OBJECTS", 2)

    async def main() -> None:
        endless = json.dumps(
            {"metadata": {"resourceVersion": "9", "continue": "t"}, "items": [pod("a", 3), pod("b", 4)]}
        )
        one, items, _ = await reflect(endless.encode(), page(9, pod("c", 5)), seconds=10)
        assert items == []
        assert "more than 2 pods" in one.health.message

    run(main)


def test_pages_that_are_too_large_become_smaller(run: Run) -> None:
    async def main() -> None:
        large = page(9, pod("a", 3, pad="x" * 1000))
        _, items, transport = await reflect(large, large, page(9, pod("a", 3)), max_line=500)
        assert [query.get("limit") for _, query, _ in transport.requests] == ["7", "3", "1", None]
        assert summary(items) == [("LISTED", ["a"], 9)]
        one, items, _ = await reflect(*[large] * 8, max_line=500)
        assert items == []
        assert "a single object of more than 500 bytes" in one.health.message

    run(main)


# ---------------------------------------------------------------- watches


def test_the_changes_that_a_second_list_reveals_come_after_the_gap(run: Run) -> None:
    def with_uid(name: str, version: int, uid: str) -> dict[str, Any]:
        obj = pod(name, version)
        obj["metadata"]["uid"] = uid
        return obj

    first = page(
        10, with_uid("kept", 1, "1"), with_uid("gone", 2, "2"), with_uid("again", 3, "3"), with_uid("new", 4, "4")
    )
    expired = line("ERROR", {"kind": "Status", "code": 410, "message": "too old"})
    second = page(
        50, with_uid("kept", 1, "1"), with_uid("again", 40, "5"), with_uid("new", 30, "4"), with_uid("more", 20, "6")
    )

    async def main(*answers: Any) -> None:
        _, items, transport = await reflect(first, *answers, second, [line("MODIFIED", pod("more", 51)), None])
        assert summary(items) == [
            ("LISTED", ["again", "gone", "kept", "new"], 10),
            ("GAP", 10, 50),
            ("ADDED", "more", 20),
            ("MODIFIED", "new", 30),
            ("DELETED", "again", 40),
            ("ADDED", "again", 40),
            ("DELETED", "gone", 50),
            ("LISTED", ["again", "kept", "more", "new"], 50),
            ("DELETED", "more", 51),  # it has another uid
            ("ADDED", "more", 51),
        ]
        assert [query.get("resourceVersion") for _, query, _ in transport.requests] == [None, "10", None, "50"]

    run(lambda: main([expired, None]))
    run(lambda: main(410))


def test_a_watch_goes_on_from_the_last_bookmark(run: Run) -> None:
    async def main() -> None:
        async with ApiServer(git_version="v1.30.0") as server:
            server.storage.create("pods", pod("a"))
            async with Follower(server, ("Pod",)) as follower:
                await follower.synced()
                for _ in range(30):  # five hours
                    server.storage.advance(100)
                    await asyncio.sleep(600)
                    server.storage.compact(revision=server.storage.revision - 20)
                server.storage.delete("pods", "default/a")
                server.cut()
                await follower.synced()
                assert server.count("list") == 1
                assert follower.deletions("Pod") == ["default/a"]
                assert not any(isinstance(item, Gap) for item in follower.items)
                assert sum(isinstance(item, Bookmark) for item in follower.items) > 250

    run(main)


def test_a_silent_line_is_given_up(run: Run) -> None:
    async def main() -> None:
        async with ApiServer(git_version="v1.30.0") as server:
            server.inject(Fault(silent=True), "pods", "watch", times=2)
            server.watch_timeout = 10_000
            async with Follower(server, ("Pod",)) as follower:
                await asyncio.sleep(1)
                server.storage.create("pods", pod("a"))
                await asyncio.sleep(2 * (600 + 30) + 60)
                assert follower.differences() == []
                assert server.count("list") == 1

    run(main)


def test_read_timeouts_are_above_what_the_server_may_take(run: Run) -> None:
    async def main() -> None:
        _, _, transport = await reflect(page(1), [bookmark(5)], [None])
        timeouts = [int(query.get("timeoutSeconds", 0)) for _, query, _ in transport.requests]
        assert transport.read_timeouts == [75.0, timeouts[1] + 30.0, 180.0]

    run(main)


@pytest.mark.parametrize(
    "broken",
    [
        [line("ADDED", pod("b", 11))[:-20]],  # the end of the stream in a line
        [line("ADDED", pod("b", 11))[:40], TransportError("The connection ended.")],
        [b"garbage\n", None],
        [b'{"type":"ADDED","object":{"metadata":{"name":"b"}}\n', None],
        [line("ERROR", {"code": 500, "message": "etcd is away"}), None],
        [line("BOOKMARK", {"metadata": {"resourceVersion": "x"}}), None],
    ],
)
def test_a_broken_line_costs_nothing(broken: list[bytes | Exception | None], run: Run) -> None:
    async def main() -> None:
        _, items, transport = await reflect(page(10), broken, [line("ADDED", pod("b", 11)), None])
        assert summary(items) == [("LISTED", [], 10), ("ADDED", "b", 11)]
        assert [query.get("resourceVersion") for _, query, _ in transport.requests] == [None, "10", "10"]

    run(main)


def test_an_error_that_stays_leads_to_a_list(run: Run) -> None:
    async def main() -> None:
        error = [line("ERROR", {"code": 500, "message": "cannot decode"}), None]
        _, items, _ = await reflect(page(10), *[error] * 5, page(20))
        assert summary(items) == [("LISTED", [], 10), ("GAP", 10, 20), ("LISTED", [], 20)]

    run(main)


def test_a_server_that_goes_back_is_listed(run: Run) -> None:
    async def main() -> None:
        for answer in ([bookmark(5), None], [line("MODIFIED", pod("a", 5)), None], 504):
            error = line("ERROR", {"code": 504, "message": "Too large resource version: 10, current: 5"})
            answer = [error, None] if answer == 504 else answer
            _, items, _ = await reflect(page(10, pod("a", 9)), answer, page(6, pod("a", 5)))
            assert summary(items)[1:] == [("GAP", 10, 6), ("MODIFIED", "a", 5), ("LISTED", ["a"], 6)]

    run(main)


def test_a_repeated_change_is_emitted_once(run: Run) -> None:
    async def main() -> None:
        deleted = line("DELETED", pod("a", 11))
        stream = [deleted, deleted, line("DELETED", pod("unknown", 12)), line("MODIFIED", pod("c", 13)), None]
        _, items, _ = await reflect(page(10, pod("a", 9)), stream)
        expected = [("LISTED", ["a"], 10), ("DELETED", "a", 11), ("BOOKMARK", 12), ("ADDED", "c", 13)]
        assert summary(items) == expected

    run(main)


def test_changes_during_the_initial_events_count(run: Run) -> None:
    async def main() -> None:
        stream = [
            line("ADDED", pod("a", 3)) + line("ADDED", pod("b", 4)) + line("ADDED", pod("c", 5)),
            line("DELETED", pod("a", 11)) + line("MODIFIED", pod("b", 12)) + bookmark(8) + bookmark(12, ends=True),
            line("DELETED", pod("c", 13)),
            None,
        ]
        _, items, transport = await reflect(stream, features=ServerFeatures(watch_list=True))
        assert summary(items) == [("LISTED", ["b", "c"], 12), ("DELETED", "c", 13)]
        assert transport.requests[0][1]["sendInitialEvents"] == "true"
        cut = [line("ADDED", pod("a", 3))]
        _, items, transport = await reflect(cut, cut, page(20, pod("z", 19)), features=ServerFeatures(watch_list=True))
        assert summary(items) == [("LISTED", ["z"], 20)]
        assert "limit" in transport.requests[2][1]

    run(main)


def test_events_about_other_things_are_left_out(run: Run) -> None:
    def event(name: str, version: int, reason: str) -> dict[str, Any]:
        return {"metadata": {"name": name, "namespace": "d", "resourceVersion": str(version)}, "reason": reason}

    async def main() -> None:
        listed = page(10, event("a", 1, "FailedScheduling"), event("b", 2, "NodeNotReady"))
        stream = [line("ADDED", event("c", 11, "Preempted")), line("ADDED", event("d", 12, "NodeNotReady")), None]
        _, items, transport = await reflect(listed, stream, kind="Event")
        assert summary(items) == [("LISTED", ["a"], 10), ("ADDED", "d/c", 11), ("BOOKMARK", 12)]
        assert all("reason!=Pulled" in query["fieldSelector"] for _, query, _ in transport.requests)

    run(main)


# ---------------------------------------------------------------- refusals and failures


def test_a_refused_kind_costs_that_kind_alone(run: Run) -> None:
    async def main() -> None:
        async with ApiServer() as server:
            server.storage.create("pods", pod("a"))
            server.storage.unserved |= {"deviceclasses.resource.k8s.io"}
            groups = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
            server.rules = [*groups, {"apiGroups": ["resource.k8s.io"], "resources": ["*"], "verbs": ["*"]}]
            async with Follower(server, ("Node", "Pod", "DeviceClass")) as follower:
                await asyncio.sleep(3600)
                health = follower.source.health
                assert [health[kind].state for kind in ("Node", "Pod", "DeviceClass")] == [
                    *("refused", "watching", "not served"),
                ]
                assert health["Node"].message == (
                    "The API server refuses to list nodes. "
                    "No placement can be explained, because the nodes are unknown."
                )
                assert "does not serve deviceclasses" in health["DeviceClass"].message
                assert [obj.name for obj in follower.store.objects("Pod")] == ["a"]
                assert 12 <= health["Node"].requests <= 24  # most of them in the first five minutes
                assert health["DeviceClass"].requests <= 21  # in three versions, every ten minutes
                paths = {request.path for request in server.requests if "deviceclasses" in request.path}
                assert paths == set(KINDS["DeviceClass"].paths)
                server.rules = None
                server.storage.create("nodes", {"metadata": {"name": "n"}})
                await asyncio.sleep(900)
                assert [obj.name for obj in follower.store.objects("Node")] == ["n"]
                assert health["Node"].message == ""

    run(main)


def test_an_older_version_of_a_kind_is_used(run: Run) -> None:
    async def main() -> None:
        raw = {"metadata": {"name": "b", "namespace": "d", "resourceVersion": "1"}}
        one, items, transport = await reflect(404, page(3, raw), kind="PodDisruptionBudget")
        assert [path.split("/")[3] for path, _, _ in transport.requests] == ["v1", "v1beta1", "v1beta1"]
        assert len({time for _, _, time in transport.requests}) == 1  # without a delay
        assert summary(items) == [("LISTED", ["b"], 3)]
        assert one.health.state == "watching"

    run(main)


def test_a_newer_group_is_found_where_an_older_one_is_refused(run: Run) -> None:
    async def main() -> None:
        raw = {"metadata": {"name": "b", "namespace": "d", "resourceVersion": "1"}}
        one, items, transport = await reflect(404, 403, 404, page(3, raw), kind="PodGroup", seconds=7200)
        groups = [path.split("/")[2] for path, _, _ in transport.requests]
        newest, older = KINDS["PodGroup"].groups
        assert groups[:4] == [newest, older, newest, older]
        assert summary(items) == [("LISTED", ["b"], 3)]
        one, items, transport = await reflect(404, 403, page(3, raw), kind="PodGroup", seconds=7200)
        assert [path.split("/")[2] for path, _, _ in transport.requests][:3] == [newest, older, newest]
        assert summary(items) == [("LISTED", ["b"], 3)]
        assert one.health.state == "watching"

    run(main)


def test_failures_back_off_and_a_success_ends_that(run: Run) -> None:
    async def main() -> None:
        _, _, transport = await reflect(page(1), *[500] * 9, [bookmark(5)], 500, seconds=7200)
        times = [time for _, query, time in transport.requests if "watch" in query]
        delays = [after - before for before, after in itertools.pairwise(times)]
        for delay, least in zip(delays[:9], (0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30), strict=True):
            assert least <= delay <= 2 * least + 1e-6
        assert delays[9] == 0  # the server ended the watch after a bookmark
        assert 0.8 <= delays[10] <= 1.6

    run(main)


def test_a_server_that_always_answers_410_is_not_flooded(run: Run) -> None:
    async def main() -> None:
        _, _, transport = await reflect(*[page(1), 410] * 100, seconds=600)
        assert len(transport.requests) < 60
        _, _, transport = await reflect(*[410] * 200, seconds=600)
        assert len(transport.requests) < 30
        _, _, transport = await reflect(page(1), *[[b""]] * 200, seconds=600)  # watches that end at once
        assert len(transport.requests) < 30

    run(main)


def test_an_unknown_problem_does_not_end_a_reflector(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        one, items, _ = await reflect(ZeroDivisionError(), page(1), [bookmark(2), None])
        assert summary(items) == [("LISTED", [], 1), ("BOOKMARK", 2)]
        assert one.health.state == "watching"

    run(main)
    assert "Cannot watch pods" in caplog.text


def test_the_version_is_requested_until_the_server_gives_it(run: Run) -> None:
    async def main() -> None:
        transport = ScriptedTransport(500, TransportError("No way."), b"[]", b'{"gitVersion":"v1.36.2"}')
        source = LiveSource(transport, [KINDS["Pod"]])
        items = source.items()
        waiting = asyncio.create_task(anext(items))  # type: ignore[arg-type]
        await asyncio.sleep(20)
        assert source.version == {"gitVersion": "v1.36.2"}
        assert [path for path, _, _ in transport.requests] == ["/version"] * 4 + ["/api/v1/pods"]
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    async def refused() -> None:
        transport = ScriptedTransport(403, page(5, pod("a", 3)))
        items = LiveSource(transport, [KINDS["Pod"]]).items()
        assert summary([await anext(items)]) == [("LISTED", ["a"], 5)]
        await items.aclose()  # type: ignore[attr-defined]

    run(main)
    run(refused)
    assert release_of({"gitVersion": "v1.36.2-eks-1"}) == (1, 36)
    assert release_of({"gitVersion": ["v1"]}) == (0, 0)


# ---------------------------------------------------------------- hostile bytes


def test_an_object_that_cannot_be_decoded_costs_that_object_alone(run: Run) -> None:
    def broken(name: str, version: int) -> dict[str, Any]:
        return pod(name, version, spec={"priority": "high"})

    async def main() -> None:
        listed = page(10, pod("a", 1), broken("b", 2), {"metadata": 5}, pod("c", 3))
        stream = [
            line("MODIFIED", broken("a", 11)),
            line("DELETED", broken("b", 12)),
            line("DELETED", broken("c", 13)),
            line("ADDED", pod("d", 14)),
            None,
        ]
        one, items, _ = await reflect(listed, stream)
        changes = [entry for entry in summary(items) if entry[0] != "BOOKMARK"]
        assert changes == [("LISTED", ["a", "c"], 10), ("DELETED", "c", 13), ("ADDED", "d", 14)]
        assert set(one.health.undecodable) == {"default/a", "#1"}
        assert one.health.undecodable["default/a"].startswith("Pod default/a: spec.priority: ")
        assert one.health.message.startswith("2 of the pods cannot be decoded")
        assert one.health.resource_version == 14
        repaired = [*stream[:-1], line("MODIFIED", pod("a", 15)), None]
        one, _, _ = await reflect(page(10, pod("a", 1), broken("b", 2), pod("c", 3)), repaired)
        assert (one.health.undecodable, one.health.message) == ({}, "")

    run(main)


def test_an_undecodable_object_survives_a_second_list_as_it_was(run: Run) -> None:
    async def main() -> None:
        second = page(20, pod("a", 15, spec={"priority": "high"}))
        one, items, _ = await reflect(page(10, pod("a", 1)), 410, second)
        assert summary(items)[1:] == [("GAP", 10, 20), ("LISTED", ["a"], 20)]
        assert list(one.health.undecodable) == ["default/a"]

    run(main)


def test_a_bug_in_decoding_costs_one_object(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    decoded = ObjectDecoder.decode

    def decode(self: ObjectDecoder, raw: bytes) -> Any:
        return 1 / 0 if b"strange" in bytes(raw) else decoded(self, raw)

    monkeypatch.setattr(ObjectDecoder, "decode", decode)

    async def main() -> None:
        stream = [line("MODIFIED", pod("a", 11, strange=1)), line("ADDED", pod("b", 12)), None]
        one, items, _ = await reflect(page(10, pod("a", 1)), stream)
        assert summary(items) == [("LISTED", ["a"], 10), ("BOOKMARK", 11), ("ADDED", "b", 12)]
        assert one.health.undecodable == {"default/a": "Pod: internal error (ZeroDivisionError)"}

    run(main)
    assert "Cannot decode an object of pods" in caplog.text


@pytest.mark.parametrize("watch_list", [False, True])
def test_a_line_that_is_too_long_costs_that_object_alone(watch_list: bool, run: Run) -> None:
    def long(change: str, name: str, version: int) -> bytes:
        start = f'{{"type":"{change}","object":{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{name}",'
        start += f'"namespace":"default","uid":"u","resourceVersion":"{version}","annotations":{{"x":"'
        return start.encode() + b"x" * 5000 + b'"}}}}\n'

    async def main() -> None:
        stream = [line("ADDED", pod("a", 3)), long("ADDED", "b", 4), bookmark(10, ends=True)] if watch_list else []
        stream += [long("MODIFIED", "c", 11)[:3000], long("MODIFIED", "c", 11)[3000:], long("DELETED", "a", 12)]
        stream += [line("ADDED", pod("d", 13)), None]
        first = [] if watch_list else [page(10, pod("a", 3))]
        one, items, _ = await reflect(*first, stream, features=ServerFeatures(watch_list), max_line=1000)
        changes = [entry for entry in summary(items) if entry[0] != "BOOKMARK"]
        assert changes == [("LISTED", ["a"], 10), ("DELETED", "a", 12), ("ADDED", "d", 13)]
        assert set(one.health.undecodable) == ({"default/b"} if watch_list else set()) | {"default/c"}
        assert one.health.undecodable["default/c"].endswith("bytes; at most 1,000 are read")

    run(main)


def corrupted(text: bytes, source: random.Random) -> bytes:
    """Return a text with some bytes changed, removed or added."""
    found = bytearray(text)
    for _ in range(source.choice((0, 0, 1, 3, 20)) if text else 0):
        at = source.randrange(len(found) + 1)
        found[at : at + source.randrange(30)] = source.choice(
            (b"", b"[" * 5000, source.randbytes(source.randrange(40)))
        )
    return bytes(found)


def random_stream(source: random.Random) -> list[bytes | Exception | None]:
    version, text = source.randrange(20), b""
    for _ in range(source.randrange(8)):
        version += source.randrange(3)
        error = {"code": source.choice((0, 403, 404, 410, 429, 500, 10**30)), "details": {"retryAfterSeconds": 10**400}}
        text += source.choice(
            (
                *(line(change, pod(source.choice("abc"), version)) for change in ("ADDED", "MODIFIED", "DELETED", "?")),
                *(bookmark(version, ends=source.random() < 0.5), line("ERROR", error)),
            )
        )
    text = corrupted(text, source)
    cuts = sorted(source.randrange(len(text) + 1) for _ in range(3))
    chunks: list[bytes | Exception | None] = [text[: cuts[0]], text[cuts[0] : cuts[1]], text[cuts[1] :]]
    return [*chunks, *source.choice(([], [None], [TransportError("It broke.")]))]


def random_answer(source: random.Random) -> Any:
    choice = source.random()
    if choice < 0.4:
        pods = [pod(name, source.randrange(20)) for name in "abc"[: source.randrange(4)]]
        return corrupted(page(source.randrange(20), *pods), source)
    if choice < 0.8:
        return random_stream(source)
    return source.choice((401, 403, 404, 410, 422, 429, 500, 503, TransportError("Gone."), OSError("Gone.")))


def test_whatever_a_server_sends_its_items_lead_to_one_state(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    source = random.Random(1)

    async def main() -> None:
        answers = [random_answer(source) for _ in range(12)]
        features = ServerFeatures(watch_list=source.random() < 0.5)
        one, items, _ = await reflect(*answers, seconds=20_000, features=features, max_line=source.choice((300, 10**6)))
        known: dict[str, Any] | None = None
        gap = False
        for item in items:
            if isinstance(item, Gap):
                gap = True
            elif isinstance(item, Listed):
                listed = {obj.key: obj for obj in item.objects}
                assert known is None or (gap and listed == known)
                known, gap = listed, False
            elif isinstance(item, WatchEvent):
                assert known is not None
                assert (item.key in known) == (item.type != "ADDED")
                known[item.key] = item.object
                if item.type == "DELETED":
                    del known[item.key]
        assert (known or {}) == one._objects

    for _ in range(40):
        run(main)
    assert caplog.text == ""


def test_lines_are_split_wherever_the_chunks_end() -> None:
    text = b"one\n\ntwo\r\n" + b"x" * 40 + b"\nthree\n  \nrest"
    for size in range(1, len(text)):
        splitter = LineSplitter(limit=20)
        lines = [found for at in range(0, len(text), size) for found in splitter.feed(text[at : at + size])]
        assert lines == [b"one", b"two\r", LongLine(b"x" * 40, 40), b"three"]


def test_a_long_line_takes_little_memory() -> None:
    splitter = LineSplitter(limit=100_000)
    for _ in range(1000):
        assert list(splitter.feed(b"y" * 65_536)) == []
    assert sum(map(len, splitter._parts)) <= 165_536
    assert list(splitter.feed(b"\nz\n")) == [LongLine(b"y" * 4096, 65_536_000), b"z"]


def test_delays_double_up_to_a_limit() -> None:
    backoff = Backoff(random.Random(1))
    assert all(least <= backoff.next() <= 2 * least for least in (0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30))
    backoff.reset()
    assert backoff.next() <= 1.6
