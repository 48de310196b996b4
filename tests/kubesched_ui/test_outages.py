"""A disk that is full, a database that is locked, read only or away: said in plain words, with a time to come back."""

import errno
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import InternalError, OperationalError, connection, transaction
from django.test import Client

from kubesched_ui.models import Scenario
from kubesched_ui.outages import AWAY, FULL, LOCKED, READ_ONLY, Outage, outage_of
from tests.kubesched_ui.clusters import every_outcome


@pytest.fixture
def client() -> Client:
    """One that gets the answer that a browser would get of an error."""
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
def test_what_an_error_means(error: BaseException | None, outage: Outage | None) -> None:
    assert outage_of(error) is outage
    if error is not None:
        raised = RuntimeError("a reader's")
        raised.__cause__ = error
        assert outage_of(raised) is outage


@pytest.mark.django_db(transaction=True)
def test_a_full_disk(client: Client) -> None:
    """A real one, as far as SQLite can tell: the file may not grow."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # what earlier tests deleted is room, too
        (pages,) = cursor.execute("PRAGMA page_count").fetchone()
        cursor.execute(f"PRAGMA max_page_count={pages}")
    try:
        for _ in range(200):  # there is some room in the last pages
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
    """Another process writes, and keeps on writing."""
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
def test_who_reads_first_and_writes_then_is_not_told_that_it_is_locked() -> None:
    """A transaction has the right to write from its begin on: SQLite gives it to nobody who has read what is old."""
    other = sqlite3.connect(connection.settings_dict["NAME"], timeout=0)
    with transaction.atomic():
        assert not Scenario.objects.exists()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        Scenario.objects.create(name="written")
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA busy_timeout").fetchone() == (
            20_000,
        )  # milliseconds that another's write may take
    other.close()


def broken(*args: Any, **kwargs: Any) -> Any:
    raise OperationalError("connection failed: Connection refused")


@pytest.mark.django_db
def test_a_database_that_is_away(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.cursor", broken)
    for address in ("/", "/runs/"):
        answer = client.get(address, headers={"accept": "text/html"})
        assert (answer.status_code, answer["Retry-After"]) == (503, "10"), address
        assert "not reachable" in answer.content.decode()
    assert client.get("/runs/", headers={"accept": "application/json"}).json()["error"] == AWAY.message
    assert client.get("/api/runs").json()["error"] == AWAY.message


@pytest.mark.django_db
def test_what_broke_on_our_side_is_json_too_where_json_was_asked(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*args: Any) -> Any:
        raise KeyError("an error of ours")

    monkeypatch.setattr(Scenario.objects, "defer", wrong)
    answer = client.get("/api/scenarios")
    assert (answer.status_code, "an error of ours" in answer.json()["error"]) == (500, False)
    assert "Retry-After" not in answer
