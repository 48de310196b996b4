"""Websocket of a live class: the current step or page, the student's own answer, and answer counts for the teacher.

Students connect to /ws/rooms/CODE?version=N and are identified by a cookie; the teacher connects to
/ws/rooms/teach/KEY?version=N, the wall page to /ws/rooms/wall/CODE?version=N. Text frames: {"room": ...},
{"mine": ...}, {"counts": ...}, {"wall": ...}, {"over": "a sentence"}.
See docs/live-classes.md.
"""

import asyncio
import logging
from urllib.parse import parse_qs

from django.conf import settings
from django.http import parse_cookie

from kubesched_ui.live_classes import membership, teacher_actions
from kubesched_ui.live_classes.hub import LiveClassHub, LiveClassSubscriber, encode
from kubesched_ui.runtime.client_address import address_of_scope
from kubesched_ui.websockets import socket_metrics
from kubesched_ui.websockets.websocket_base import (
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
    in_thread,
    send_text,
)

logger = logging.getLogger(__name__)

TOO_MANY = "The server has too many connections. Try again later."
NO_CLASS = "There is no such class, or you have not joined it."


async def live_class_socket(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve the websocket. Raises as `attended`."""
    await attended(serve, scope, receive, send)


def authenticate(scope: Scope) -> tuple[int, int | None] | None:
    """Return the primary keys of the live class and of the student (None for the teacher and the wall page), or None if
    unauthorised."""
    named = scope["url_route"]["kwargs"]
    if "wall" in named:
        found = membership.open_class(named["wall"], address_of_scope(scope))
        return (found.pk, None) if found else None
    if "key" in named:
        live_class = teacher_actions.by_key(named["key"])
        return (live_class.pk, None) if live_class else None
    cookies = "; ".join(value.decode("latin1") for name, value in scope["headers"] if name == b"cookie")
    student = membership.student_of(named["code"], parse_cookie(cookies))
    return (student.live_class_id, student.pk) if student else None


async def serve(scope: Scope, send: Send) -> None:
    """Serve one connection until it ends, then close it."""
    if len(socket_metrics.sockets) >= settings.SOCKETS_MAX:
        socket_metrics.refused += 1
        await close(send, Ending(LATER, TOO_MANY))
        return
    hub = LiveClassHub.of_this_loop()
    version = parse_qs(scope["query_string"].decode("utf-8", "replace")).get("version", ["0"])[0]
    known = int(version) if version.isascii() and version.isdigit() and len(version) < 10 else 0
    subscriber: LiveClassSubscriber | None = None
    socket_metrics.sockets.add(waiting := Waiting())
    try:
        found = await in_thread(authenticate, scope)
        if found is None:
            await close(send, Ending(NOT_FOUND, NO_CLASS))
            return
        subscriber = LiveClassSubscriber(hub.subscribe(found[0]), found[1], known, task=asyncio.current_task())
        subscriber.wall = "wall" in scope["url_route"]["kwargs"]
        ending = await stream(hub, subscriber, send)
    except asyncio.CancelledError:
        if subscriber is None or subscriber.ending is None:  # the client disconnected
            raise
        ending = subscriber.ending
    except Exception:
        logger.exception("The websocket of a live class failed")
        ending = Ending(FAILED)
    finally:
        socket_metrics.sockets.discard(waiting)
        if subscriber is not None:
            hub.leave(subscriber.subscription, subscriber)
    await close(send, ending)


class Waiting:
    """Placeholder for a new connection in this process's socket count."""

    lag = 0


async def stream(hub: LiveClassHub, subscriber: LiveClassSubscriber, send: Send) -> Ending:
    """Send updates until the live class ends or the student is removed."""
    await hub.join(subscriber)
    subscription = subscriber.subscription
    while True:
        snapshot = subscription.snapshot
        if snapshot is None or subscription.gone:
            return Ending(NOT_FOUND, NO_CLASS)
        if snapshot.over or subscriber.student in snapshot.removed:
            await send_text(send, encode({"over": snapshot.over or membership.REMOVED}))
            return Ending(OVER)
        if subscriber.version != snapshot.version or not subscriber.own_sent:
            await hub.turns.mine()
            if subscriber.version != snapshot.version and snapshot.shown is not None:
                await send_text(send, snapshot.shown)
            if subscriber.student is not None:
                own = snapshot.mine.get(subscriber.student, snapshot.none)
                if own is not None:
                    await send_text(send, own)
            subscriber.version, subscriber.own_sent = snapshot.version, True
        counts = subscriber.counts_in(snapshot)
        if counts is not None and subscriber.counts is not counts:
            await send_text(send, counts)
            subscriber.counts = counts
        if subscription.snapshot is snapshot and not subscription.gone:
            await hub.wait_for_change(subscription)
