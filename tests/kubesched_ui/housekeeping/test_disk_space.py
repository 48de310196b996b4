"""Low disk space: new work is rejected, active runs wait, and no recorded data is lost."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client

from kubesched_ui.event_log.log import read_blocks
from kubesched_ui.housekeeping import disk_space
from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs import tasks
from tests.kubesched_ui.clusters import every_outcome
from tests.kubesched_ui.recordings import node, pod, ran, scenario


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_space, "RECENT_S", 0.0)
    cache.delete(disk_space.WAITS)


def set_free_space(monkeypatch: pytest.MonkeyPatch, free: float) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=int(free)))


@pytest.mark.parametrize(
    ("free", "message"),
    [
        (5e9, ""),
        (1.2e8, "The disk is almost full: 120 MB free, 1 GB required for new work. Delete runs and scenarios "),
        (1e6, "The disk is full: nothing can be stored"),
    ],
)
@pytest.mark.django_db
def test_levels_of_free_space(monkeypatch: pytest.MonkeyPatch, settings: Any, free: float, message: str) -> None:
    settings.DISK_MIN_FREE_BYTES = 10**9
    set_free_space(monkeypatch, free)
    assert disk_space.space_problem()[: len(message)] == message
    assert bool(disk_space.space_problem()) == bool(message)


@pytest.mark.django_db
def test_a_database_size_limit(settings: Any) -> None:
    settings.DATABASE_MAX_BYTES = 1000
    assert "The database is almost full: " in disk_space.space_problem()
    assert "of 1 kB" in disk_space.space_problem()


@pytest.mark.django_db
def test_new_work_is_rejected_and_everything_else_continues(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    client = Client(raise_request_exception=False, headers={"host": "localhost"})
    cluster = scenario(node("n1"), pod("a"))
    run = ran(cluster)
    settings.DISK_MIN_FREE_BYTES = 10**9
    set_free_space(monkeypatch, 1e8)
    for address, body in (
        ("/api/scenarios", every_outcome()),
        (f"/api/scenarios/{cluster.pk}/runs", b"{}"),
        (f"/api/runs/{run.pk}/fork", b'{"at": 1}'),
    ):
        answer = client.post(address, body, content_type="application/json")
        assert (answer.status_code, answer["Retry-After"]) == (503, "60"), address
        assert "100 MB free, 1 GB required for new work" in answer.json()["error"]
    answer = client.post("/upload/", {"text": every_outcome().decode()}, headers={"accept": "text/html"})
    assert (answer.status_code, "almost full" in answer.content.decode()) == (503, True)
    assert "almost full" in client.get(f"/runs/{run.pk}/").content.decode()
    assert client.delete(f"/api/runs/{run.pk}").status_code == 204
    assert Scenario.objects.count() == 1
    set_free_space(monkeypatch, 5e9)
    assert "almost full" not in client.get("/").content.decode()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite has a setting for the end of its disk")
@pytest.mark.django_db(transaction=True)
def test_a_run_waits_for_disk_space_and_loses_nothing(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """The database file may not grow in the middle of the run, until the run has waited twice."""
    settings.RUN_BATCH_CYCLES = 1
    cluster = scenario(*(node(f"n{n}") for n in range(40)), *(pod(f"p{n}") for n in range(60)))
    run, waited = Run.objects.create(scenario=cluster, tie_break="name"), []

    def limit(pages: int) -> None:
        connection.cursor().execute(f"PRAGMA max_page_count={pages}")

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        assert disk_space.is_full()
        assert Run.objects.get(pk=run.pk).state == "running"
        if len(waited) == 2:
            limit(1073741823)

    monkeypatch.setattr("time.sleep", sleep)
    connection.cursor().execute("VACUUM")  # Free pages from other tests would be used first.
    (pages,) = connection.cursor().execute("PRAGMA page_count").fetchone()
    limit(pages + 10)
    try:
        tasks.execute_run(run.pk)
    finally:
        limit(1073741823)
    run.refresh_from_db()
    assert (run.state, run.cycles_done, run.starts, run.error) == ("done", 60, 1, "")
    assert len(waited) >= 2
    assert not disk_space.is_full()
    events = [event for _, text in read_blocks(run.pk, 0, limit=1000) for event in msgspec.json.decode(text)]
    assert [event["seq"] for event in events] == list(range(1, run.last_seq + 1))


@pytest.mark.django_db(transaction=True)
def test_a_run_deleted_while_waiting_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.objects.create(scenario=scenario(node("n1"), pod("a")))
    claimed = Run.objects.claim(run.pk, "me")
    assert claimed
    monkeypatch.setattr("time.sleep", lambda seconds: run.delete() if run.pk else None)
    assert tasks.wait_for_disk_space(claimed) is None
    assert not disk_space.is_full()
