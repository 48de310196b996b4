"""Fixtures for the application's tests."""

import random
from typing import Any

import pytest
from channels.layers import InMemoryChannelLayer
from django.test import Client

from kubesched_ui.live_classes.hub import LiveClassHub
from kubesched_ui.runs import services, tasks
from kubesched_ui.websockets import consumers, hub
from kubesched_ui.websockets.run_hub import RunHub


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


class ForgetfulLayer(InMemoryChannelLayer):
    """A channel layer that loses half of all notices, and those that find a channel full."""

    random = random.Random(7)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        if self.random.random() < 0.5:
            await super().group_send(group, message)


@pytest.fixture
def forgetful_layer(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": f"{__name__}.ForgetfulLayer", "CONFIG": {"capacity": 1}}}
    monkeypatch.setattr(hub, "POLL_S", 0.05)
    for kind in (RunHub, LiveClassHub):
        monkeypatch.setattr(kind, "spacing_s", 0.01)
    monkeypatch.setattr(consumers, "MESSAGE_BYTES", 2000)  # many frames
