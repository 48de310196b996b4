"""Websocket of a live class: the current step or page, the student's own answer, and answer counts for the teacher.

Students connect to /ws/rooms/CODE?version=N and are identified by a cookie; the teacher connects to
/ws/rooms/teach/KEY?version=N. Text frames: {"room": ...}, {"mine": ...}, {"counts": ...}, {"over": "a sentence"}.
See docs/live-classes.md.
"""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import parse_qs

from django.conf import settings
from django.http import parse_cookie

from kubesched_ui.live_classes import membership, start
from kubesched_ui.live_classes.hub import Lookout, Viewer, encode
from kubesched_ui.live_classes.removal import REMOVED
from kubesched_ui.websockets import socket_metrics
from kubesched_ui.websockets.permissions import Scope
from kubesched_ui.websockets.websocket_base import (
    FAILED,
    LATER,
    NOT_FOUND,
    OVER,
    Ending,
    Receive,
    Send,
    attended,
    close,
    in_thread,
    send_text,
)

logger = logging.getLogger(__name__)

CROWDED = "Too many people are on this server now."
NO_ROOM = "There is no such class, or you have not joined it."


async def room_socket(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve the websocket. Raises as `attended`."""
    await attended(serve, scope, receive, send)


def who(scope: Scope) -> tuple[int, int | None] | None:
    """Return the primary keys of the live class and of the student (None for the teacher), or None if unauthorised."""
    named = scope["url_route"]["kwargs"]
    if "key" in named:
        room = start.by_key(named["key"])
        return (room.pk, None) if room else None
    cookies = "; ".join(value.decode("latin1") for name, value in scope["headers"] if name == b"cookie")
    student = membership.student_of(named["code"], parse_cookie(cookies))
    return (student.room_id, student.pk) if student else None


async def serve(scope: Scope, send: Send) -> None:
    """Serve one connection until it ends, then close it."""
    if len(socket_metrics.sockets) >= settings.SOCKETS_MAX:
        socket_metrics.refused += 1
        await close(send, Ending(LATER, CROWDED))
        return
    here = Lookout.here()
    version = parse_qs(scope["query_string"].decode("utf-8", "replace")).get("version", ["0"])[0]
    known = int(version) if version.isascii() and version.isdigit() and len(version) < 10 else 0
    viewer: Viewer | None = None
    socket_metrics.sockets.add(waiting := Waiting())
    try:
        found = await in_thread(who, scope)
        if found is None:
            await close(send, Ending(NOT_FOUND, NO_ROOM))
            return
        viewer = Viewer(here.watch(found[0]), found[1], known, task=asyncio.current_task())
        ending = await stream(here, viewer, send)
    except asyncio.CancelledError:
        if viewer is None or viewer.ending is None:  # the client disconnected
            raise
        ending = viewer.ending
    except Exception:
        logger.exception("The websocket of a live class failed")
        ending = Ending(FAILED)
    finally:
        socket_metrics.sockets.discard(waiting)
        if viewer is not None:
            here.leave(viewer.watch, viewer)
    await close(send, ending)


class Waiting:
    """Placeholder for a new connection in this process's socket count."""

    lag = 0


async def stream(here: Lookout, viewer: Viewer, send: Send) -> Ending:
    """Send updates until the live class ends or the student is removed."""
    await here.join(viewer)
    watch = viewer.watch
    while True:
        seen = watch.seen
        if seen is None or watch.gone:
            return Ending(NOT_FOUND, NO_ROOM)
        if seen.over or viewer.student in seen.removed:
            await send_text(send, encode({"over": seen.over or REMOVED}))
            return Ending(OVER)
        if viewer.version != seen.version or not viewer.told:
            await here.turns.mine()
            if viewer.version != seen.version and seen.shown is not None:
                await send_text(send, seen.shown)
            if viewer.student is not None:
                own = seen.mine.get(viewer.student, seen.none)
                if own is not None:
                    await send_text(send, own)
            viewer.version, viewer.told = seen.version, True
        if viewer.student is None and seen.counts is not None and viewer.counts is not seen.counts:
            await send_text(send, seen.counts)
            viewer.counts = seen.counts
        if watch.seen is seen and not watch.gone:
            await here.news(watch)
