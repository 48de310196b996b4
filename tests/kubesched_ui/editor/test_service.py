"""The editor's worker pool for large texts: same results, limits, and the newest text of a page wins."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from django.test import Client

from kubesched_ui.editor import service, worker
from kubesched_ui.editor.analysis import analyze
from kubesched_ui.editor.apply_edits import apply_changes
from kubesched_ui.editor.limits import SMALL
from kubesched_ui.offload.pool import Pool, PoolBusy, Ticket
from kubesched_ui.offload.pools import configs, get_pool, stop_pools
from scheduler_core.errors import InputError
from tests.kubesched_ui import misbehaving
from tests.kubesched_ui.editor.sample_texts import MIXED
from tests.kubesched_ui.editor.slow_texts import shapes
from tests.kubesched_ui.instance import until

LARGE = MIXED + "#" * SMALL + "\n"


def sleeps(seconds: float, more: str = "") -> str:
    """Return a text that takes so many seconds."""
    return f"# sleep {seconds}\n{more}\n{LARGE}"


@pytest.fixture
def pool(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    settings.OFFLOAD, settings.OFFLOAD_PROCESSES = True, 1
    monkeypatch.setattr(worker, "analyze", misbehaving.slow_analysis)
    stop_pools()
    yield get_pool("editor")
    stop_pools()


def started(ask: Callable[[], bytes]) -> tuple[threading.Thread, list[Any]]:
    """Send the request in a thread. Return the thread and a list for its result."""
    found: list[Any] = []

    def put() -> None:
        try:
            found.append(ask())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=put, daemon=True)
    thread.start()
    return thread, found


def test_a_small_text_needs_no_worker(pool: Pool) -> None:
    assert service.read(MIXED) == msgspec.json.encode(analyze(MIXED))
    assert not pool.workers


def test_workers_return_the_same_analysis(pool: Pool) -> None:
    assert service.read(LARGE) == msgspec.json.encode(analyze(LARGE))
    change = [{"thing": 0, "remove": True}]
    assert service.change(LARGE, change) == msgspec.json.encode(apply_changes(LARGE, change))
    with pytest.raises(InputError, match="is not the number of an object"):
        service.change(LARGE, [{"thing": 99, "remove": True}])
    with pytest.raises(InputError, match="unpaired surrogate"):
        service.read(LARGE + "\ud800")
    assert len(pool.workers) == 1


@pytest.mark.long
def test_the_slowest_small_texts_need_no_worker(pool: Pool) -> None:
    for name, text in shapes(SMALL):
        assert len(text) <= SMALL, name
        assert msgspec.json.decode(service.read(text))["problems"] is not None, name
    assert not pool.workers
    service.read("a: &a [x]\nb: *a\n")
    assert len(pool.workers) == 1, "little with aliases may be much"


@pytest.mark.long
def test_a_slow_text_is_stopped_and_the_next_one_is_analyzed(pool: Pool, settings: Any) -> None:
    settings.COMPOSE_MAX_SECONDS = 1
    pool.config = configs()["editor"]
    with pytest.raises(InputError, match="the text: takes longer than 1 s to analyze"):
        service.read(sleeps(60))
    assert service.read(LARGE)


@pytest.mark.long
def test_a_text_that_needs_too_much_memory_is_rejected(pool: Pool, settings: Any) -> None:
    settings.COMPOSE_MAX_MEMORY = 150 << 20
    pool.config = configs()["editor"]
    with pytest.raises(InputError, match="the text: takes more than 150 MB of memory to analyze"):
        service.read("[" + "1," * 200_000 + "]")


@pytest.mark.long
def test_a_killed_worker_is_replaced(pool: Pool) -> None:
    for _ in range(2):
        assert service.read(LARGE)
        os.kill(pool.run(os.getpid), signal.SIGKILL)


@pytest.mark.long
def test_the_newest_text_of_a_page_stops_the_running_one(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "GRACE_SECONDS", 0.1)
    thread, old = started(lambda: service.read(sleeps(60), "page"))
    until(lambda: pool.running, "the reading")
    assert service.read(LARGE, "page") == msgspec.json.encode(analyze(LARGE))
    thread.join(30)
    assert isinstance(old[0], service.Superseded)
    assert not service._newest


def test_the_newest_text_of_a_page_replaces_the_waiting_one(pool: Pool) -> None:
    with pool.worker(Ticket()):
        thread, old = started(lambda: service.read(LARGE, "page"))
        until(lambda: pool.waiting, "the wait")
        other, new = started(lambda: service.read(sleeps(0, "# newer"), "page"))
        thread.join(30)
        assert isinstance(old[0], service.Superseded)
    other.join(30)
    assert new == [msgspec.json.encode(analyze(sleeps(0, "# newer")))]


@pytest.mark.long
def test_texts_of_two_pages_are_independent(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "GRACE_SECONDS", 0.0)
    thread, slow = started(lambda: service.read(sleeps(0.5), "one"))
    until(lambda: pool.running, "the reading")
    assert service.read(LARGE, "two")
    thread.join(30)
    assert isinstance(slow[0], bytes)


def test_a_request_is_rejected_if_all_workers_are_busy(pool: Pool, client: Client, db: None) -> None:
    pool.config = replace(pool.config, wait_seconds=0)
    with pool.worker(Ticket()):
        with pytest.raises(PoolBusy):
            service.read(LARGE)
        answer = client.post("/compose/read/", LARGE, content_type="text/plain")
    assert (answer.status_code, answer["Retry-After"]) == (503, "10")
    assert answer.json()["error"] == "The server is busy. Try again in a few seconds."


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (service.Superseded(), 409, "A newer version of the text replaced this one."),
        (InputError("the text", "", "takes longer than 10 s to be read"), 400, "the text: takes longer than 10 s"),
    ],
)
def test_the_page_shows_the_error(
    client: Client, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, message: str
) -> None:
    def refuse(text: str, page: str) -> bytes:
        assert page == "word"
        raise error

    monkeypatch.setattr(service, "read", refuse)
    answer = client.post("/compose/read/", "a: 1", content_type="text/plain", headers={"X-Page": "word"})
    assert (answer.status_code, message in answer.json()["error"]) == (status, True)
