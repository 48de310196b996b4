"""Outages: a full disk or a locked, read-only or unreachable database gives 503 with a reason and Retry-After."""

import errno
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import InternalError, OperationalError, connection, transaction
from django.test import Client

from kubesched_ui.models import Scenario
from kubesched_ui.runtime.outages import AWAY, FULL, LOCKED, READ_ONLY, Outage, outage_of
from tests.kubesched_ui.clusters import every_outcome


@pytest.fixture
def client() -> Client:
    """Return a client that gets error responses, as a browser does."""
    return Client(raise_request_exception=False, headers={"host": "localhost"})


def upload(client: Client) -> Any:
    return client.post("/api/scenarios", every_outcome(), content_type="application/octet-stream")


@pytest.mark.parametrize(
    ("error", "outage"),
    [
        (OperationalError("database is locked"), LOCKED),
        (OperationalError("database or disk is full"), FULL),
        (OperationalError("could not extend file: No space left on device"), FULL),
        (OperationalError("attempt to write a readonly database"), READ_ONLY),
        (OperationalError("connection to server at 127.0.0.1 failed: Connection refused"), AWAY),
        (InternalError("cannot execute INSERT in a read-only transaction"), READ_ONLY),
        (OperationalError("canceling statement due to lock timeout"), LOCKED),
        (OperationalError("no such table: x"), None),
        (OSError(errno.ENOSPC, "No space left on device"), FULL),
        (OSError(errno.ENOENT, "No such file"), None),
        (KeyError("x"), None),
        (None, None),
    ],
)
def test_errors_are_classified(error: BaseException | None, outage: Outage | None) -> None:
    assert outage_of(error) is outage
    if error is not None:
        raised = RuntimeError("a reader's")
        raised.__cause__ = error
        assert outage_of(raised) is outage


@pytest.mark.django_db(transaction=True)
def test_a_full_disk(client: Client) -> None:
    """SQLite may not grow its file."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # pages freed by earlier tests would be used first
        (pages,) = cursor.execute("PRAGMA page_count").fetchone()
        cursor.execute(f"PRAGMA max_page_count={pages}")
    try:
        for _ in range(200):  # the last pages have some free space
            answer = upload(client)
            if answer.status_code != 201:
                break
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA max_page_count=1073741823")
    assert (answer.status_code, answer["Retry-After"]) == (503, "60")
    assert "disk is full" in answer.json()["error"]
    assert upload(client).status_code == 201


@pytest.fixture
def locked(transactional_db: None) -> Iterator[None]:
    """Hold the write lock of the database in another connection."""
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout=50")
    other = sqlite3.connect(connection.settings_dict["NAME"])
    other.execute("BEGIN IMMEDIATE")
    yield
    other.close()
    connection.close()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases lock rows")
@pytest.mark.parametrize(("address", "kind"), [("/upload/", "text/html"), ("/api/scenarios", "application/json")])
def test_a_locked_database(client: Client, locked: None, address: str, kind: str) -> None:
    answer = client.post(address, {"text": every_outcome().decode()}, headers={"accept": f"{kind},*/*;q=0.1"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert answer["Content-Type"].partition(";")[0] == kind
    assert "busy with other writes" in answer.content.decode()
    assert not Scenario.objects.exists()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has many writers")
@pytest.mark.django_db(transaction=True)
def test_a_read_followed_by_a_write_waits_for_the_lock() -> None:
    """A transaction locks for writing at its begin. SQLite refuses the lock after a read of old data."""
    other = sqlite3.connect(connection.settings_dict["NAME"], timeout=0)
    with transaction.atomic():
        assert not Scenario.objects.exists()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        Scenario.objects.create(name="written")
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA busy_timeout").fetchone() == (20_000,)  # milliseconds that another write may take
    other.close()


def broken(*args: Any, **kwargs: Any) -> Any:
    raise OperationalError("connection failed: Connection refused")


@pytest.mark.django_db
def test_a_database_outage(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.cursor", broken)
    for address in ("/", "/runs/"):
        answer = client.get(address, headers={"accept": "text/html"})
        assert (answer.status_code, answer["Retry-After"]) == (503, "10"), address
        assert "not reachable" in answer.content.decode()
    assert client.get("/runs/", headers={"accept": "application/json"}).json()["error"] == AWAY.message
    assert client.get("/api/runs").json()["error"] == AWAY.message


@pytest.mark.django_db
def test_an_internal_error_is_json_if_requested(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*args: Any) -> Any:
        raise KeyError("an internal error")

    monkeypatch.setattr(Scenario.objects, "defer", wrong)
    answer = client.get("/api/scenarios")
    assert (answer.status_code, "an internal error" in answer.json()["error"]) == (500, False)
    assert "Retry-After" not in answer
