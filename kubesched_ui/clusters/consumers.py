"""The websocket of a live cluster: {"cluster": {"version": N, "state": ...}} whenever a page has something new to show.

The follower stores rows and sends notices; the page fetches itself again (static/js/cluster.js).
"""

import asyncio
import logging

from django.conf import settings

from kubesched_ui.clusters.hub import ClusterHub, ClusterSubscriber
from kubesched_ui.outages import outage_of
from kubesched_ui.websockets import socket_metrics
from kubesched_ui.websockets.websocket_base import (
    FAILED,
    LATER,
    Ending,
    Receive,
    Scope,
    Send,
    attended,
    close,
    send_text,
)

logger = logging.getLogger(__name__)

SPACING_S = 1.0  # minimum time between two messages of a socket


async def cluster_socket(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve /ws/clusters/{id}. Raises as `attended`."""
    await attended(serve, scope, receive, send)


async def serve(scope: Scope, send: Send) -> None:
    """Serve one connection until it ends, then close it."""
    if len(socket_metrics.sockets) >= settings.SOCKETS_MAX:
        socket_metrics.refused += 1
        await close(send, Ending(LATER, "The server has too many open websockets."))
        return
    hub, cluster_id = ClusterHub.of_this_loop(), int(scope["url_route"]["kwargs"]["cluster_id"])
    subscriber = ClusterSubscriber(scope, hub.subscribe(cluster_id), task=asyncio.current_task())
    socket_metrics.sockets.add(subscriber)
    try:
        await hub.join(subscriber)
        await stream(hub, subscriber, send)
    except asyncio.CancelledError:
        if subscriber.ending is None:  # The client has disconnected.
            raise
        ending = subscriber.ending
    except Exception as error:
        socket_metrics.failures += 1
        problem = error or "no answer"
        logger.warning("The websocket of cluster %s failed: %s", cluster_id, problem, exc_info=not outage_of(error))
        ending = Ending(FAILED)
    finally:
        socket_metrics.sockets.discard(subscriber)
        hub.leave(subscriber.subscription, subscriber)
    await close(send, ending)


async def stream(hub: ClusterHub, subscriber: ClusterSubscriber, send: Send) -> None:
    """Send the newest message whenever it changes, at most every SPACING_S. Does not return."""
    while True:
        if subscriber.sent == subscriber.subscription.message:
            await hub.wait_for_change(subscriber.subscription)
            continue
        await hub.turns.mine()
        subscriber.sent = subscriber.subscription.message
        await send_text(send, subscriber.sent)
        await asyncio.sleep(SPACING_S)
