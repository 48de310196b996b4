"""The websocket of a live cluster: who may connect, what it sends, and that an open page keeps the cluster followed."""

import json
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from kubesched_ui.asgi import application
from kubesched_ui.clusters import consumers
from kubesched_ui.clusters.models import Cluster
from kubesched_ui.websockets.hub import NOT_FOUND, NOT_YOURS
from tests.kubesched_ui.live_clusters.factory import live_cluster

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster() -> Cluster:
    return live_cluster(nodes=1, pending=0, decided=0, watched_until=timezone.now() - timedelta(hours=1))


def opened(number: int, client: Client | None = None) -> WebsocketCommunicator:
    headers = [(b"host", b"localhost")]
    if client:
        headers.append((b"cookie", f"sessionid={client.cookies['sessionid'].value}".encode()))
    return WebsocketCommunicator(application, f"/ws/clusters/{number}", headers=headers)


async def frames(socket: WebsocketCommunicator, number: int) -> list[Any]:
    """Return the first frames; the last one is a code if the server closes the socket."""
    assert (await socket.connect(timeout=5))[0]
    found: list[Any] = []
    while len(found) < number:
        output = await socket.receive_output(timeout=10)
        found.append(json.loads(output["text"]) if output["type"] == "websocket.send" else output["code"])
    await socket.disconnect()
    return found


def test_a_message_for_each_version(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "SPACING_S", 0.01)

    async def listening() -> list[Any]:
        socket = opened(cluster.pk)
        await socket.connect(timeout=5)
        found = [json.loads(await socket.receive_from(timeout=5))]
        await sync_to_async(Cluster.everything.filter(pk=cluster.pk).update)(version=7)
        found.append(json.loads(await socket.receive_from(timeout=5)))
        await socket.disconnect()
        return found

    first, second = async_to_sync(listening)()
    assert first == {"cluster": {"version": 1, "state": "following"}}
    assert second["cluster"]["version"] == 7


def test_an_open_page_keeps_the_cluster_followed(cluster: Cluster) -> None:
    assert not Cluster.everything.wanted().exists()
    async_to_sync(frames)(opened(cluster.pk), 1)
    assert Cluster.everything.wanted().exists()


def test_an_unknown_cluster(cluster: Cluster) -> None:
    error, code = async_to_sync(frames)(opened(cluster.pk + 1), 2)
    assert (error["error"], code) == (f"There is no live cluster {cluster.pk + 1}.", NOT_FOUND)


def test_only_viewers_of_the_cluster_may_connect(cluster: Cluster, settings: Any) -> None:
    settings.ACCOUNTS = True
    ada, eve = User.objects.create_user("ada"), User.objects.create_user("eve")
    cluster.users.add(ada)
    clients = []
    for user in (ada, eve):
        client = Client(headers={"host": "localhost"})
        client.force_login(user, "django.contrib.auth.backends.ModelBackend")
        clients.append(client)
    assert "cluster" in async_to_sync(frames)(opened(cluster.pk, clients[0]), 1)[0]
    for client in (clients[1], None):
        Cluster.everything.filter(pk=cluster.pk).update(watched_until=None)
        assert async_to_sync(frames)(opened(cluster.pk, client), 2)[1] == NOT_FOUND
        assert not Cluster.everything.wanted().exists(), "only a viewer's page has a cluster followed"

    async def revoked() -> Any:
        socket = opened(cluster.pk, clients[0])
        await socket.connect(timeout=5)
        await socket.receive_from(timeout=5)
        await sync_to_async(cluster.users.clear)()
        outputs = [await socket.receive_output(timeout=10) for _ in range(2)]
        await socket.disconnect()
        return outputs[1]["code"]

    assert async_to_sync(revoked)() == NOT_YOURS
