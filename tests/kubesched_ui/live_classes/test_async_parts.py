"""Slow parts of a class page: computed in the offload pool, announced when they are ready."""

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
from tests.kubesched_ui.live_classes.conftest import ClassClient, opened_on_run
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True, scope="module")
def fresh_pools() -> Iterator[None]:
    """Tests share a worker, which takes a second to start."""
    stop_pools()
    yield
    stop_pools()


@pytest.fixture
def live_class(settings: Any, monkeypatch: pytest.MonkeyPatch) -> ClassClient:
    """Open a class at a pending pod. The pool reads the database of the test."""
    if connection.vendor == "sqlite":
        monkeypatch.setenv("DATABASE_URL", f"sqlite:///{connection.settings_dict['NAME']}")
    run = ran(scenario(node("n1"), pod("a"), pod("big", cpu="64")))
    settings.OFFLOAD, settings.OFFLOAD_PROCESSES = True, 1
    return opened_on_run(run, f"/runs/{run.pk}/pods/default/big/")


def wait_for_part(live_class: ClassClient, what: str, words: str) -> str:
    """Return the part of the page once it contains `words`."""
    ada = live_class.join("Ada")
    end = time.monotonic() + 60
    while words not in (html := live_class.part(ada)["parts"][what]):
        assert time.monotonic() < end, html
        time.sleep(0.2)
    return str(html)


@pytest.mark.long
@pytest.mark.slow
def test_suggested_fixes_are_shown_when_computed(live_class: ClassClient) -> None:
    before = live_class.row.version
    ada = live_class.join("Ada")
    assert "Simulating fixes" in live_class.part(ada)["parts"]["why"]
    html = wait_for_part(live_class, "why", "kubectl")
    assert "Try it" not in html
    assert "<form" not in html
    assert live_class.row.version == before + 1, "one announcement"
    page = live_class.page(live_class.join("Late"))
    assert "kubectl" in page
    assert "Trying" not in page


@pytest.mark.slow
def test_a_large_cluster_is_shown_when_drawn(live_class: ClassClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(async_parts, "LARGE", 1)
    ada = live_class.join("Ada")
    assert "Drawing the cluster" in live_class.part(ada)["parts"]["map"]
    assert 'class="capacity-bar out"' in wait_for_part(live_class, "map", "t-live-class-map")


@pytest.mark.long
@pytest.mark.slow
def test_a_part_that_times_out_shows_a_message(
    live_class: ClassClient, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_worker, "respond", misbehaving.hang)
    settings.OFFLOAD_MAX_SECONDS = 0.2
    stop_pools()
    assert 'id="t-why"' in wait_for_part(live_class, "why", "took longer")
    stop_pools()


def test_a_part_of_an_old_page_is_not_announced(live_class: ClassClient, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = []
    monkeypatch.setattr(client, "fetch", lambda *args: requests.append(args) or "")
    now = live_class.row
    async_parts.fetch(Job(now.pk, now.address + "?cycle=1", "why", "/runs/1/"))
    live_class.move(close=1)
    async_parts.fetch(Job(now.pk, now.address, "why", "/runs/1/"))
    assert requests == []
    assert live_class.row.version == now.version + 1, "for closing the class"


def test_only_pool_workers_open_the_address(live_class: ClassClient, settings: Any) -> None:
    now = live_class.row
    job = Job(now.pk, now.address, "why", f"{now.address}why/?attempt=1")
    address = reverse("live-class-made", args=[async_parts.token_of(job)])
    ada = live_class.join("Ada")
    assert ada.get(address).status_code == 404, "not even with a signed token"
    settings.OFFLOAD = False
    assert "What places it" in ada.get(address).content.decode()
    for wrong in (
        "x",
        signing.dumps(list(job)),
        signing.dumps([1], salt=async_parts.SALT),
        async_parts.token_of(job._replace(address="/runs/1/")),
        async_parts.token_of(job)[:-1],
    ):
        assert ada.get(reverse("live-class-made", args=[wrong])).status_code == 404
    assert ada.post(address).status_code == 405
    live_class.move(close=1)
    assert ada.get(address).status_code == 404


def test_equal_requests_are_computed_once(live_class: ClassClient, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = []

    def slow(path: str, run: str) -> str:
        requests.append(path)
        time.sleep(0.3)
        raise OffloadError("Too many ask at once.")

    monkeypatch.setattr(client, "fetch", slow)
    ada = live_class.join("Ada")
    for _ in range(20):
        live_class.part(ada)
    assert "Too many ask" in wait_for_part(live_class, "why", "Too many")
    assert len(requests) == 1


def test_parts_of_a_running_run_expire_soon(live_class: ClassClient) -> None:
    Run.objects.update(state="running")
    found = LiveClass.objects.select_related("run").get()
    assert async_parts.key_of(found, "why", "x") != async_parts.key_of(found, "map", "x")
