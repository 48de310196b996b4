"""The websocket of a live cluster: {"cluster": {"version": N, "state": ...}} whenever a page has something new to show.

The follower stores rows and sends notices; the page fetches itself again (static/js/cluster.js). An open page keeps
its cluster followed.
"""

import asyncio
import json
from collections.abc import AsyncGenerator

from kubesched_ui.clusters import queries
from kubesched_ui.clusters.models import Cluster
from kubesched_ui.websockets.connection import Subscription
from kubesched_ui.websockets.hub import Hub, Scope, Topic, in_thread

LEASE_S = queries.WATCH_S / 6  # between two extensions of the lease of a cluster
SPACING_S = 1.0  # minimum time between two messages of a socket


class ClusterTopic(Topic[str]):
    """A cluster with open pages. `state`: the message about its current version."""

    kind, spacing_s, model, missing = "cluster", 0.5, Cluster, "There is no live cluster {}."

    def __init__(self, number: int, hub: Hub) -> None:
        super().__init__(number, hub)
        self.extended_at = 0.0

    def question(self) -> bool:
        """Return whether to extend the lease."""
        now, admitted = self.hub.loop.time(), any(one.admitted for one in self.connections)
        extend = admitted and now - self.extended_at >= LEASE_S
        self.extended_at = now if extend else self.extended_at
        return extend

    @staticmethod
    def read(questions: dict[int, bool]) -> dict[int, str]:
        found = {}
        for cluster in Cluster.everything.filter(pk__in=questions).only("version", "state"):
            if questions[cluster.pk]:
                queries.keep_watching(cluster)
            message = {"cluster": {"version": cluster.version, "state": cluster.state}}
            found[cluster.pk] = json.dumps(message, separators=(",", ":"))
        return found


class ClusterSubscription(Subscription):
    """/ws/clusters/{id}: the newest message whenever it changes, at most one in SPACING_S. It does not end."""

    topics = ClusterTopic
    topic: ClusterTopic

    async def open(self, scope: Scope) -> int:
        return int(scope["url_route"]["kwargs"]["number"])

    async def messages(self) -> AsyncGenerator[str]:
        self.topic.extended_at, sent = self.topic.hub.loop.time(), ""
        await in_thread(queries.keep_watching, Cluster(pk=self.topic.number))
        while True:
            if sent == (message := self.topic.state or ""):
                await self.topic.change()
                continue
            sent = message
            yield sent
            await asyncio.sleep(SPACING_S)
