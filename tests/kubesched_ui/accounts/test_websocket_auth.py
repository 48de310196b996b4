"""Websocket access: who may connect, and disconnection soon after a share is revoked."""

import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from channels.testing import WebsocketCommunicator
from django.test import Client

from kubesched_ui import asgi
from kubesched_ui.accounts import tokens, websocket_auth
from kubesched_ui.accounts.models import Share
from kubesched_ui.asgi import application
from kubesched_ui.models import Run
from kubesched_ui.websockets.hub import NOT_YOURS
from tests.kubesched_ui.accounts.conftest import World, client_of

pytestmark = pytest.mark.django_db(transaction=True)


def opened(run: Run, client: Client | None = None, token: str = "") -> WebsocketCommunicator:
    headers = [(b"host", b"localhost")]
    if client and "sessionid" in client.cookies:
        headers.append((b"cookie", f"sessionid={client.cookies['sessionid'].value}".encode()))
    if token:
        headers.append((b"authorization", f"Bearer {token}".encode()))
    return WebsocketCommunicator(application, f"/ws/runs/{run.pk}?since=0", headers=headers)


async def first_of(socket: WebsocketCommunicator) -> Any:
    connected, _ = await socket.connect(timeout=5)
    assert connected
    frame = json.loads(await socket.receive_from(timeout=5))
    await socket.disconnect()
    return frame


def test_only_viewers_of_the_run_may_connect(world: World) -> None:
    _, secret = tokens.make(world.ada, "laptop")
    sees = [opened(world.run, client_of(world.ada)), opened(world.run, world.holder(world.run))]
    sees += [opened(world.run, token=secret), opened(world.other, world.holder(world.scenario))]
    for socket in sees:
        assert async_to_sync(first_of)(socket)["events"]
    not_seen = [opened(world.run), opened(world.run, client_of(world.eve)), opened(world.run, token="ks_wrong")]
    not_seen += [opened(world.other, world.holder(world.run)), opened(world.run, client_of(world.bob))]
    gone = async_to_sync(first_of)(opened(Run(pk=9002), client_of(world.eve)))
    for socket, run in zip(not_seen, [*[world.run] * 3, world.other, world.run], strict=True):
        assert async_to_sync(first_of)(socket)["error"] == gone["error"].replace("9002", str(run.pk))


def test_a_socket_is_closed_when_its_share_is_revoked(world: World) -> None:
    Run.objects.filter(pk=world.run.pk).update(state="running")  # more events follow
    holder = world.holder(world.run)

    async def listening() -> list[Any]:
        socket = opened(world.run, holder)
        await socket.connect(timeout=5)
        frames = [await socket.receive_output(timeout=5)]
        await sync_to_async(Share.objects.all().delete)()
        while frames[-1]["type"] != "websocket.close":
            frames.append(await socket.receive_output(timeout=10))
        return frames

    assert async_to_sync(listening)()[-1]["code"] == NOT_YOURS


def scope_of(client: Client | None = None, token: str = "") -> dict[str, Any]:
    cookies = {"sessionid": client.cookies["sessionid"].value} if client else {}
    return {"headers": [(b"authorization", f"Bearer {token}".encode())] if token else [], "cookies": cookies}


def test_an_excluded_user_may_not_watch_any_more(world: World, settings: Any) -> None:
    made, secret = tokens.make(world.ada, "laptop")
    ada, again, holder = client_of(world.ada), client_of(world.ada), world.holder(world.run)
    scopes = [scope_of(ada), scope_of(again), scope_of(holder), scope_of(token=secret), scope_of()]
    assert websocket_auth.may_watch(world.run.pk, scopes) == [True, True, True, True, False]
    ada.logout()
    assert websocket_auth.may_watch(world.run.pk, scopes) == [False, True, True, True, False]
    world.ada.set_password("another")
    world.ada.save()
    made.delete()
    assert websocket_auth.may_watch(world.run.pk, scopes) == [False, False, True, False, False]
    Share.objects.all().delete()
    assert not any(websocket_auth.may_watch(world.run.pk, scopes))
    settings.ACCOUNTS = False
    assert all(websocket_auth.may_watch(world.run.pk, scopes))


def test_wrong_tokens_are_rate_limited_per_client_behind_a_proxy(world: World, settings: Any) -> None:
    settings.PROXIES = 1
    _, secret = tokens.make(world.ada, "laptop")

    def refused(token: str, forwarded: str) -> bool:
        headers = [(b"authorization", f"Bearer {token}".encode()), (b"x-forwarded-for", forwarded.encode())]
        return not websocket_auth.may_watch(world.run.pk, [{"headers": headers, "client": ["10.0.0.1", 1]}])[0]

    assert all(refused("ks_wrong", f"9.9.9.{n}, 192.0.2.1") for n in range(tokens.TRIES.most + 1))
    assert [tokens.TRIES.reached(address) for address in ("192.0.2.1", "10.0.0.1", "9.9.9.1")] == [True, False, False]
    assert not refused(secret, "192.0.2.1")


def test_permissions_of_many_sockets_are_checked_in_one_query(world: World, django_assert_max_num_queries: Any) -> None:
    scopes = [scope_of(world.holder(world.run))] * 100 + [scope_of(client_of(world.ada)) for _ in range(20)]
    with django_assert_max_num_queries(5):
        assert all(websocket_auth.may_watch(world.run.pk, scopes))


def test_every_websocket_checks_access(world: World) -> None:
    """A new websocket needs a test of its access. Live classes have theirs in live_classes/test_sockets.py,
    live clusters in live_clusters/test_socket.py."""
    live_classes = [r"^ws/(?:classes|rooms)/(?P<code>[A-Z0-9]{8})$", r"^ws/(?:classes|rooms)/teach/(?P<key>[\w-]{43})$"]
    live_classes.append(r"^ws/(?:classes|rooms)/wall/(?P<wall>[A-Z0-9]{8})$")
    runs = [rf"^ws/runs/(?P<number>\d{{1,18}}){path}$" for path in ("", "/progress", "/decisions")]
    live_clusters = [r"^ws/clusters/(?P<number>\d{1,18})$"]
    assert list(asgi.sockets) == [*runs, *live_clusters, *live_classes, ""]
