"""Runs written as by a worker, and sockets that watch them through the ASGI application."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from channels.testing import WebsocketCommunicator

from kubesched_ui.asgi import application
from kubesched_ui.event_log.events import event
from kubesched_ui.event_log.log import RunLog
from kubesched_ui.event_log.rows import CycleRow, ResultRow, SingleCycle
from kubesched_ui.models import Run, Scenario
from kubesched_ui.websockets.publisher import group

CYCLES = 120
LAST = 1 + 3 * CYCLES + 1


def new_run() -> Run:
    run = Run.objects.create(scenario=Scenario.objects.create(name="one"))
    claimed = Run.objects.claim(run.pk, "worker")
    assert claimed
    return claimed


def write_run(run: Run, loop: asyncio.AbstractEventLoop, pause: float = 0.0, cycles: int = CYCLES) -> None:
    """Write a whole run as a worker does, with a notice after each batch."""

    def notify(seq: int) -> None:
        layer = get_channel_layer()
        asyncio.run_coroutine_threadsafe(layer.group_send(group(run.pk), {"type": "run.progress", "seq": seq}), loop)

    log = RunLog(run, notify)
    log.add_events([event("run.started", 0.0)])
    for number in range(1, cycles + 1):
        pod = f"ns/p{number}"
        result = ResultRow("ns", f"p{number}", number, "scheduled")
        events = [event(kind, 0.0, pod, 1, {"x": "y" * 50}) for kind in ("cycle.started", "bind", "cycle.finished")]
        cycle = CycleRow(number, "ns", f"p{number}", 1, "scheduled", b"")
        log.add_cycle(SingleCycle(cycle, result, events, []))
        if number % 5 == 0:
            log.flush()
            time.sleep(pause)
    log.finish(Run.State.DONE)


async def written() -> Run:
    """Return a run that is completely written."""
    run: Run = await database_sync_to_async(new_run)()
    await asyncio.to_thread(write_run, run, asyncio.get_running_loop())
    return run


async def connect(run: Run, since: int = 0, more: str = "") -> WebsocketCommunicator:
    socket = WebsocketCommunicator(application, f"/ws/runs/{run.pk}?since={since}{more}")
    connected, _ = await socket.connect()
    assert connected
    return socket


async def frames(socket: WebsocketCommunicator) -> AsyncIterator[list[dict[str, Any]]]:
    """Return the frames until the server closes the socket."""
    while (message := await socket.receive_output(timeout=10))["type"] == "websocket.send":
        yield json.loads(message["text"])["events"]
    assert message["type"] == "websocket.close"
    assert message["code"] == 1000


async def seqs(socket: WebsocketCommunicator) -> list[int]:
    return [e["seq"] async for frame in frames(socket) for e in frame]
