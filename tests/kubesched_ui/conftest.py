"""Fixtures for the application's tests."""

import pytest
from django.test import Client

from kubesched_ui.runs import services, tasks


@pytest.fixture
def client() -> Client:
    """One that asks for an address that the product answers to."""
    return Client(headers={"host": "localhost"})


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are executed by the tests themselves."""
    monkeypatch.setattr(services.app, "send_task", lambda name, args: None)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The messages to workers: the name of the task and its argument."""
    messages: list[tuple[str, int]] = []
    monkeypatch.setattr(services.app, "send_task", lambda name, args: messages.append((name, *args)))
    return messages


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are executed where they are queued."""
    monkeypatch.setattr(services, "enqueue", tasks.execute_run)
