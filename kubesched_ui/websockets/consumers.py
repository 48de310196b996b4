"""The websockets of a run: its log, and its progress. docs/websocket.md describes both.

The worker writes events to the database and sends notices. This process queries the state of the watched runs
(run_hub.py) once for all their sockets. Each socket of a log then reads what it has not sent yet.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from urllib.parse import parse_qs

from django.conf import settings

from kubesched_ui.event_log.log import join, read_blocks
from kubesched_ui.outages import outage_of
from kubesched_ui.websockets import socket_metrics
from kubesched_ui.websockets.run_hub import Read, RunHub, RunSubscriber
from kubesched_ui.websockets.websocket_base import (
    BAD_REQUEST,
    FAILED,
    LATER,
    NOT_FOUND,
    OVER,
    Ending,
    Receive,
    Scope,
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

Stream = Callable[[RunHub, RunSubscriber, Send], Awaitable[None]]


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
    await close(send, Ending(NOT_FOUND, "Nothing exists at this address. Runs are at /ws/runs/{id}."))
    await gone(receive)


async def serve(stream: Stream, scope: Scope, send: Send) -> None:
    """Send what `stream` sends, then close the socket regardless of why the stream ended."""
    query = parse_qs(scope["query_string"].decode("utf-8", "replace"))
    since = query.get("since", ["0"])[0]
    if not (since.isascii() and since.isdigit() and len(since) < 19):
        await close(send, Ending(BAD_REQUEST, "since must be an integer: the seq of the last received event."))
        return
    if len(socket_metrics.sockets) >= settings.SOCKETS_MAX:
        socket_metrics.refused += 1
        await close(send, Ending(LATER, "The server has too many open websockets."))
        return
    hub, run_id = RunHub.of_this_loop(), int(scope["url_route"]["kwargs"]["run_id"])
    subscriber = RunSubscriber(
        scope=scope,
        run_id=run_id,
        since=int(since),
        pod=query.get("pod", [""])[0].replace("\0", ""),
        subscription=hub.subscribe(run_id),
        log=stream is stream_log,
        task=asyncio.current_task(),
    )
    socket_metrics.sockets.add(subscriber)
    try:
        await hub.join(subscriber)
        await stream(hub, subscriber, send)
        ending = Ending(OVER)
    except asyncio.CancelledError:
        if subscriber.ending is None:  # The client has disconnected.
            raise
        ending = subscriber.ending
    except Exception as error:
        socket_metrics.failures += 1
        problem = error or "no answer"
        logger.warning("The websocket of run %s failed: %s", run_id, problem, exc_info=not outage_of(error))
        ending = Ending(FAILED)
    finally:
        socket_metrics.sockets.discard(subscriber)
        hub.leave(subscriber.subscription, subscriber)
    await close(send, ending)


async def stream_log(hub: RunHub, subscriber: RunSubscriber, send: Send) -> None:
    """Send the events after `since`, until the run is over and all are sent."""
    subscription = subscriber.subscription
    while subscription.active or subscriber.since < subscription.last_seq:
        if subscriber.since >= subscription.last_seq:
            await hub.wait_for_change(subscription)
            continue
        if subscriber.pod and subscription.skip(subscriber):
            continue
        last, message = await shared_read(hub, subscriber, read, subscription.last_seq)
        if message:
            await hub.turns.mine()
            await send_text(send, message)
        subscriber.since = last


async def stream_progress(hub: RunHub, subscriber: RunSubscriber, send: Send) -> None:
    """Send the newest progress, at most every PROGRESS_S, until the run is over."""
    subscription, sent = subscriber.subscription, ""
    while subscription.active or sent != subscription.progress:
        if sent == subscription.progress:
            await hub.wait_for_change(subscription)
            continue
        await hub.turns.mine()
        sent = subscription.progress
        await send_text(send, sent)
        if subscription.active:
            await asyncio.sleep(PROGRESS_S)


async def shared_read(hub: RunHub, subscriber: RunSubscriber, reads: Read, until: int) -> tuple[int, str]:
    """Return what `reads` returns. Sockets that have sent the same share one read."""
    key = (reads, subscriber.run_id, subscriber.pod, subscriber.since)
    if key not in hub.reads:
        socket_metrics.readings += 1
        hub.reads[key] = asyncio.ensure_future(in_thread(*key, until))
        if len(hub.reads) > READS_MAX:
            del hub.reads[next(iter(hub.reads))]
    try:
        return await asyncio.shield(hub.reads[key])
    except Exception:
        hub.reads.pop(key, None)
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
