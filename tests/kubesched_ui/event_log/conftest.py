"""Fixtures for sockets."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_ui.websockets import consumers, hub, run_hub


@pytest.fixture
def forgetful_layer(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CHANNEL_LAYERS = {
        "default": {"BACKEND": "tests.kubesched_ui.layers.ForgetfulLayer", "CONFIG": {"capacity": 1}}
    }
    monkeypatch.setattr(hub, "POLL_S", 0.05)
    monkeypatch.setattr(run_hub.RunHub, "spacing_s", 0.01)
    monkeypatch.setattr(consumers, "MESSAGE_BYTES", 2000)  # many frames
