"""API tokens: shown once, stored as hashes, scoped, revocable, rate limited and audited."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from kubesched_ui.accounts import tokens
from kubesched_ui.accounts.models import Entry, Token
from tests.kubesched_ui.accounts.conftest import World, client_of

pytestmark = pytest.mark.django_db


def program(secret: str) -> Client:
    return Client(headers={"host": "localhost", "authorization": f"Bearer {secret}"})


def test_a_token_is_created_shown_once_and_revoked(world: World) -> None:
    client = client_of(world.ada)
    page = client.post("/account/tokens/", {"name": "laptop", "scope": "read", "days": "30"}).content.decode()
    secret = re.findall(r'value="(ks_[\w-]+)"', page)[0]
    stored = Token.objects.get()
    assert secret not in str(stored.__dict__)
    assert secret not in client.get("/account/").content.decode()
    address = f"/api/runs/{world.run.pk}"
    assert program(secret).get(address).status_code == 200
    stored.refresh_from_db()
    assert stored.used_at is not None
    program(secret).get(address)
    assert list(Entry.objects.filter(did__startswith="token").values_list("name", "what")) == [("ada", "laptop")]
    assert client_of(world.eve).post(f"/account/tokens/{stored.pk}/revoke/").status_code == 404
    client.post(f"/account/tokens/{stored.pk}/revoke/")
    assert program(secret).get(address).status_code == 401


def test_a_read_token_cannot_write(world: World) -> None:
    _, reads = tokens.make(world.ada, "reads")
    _, writes = tokens.make(world.ada, "writes", Token.Scope.WRITE)
    run = f"/api/runs/{world.run.pk}"
    for method, address in (("patch", run), ("delete", run), ("post", f"{run}/fork"), ("post", "/api/scenarios")):
        answer = getattr(program(reads), method)(address, "{}", content_type="application/json")
        assert (answer.status_code, "read-only" in answer.json()["error"]) == (403, True), address
    named = program(writes).patch(run, '{"name": "by program"}', content_type="application/json")
    assert named.json()["name"] == "by program"
    assert program(writes).delete(run).status_code == 204
    assert Entry.objects.filter(did="delete", what__contains=f"Run {world.run.pk}").exists()


def test_a_token_has_the_view_of_its_user_and_cannot_sign_in(world: World) -> None:
    _, secret = tokens.make(world.eve, "eve's", Token.Scope.WRITE)
    assert program(secret).get(f"/api/runs/{world.run.pk}").json() == {"error": f"There is no run {world.run.pk}."}
    assert program(secret).get("/api/runs").json() == []
    assert program(secret).get("/account/").status_code == 302  # tokens are for the API only


def test_expired_tokens_and_tokens_of_inactive_users_are_rejected(world: World) -> None:
    made, secret = tokens.make(world.ada, "old", until=timezone.now() + timedelta(hours=1))
    assert program(secret).get("/api/runs").status_code == 200
    Token.objects.filter(pk=made.pk).update(expires_at=timezone.now())
    assert program(secret).get("/api/runs").status_code == 401
    _, secret = tokens.make(world.ada, "shut out")
    world.ada.is_active = False
    world.ada.save()
    assert program(secret).get("/api/runs").status_code == 401
    basic = Client(headers={"host": "localhost", "authorization": "Basic YWRhOng="})
    assert basic.get("/api/runs").status_code == 401


def test_wrong_tokens_are_rate_limited(world: World) -> None:
    statuses = [program(f"ks_{i}").get("/api/runs").status_code for i in range(tokens.TRIES.most + 1)]
    assert statuses == [401] * tokens.TRIES.most + [429]
    _, secret = tokens.make(world.ada, "laptop")
    assert program(secret).get("/api/runs").status_code == 200  # other clients may share the address
