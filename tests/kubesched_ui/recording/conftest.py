"""Fixtures for sockets."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_ui.recording import feed, watching


@pytest.fixture
def forgetful_layer(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CHANNEL_LAYERS = {
        "default": {"BACKEND": "tests.kubesched_ui.layers.ForgetfulLayer", "CONFIG": {"capacity": 1}}
    }
    monkeypatch.setattr(watching, "POLL_S", 0.05)
    monkeypatch.setattr(watching, "SPACING_S", 0.01)
    monkeypatch.setattr(feed, "MESSAGE_BYTES", 2000)  # many frames
