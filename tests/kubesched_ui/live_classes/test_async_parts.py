"""Parts that take longer: made beside the web process, for who is in the class, told when they are there."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.core import signing
from django.db import connection
from django.urls import reverse

from kubesched_ui.live_classes import async_parts
from kubesched_ui.live_classes.async_parts import Job
from kubesched_ui.live_classes.models import LiveClass
from kubesched_ui.models import Run
from kubesched_ui.offload import client, request_worker
from kubesched_ui.offload.pool import OffloadError
from kubesched_ui.offload.pools import stop_pools
from tests.kubesched_ui import misbehaving
from tests.kubesched_ui.live_classes.conftest import Class, opened_on_run
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def room(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Class]:
    """At a pending pod; processes beside this one read the test's database."""
    if connection.vendor == "sqlite":
        monkeypatch.setenv("DATABASE_URL", f"sqlite:///{connection.settings_dict['NAME']}")
    run = ran(scenario(node("n1"), pod("a"), pod("big", cpu="64")))
    settings.OFFLOAD, settings.OFFLOAD_PROCESSES = True, 1
    stop_pools()
    yield opened_on_run(run, f"/runs/{run.pk}/pods/default/big/")
    stop_pools()


def until_there(room: Class, what: str, words: str) -> str:
    """The part once it has these words."""
    ada = room.join("Ada")
    end = time.monotonic() + 60
    while words not in (html := room.part(ada)["parts"][what]):
        assert time.monotonic() < end, html
        time.sleep(0.02)
    return str(html)


def test_remedies_come_when_they_are_made(room: Class) -> None:
    before = room.room.version
    ada = room.join("Ada")
    assert "Simulating fixes" in room.part(ada)["parts"]["why"]
    html = until_there(room, "why", "places the pod")
    assert "Try it" not in html
    assert "<form" not in html
    assert room.room.version == before + 1, "told once"
    page = room.page(room.join("Late"))
    assert "places the pod" in page
    assert "Trying" not in page


def test_a_large_cluster_comes_when_it_is_drawn(room: Class, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(async_parts, "LARGE", 1)
    ada = room.join("Ada")
    assert "Drawing the cluster" in room.part(ada)["parts"]["map"]
    assert 'class="vessel out"' in until_there(room, "map", "t-room-map")


def test_what_takes_too_long_says_so(room: Class, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_worker, "respond", misbehaving.hang)
    settings.OFFLOAD_MAX_SECONDS = 0.2
    assert 'id="t-why"' in until_there(room, "why", "took longer")


def test_a_room_that_has_gone_on_is_told_nothing(room: Class, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(client, "fetch", lambda *args: asked.append(args) or "")
    now = room.room
    async_parts.fetch(Job(now.pk, now.address + "?cycle=1", "why", "/runs/1/"))
    room.move(close=1)
    async_parts.fetch(Job(now.pk, now.address, "why", "/runs/1/"))
    assert asked == []
    assert room.room.version == now.version + 1, "of closing it"


def test_the_address_is_for_our_own_processes_alone(room: Class, settings: Any) -> None:
    now = room.room
    job = Job(now.pk, now.address, "why", f"{now.address}why/?attempt=1")
    address = reverse("room-made", args=[async_parts.token_of(job)])
    ada = room.join("Ada")
    assert ada.get(address).status_code == 404, "not even with what is signed"
    settings.OFFLOAD = False
    assert "places the pod" in ada.get(address).content.decode()
    for wrong in (
        "x",
        signing.dumps(list(job)),
        signing.dumps([1], salt=async_parts.SALT),
        async_parts.token_of(job._replace(address="/runs/1/")),
        async_parts.token_of(job)[:-1],
    ):
        assert ada.get(reverse("room-made", args=[wrong])).status_code == 404
    assert ada.post(address).status_code == 405
    room.move(close=1)
    assert ada.get(address).status_code == 404


def test_many_that_ask_are_one_question(room: Class, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def slow(path: str, run: str) -> str:
        asked.append(path)
        time.sleep(0.3)
        raise OffloadError("Too many ask at once.")

    monkeypatch.setattr(client, "fetch", slow)
    ada = room.join("Ada")
    for _ in range(20):
        room.part(ada)
    assert "Too many ask" in until_there(room, "why", "Too many")
    assert len(asked) == 1


def test_a_run_that_goes_on_keeps_no_part_for_long(room: Class) -> None:
    Run.objects.update(state="running")
    found = LiveClass.objects.select_related("run").get()
    assert async_parts.key_of(found, "why", "x") != async_parts.key_of(found, "map", "x")
