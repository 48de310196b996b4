"""Websocket through the ASGI application: every event once, in order, even if notices are lost."""

import asyncio
import json
import random

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator

from kubesched_ui.asgi import application
from kubesched_ui.models import Run
from kubesched_ui.websockets import subscriber
from tests.kubesched_ui.websockets.viewing import LAST, connect, frames, new_run, seqs, write_run, written

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio, pytest.mark.usefixtures("lossy_layer")]


async def test_ten_reconnects_with_a_layer_that_loses_notices() -> None:
    run = await database_sync_to_async(new_run)()
    writing = asyncio.create_task(asyncio.to_thread(write_run, run, asyncio.get_running_loop(), 0.02))
    dice, got = random.Random(3), []
    for _ in range(10):
        socket = await connect(run, since=got[-1] if got else 0)
        wanted = len(got) + dice.randint(1, 30)
        async for frame in frames(socket):
            got += [e["seq"] for e in frame]
            if len(got) >= wanted:
                break
        await socket.disconnect()
    got += await seqs(await connect(run, since=got[-1]))
    await writing
    assert got == list(range(1, LAST + 1))


async def test_ten_simultaneous_clients_receive_everything() -> None:
    run = await database_sync_to_async(new_run)()
    sockets = [await connect(run) for _ in range(10)]
    writing = asyncio.create_task(asyncio.to_thread(write_run, run, asyncio.get_running_loop(), 0.01))
    got = await asyncio.gather(*(seqs(socket) for socket in sockets))
    await writing
    assert got == [list(range(1, LAST + 1))] * 10


async def test_events_of_one_pod_and_of_the_run() -> None:
    run = await written()
    socket = await connect(run, more="&pod=ns/p7")
    events = [e async for frame in frames(socket) for e in frame]
    assert [e["type"] for e in events] == ["run.started", "cycle.started", "bind", "cycle.finished", "run.finished"]


@pytest.mark.parametrize(
    ("path", "code", "says"),
    [
        ("/ws/runs/99999", 4404, "There is no run 99999"),
        ("/ws/runs/1?since=x", 4400, "since must be"),
        ("/ws/runs/1?since=-1", 4400, "since must be"),
        ("/ws/runs/1?since=" + "9" * 400, 4400, "since must be"),
        ("/ws/runs/abc", 4404, "Nothing exists at this address"),
        ("/ws/other", 4404, "Nothing exists at this address"),
    ],
)
async def test_an_invalid_address_gives_an_error(path: str, code: int, says: str) -> None:
    socket = WebsocketCommunicator(application, path)
    assert (await socket.connect())[0]
    assert says in json.loads((await socket.receive_output(timeout=5))["text"])["error"]
    assert await socket.receive_output(timeout=5) == {"type": "websocket.close", "code": code}


async def test_deleting_the_run_ends_the_stream() -> None:
    run = await database_sync_to_async(new_run)()
    socket = await connect(run)
    await database_sync_to_async(Run.objects.filter(pk=run.pk).delete)()
    assert "no run" in json.loads((await socket.receive_output(timeout=5))["text"])["error"]


@pytest.mark.parametrize(
    ("origin", "allowed"), [(b"http://evil.example", False), (b"null", False), (b"http://localhost:8000", True)]
)
async def test_pages_of_other_sites_cannot_connect(origin: bytes, allowed: bool) -> None:
    run = await database_sync_to_async(new_run)()
    headers = [(b"origin", origin), (b"host", b"localhost:8000")]
    socket = WebsocketCommunicator(application, f"/ws/runs/{run.pk}", headers=headers)
    assert (await socket.connect())[0] is allowed
    await socket.disconnect()


class BrokenLayer:
    async def new_channel(self) -> str:
        raise ConnectionError("the broker is away")


async def test_events_arrive_without_a_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    run = await database_sync_to_async(new_run)()
    monkeypatch.setattr(subscriber, "get_channel_layer", BrokenLayer)
    socket = await connect(run)
    writing = asyncio.create_task(asyncio.to_thread(write_run, run, asyncio.get_running_loop(), 0.0, 20))
    assert await seqs(socket) == list(range(1, 1 + 60 + 1 + 1))
    await writing
