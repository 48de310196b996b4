"""Hub of the sockets of a process: one query for all runs, and every socket ends with a close frame."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from kubesched_ui.asgi import application
from kubesched_ui.event_log.log import read_blocks
from kubesched_ui.models import Run
from kubesched_ui.websockets import connection as server
from kubesched_ui.websockets import hub, run_sockets, socket_metrics
from tests.kubesched_ui.websockets.viewing import LAST, connect, new_run, seqs, write_run, written

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio, pytest.mark.usefixtures("lossy_layer")]


async def closed(socket: WebsocketCommunicator) -> tuple[int, str]:
    """Return (code, last message) of a socket that the server closes."""
    last_message = ""
    while (message := await socket.receive_output(timeout=10))["type"] == "websocket.send":
        last_message = json.loads(message["text"]).get("error", last_message)
    assert message["type"] == "websocket.close"
    return message["code"], last_message


async def assert_no_sockets_left() -> None:
    """Wait until all sockets are closed, then check that nothing runs on."""
    for _ in range(200):
        if not socket_metrics.sockets:
            break
        await asyncio.sleep(0.01)
    assert not socket_metrics.sockets
    runs = hub.Hub.of_this_loop(run_sockets.RunTopic)
    assert not runs.topics
    assert runs.following is None


async def test_sockets_send_each_event_once_and_leave_nothing() -> None:
    run = await written()
    since = [*range(10), 200, LAST]
    got = await asyncio.gather(*(seqs(socket) for socket in [await connect(run, since=n) for n in since]))
    assert got == [list(range(n + 1, LAST + 1)) for n in since]
    await assert_no_sockets_left()


async def test_sockets_at_the_same_event_share_a_read() -> None:
    run = await written()
    before = socket_metrics.readings
    alone = await seqs(await connect(run))
    once = socket_metrics.readings - before
    got = await asyncio.gather(*(seqs(socket) for socket in [await connect(run) for _ in range(10)]))
    assert got == [alone] * 10
    assert socket_metrics.readings - before < 4 * once


async def test_sockets_of_one_pod_read_only_its_events() -> None:
    run: Run = await database_sync_to_async(new_run)()
    sockets = [await connect(run, more=f"&pod=ns/p{n}") for n in (3, 99)]
    await asyncio.sleep(0.2)
    before = socket_metrics.readings
    writing = asyncio.create_task(asyncio.to_thread(write_run, run, asyncio.get_running_loop(), 0.03))
    got = await asyncio.gather(*(seqs(socket) for socket in sockets))
    await writing
    assert got == [[1, *range(2 + 3 * (n - 1), 5 + 3 * (n - 1)), LAST] for n in (3, 99)]
    assert socket_metrics.readings - before <= 8  # of two dozen batches


def fails(*_: Any) -> Any:
    raise OperationalError("server closed the connection unexpectedly")


@pytest.mark.parametrize(
    "broken", [(run_sockets.RunTopic, "read"), (run_sockets.LogSubscription, "read"), (hub, "may_watch")]
)
async def test_a_database_outage_closes_every_socket(monkeypatch: pytest.MonkeyPatch, broken: Any) -> None:
    run: Run = await database_sync_to_async(new_run)()
    sockets = [await connect(run) for _ in range(5)]
    await asyncio.sleep(0.2)
    with monkeypatch.context() as outage:
        outage.setattr(*broken, fails)
        writing = asyncio.create_task(asyncio.to_thread(write_run, run, asyncio.get_running_loop()))
        assert await asyncio.gather(*map(closed, sockets)) == [(1011, "")] * 5
        assert await closed(await connect(run)) == (1011, "")  # new clients as well
        await writing
    await assert_no_sockets_left()
    assert await seqs(await connect(run)) == list(range(1, LAST + 1))


async def test_a_socket_that_cannot_be_closed_is_left_to_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async def raises(*_: Any) -> None:
        raise RuntimeError("a code that may not be sent")

    monkeypatch.setattr(server.WebsocketConnection, "close", raises)
    socket = WebsocketCommunicator(application, "/ws/runs/99999")
    await socket.connect()
    with pytest.raises(RuntimeError, match="may not be sent"):  # which Daphne answers by closing
        await socket.wait(5)


def permit_none(run_id: int, scopes: Sequence[Any], model: Any) -> list[bool]:
    return [False] * len(scopes)


async def test_a_client_without_permission_gets_the_error_of_a_missing_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = await written()
    monkeypatch.setattr(hub, "may_watch", permit_none)
    socket = await connect(run)
    message = json.loads((await socket.receive_output(timeout=5))["text"])
    assert message == {"error": f"There is no run {run.pk}."}
    assert await closed(socket) == (4404, "")


async def test_a_revoked_permission_closes_the_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    run: Run = await database_sync_to_async(new_run)()
    gone, stays = await connect(run), await connect(run, more="&who=kept")

    def only_one(run_id: int, scopes: Sequence[Any], model: Any) -> list[bool]:
        return [b"kept" in scope["query_string"] for scope in scopes]

    await asyncio.sleep(0.2)
    monkeypatch.setattr(hub, "may_watch", only_one)
    assert await closed(gone) == (4403, f"Run {run.pk} is no longer shared with you.")
    writing = asyncio.create_task(asyncio.to_thread(write_run, run, asyncio.get_running_loop()))
    assert await seqs(stays) == list(range(1, LAST + 1))
    await writing


async def blocked(run: Run) -> tuple[asyncio.Task[None], list[dict[str, Any]], Callable[[dict[str, Any]], None]]:
    """Return a socket whose client reads nothing after the first message: (task, sent messages, unblock)."""
    sent: list[dict[str, Any]] = []
    inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)
        if message["type"] == "websocket.send":
            await asyncio.Event().wait()

    scope = {
        "type": "websocket", "path": f"/ws/runs/{run.pk}", "query_string": b"", "headers": [], "subprotocols": [],
    }  # fmt: skip
    inbox.put_nowait({"type": "websocket.connect"})
    task = asyncio.create_task(application(scope, inbox.get, send))
    async with asyncio.timeout(30):
        while not any(message["type"] == "websocket.send" for message in sent):
            await asyncio.sleep(0.01)
    return task, sent, inbox.put_nowait


async def test_a_client_that_reads_nothing_holds_one_message_and_can_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    run = await written()
    task, sent, tell = await blocked(run)
    assert await seqs(await connect(run)) == list(range(1, LAST + 1))  # the others do not wait for it
    assert [message["type"] for message in sent] == ["websocket.accept", "websocket.send"]
    assert socket_metrics.lags() == [LAST]
    monkeypatch.setattr(hub, "may_watch", permit_none)
    async with asyncio.timeout(30):
        while sent[-1]["type"] != "websocket.close":
            await asyncio.sleep(0.01)
    assert [message["type"] for message in sent[2:]] == ["websocket.send", "websocket.close"]
    assert sent[-1]["code"] == 4403
    tell({"type": "websocket.disconnect"})
    await task


async def test_vanished_sockets_leave_nothing_behind() -> None:
    run: Run = await database_sync_to_async(new_run)()
    sockets = [await connect(run) for _ in range(50)]
    await asyncio.to_thread(write_run, run, asyncio.get_running_loop(), 0.0, 20)
    before = asyncio.all_tasks()
    assert len(before) > 100
    for socket in sockets:
        socket.input_queue.put_nowait({"type": "websocket.disconnect", "code": 1006})
    await assert_no_sockets_left()
    for _ in range(200):
        if len(asyncio.all_tasks()) < 10:
            break
        await asyncio.sleep(0.01)
    assert len(asyncio.all_tasks()) < 10


async def test_a_client_beyond_the_limit_is_rejected(settings: Any) -> None:
    settings.SOCKETS_MAX = 2
    run: Run = await database_sync_to_async(new_run)()
    first, second = await connect(run), await connect(run)
    await asyncio.sleep(0.1)
    code, last_message = await closed(await connect(run))
    assert code == 1013
    assert last_message.startswith("The server has too many")
    await first.disconnect()
    third = await connect(run)
    writing = asyncio.create_task(asyncio.to_thread(write_run, run, asyncio.get_running_loop()))
    assert await seqs(second) == await seqs(third) == list(range(1, LAST + 1))
    await writing


async def test_the_log_is_read_in_index_order() -> None:
    run = await written()

    def plans() -> list[str]:
        found = []
        for pod in ("", "ns/p7"):
            with CaptureQueriesContext(connection) as queries:
                list(read_blocks(run.pk, 5, pod))
            assert all(" LIMIT " in query["sql"] for query in queries)
            with connection.cursor() as cursor:
                for query in queries:
                    cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
                    found += [row[3] for row in cursor.fetchall()]
        return found

    plan = await database_sync_to_async(plans)()
    assert plan
    assert [
        step for step in plan if not re.search("USING (COVERING )?INDEX|PRIMARY KEY", step) or "B-TREE" in step
    ] == []


async def progress_of(run: Run) -> WebsocketCommunicator:
    socket = WebsocketCommunicator(application, f"/ws/runs/{run.pk}/progress")
    assert (await socket.connect(timeout=5))[0]
    return socket


async def test_progress_is_coalesced_and_ends_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_sockets, "PROGRESS_S", 0.2)
    run: Run = await database_sync_to_async(new_run)()
    sockets, began = [await progress_of(run) for _ in range(3)], time.monotonic()
    await asyncio.to_thread(write_run, run, asyncio.get_running_loop(), 0.03)
    for socket in sockets:
        messages = []
        while (message := await socket.receive_output(timeout=5))["type"] == "websocket.send":
            messages.append(json.loads(message["text"])["progress"])
        assert message["code"] == 1000
        assert 2 <= len(messages) <= 2 + (time.monotonic() - began) / 0.2
        assert messages[0]["state"] == "running"
        assert messages[-1]["state"] == "done"
        assert (messages[-1]["last_seq"], messages[-1]["cycles_done"]) == (LAST, 120)
        seen = [message["last_seq"] for message in messages]
        assert seen == sorted(set(seen))
    await assert_no_sockets_left()


async def test_progress_needs_permission_to_view_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run: Run = await database_sync_to_async(new_run)()
    open_one = await progress_of(run)
    assert json.loads(await open_one.receive_from(timeout=5))["progress"]["state"] == "running"
    monkeypatch.setattr(hub, "may_watch", permit_none)
    assert await closed(await progress_of(run)) == (4404, f"There is no run {run.pk}.")
    assert await closed(open_one) == (4403, f"Run {run.pk} is no longer shared with you.")
