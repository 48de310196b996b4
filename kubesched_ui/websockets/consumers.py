"""The websockets of a run: its log, and its progress. docs/websocket.md describes both.

The worker writes events to the database and sends notices. This process queries the state of the watched runs
(run_hub.py) once for all their sockets. Each socket of a log then reads what it has not sent yet.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from urllib.parse import parse_qs

from django.conf import settings

from kubesched_ui.event_log.log import join, read_blocks
from kubesched_ui.outages import trouble_of
from kubesched_ui.websockets import socket_metrics
from kubesched_ui.websockets.permissions import Scope
from kubesched_ui.websockets.run_hub import Lookout, Viewer
from kubesched_ui.websockets.websocket_base import (
    BAD_REQUEST,
    FAILED,
    LATER,
    NOT_FOUND,
    OVER,
    Ending,
    Receive,
    Send,
    attended,
    close,
    gone,
    in_thread,
    send_text,
)

logger = logging.getLogger(__name__)

MESSAGE_BYTES = 64 * 1024  # Size of JSON. A client that reads 2 kB per second still answers pings in time.
BLOCKS = 500
PROGRESS_S = 0.5  # Minimum time between two messages of progress.
READS_MAX = 8  # Reads that sockets share. Twenty clients of one log then need a tenth of the processor time.

Stream = Callable[[Lookout, Viewer, Send], Awaitable[None]]


async def run_socket(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve /ws/runs/{id}?since=N[&pod=ns/name] with text frames {"events": [...]}. Raises as `attended`."""
    await attended(partial(serve, stream_log), scope, receive, send)


async def progress_socket(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve /ws/runs/{id}/progress with text frames {"progress": {...}}. Raises as `attended`."""
    await attended(partial(serve, stream_progress), scope, receive, send)


async def nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    """Reject any other websocket URL."""
    await receive()
    await send({"type": "websocket.accept"})
    await close(send, Ending(NOT_FOUND, "There is nothing at this address; runs are at /ws/runs/{id}."))
    await gone(receive)


async def serve(stream: Stream, scope: Scope, send: Send) -> None:
    """Send what `stream` sends, then close the socket regardless of why the stream ended."""
    query = parse_qs(scope["query_string"].decode("utf-8", "replace"))
    since = query.get("since", ["0"])[0]
    if not (since.isascii() and since.isdigit() and len(since) < 19):
        await close(send, Ending(BAD_REQUEST, "since must be a whole number, the last seq that was seen."))
        return
    if len(socket_metrics.sockets) >= settings.SOCKETS_MAX:
        socket_metrics.refused += 1
        await close(send, Ending(LATER, "Too many people watch runs on this server now."))
        return
    here, run_id = Lookout.here(), int(scope["url_route"]["kwargs"]["run_id"])
    viewer = Viewer(
        scope=scope,
        run_id=run_id,
        since=int(since),
        pod=query.get("pod", [""])[0].replace("\0", ""),
        watch=here.watch(run_id),
        log=stream is stream_log,
        task=asyncio.current_task(),
    )
    socket_metrics.sockets.add(viewer)
    try:
        await here.join(viewer)
        await stream(here, viewer, send)
        ending = Ending(OVER)
    except asyncio.CancelledError:
        if viewer.ending is None:  # The client has disconnected.
            raise
        ending = viewer.ending
    except Exception as error:
        socket_metrics.failures += 1
        problem = error or "no answer"
        logger.warning("The websocket of run %s failed: %s", run_id, problem, exc_info=not trouble_of(error))
        ending = Ending(FAILED)
    finally:
        socket_metrics.sockets.discard(viewer)
        here.leave(viewer.watch, viewer)
    await close(send, ending)


async def stream_log(here: Lookout, viewer: Viewer, send: Send) -> None:
    """Send the events after `since`, until the run is over and all are sent."""
    watch = viewer.watch
    while watch.active or viewer.since < watch.last_seq:
        if viewer.since >= watch.last_seq:
            await here.news(watch)
            continue
        if viewer.pod and watch.skip(viewer):
            continue
        last, message = await shared_read(here, viewer)
        if message:
            await here.turns.mine()
            await send_text(send, message)
        viewer.since = last


async def stream_progress(here: Lookout, viewer: Viewer, send: Send) -> None:
    """Send the newest progress, at most every PROGRESS_S, until the run is over."""
    watch, sent = viewer.watch, ""
    while watch.active or sent != watch.progress:
        if sent == watch.progress:
            await here.news(watch)
            continue
        await here.turns.mine()
        sent = watch.progress
        await send_text(send, sent)
        if watch.active:
            await asyncio.sleep(PROGRESS_S)


async def shared_read(here: Lookout, viewer: Viewer) -> tuple[int, str]:
    """Return what `read` returns. Sockets that have sent the same events share one read."""
    key = (viewer.run_id, viewer.pod, viewer.since)
    if key not in here.reads:
        socket_metrics.readings += 1
        here.reads[key] = asyncio.ensure_future(in_thread(read, *key, viewer.watch.last_seq))
        if len(here.reads) > READS_MAX:
            del here.reads[next(iter(here.reads))]
    try:
        return await asyncio.shield(here.reads[key])
    except Exception:
        here.reads.pop(key, None)
        raise


def read(run_id: int, pod: str, since: int, until: int) -> tuple[int, str]:
    """Read the next events after `since`.

    Args:
        until: the seq that the log is known to have reached.

    Returns:
        The seq up to which everything is read, and a message with the events, "" if there are none for `pod`.
    """
    texts: list[bytes] = []
    size, reached = 0, since
    for last, text in read_blocks(run_id, since, pod, BLOCKS):
        texts.append(text)
        size, reached = size + len(text), last
        if size > MESSAGE_BYTES:
            break
    else:
        reached = reached if len(texts) == BLOCKS else max(reached, until)
    return reached, f'{{"events":{join(texts).decode()}}}' if texts else ""
