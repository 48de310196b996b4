"""Subscriptions of this process's sockets to live clusters (websockets/hub.py). An open page keeps its cluster
followed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kubesched_ui.accounts.websocket_auth import may_watch
from kubesched_ui.clusters import queries
from kubesched_ui.clusters.models import Cluster
from kubesched_ui.websockets import hub
from kubesched_ui.websockets.websocket_base import NOT_FOUND, NOT_YOURS, Ending, Scope, in_thread

KIND = "cluster"  # of the objects in notices
LEASE_S = queries.WATCH_S / 6  # between two extensions of the lease of a cluster


@dataclass(eq=False)
class ClusterSubscriber(hub.Subscriber):
    """A socket of a page. `sent`: the last message. `lag`: always 0, because only the newest message is sent."""

    scope: Scope
    subscription: ClusterSubscription
    admitted: bool = False
    sent: str = ""
    lag: int = 0


@dataclass(eq=False)
class ClusterSubscription(hub.Subscription):
    """A cluster with open pages. `message`: about its current version, "" before the first query."""

    message: str = ""
    extended_at: float = 0.0


class ClusterQuery(NamedTuple):
    """A query of a cluster. `extend`: whether to extend its lease. `scopes`: sockets to authorize."""

    cluster_id: int
    extend: bool
    scopes: list[Scope]


def query_clusters(wanted: Iterable[ClusterQuery]) -> dict[int, tuple[str, list[bool]]]:
    """Return the message about each cluster, and for each of the query's scopes whether it may see the cluster."""
    by_id = {query.cluster_id: query for query in wanted}
    found = {}
    for cluster in Cluster.everything.filter(pk__in=by_id).only("version", "state"):
        query = by_id[cluster.pk]
        if query.extend:
            queries.keep_watching(cluster)
        message = json.dumps({KIND: {"version": cluster.version, "state": cluster.state}}, separators=(",", ":"))
        found[cluster.pk] = (message, may_watch(cluster.pk, query.scopes, Cluster))
    return found


class ClusterHub(hub.Hub[ClusterSubscription]):
    """All subscriptions of an event loop to live clusters."""

    kind = KIND
    spacing_s = 0.5
    new_subscription = ClusterSubscription

    async def join(self, subscriber: ClusterSubscriber) -> None:
        """Return once the cluster is known to exist and this socket may see it; else end the socket."""
        subscriber.subscription.subscribers.add(subscriber)
        if not subscriber.subscription.message:
            await self.wait_for_change(subscriber.subscription)
        number = subscriber.subscription.number
        if not (await in_thread(may_watch, number, [subscriber.scope], Cluster))[0]:
            subscriber.end(no_such_cluster(number))
            await asyncio.sleep(0)
        subscriber.admitted = True
        subscriber.subscription.extended_at = self.loop.time()
        await in_thread(queries.keep_watching, Cluster(pk=number))

    async def refresh(self, subscriptions: Sequence[ClusterSubscription], everyone: bool) -> None:
        now, wanted, sockets = self.loop.time(), [], {}
        for one in subscriptions:
            admitted = [socket for socket in one.subscribers if socket.admitted]
            extend = bool(admitted) and now - one.extended_at >= LEASE_S
            one.extended_at = now if extend else one.extended_at
            sockets[one.number] = admitted if everyone else []
            wanted.append(ClusterQuery(one.number, extend, [socket.scope for socket in sockets[one.number]]))
        found = await in_thread(query_clusters, wanted) if wanted else {}
        for subscription in subscriptions:
            if (answer := found.get(subscription.number)) is None:
                hub.end(subscription.subscribers, no_such_cluster(subscription.number))
                continue
            before, (subscription.message, allowed) = subscription.message, answer
            refused = [socket for socket, yes in zip(sockets[subscription.number], allowed, strict=True) if not yes]
            hub.end(refused, Ending(NOT_YOURS, f"Cluster {subscription.number} is no longer shared with you."))
            if subscription.message != before:
                self.notify(subscription)


def no_such_cluster(cluster_id: int) -> Ending:
    """Return the ending for a cluster that does not exist or that the client may not view, without revealing which."""
    return Ending(NOT_FOUND, f"There is no live cluster {cluster_id}.")
