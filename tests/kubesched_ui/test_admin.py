"""Rate limits of the admin site's sign-in."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from kubesched_ui import admin

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def empty_rate_limits(settings: Any) -> Iterator[None]:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast
    User.objects.create_superuser("root", password="right")
    cache.clear()
    yield
    cache.clear()


def tries(client: Client, name: str, password: str, address: str = "10.0.0.1") -> str:
    answer = client.post("/admin/login/?next=/admin/", {"username": name, "password": password}, REMOTE_ADDR=address)
    if answer.status_code == 302:
        return "in"
    return "wait" if b"Too many attempts" in answer.content else "wrong"


def test_after_a_few_wrong_passwords_the_right_one_is_rejected(client: Client) -> None:
    statuses = [tries(client, "root", f"wrong {n}", f"10.0.0.{n}") for n in range(7)]
    assert statuses == ["wrong"] * 5 + ["wait"] * 2
    assert tries(client, "ROOT", "right", "10.0.0.99") == "wait"
    cache.clear()  # a minute later
    assert tries(client, "root", "right") == "in"


def test_an_address_cannot_try_many_names(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "ADDRESS_TRIES", 6)
    assert [tries(client, f"name{n}", "x") for n in range(8)] == ["wrong"] * 6 + ["wait"] * 2
    assert tries(client, "root", "right", "10.0.0.2") == "in"


def test_a_few_mistakes_have_no_effect(client: Client) -> None:
    assert [tries(client, "root", "x") for _ in range(4)] == ["wrong"] * 4
    assert tries(client, "root", "right") == "in"
