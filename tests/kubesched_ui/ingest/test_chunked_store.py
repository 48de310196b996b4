"""Scenarios stored in chunks: invisible until complete, and deleted if never completed."""

import sqlite3
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from kubesched_ui.ingest import IngestError, chunked_store
from kubesched_ui.ingest.store import store
from kubesched_ui.models import ClusterObject, Scenario
from kubesched_ui.models.fields import pack
from kubesched_ui.runs import tasks
from kubesched_ui.scenarios import edits
from tests.kubesched_ui.clusters import ingested, node, pod

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunked_store, "PART", 2)


def unfinished(objects: int = 5) -> Scenario:
    """Return what a killed worker leaves behind."""
    scenario = Scenario.everything.create(name="half", storing_at=timezone.now(), counts={"Pod": 9})
    chunked_store.add(scenario, [(n, "Pod", "v1", "default", f"p{n}", pack(b"{}")) for n in range(objects)])
    return scenario


def test_other_connections_write_between_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one transaction for the whole scenario, the other writer would wait for all of it."""
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL has many writers")
    written, name = chunked_store.write, connection.settings_dict["NAME"]
    others = []

    def write(*given: Any) -> float:
        free_until = written(*given)
        with sqlite3.connect(name, timeout=0) as other:
            other.execute("BEGIN IMMEDIATE")
            others.append(other.execute("SELECT COUNT(*) FROM kubesched_ui_clusterobject").fetchone()[0])
        return free_until

    monkeypatch.setattr(chunked_store, "write", write)
    store(ingested(node("n"), *(pod(f"p{i}") for i in range(5))))
    assert others == [2, 4, 6]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has many writers")
def test_other_writers_get_as_much_time_as_a_chunk_took(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite serves any waiting writer. Without a pause, the same one could always be next."""
    slept: list[float] = []

    def stored(*times: float) -> list[float]:
        """Return the pauses if three parts are built and written at these times."""
        clock = iter(times)
        monkeypatch.setattr(
            chunked_store, "time", SimpleNamespace(perf_counter=lambda: next(clock), sleep=slept.append)
        )
        slept.clear()
        store(ingested(node("n"), *(pod(f"p{i}") for i in range(5))))
        return slept

    assert stored(0, 0.25, 0.375, 0.75, 2, 3) == [0.125]  # the time in which a part is built counts
    assert stored(0, 60, 60, 120, 120, 180) == [chunked_store.LONGEST_PAUSE_S] * 2


def test_an_incomplete_scenario_is_invisible(client: Client) -> None:
    scenario, obj = unfinished(), ClusterObject.objects.get(name="p0")
    number = scenario.pk
    assert client.get("/api/scenarios").json() == []
    assert "half" not in client.get("/scenarios/").content.decode()
    objects = ("objects/", f"objects/{obj.pk}/", "object/Pod/default/p0/")
    for address in ("", "nodes/", "pods/", *objects, "run/", "?like=1"):
        assert client.get(f"/scenarios/{number}/{address}").status_code == 404, address
    for address in ("", "/export", "/upgrades"):
        assert client.get(f"/api/scenarios/{number}{address}").status_code == 404, address
    assert client.delete(f"/api/scenarios/{number}").status_code == 404
    assert client.post(f"/scenarios/{number}/rename/", {"name": "x"}).status_code == 404
    started = client.post(f"/api/scenarios/{number}/runs", {}, content_type="application/json")
    assert started.status_code == 404


@pytest.mark.parametrize("minutes", [-10, 10])
def test_incomplete_scenarios_are_removed_in_small_steps(minutes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    left, alive = unfinished(), unfinished()
    Scenario.everything.filter(pk=left.pk).update(storing_at=timezone.now() + timedelta(minutes=minutes))
    monkeypatch.setattr(chunked_store, "REMOVED_AT_ONCE", 2)
    tasks.sweep()
    assert left.cluster_objects.count() == 1
    tasks.sweep()
    assert list(Scenario.everything.values_list("pk", flat=True)) == [alive.pk]
    assert set(ClusterObject.objects.values_list("scenario_id", flat=True)) == {alive.pk}


def test_a_worker_that_lost_its_lease_stores_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    written = chunked_store.write

    def write(scenario: Scenario, *given: Any) -> float:
        free_until = written(scenario, *given)
        chunked_store.remove(scenario.pk)
        return free_until

    monkeypatch.setattr(chunked_store, "write", write)
    with pytest.raises(IngestError, match="took too long to be stored"):
        store(ingested(*(pod(f"p{i}") for i in range(5))))
    assert not Scenario.everything.exists()
    assert not ClusterObject.objects.exists()


def test_an_edit_copies_chunk_by_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = store(ingested(node("n"), *(pod(f"p{i}") for i in range(5))))
    version = edits.create_version(scenario, scenario.cluster_objects.get(name="p3"), None)
    assert [o["metadata"]["name"] for o in version.objects_of()] == ["n", "p0", "p1", "p2", "p4"]
    assert version.counts == {"Node": 1, "Pod": 4}
    monkeypatch.setattr(edits, "_snapshot_warnings", lambda version: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        edits.create_version(scenario, scenario.cluster_objects.get(name="p3"), None)
    assert Scenario.everything.count() == 2
