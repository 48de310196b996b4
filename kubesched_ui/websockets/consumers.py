"""The websocket of a run: everything recorded since `since`, then what comes, until the run is over.

Write, notify, pull: the worker writes events to the database and sends notices; this process looks at the runs that its
sockets watch (watching.py), reads what is new once (feed.py), and each socket takes it at its own pace. See
docs/websocket.md.
"""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import parse_qs

from django.conf import settings

from kubesched_ui.websockets import socket_metrics
from kubesched_ui.websockets.message_cache import Message, Unreadable
from kubesched_ui.websockets.permissions import Scope
from kubesched_ui.websockets.run_hub import Lookout, Viewer
from kubesched_ui.websockets.websocket_base import (
    BAD_REQUEST,
    FAILED,
    FRAMES,
    LATER,
    NOT_FOUND,
    OVER,
    Ending,
    Receive,
    Send,
    attended,
    close,
    gone,
)

logger = logging.getLogger(__name__)


async def run_socket(scope: Scope, receive: Receive, send: Send) -> None:
    """/ws/runs/{id}?since=N[&pod=ns/name]; text frames {"events": [...]}. Raises as `attended`."""
    await attended(serve, scope, receive, send)


async def nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    """Any other websocket address."""
    await receive()
    await send({"type": "websocket.accept"})
    await close(send, Ending(NOT_FOUND, "There is nothing at this address; runs are at /ws/runs/{id}."))
    await gone(receive)


async def serve(scope: Scope, send: Send) -> None:
    """Sends what there is to send. Whatever ends it ends the socket."""
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
    window = scope.get("extensions", {}).get(FRAMES)
    viewer = Viewer(
        scope=scope,
        run_id=run_id,
        since=int(since),
        pod=query.get("pod", [""])[0].replace("\0", ""),
        form=window() if window else None,
        watch=here.watch(run_id),
        task=asyncio.current_task(),
    )
    socket_metrics.sockets.add(viewer)
    sending = Sending(send)
    try:
        await stream(here, viewer, sending)
        ending = Ending(OVER)
    except asyncio.CancelledError:
        if viewer.ending is None:  # the socket is gone
            raise
        ending = viewer.ending
    except Unreadable:
        ending = Ending(FAILED)
    except Exception:
        logger.exception("The websocket of run %s failed", run_id)
        ending = Ending(FAILED)
    finally:
        socket_metrics.sockets.discard(viewer)
        here.leave(viewer.watch, viewer)
    await close(send, ending._replace(says="") if sending.midway else ending)


async def stream(here: Lookout, viewer: Viewer, sending: Sending) -> None:
    """Until the run is over and all of it is sent."""
    await here.join(viewer)
    watch = viewer.watch
    while watch.active or viewer.since < watch.last_seq:
        if viewer.since >= watch.last_seq:
            await here.news(watch)
        elif not (viewer.pod and watch.passed_over(viewer)):
            place = (viewer.run_id, viewer.pod, viewer.since)
            message = await here.feed.after(place, viewer.form, watch.last_seq, watch.forms)
            if message.frames:
                await here.turns.mine()
                await sending.message(message, viewer.form is None)
            viewer.since = message.last


class Sending:
    """Sends messages; `midway` while one is under way, for then no other may begin."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.midway = False

    async def message(self, message: Message, as_text: bool) -> None:
        """Returns when the connection has room for more."""
        self.midway = True
        if as_text:
            await self.send({"type": "websocket.send", "text": message.frames[0].decode()})
        else:
            await self.send({"type": "websocket.send", "frames": message.frames})
        self.midway = False
        socket_metrics.messages += 1
        socket_metrics.octets += message.size
