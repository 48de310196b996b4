"""Fixtures for sockets."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_ui.recording import feed, lookout, watching


@pytest.fixture
def forgetful_layer(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CHANNEL_LAYERS = {
        "default": {"BACKEND": "tests.kubesched_ui.layers.ForgetfulLayer", "CONFIG": {"capacity": 1}}
    }
    monkeypatch.setattr(lookout, "POLL_S", 0.05)
    monkeypatch.setattr(watching.Lookout, "spacing_s", 0.01)
    monkeypatch.setattr(feed, "MESSAGE_BYTES", 2000)  # many frames
