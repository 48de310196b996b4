"""Fixtures for the application's tests."""

import pytest
from django.test import Client

from kubesched_ui.runs import services


@pytest.fixture
def client() -> Client:
    """One that asks for an address that the product answers to."""
    return Client(headers={"host": "localhost"})


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are executed by the tests themselves."""
    monkeypatch.setattr(services.app, "send_task", lambda name, args: None)
