"""Liveness and readiness: their checks, messages and timeouts."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from kombu import Connection

from kubesched_ui.celery import app
from kubesched_ui.observability import health
from kubesched_ui.observability.bounded_probe import BoundedProbe
from tests.kubesched_ui.instance import REDIS, RedisServer


@pytest.mark.django_db
def test_liveness_checks_no_other_service(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The health check of Compose uses any host name."""
    settings.ALLOWED_HOSTS = ["kubesched.example"]
    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.connect", None)
    with CaptureQueriesContext(connection) as calls:
        answer = Client(headers={"host": "localhost:8000"}).get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"ok")
    assert calls.captured_queries == []
    assert Client(headers={"host": "localhost:8000"}).get("/").status_code == 400


def checked(client: Client, monkeypatch: pytest.MonkeyPatch, database: Any, others: Any) -> Any:
    monkeypatch.setattr(health, "database", BoundedProbe(database, 0.2))
    monkeypatch.setattr(health, "broker_and_worker", BoundedProbe(others, 0.2))
    return client.get("/readyz")


def test_readiness_runs_all_checks(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = checked(client, monkeypatch, lambda: "", lambda: ("", ""))
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
    assert answer.json() == {"ready": True, "checks": {"database": "ok", "broker": "ok", "worker": "ok"}}


def test_a_failed_check_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = checked(client, monkeypatch, lambda: "It is away.", lambda: ("", health.NO_WORKER))
    assert (answer.status_code, answer["Retry-After"], answer.json()["ready"]) == (503, "5", False)
    assert answer.json()["checks"] == {"database": "It is away.", "broker": "ok", "worker": health.NO_WORKER}


def test_a_hanging_check_times_out_and_runs_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    over, calls = threading.Event(), []

    def hangs() -> Any:
        calls.append(threading.current_thread())
        over.wait(30)
        return ""

    answer = checked(client, monkeypatch, hangs, hangs)
    assert client.get("/readyz").status_code == 503
    over.set()
    assert answer.json()["checks"]["database"].startswith("The database did not answer within")
    assert answer.json()["checks"]["broker"].startswith("The broker did not answer within")
    assert len(calls) == 2


def test_a_result_is_shared_for_a_while() -> None:
    calls: list[float] = []

    def ask() -> int:
        calls.append(time.monotonic())
        return len(calls)

    kept, fresh = BoundedProbe(ask, 5, keep=60), BoundedProbe(ask, 5)
    assert [kept(), kept()] == [1, 1]
    assert [fresh(), fresh()] == [2, 3]


def test_an_error_is_raised_and_the_next_check_runs() -> None:
    answers: Iterator[Any] = iter([ValueError("no"), "yes"])

    def ask() -> Any:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    bounded = BoundedProbe(ask, 5)
    with pytest.raises(ValueError, match="no"):
        bounded()
    assert bounded() == "yes"


@pytest.mark.django_db
def test_the_database_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "close", lambda: None)  # the database of the test
    assert health.ask_database() == ""

    def away(*_: Any) -> Any:
        raise OperationalError("connection to server at 10.0.0.1 failed: Connection refused")

    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.cursor", away)
    assert "not reachable" in health.ask_database()
    assert "10.0.0.1" not in health.ask_database()


@pytest.mark.skipif(not REDIS, reason="redis-server is not installed")
def test_broker_and_workers_are_checked(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = RedisServer()
    try:
        settings.REDIS_URL = server.url
        monkeypatch.setattr(health, "PING_S", 0.2)
        monkeypatch.setattr(app, "connection_for_write", lambda **more: Connection(server.url, **more))
        found = ("", "")
        for _ in range(100):
            found = health.ask_broker_and_worker()
            if found[0] == "":
                break
            time.sleep(0.05)
        assert found == ("", health.NO_WORKER)
    finally:
        server.kill()
    assert health.ask_broker_and_worker() == (health.NO_BROKER, health.UNKNOWN)
