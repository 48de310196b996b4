"""Access to request bodies: the sender is known from the headers, and a rejected body takes neither disk nor worker."""

from typing import Any

import pytest
from django.test import Client

from kubesched_ui.accounts import tokens
from kubesched_ui.accounts.body_access import Sender, sender_of
from kubesched_ui.accounts.models import Token
from kubesched_ui.offload import client as offload_client
from kubesched_ui.offload.pool import PoolBusy
from tests.kubesched_ui.accounts.conftest import World, client_of

pytestmark = pytest.mark.django_db

HOST = (b"host", b"localhost")


def sender(path: str, client: Client | None = None, token: str = "", forwarded: str = "") -> Sender:
    headers = [HOST, (b"x-forwarded-for", forwarded.encode())]
    if client:
        headers.append((b"cookie", f"sessionid={client.cookies['sessionid'].value}".encode()))
    if token:
        headers.append((b"authorization", f"Bearer {token}".encode()))
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    return sender_of(scope | {"client": ["192.0.2.1", 1]})


def test_the_sender_is_known_before_the_body_arrives(world: World) -> None:
    _, secret = tokens.make(world.ada, "laptop", Token.Scope.WRITE)
    ada = Sender(f"user {world.ada.pk}")
    assert sender("/upload/", client_of(world.ada)) == sender("/api/scenarios", token=secret) == ada
    fork = f"/api/runs/{world.run.pk}/fork"
    assert sender(fork, token=secret) == ada


def test_a_rejection_is_known_before_the_body_arrives(world: World) -> None:
    _, reads = tokens.make(world.ada, "reads")
    fork = f"/api/runs/{world.run.pk}/fork"
    for refused in (
        sender("/upload/"),
        sender("/api/scenarios"),
        sender("/api/scenarios", token="ks_wrong"),
        sender("/api/scenarios", token=reads),
        sender(fork, client_of(world.eve)),
        sender(fork, world.holder(world.run)),
        sender("/nothing/here"),
    ):
        assert not refused.accepted, refused


def test_anonymous_clients_send_short_bodies_only(world: World) -> None:
    assert sender("/account/login/") == Sender("192.0.2.1", anonymous_url=True)
    assert sender("/join/", client_of(world.eve)).anonymous_url


def test_without_accounts_the_sender_is_a_client_address(settings: Any) -> None:
    settings.ACCOUNTS, settings.PROXIES = False, 1
    assert sender("/upload/", forwarded="9.9.9.9, 192.0.2.7") == Sender("192.0.2.7")


def test_a_rejected_request_takes_no_worker(world: World, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.OFFLOAD = True
    requests: list[Any] = []

    def busy(request: Any, *more: Any) -> Any:
        requests.append(request.user)
        raise PoolBusy

    for name in ("respond", "stream"):
        monkeypatch.setattr(offload_client, name, busy)
    run, other = world.run.pk, world.other.pk
    paths = (f"/api/runs/{run}/export", f"/api/runs/{run}/find?where=true", f"/compare/{run}/{other}/")
    for client, statuses in ((client_of(), {302, 401}), (client_of(world.eve), {404})):
        assert {client.get(path).status_code for path in paths} <= statuses
    assert not requests
    assert {client_of(world.ada).get(path).status_code for path in paths} == {503}
    assert requests == [world.ada] * 3
