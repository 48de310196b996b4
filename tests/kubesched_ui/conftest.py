"""Fixtures for tests of the application."""

import random
from typing import Any

import pytest
from channels.layers import InMemoryChannelLayer
from django.test import Client

from kubesched_ui.experiments import services as experiments_services
from kubesched_ui.live_classes.hub import LiveClassTopic
from kubesched_ui.runs import services, tasks
from kubesched_ui.websockets import hub, run_sockets
from kubesched_ui.work import leases


@pytest.fixture
def client() -> Client:
    """Return a client with a host name that the product accepts."""
    return Client(headers={"host": "localhost"})


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Execute runs in the test, without a broker."""
    monkeypatch.setattr(leases.app, "send_task", lambda name, args: None)
    monkeypatch.setattr(experiments_services, "messages", lambda: 0)
    monkeypatch.setattr(experiments_services, "send", lambda number: None)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Return the messages to workers: task name and argument."""
    messages: list[tuple[str, int]] = []
    monkeypatch.setattr(leases.app, "send_task", lambda name, args: messages.append((name, *args)))
    return messages


@pytest.fixture
def run_immediately(monkeypatch: pytest.MonkeyPatch) -> None:
    """Execute runs when they are queued."""
    monkeypatch.setattr(services, "enqueue", tasks.execute_run)


class LossyLayer(InMemoryChannelLayer):
    """Channel layer that drops half of all messages, and those for a full channel."""

    random = random.Random(7)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        if self.random.random() < 0.5:
            await super().group_send(group, message)


@pytest.fixture
def lossy_layer(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": f"{__name__}.LossyLayer", "CONFIG": {"capacity": 1}}}
    monkeypatch.setattr(hub, "POLL_S", 0.05)
    for kind in (run_sockets.RunTopic, LiveClassTopic):
        monkeypatch.setattr(kind, "spacing_s", 0.01)
    monkeypatch.setattr(run_sockets, "MESSAGE_BYTES", 2000)  # many frames
